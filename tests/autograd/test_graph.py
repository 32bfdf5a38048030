"""torch.autograd.graph, anomaly mode, gradcheck and torch.autograd.functional."""

import gc
import warnings
import weakref

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.autograd import functional
from mindtorch_v2.autograd.graph import (
    GradientEdge,
    Node,
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)


def _leaf(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def test_hook_for_all_gradients() -> None:
    a, b = _leaf(1, 2), _leaf(3, 4)
    c = a * b
    seen = []
    handle = register_multi_grad_hook((a, b, c), lambda gradients: seen.append([g is not None for g in gradients]))
    c.sum().backward(retain_graph=True)
    assert seen == [[True, True, True]]
    handle.remove()
    c.sum().backward()
    assert len(seen) == 1


def test_hook_for_any_gradient() -> None:
    a, b = _leaf(1, 2), _leaf(3, 4)
    seen = []
    register_multi_grad_hook((a, b), seen.append, mode="any")
    (a * b).sum().backward()
    assert len(seen) == 1
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got x"):
        register_multi_grad_hook((a,), print, mode="x")


def test_gradient_edges() -> None:
    a, b = _leaf(1, 2), _leaf(3, 4)
    c = a * b
    edge = get_gradient_edge(c)
    assert isinstance(edge, GradientEdge)
    assert edge.node is c.grad_fn
    assert isinstance(edge.node, Node)
    assert torch.autograd.grad(c.sum(), edge)[0].tolist() == [1, 1]
    assert torch.autograd.grad(edge, a, torch.ones(2, dtype=torch.float64))[0].tolist() == [3, 4]
    with pytest.raises(RuntimeError, match="It is not possible to get the gradient edge"):
        get_gradient_edge(torch.ones(1))


def test_saved_tensors_go_through_hooks() -> None:
    a = _leaf(2, 3)
    packed, unpacked = [], []
    with saved_tensors_hooks(lambda t: (packed.append(t), t)[1], lambda t: (unpacked.append(t), t)[1]):
        y = a * a
    assert len(packed) == 2
    y.sum().backward()
    assert len(unpacked) == 2
    assert a.grad.tolist() == [4, 6]
    # Both formulas of a quotient read its divisor, which is opened once.
    unpacked.clear()
    b = _leaf(2, 4)
    with saved_tensors_hooks(lambda t: t, lambda t: (unpacked.append(t), t)[1]):
        y = a / b
    y.sum().backward()
    assert len(unpacked) == 2
    assert b.grad.tolist() == [-0.5, -3 / 16]
    with save_on_cpu():
        y = a.exp()
    torch.autograd.grad(y.sum(), a)


def test_hooks_that_are_refused() -> None:
    a = _leaf(2)
    with pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place"):
        with saved_tensors_hooks(lambda t: t.add_(1), lambda t: t):
            a.clone() * a
    with disable_saved_tensors_hooks("no hooks here"):
        with pytest.raises(RuntimeError, match="no hooks here"):
            saved_tensors_hooks(lambda t: t, lambda t: t).__enter__()
    with saved_tensors_hooks(lambda t: "text", lambda t: t):
        y = a * a
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type str"):
        y.backward()


def test_one_saved_tensor_has_hooks() -> None:
    a, b = _leaf(2, 3), _leaf(5, 7)
    y = a * b
    seen = []
    saved = y.grad_fn._raw_saved_self
    saved.register_hooks(lambda t: (seen.append("pack"), t)[1], lambda t: (seen.append("unpack"), t)[1])
    with pytest.raises(RuntimeError, match="whose hooks have already been set"):
        saved.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        y.grad_fn._raw_saved_other.register_hooks(lambda t: t, 3)
    y.sum().backward()
    assert seen == ["pack", "unpack"]
    assert b.grad.tolist() == [2, 3]
    with pytest.raises(RuntimeError, match="after it has been freed"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_what_backward_needs_may_be_written() -> None:
    with allow_mutation_on_saved_tensors():
        a = torch.ones(2, 3, requires_grad=True)
        b = a.clone()
        out = (b**2).sum()
        b.sin_()
        out.backward()
    assert a.grad.tolist() == [[2, 2, 2], [2, 2, 2]]


def test_second_derivative_through_what_was_overwritten() -> None:
    x = _leaf(0.5, 2.0)
    y = x.clone()
    y.mul_(x)
    (g,) = torch.autograd.grad(y.sin().sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    square = (x * x).detach()
    expected = 2 * square.cos() - 4 * square * square.sin()
    assert torch.allclose(h, expected)


def test_anomaly_mode_shows_the_line_of_forward() -> None:
    x = _leaf(-1.0)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        y = x.sqrt()  # this line
        with pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output."):
            y.backward()
    text = str(caught[-1].message)
    assert text.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:")
    assert "# this line" in text


def test_anomaly_mode_shows_what_induced_a_second_backward() -> None:
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            raise ValueError("here")

    class Outer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, g):
            return Fails.apply(g)

    x = _leaf(1.0)
    with torch.autograd.set_detect_anomaly(True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        (g,) = torch.autograd.grad(Outer.apply(x) * x, x, create_graph=True)
        with pytest.raises(ValueError, match="here"):
            g.backward()
    texts = [str(each.message) for each in caught]
    assert any("Error detected in FailsBackward" in text for text in texts)
    assert any("Previous calculation was induced by OuterBackward" in text for text in texts)


def test_gradcheck() -> None:
    x = _leaf(0.3, 0.7)
    assert torch.autograd.gradcheck(torch.sin, x)
    assert torch.autograd.gradcheck(lambda v: (v * v, v.exp()), x, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(lambda v: v**3, x, check_fwd_over_rev=True)
    z = torch.tensor([0.5 + 1j, 2 - 1j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(lambda v: v * v.conj() * v, z, check_forward_ad=True)

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, v):
            return v * 2

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def jvp(ctx, t):
            return t * 3

    assert not torch.autograd.gradcheck(Wrong.apply, x, raise_exception=False)
    with pytest.raises(torch.autograd.GradcheckError, match="Jacobian .*mismatch for output 0 with respect to input 0"):
        torch.autograd.gradcheck(Wrong.apply, x, check_forward_ad=True, check_backward_ad=False)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        torch.autograd.gradcheck(torch.sin, torch.ones(2))


def test_functional() -> None:
    x = torch.tensor([1.0, 2.0], dtype=torch.float64)
    square = torch.square
    for options in ({}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}):
        assert functional.jacobian(square, x, **options).tolist() == [[2, 0], [0, 4]]
    cube = lambda v: (v**3).sum()
    for options in ({}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}):
        assert functional.hessian(cube, x, **options).tolist() == [[6, 0], [0, 12]]
    v = torch.tensor([1.0, 10.0], dtype=torch.float64)
    assert functional.vjp(square, x, v)[1].tolist() == [2, 40]
    assert functional.jvp(square, x, v)[1].tolist() == [2, 40]
    assert functional.vhp(cube, x, v)[1].tolist() == [6, 120]
    assert functional.hvp(cube, x, v)[1].tolist() == [6, 120]
    with pytest.raises(RuntimeError, match="does not require gradients"):
        functional.jacobian(lambda v: torch.ones(2), x, strict=True)
    with pytest.raises(RuntimeError, match="The vector v can only be None"):
        functional.vjp(square, x)
    with pytest.raises(TypeError, match="The inputs given to jacobian must be either a Tensor or a tuple of Tensors"):
        functional.jacobian(square, 3)


def test_gradients_of_many_cotangents_at_once() -> None:
    x = _leaf(1, 2)
    (rows,) = torch.autograd.grad(x * x, x, torch.eye(2, dtype=torch.float64), is_grads_batched=True)
    assert rows.tolist() == [[2, 0], [0, 4]]


def test_the_context_dies_with_its_graph() -> None:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            ctx.mine = y
            return y

        @staticmethod
        def backward(ctx, g):
            return g

    y = Keeps.apply(_leaf(1.0))
    node = weakref.ref(y.grad_fn)
    del y
    gc.collect()
    assert node() is None


def test_what_is_saved_is_copied_once_and_only_while_needed() -> None:
    with allow_mutation_on_saved_tensors() as kept:
        a = torch.randn(2, 3, requires_grad=True).clone()
        first, second = a**2, a**2
        assert len(kept.tid_to_weakhandle) == 1
        a.sin_()
        assert len(kept.cloned) == 1
        del first, second
        assert len(kept.cloned) == 0
        third = a**2
        a.sin_()
        fourth = a**2
        a.sin_()
        assert len(kept.cloned) == 2
        del third
        assert len(kept.cloned) == 1
        fourth.sum().backward()
        a.sin_()
        assert len(kept.cloned) == 0


def test_mutation_is_allowed_within_one_block_only() -> None:
    with allow_mutation_on_saved_tensors():
        with pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"):
            allow_mutation_on_saved_tensors().__enter__()
        out = (torch.ones(2, requires_grad=True) ** 2).sum()
    outside = "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    with pytest.raises(AssertionError, match=outside):
        out.backward()
    with allow_mutation_on_saved_tensors():
        out = (torch.ones(2, requires_grad=True) ** 2).sum()
    with allow_mutation_on_saved_tensors(), pytest.raises(AssertionError, match=outside):
        out.backward()


def test_nodes_are_instances_of_a_class_that_none_descends_from() -> None:
    made = torch.ones(2, requires_grad=True).exp().grad_fn
    leaf = made.next_functions[0][0]
    assert isinstance(made, Node) and isinstance(leaf, Node) and Node not in type(made).mro()
    assert isinstance(leaf, torch._C._functions.AccumulateGrad)
    assert issubclass(torch._C._functions.DelayedError, Node) and issubclass(
        torch.autograd.function.BackwardCFunction, Node
    )
    assert not any(isinstance(each, Node) for each in (None, 1, Node))
    with pytest.raises(TypeError):
        Node()


def test_no_gradient_flows_through_an_undefined_one() -> None:
    x = torch.ones(2, requires_grad=True)
    y = torch._C._functions.UndefinedGrad()(x * 1)
    assert y.tolist() == [1, 1]
    y.sum().backward()
    assert x.grad is None


class _AsIs(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, tangent):
        ctx.tangent = tangent
        return x

    @staticmethod
    def jvp(ctx, x, _):
        return ctx.tangent(x)


@pytest.mark.parametrize("tangent", [lambda t: t, lambda t: t * 2])
def test_the_tangent_of_an_input_returned_as_is_is_a_view(tangent) -> None:
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.ones(2, requires_grad=True), torch.ones(2))
        made = _AsIs.apply(x, lambda t: t.view_as(t))
        assert torch.autograd.forward_ad.unpack_dual(made).tangent.tolist() == [1, 1]
        with pytest.raises(
            RuntimeError, match="is returning a view .or an input as-is. but the jvp is not returning a"
        ):
            _AsIs.apply(x, tangent)


def test_gradients_of_outputs_without_one_may_stay_absent() -> None:
    seen = []

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, fill):
            ctx._materialize_non_diff_grads = fill
            second = x.clone()
            ctx.mark_non_differentiable(second)
            return x.clone(), second

        @staticmethod
        def backward(ctx, *grads):
            seen.append([None if g is None else g.tolist() for g in grads])
            return grads[0], None

    for fill in (True, False):
        Two.apply(torch.ones(1, requires_grad=True), fill)[0].sum().backward()
    assert seen == [[[1], [0]], [[1], None]]


def test_the_tangent_of_a_new_output_need_not_be_a_view() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, nothing):
            return x * 2

        @staticmethod
        def jvp(ctx, x, nothing):
            return x * 2

    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(torch.ones(2), torch.ones(2))
        made = Doubled.apply(x, None)
        assert torch.autograd.forward_ad.unpack_dual(made).tangent.tolist() == [2, 2]


@pytest.mark.no_torch
@pytest.mark.parametrize("what", ["name", "register_hook", "register_prehook"])
def test_the_class_of_nodes_has_no_bodies(what: str) -> None:
    with pytest.raises(NotImplementedError):
        getattr(torch.autograd.graph.Node, what)(*(object(),) * (1 if what == "name" else 2))
    for name in ("next_functions", "metadata"):
        with pytest.raises(NotImplementedError):
            getattr(torch.autograd.graph.Node, name).fget(object())


@pytest.mark.no_torch
def test_gradients_of_several_tensors_reach_one_hook() -> None:
    x, said = torch.ones(2, requires_grad=True), []
    made = [x * 2, x * 3, x * 4]
    torch.autograd.graph.register_multi_grad_hook(made, lambda found: said.append([g.tolist() for g in found]))
    (made[0] + 5 * made[1] + 7 * made[2]).sum().backward()
    assert said == [[[1, 1], [5, 5], [7, 7]]]
    (x * 2).sum().backward()
    assert len(said) == 1
