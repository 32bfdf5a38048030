"""Tensors that only wrap others (`__torch_dispatch__`) in forward mode and in saved-tensor hooks: they stay wrappers.

Their own memory is nobody's: an alias that forgot the class would read what happens to lie there.
"""

from typing import Any

import pytest
from agreement import same

# PyTorch's own, of parts of it that its forward mode goes through.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def wrapper(torch):
    """A class whose tensors hold another one, for either library."""
    tree_map = torch.utils._pytree.tree_map

    class Wrapper(torch.Tensor):
        inner: Any
        __torch_function__ = torch._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls, inner):
            made = torch.Tensor._make_wrapper_subclass(
                cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, requires_grad=inner.requires_grad
            )
            made.inner = inner.detach()
            return made

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            args, kwargs = tree_map(lambda x: x.inner if isinstance(x, cls) else x, (args, kwargs or {}))
            return tree_map(lambda x: cls(x) if isinstance(x, torch.Tensor) else x, func(*args, **kwargs))

    return Wrapper


def bare(value):
    return value.inner if hasattr(value, "inner") else value


def given(torch):
    return wrapper(torch)(torch.tensor([0.5, -1.0, 2.0]))


@pytest.mark.parametrize(
    "function", ["x.sin()", "x * x.exp()", "(x ** 2).sum()", "x.relu() @ x", "torch.stack([x, x * 2])"]
)
def test_forward_mode(function):
    def pushed(torch):
        fwd, x = torch.autograd.forward_ad, given(torch)
        with fwd.dual_level():
            dual = fwd.make_dual(x, type(x)(torch.tensor([1.0, 2.0, -1.0])))
            primal, tangent = fwd.unpack_dual(eval(function, {"torch": torch, "x": dual}))
            again, direction = fwd.unpack_dual(dual)
        return [type(each).__name__ for each in (primal, tangent, again, direction)] + [
            bare(each) for each in (primal, tangent, again, direction)
        ]

    same(pushed, rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}])
def test_jacobians(options):
    def jacobian(torch):
        x = given(torch)
        made = torch.autograd.functional.jacobian(lambda x: 3 * x.cos() * x, x, **options)
        return bare(made)

    same(jacobian, rtol=1e-6)


@pytest.mark.parametrize("twice", [False, True])
def test_hooks_of_saved_tensors_get_wrappers(twice):
    def gradients(torch):
        x, seen = given(torch).requires_grad_(), []

        def pack(tensor):
            seen.append([type(tensor).__name__, bare(tensor).clone()])
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            y = x.exp().sum()
        (first,) = torch.autograd.grad(y, x, create_graph=twice)
        found = [bare(first)]
        if twice:
            found.append(bare(torch.autograd.grad(first.sum(), x)[0]))
        return [seen, found]

    same(gradients, rtol=1e-5)


def test_names_of_methods_as_torch_function_sees_them():
    def names(torch):
        return [method.__qualname__ for method in (torch.Tensor.add, torch.Tensor.__add__, torch.Tensor.view)]

    same(names)
