"""Tangents and gradients that are not there: zeros where a Function or a caller asks for them, of use for more derivatives."""

import pytest
from agreement import same

# PyTorch's own, of parts of it that its forward mode goes through.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.mark.parametrize("fills", [None, True, False])
@pytest.mark.parametrize("style", ["old", "new"])
def test_tangents_of_a_function(style, fills):
    """Every differentiable tensor has one unless `set_materialize_grads(False)`; numbers and integers have none."""

    def seen(torch):
        given, fwd = [], torch.autograd.forward_ad

        def keep(ctx):
            if fills is not None:
                ctx.set_materialize_grads(fills)

        class Sum(torch.autograd.Function):
            @staticmethod
            def jvp(ctx, *tangents):
                given.append([t if t is None else [t.clone(), t.requires_grad] for t in tangents])
                return tangents[0] * 1

            @staticmethod
            def backward(ctx, grad):
                return grad, grad, None, None

        class Old(Sum):
            @staticmethod
            def forward(ctx, x, y, number, whole):
                keep(ctx)
                return x + y

        class New(Sum):
            @staticmethod
            def forward(x, y, number, whole):
                return x + y

            @staticmethod
            def setup_context(ctx, inputs, output):
                keep(ctx)

        with fwd.dual_level():
            x = fwd.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
            y = torch.tensor([5.0, 6.0], requires_grad=True)
            result = (Old if style == "old" else New).apply(x, y, 7, torch.tensor([1, 2]))
            return [given, fwd.unpack_dual(result).tangent]

    same(seen)


def test_zeros_in_place_of_gradients_can_be_differentiated():
    def derivatives(torch):
        x, a = torch.tensor(0.5, requires_grad=True), torch.tensor(1.0, requires_grad=True)
        first = torch.autograd.grad(x * a, x, create_graph=True)
        second = torch.autograd.grad(first, x, create_graph=True, materialize_grads=True)
        third = torch.autograd.grad(second, x, materialize_grads=True)
        return [[g.detach(), g.requires_grad] for (g,) in (first, second, third)]

    same(derivatives)


@pytest.mark.parametrize("keep", [False, True])
def test_hooks_of_a_leaf_see_the_gradient(keep):
    """After it was added as before, changed by those of the tensor; and `.grad` is no alias of what they saw."""

    def seen(torch):
        a, found = torch.tensor([1.0, 2.0], requires_grad=True), []
        b = a.clone()
        node = b.grad_fn.next_functions[0][0]
        node.register_hook(lambda given, arrived: found.append([len(given), [g.clone() for g in arrived]]))
        node.register_prehook(lambda arrived: found.append([g.clone() for g in arrived]))
        a.register_hook(lambda g: g * 2)
        if keep:
            a.grad = torch.ones(2)
        b.sum().backward()
        return [found, a.grad]

    same(seen)


@pytest.mark.parametrize("inputs", ["b", "a b", "a", ""])
def test_hooks_of_nodes_that_need_not_run(inputs):
    """Those of tensors are called where a gradient is taken, those of nodes only where the node runs."""

    def counts(torch):
        a = torch.tensor(1.0, requires_grad=True)
        b = a * 2
        c, found = b * 2, []
        tensors = {"a": a, "b": b}
        nodes = {"leaf": b.grad_fn.next_functions[0][0], "product": b.grad_fn}
        for name, tensor in tensors.items():
            tensor.register_hook(lambda g, name=name: found.append(name))
        for name, node in nodes.items():
            node.register_prehook(lambda *g, name=name: found.append(f"before {name}"))
            node.register_hook(lambda *g, name=name: found.append(f"after {name}"))
        if inputs:
            torch.autograd.grad(c, [tensors[name] for name in inputs.split()])
        else:
            c.backward()
        return sorted(found)

    same(counts)


def test_given_gradients_are_not_checked_for_their_own():
    def check(torch):
        x = torch.randn(3, 3, dtype=torch.double, requires_grad=True)
        mask = torch.eye(3, dtype=torch.bool)
        return torch.autograd.gradgradcheck(lambda x: torch.where(mask, x * x, x), [x], [torch.randn(3, 3)])

    same(check)


@pytest.mark.parametrize(
    "base", ["-1", "-0.5", "2", "torch.tensor([-1.0, 0.5], dtype=torch.double, requires_grad=True)"]
)
@pytest.mark.parametrize("exponent", ["0.3 + 0.2j", "1 - 0.5j", "-1 + 0j", "2j"])
def test_negative_numbers_to_a_complex_power(base, exponent):
    def gradient(torch):
        e = torch.tensor([complex(eval(exponent))] * 2, dtype=torch.cdouble, requires_grad=True)
        result = torch.pow(eval(base, {"torch": torch}), e)
        return torch.autograd.grad((result.abs() + result.real).sum(), e)[0]

    same(gradient, rtol=1e-10, atol=1e-12)
