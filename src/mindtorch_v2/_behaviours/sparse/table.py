"""How kernels for sparse layouts are registered: one decorated function for each operator and dispatch key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _C
from ..._operators.table import ROWS

COO, CSR = "SparseCPU", "SparseCsrCPU"
DENSE = ("CPU", "NPU")
"""The keys of dense tensors on the devices where the parts of sparse ones may be."""


def kernel(row: str, *keys: str | tuple[str, ...]) -> Callable[[Callable], Callable]:
    """The decorated function computes the operator of ``row`` at these dispatch keys, or tuples of them."""

    def register(fn: Callable) -> Callable:
        for some in keys:
            for key in (some,) if isinstance(some, str) else some:
                ROWS[row].handle.impl(key, fn)
        return fn

    return register


def inplace(row: str, *keys: str) -> Callable[[Callable], Callable]:
    """The same for the in-place form of ``row``."""
    return _form(ROWS[row].inplace, keys)


def out(row: str, *keys: str) -> Callable[[Callable], Callable]:
    """The same for the form of ``row`` that writes into `out`."""
    return _form(ROWS[row].out, keys)


def _form(handle: Any, keys: tuple[str, ...]) -> Callable[[Callable], Callable]:
    def register(fn: Callable) -> Callable:
        for key in keys:
            handle.impl(key, fn)
        return fn

    return register


def become(self: Any, result: Any) -> Any:
    """``self``, which an in-place operator gave the sizes and parts of ``result``."""
    if result.dtype != self.dtype:
        raise RuntimeError(f"result type {result.dtype} can't be cast to the desired output type {self.dtype}")
    return _C._become_sparse(self, result)
