"""Compilers that compile nothing: for a look at graphs, and to tell a compiler's errors from those of what is before it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch_v2._core.unavailable import unavailable_object
from mindtorch_v2._functorch.aot_autograd import make_boxed_func
from mindtorch_v2.fx import GraphModule

__all__ = ["default_decompositions", "make_boxed_compiler", "nop", "print_compile"]

# PyTorch's choice of operators that compilers which fuse take apart: here a back end names its own.
default_decompositions = unavailable_object("torch._functorch.compilers.default_decompositions")


def make_boxed_compiler(compiler: Callable) -> Callable:
    """A compiler like the given one, whose results take their arguments as one list."""

    @functools.wraps(compiler)
    def boxed(fx_g: GraphModule, inps: Any) -> Callable:
        return make_boxed_func(compiler(fx_g, inps))

    return boxed


@make_boxed_compiler
def nop(fx_g: GraphModule, _: Any) -> GraphModule:
    """The graph as it is.

    >>> from mindtorch_v2._functorch.aot_autograd import aot_function
    >>> x = torch.ones(2, requires_grad=True)
    >>> aot_function(lambda x: x.sin() * 2, nop)(x).sum().backward()
    >>> x.grad
    tensor([1.0806, 1.0806])
    """
    return fx_g


@make_boxed_compiler
def print_compile(fx_g: GraphModule, _: Any) -> GraphModule:
    """The graph as it is; its code is printed."""
    print(fx_g.code)
    return fx_g
