"""Nested tensors, against what PyTorch 2.13 answered (`nested_cases.json`)."""

import json
from pathlib import Path
from typing import Any

import pytest
from answers import same_answer

import mindtorch_v2 as torch
from tests.nested import nested_cases

RECORDED = json.loads(Path(__file__).with_name("nested_cases.json").read_text())
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("name", nested_cases.CASES)
def test_values(name: str) -> None:
    same_answer(nested_cases.CASES[name](torch), RECORDED["cases"][name])


@pytest.mark.parametrize("name", nested_cases.REFUSED)
def test_refusals(name: str) -> None:
    kind, text = RECORDED["refused"][name]
    with pytest.raises(Exception) as caught:  # its class and text is compared
        nested_cases.REFUSED[name](torch)
    assert type(caught.value).__name__ == kind
    assert str(caught.value) == text


def test_sizes_that_differ_have_a_symbol() -> None:
    x = nested_cases.jagged(torch)
    size = x.shape[1]
    assert isinstance(size, torch.SymInt)
    assert size == (x * 2).shape[1]
    assert size != nested_cases.jagged(torch).shape[1]
    assert repr(size * 2) == f"2*{size!r}"
    with pytest.raises(RuntimeError, match="it is not one number"):
        size + 1
    with pytest.raises(
        RuntimeError, match=r"cannot call binary pointwise function add.Tensor with inputs of shapes \(3, j\d+, 2\)"
    ):
        x + nested_cases.jagged(torch)


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="aten.cumsum.default"):
        nested_cases.jagged(torch).cumsum(1)
    with pytest.raises(NotImplementedError, match="aten"):
        torch.linalg.inv(nested_cases.jagged(torch))


def test_second_gradients_and_a_step() -> None:
    weight = torch.tensor(nested_cases.WEIGHT, dtype=torch.float64, requires_grad=True)
    buffer = torch.arange(10, dtype=torch.float64).reshape(5, 2).div(7).requires_grad_()

    def function(values: Any, weight: Any) -> Any:
        x = torch.nested.nested_tensor_from_jagged(values, torch.tensor([0, 2, 5]))
        return torch.nn.functional.linear(x.sin(), weight).sum(1)

    assert torch.autograd.gradcheck(function, (buffer, weight))
    assert torch.autograd.gradgradcheck(function, (buffer, weight))


def test_copies_and_pickles() -> None:
    import copy
    import io

    x = nested_cases.jagged(torch)
    stream = io.BytesIO()
    torch.save(x, stream)
    stream.seek(0)
    for other in (copy.deepcopy(x), torch.load(stream, weights_only=False)):
        assert nested_cases.shown(other) == nested_cases.shown(x)


def _rows():
    return torch.nested.nested_tensor([torch.arange(12.0).reshape(2, 6), torch.arange(18.0).reshape(3, 6)])


@pytest.mark.parametrize("name", ["reshape", "view"])
def test_entries_take_other_sizes(name):
    x = _rows().requires_grad_()
    y = getattr(x, name)(2, -1, 2, 3)
    assert [each.shape for each in y.unbind()] == [(2, 2, 3), (3, 2, 3)]
    y.backward(torch.nested.nested_tensor([torch.ones(2, 2, 3), torch.full((3, 2, 3), 2.0)]))
    first, second = x.grad.unbind()
    assert first.tolist() == [[1.0] * 6] * 2 and second.tolist() == [[2.0] * 6] * 3
    assert [each.shape for each in getattr(y, name + "_as")(x).unbind()] == [(2, 6), (3, 6)]
    assert [each.shape for each in getattr(x, name)([2, -1, -1]).unbind()] == [(2, 6), (3, 6)]
    swapped = y.transpose(1, 2)
    other = torch.nested.nested_tensor([torch.ones(2, 3, 4), torch.ones(2, 3, 5)])
    assert [each.shape for each in torch.matmul(swapped, other).unbind()] == [(2, 2, 4), (2, 3, 5)]


def test_a_view_of_entries_has_their_memory():
    x = _rows()
    x.view(2, -1, 2, 3).mul_(2)
    assert x.unbind()[0][0].tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((3, -1, 6), "reshape: For now nested reshape cannot change or infer the implicit batch dimension"),
        ((2, -1, 5), r"shape '\[2, -1, 5\]' is invalid for input of size 12"),
        ((2, -1, -1, 1), "only one dimension can be inferred"),
        ((2, -1, 3, -1), "nested tensor does not infer shape"),
        ((2, -2, 6), "invalid shape dimension -2"),
    ],
)
def test_sizes_that_entries_cannot_have(sizes, text):
    with pytest.raises(RuntimeError, match=text):
        _rows().reshape(*sizes)


def test_norms_along_dimensions() -> None:
    """PyTorch 2.13 has none of a nested tensor; these are those of the entries."""
    x = torch.nested.nested_tensor(
        [torch.tensor([[3.0, -4.0], [0.0, 12.0]]), torch.tensor([[5.0, 12.0]])], layout=torch.jagged, requires_grad=True
    )
    rows = x.norm(dim=-1)
    assert rows.is_nested and rows.values().tolist() == [5, 12, 13]
    assert torch.norm(x, dim=-1).values().tolist() == x.norm(2, -1).values().tolist() == [5, 12, 13]
    assert x.norm(1, -1, True).values().tolist() == [[7], [12], [17]]
    assert torch.norm(x, float("inf"), dim=-1, dtype=torch.float64).values().tolist() == [4, 12, 12]
    assert x.norm(float("inf"), 1).tolist() == [[3, 12], [5, 12]]
    assert torch.allclose(x.norm("fro", (1, 2)), torch.tensor([13.0, 13.0]))
    assert torch.allclose(x.norm(dim=()), torch.tensor(338.0).sqrt()) and torch.equal(x.norm(dim=()), x.norm())
    rows.values().sum().backward()
    slopes = torch.tensor([[3 / 5, -4 / 5], [0.0, 1.0], [5 / 13, 12 / 13]])
    assert torch.allclose(x.grad.values(), slopes)
    assert torch.allclose(torch.nn.functional.normalize(x, dim=-1).values(), slopes)
    with pytest.raises(RuntimeError, match="not supported for NestedTensor on ragged dim"):
        torch.nn.functional.normalize(x)  # dim=1
    with pytest.raises(NotImplementedError, match="no nuclear norm"):
        x.norm("nuc", (1, 2))


@pytest.mark.parametrize("name", ["sum", "mean", "amax"])
def test_no_dimensions_are_all(name: str) -> None:
    x = torch.nested.nested_tensor([torch.arange(6.0).reshape(2, 3), torch.ones(4, 3)], layout=torch.jagged)
    assert torch.equal(getattr(x, name)(dim=()), getattr(x.values(), name)())
