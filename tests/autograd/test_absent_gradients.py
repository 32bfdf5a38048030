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
