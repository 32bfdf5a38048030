"""In-place and `out=` forms: what is returned, what is written, and what is refused."""

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize(
    ("in_place", "functional"),
    [
        (lambda x: x.add_(2), lambda x: x.add(2)),
        (lambda x: x.sub_(2, alpha=3), lambda x: x.sub(2, alpha=3)),
        (lambda x: x.mul_(x), lambda x: x * x),
        (
            lambda x: x.div_(2, rounding_mode="floor"),
            lambda x: x.div(2, rounding_mode="floor"),
        ),
        (lambda x: x.pow_(2), lambda x: x**2),
        (lambda x: x.exp_(), lambda x: x.exp()),
        (lambda x: x.clamp_(-1, 1), lambda x: x.clamp(-1, 1)),
        (lambda x: x.relu_(), lambda x: x.relu()),
        (lambda x: x.addcmul_(x, x, value=0.5), lambda x: x.addcmul(x, x, value=0.5)),
        (
            lambda x: x.lerp_(torch.ones_like(x), 0.25),
            lambda x: x.lerp(torch.ones_like(x), 0.25),
        ),
        (lambda x: x.masked_fill_(x > 0, 7), lambda x: x.masked_fill(x > 0, 7)),
        (
            lambda x: x.copysign_(torch.tensor(-1.0)),
            lambda x: x.copysign(torch.tensor(-1.0)),
        ),
        (lambda x: x.cumsum_(0), lambda x: x.cumsum(0)),
        (lambda x: x.tril_(), lambda x: x.tril()),
    ],
)
def test_in_place_equals_functional_and_returns_self(in_place: object, functional: object) -> None:
    x = torch.tensor([[1.5, -2.0], [0.5, 3.0]])
    expected = functional(x.clone())
    for target in (x.clone(), x.t().clone().t()):
        assert in_place(target) is target
        assert target.tolist() == expected.tolist()
        assert target._version == 1


def test_augmented_assignment_keeps_the_object() -> None:
    x = torch.ones(2)
    y = x
    y += 1
    y *= torch.tensor([2.0, 3.0])
    y -= 1
    y /= 2
    assert y is x
    assert x.tolist() == [1.5, 2.5]
    with pytest.raises(RuntimeError, match=r"doesn't match the broadcast shape \[3, 2\]"):
        x += torch.ones(3, 2)


def test_out_is_written_resized_and_returned() -> None:
    a, b = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    out = torch.empty(0)
    assert torch.add(a, b, out=out) is out
    assert out.tolist() == [4, 6]
    wide = torch.zeros(2, dtype=torch.float64)
    torch.mul(a, b, out=wide)
    assert wide.tolist() == [3, 8]
    strided = torch.zeros(4)[::2]
    torch.sub(a, b, out=strided)
    assert strided.tolist() == [-2, -2]
    values, indices = torch.empty(0), torch.empty(0, dtype=torch.long)
    result = torch.max(torch.tensor([[1.0, 5.0]]), 1, out=(values, indices))
    assert result.values is values
    assert indices.item() == 1
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        torch.add(a, b, out=torch.zeros(3))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.add(a.requires_grad_(), b, out=torch.empty(0))


def test_overlap_is_refused() -> None:
    x = torch.zeros(1).expand(3)
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory",
    ):
        x.add_(1)
    y = torch.arange(4.0)
    with pytest.raises(RuntimeError, match="unsupported operation"):
        y[1:].add_(y[:-1])


def test_copy_broadcasts_and_converts() -> None:
    x = torch.zeros(2, 3, dtype=torch.int64)
    x.copy_(torch.tensor([1.7, 2.2, -3.9]))
    assert x.tolist() == [[1, 2, -3], [1, 2, -3]]
    x.fill_(4)
    assert x.eq(4).all()
    x.zero_()
    assert not x.any()
    a, b = torch.zeros(2), torch.ones(2)
    a.swap_ = None  # attributes may be set on tensors
    a.data = b
    assert a.data_ptr() == b.data_ptr()
