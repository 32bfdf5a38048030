"""The transforms of `torch.func` where PyTorch keeps them, and how they take arguments by number."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.func import functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from mindtorch_v2.func._transforms import _argnums

__all__ = [
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "vjp",
]


def _slice_argnums(args: tuple, argnums: int | tuple[int, ...], as_tuple: bool = True) -> Any:
    """The arguments of these numbers, in their order; of an int the one itself unless `as_tuple`."""
    numbers = _argnums(argnums, args)
    if isinstance(argnums, int) and not as_tuple:
        return args[numbers[0]]
    return tuple(args[number] for number in numbers)
