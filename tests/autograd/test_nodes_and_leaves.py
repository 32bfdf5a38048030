"""Leaves, nodes and hooks of the graph, beyond the numbers: by PyTorch's rules, which its own test_autograd asks for."""

from __future__ import annotations

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function, forward_ad


def test_a_hook_after_a_leaf_is_shown_what_became_of_the_gradient() -> None:
    x = torch.ones(3, requires_grad=True)
    leaf = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda grad: grad - 2)
    leaf.register_prehook(lambda grads: (grads[0] / 5,))

    def more(tensor: torch.Tensor) -> None:
        tensor.grad.add_(0.5)

    x.register_post_accumulate_grad_hook(more)

    def times_ten(_: object, grads: tuple[torch.Tensor, ...]) -> None:
        x.grad = grads[0] * 10

    leaf.register_hook(times_ten)
    x.sum().backward()
    assert torch.allclose(x.grad, torch.full((3,), ((1 - 2) / 5 + 0.5) * 10))


def test_a_gradient_with_a_history_is_copied_into_the_layout_of_its_leaf() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    (x.t() * x.t()).sum().backward(create_graph=True)
    assert type(x.grad.grad_fn).__name__ == "CopyBackwards"
    assert x.grad.stride() == (3, 1)


def test_a_leaf_that_was_given_other_data_takes_gradients_of_the_new_size() -> None:
    x = torch.nn.Parameter(torch.ones(16))
    for size in (15, 14):
        with torch.no_grad():
            x.set_(x[1:])
            x.grad = None
        kept = torch.cat((x, x))
        kept.sum().backward()
        assert x.grad.shape == (size,)


def test_hooks_on_saved_tensors_are_as_before_when_backward_is_done() -> None:
    def pass_on(value: torch.Tensor) -> torch.Tensor:
        hooks.__exit__()
        return value

    hooks = torch.autograd.graph.saved_tensors_hooks(lambda value: value, pass_on)
    hooks.__enter__()
    torch.ones(2, requires_grad=True).sin().sum().backward()
    hooks.__exit__()
    with pytest.raises(RuntimeError):
        hooks.__exit__()


def test_parts_of_unsafe_split_are_written_to_apart() -> None:
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    first, second, _ = (x + 0).unsafe_split(1)
    first.mul_(second)
    first.sum().backward()
    assert torch.equal(x.grad, torch.stack([x[1], x[0], torch.zeros(3)]).detach())


@pytest.mark.parametrize("name", ["requires_grad", "_grad_fn", "_backward_hooks", "data"])
def test_attributes_that_cannot_be_deleted(name: str) -> None:
    with pytest.raises(RuntimeError):
        delattr(torch.ones(1, requires_grad=True), name)


def test_a_tangent_for_what_is_not_differentiable_is_refused() -> None:
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x, y):
            out = y.clone()
            ctx.mark_non_differentiable(out)
            return x.clone(), out

        @staticmethod
        def jvp(ctx, x, y):
            return x, x.clone()

    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.tensor(2.0), torch.tensor(1.0))
        with pytest.raises(RuntimeError, match="You should return None at that position instead"):
            Wrong.apply(x, torch.tensor(3.0))


def test_detach_in_place_ends_a_tangent() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2)).clone()
        assert forward_ad.unpack_dual(dual.detach_() * 2).tangent is None


def test_a_view_whose_base_was_written_to_is_shown() -> None:
    x = torch.ones(1, requires_grad=True)
    with torch.no_grad():
        view = x[:]
        view *= 2
    assert repr(view) == "tensor([2.], grad_fn=<Invalid>)"


