"""How kernels for sparse layouts are registered: one decorated function for each operator and dispatch key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _C
from ..._operators.table import ROWS, class_name

COO, CSR = "SparseCPU", "SparseCsrCPU"
DENSE = ("CPU", "CUDA", "NPU")
"""The keys of dense tensors on the devices where the parts of sparse ones have values."""


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


_NO_CAST = "result type {} can't be cast to the desired output type {}"


def check_layouts(self: Any, out: Any) -> None:
    """RuntimeError unless a result made of ``self`` goes into ``out``."""
    if self.layout != out.layout:
        raise RuntimeError(
            f"Expected self and out to have the same layout, but self is {self.layout} and out is {out.layout}"
        )


def fill(out: Any, result: Any) -> Any:
    """``out`` with ``result``, of the same layout, in the dtype of ``out``.

    RuntimeError for dtypes that hold less, and for a compressed ``out`` of another number of values.
    """
    if not _C.can_cast(result.dtype, out.dtype):
        raise RuntimeError(_NO_CAST.format(class_name(result.dtype), class_name(out.dtype)))
    if out.layout != _C.sparse_coo and out._nnz() != result._nnz():
        raise RuntimeError(
            "torch.copy_: only sparse compressed tensors with the same number of specified elements are supported."
        )
    return _C._become_sparse(out, result.to(out.dtype))


def become(self: Any, result: Any) -> Any:
    """``self``, which an in-place operator gave the sizes and parts of ``result``."""
    if result.dtype != self.dtype:
        raise RuntimeError(_NO_CAST.format(class_name(result.dtype), class_name(self.dtype)))
    return _C._become_sparse(self, result)
