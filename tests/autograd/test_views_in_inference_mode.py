"""Views of ordinary tensors made in inference mode: ordinary themselves, followed, and not to be written to later."""

import pytest

import mindtorch_v2 as torch

FORBIDDEN = (
    " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the inference_mode block (if you don't want the inplace to be tracked) "
    "or both outside (if you want the inplace to be tracked)."
)


def _tensor() -> torch.Tensor:
    return torch.ones(3, requires_grad=True).clone()


@pytest.mark.parametrize("view", [lambda t: t.view(-1), lambda t: t[:2], lambda t: t.unbind()[0], lambda t: t[None].mT])
def test_a_view_of_an_ordinary_tensor_is_one(view) -> None:
    a = _tensor()
    with torch.inference_mode():
        made = view(a)
        assert not made.is_inference() and made.requires_grad and made._is_view() and made.grad_fn is None
        plain = a.detach()
        assert not plain.is_inference() and not plain.requires_grad
        assert (a + 1).is_inference()
        assert view(a + 1).is_inference()


def test_writes_are_counted() -> None:
    s = torch.ones(3, requires_grad=True)
    a = s.clone()
    out = a * a
    with torch.inference_mode():
        before = a._version
        a.view(-1).add_(2)
        assert a._version == before + 1
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        out.sum().backward()


def test_writing_to_it_later_is_refused() -> None:
    a = _tensor()
    with torch.inference_mode():
        view = a.view(-1)
    with pytest.raises(RuntimeError) as refused:
        view.add_(1)
    assert str(refused.value) == (
        "A view was created in inference mode and is being modified inplace in normal mode." + FORBIDDEN
    )


def test_a_write_to_its_base_spoils_it() -> None:
    a = _tensor()
    with torch.inference_mode():
        view = a.view(-1)
    a.add_(1)
    for use in (lambda: view.grad_fn, lambda: (view * 2).sum().backward(), lambda: view.grad_fn):
        with pytest.raises(RuntimeError) as refused:
            use()
        assert str(refused.value) == (
            "A view was created in inference mode and its base or another view of its base has been modified inplace "
            "in normal mode." + FORBIDDEN
        )