def test_a_backward_of_ones_own_is_seen_as_the_program_wrote_it() -> None:
    seen = []

    class Names(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Double.apply(torch.ones(2, requires_grad=True))
    with Names():
        y.backward(torch.ones(2))
    assert [name for name in seen if "mul" in name] == ["aten.mul.Tensor"]


def test_a_node_is_called_with_as_many_gradients_as_it_has_outputs() -> None:
    node = (torch.ones(1, requires_grad=True) ** 2).grad_fn
    for given, text in [((torch.ones(1),) * 2, "got 2 instead"), ((), "got 0 instead")]:
        with pytest.raises(TypeError, match=f"expected 1 arguments, {text}"):
            node(*given)
    with pytest.raises(TypeError, match="argument 0 is not a Variable"):
        node(1)
    assert node(torch.ones(1)).item() == 2


def test_the_node_that_refuses_a_second_derivative_has_all_outputs() -> None:
    class Twice(Function):
        @staticmethod
        def forward(ctx, x, factor, y):
            return x + factor * y

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            return grad, None, grad

    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    weight = torch.ones(2, requires_grad=True)
    (grad,) = torch.autograd.grad(Twice.apply(x, 2, y), x, weight, create_graph=True)
    assert type(grad.grad_fn).__name__ == "Error"
    assert [node is None for node, _ in grad.grad_fn.next_functions] == [False, True, False]
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        grad.sum().backward()


def test_sizes_of_inputs_by_name() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    assert x.sum(1).grad_fn._saved_self_sym_sizes == (2, 3)
    assert x.view(6).grad_fn._saved_self_sym_sizes == (2, 3)


@pytest.mark.parametrize("made", ["conj", "_neg_view", "clone"])
@pytest.mark.parametrize("given", ["conj", "_neg_view", "clone"])
def test_a_tangent_lies_in_memory_as_its_tensor(made: str, given: str) -> None:
    x = getattr(torch.randn(2, 3, dtype=torch.complex128), made)()
    tangent = getattr(torch.randn(2, 3, dtype=torch.complex128), given)()
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        unpacked = forward_ad.unpack_dual(dual).tangent
        assert (unpacked is tangent) == (made == given)
        assert torch.equal(unpacked, tangent)
        assert torch.equal(forward_ad.unpack_dual(torch.imag(dual)).tangent, torch.imag(tangent))


def test_a_tangent_has_the_memory_of_its_tensor() -> None:
    x, tangent = torch.randn(5)[:4].detach(), torch.randn(4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        forward_ad.unpack_dual(dual).tangent.mul_(2)
        assert forward_ad.unpack_dual(dual.as_strided((5,), (1,), 0)).tangent.shape == (5,)


@pytest.mark.parametrize(
    ("break_up", "of_a_view", "text"),
    [
        (lambda t: t.clone(), False, "the jvp is not returning a view"),
        (lambda t: t.clone().view_as(t), False, "is not returning a view of the given grad input"),
        (lambda t: t.clone().view_as(t), True, "is not returning a view of the same base as the given grad input"),
    ],
)
def test_views_that_functions_make_have_tangents_that_are_views(break_up, of_a_view, text) -> None:
    class Two(Function):
        @staticmethod
        def forward(ctx, x):
            return x.narrow(0, 0, 2)

        @staticmethod
        def jvp(ctx, tangent):
            return break_up(tangent.narrow(0, 0, 2))

    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.ones(4), torch.ones(4))
        with pytest.raises(RuntimeError, match=text):
            Two.apply(x.view_as(x) if of_a_view else x)


def test_hooks_on_saved_tensors_are_not_switched_off_inside_of_them() -> None:
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x),
        pytest.raises(RuntimeError, match="not now"),
        torch.autograd.graph.disable_saved_tensors_hooks("not now"),
    ):
        pass


def test_functions_of_the_first_kind_under_the_first_vmap() -> None:
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

        @staticmethod
        def jvp(ctx, tangent):
            return tangent * 2

    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(Double.apply, (x,), check_forward_ad=True, check_batched_forward_grad=True)
    with pytest.raises(RuntimeError, match="do not yet support calling random operations inside of vmap"):
        torch._vmap_internals._vmap(torch.rand_like)(torch.ones(2, 3))
