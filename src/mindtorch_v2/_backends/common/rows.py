"""Kernels of rows for a back end."""

from __future__ import annotations

from collections.abc import Callable

from ... import _C
from ..._operators.table import ROWS

CONTIGUOUS = 1  # outputs are handed over row-major
MAY_ALIAS = 2  # the output may be an input: element-wise kernels


def register(key: str, name: str, function: Callable, flags: int = 0) -> None:
    """State a function as the kernel of a row for a device's key.

    With a shape rule it is called with every argument in schema order and every output, and fills them: so functional, in-place
    and `out=` form share it. Without one it is called as PyTorch calls kernels, and returns the results.

    Args:
        key: the dispatch key, "CUDA".
        name: the row, "add.Tensor".
        flags: of CONTIGUOUS and MAY_ALIAS those that hold.
    """
    row = ROWS[name]
    if not _C._has_shape_rule(row.handle):
        row.handle.impl(key, function)
        return
    for handle in (row.handle, row.inplace, row.out):
        if handle is not None and _C._has_shape_rule(handle):
            _C._impl_structured(handle, key, function, flags)


def stating(key: str) -> Callable[..., Callable[[Callable], Callable]]:
    """A decorator of kernels for a device's key: `@kernel("tril", "triu", flags=CONTIGUOUS)`."""

    def kernel(*names: str, flags: int = 0) -> Callable[[Callable], Callable]:
        def decorate(function: Callable) -> Callable:
            for name in names:
                register(key, name, function, flags)
            return function

        return decorate

    return kernel
