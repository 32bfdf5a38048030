"""A leaf that went through hooks of saved tensors is the same leaf for the gradient's gradient."""

import warnings

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils.checkpoint import checkpoint, set_checkpoint_early_stop


def _grad(fn):
    def slope(x):
        with torch.enable_grad():
            (g,) = torch.autograd.grad(fn(x), x, create_graph=True)
        return g

    return slope


def _checkpointed(fn):
    return lambda x: checkpoint(fn, x, use_reentrant=False)


def _f(x):
    return x.sin().exp().sin()


def _with_backward_inside(x):
    torch.autograd.grad(_f(x), x)
    torch.autograd.grad(_f(x), x)
    return x.sin()


def test_second_derivative_under_hooks():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x * x * x
    (slope,) = torch.autograd.grad(y, x, create_graph=True)
    assert slope.item() == 27
    assert torch.autograd.grad(slope, x, retain_graph=True)[0].item() == 18
    slope.backward()
    assert x.grad.item() == 18


def test_what_hooks_compute_is_not_recorded():
    """The factor of the pack hook is in the value that is kept, and in no history: PyTorch's 2 * 6 * a."""
    a = torch.tensor([1.0, -2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: 2 * t, lambda t: t):
        y = (a**3).sum()
    (slope,) = torch.autograd.grad(y, a, create_graph=True)
    slope.sum().backward()
    assert a.grad.tolist() == [12.0, -24.0]


def test_a_pack_hook_that_writes_is_refused():
    x = torch.ones(2, requires_grad=True)
    y = x * x
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), lambda t: t)


def test_what_is_taken_out_looks_as_a_leaf():
    x = torch.tensor(3.0, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x * x
    taken = y.grad_fn._saved_self
    assert taken is not x and taken.requires_grad and taken.is_leaf and taken.grad_fn is None
    assert torch.autograd.grad(taken * 5, x)[0].item() == 5
    (x * 2).backward()
    assert x.grad.item() == 2


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("fn", [_f, _with_backward_inside])
def test_checkpoints_within_gradients(fn, early_stop):
    c, g = _checkpointed, _grad
    x = torch.tensor(0.4, requires_grad=True)
    with set_checkpoint_early_stop(early_stop):
        for plain, wrapped in [
            (fn, [c(fn), c(c(fn))]),
            (g(fn), [g(c(fn)), g(c(c(fn)))]),
            (g(g(fn)), [g(c(g(fn))), c(g(g(c(fn)))), g(c(g(c(fn))))]),
            (g(g(g(fn))), [g(c(g(g(c(fn))))), g(c(g(c(g(c(fn))))))]),
        ]:
            expected = plain(x).item()
            assert [each(x).item() for each in wrapped] == pytest.approx([expected] * len(wrapped), rel=1e-5)


def test_second_derivative_through_a_checkpoint_by_its_formula():
    x = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    value = _grad(_checkpointed(_grad(lambda t: t.sin() * t)))(x).item()
    assert value == pytest.approx(2 * x.cos().item() - x.item() * x.sin().item())


def test_saved_variables_are_deprecated():
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
                (x,) = ctx.saved_variables
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert ctx.saved_tensors[0] is x
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    Twice.apply(x).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_views_as_other_dtypes_have_no_history():
    x = torch.ones(4, requires_grad=True)
    for dtype in (torch.float32, torch.float64, torch.float16, torch.complex64, torch.int32):
        view = x.view(dtype)
        assert not view.requires_grad and view.grad_fn is None and not view._is_view()
    before = x._version
    with torch.no_grad():
        x.view(torch.int32).zero_()
    assert x.tolist() == [0.0] * 4 and x._version == before + 1


def test_writes_to_views_differentiate_in_batches():
    x = torch.arange(3.0, dtype=torch.float64, requires_grad=True)
    y = x.clone()
    y[1:].mul_(torch.tensor([2.0, 3.0], dtype=torch.float64))
    rows = torch.eye(3, dtype=torch.float64)
    (jacobian,) = torch.autograd.grad(y, x, rows, is_grads_batched=True)
    assert jacobian.tolist() == [[1, 0, 0], [0, 2, 0], [0, 0, 3]]


def test_tangents_of_as_strided_of_expanded_tensors():
    x = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    tangent = torch.tensor([[1.0], [10.0], [100.0]], dtype=torch.float64)
    _, slope = torch.func.jvp(lambda t: t.expand(3, 2).as_strided([2, 3], [0, 1], 0), (x,), (tangent,))
    assert slope.tolist() == [[1, 10, 100], [1, 10, 100]]
