"""New tensors: what their operators share on every device, once the memory is there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..._core import deterministic
from ..._core.dtype import DTYPES, iinfo
from ..._operators.table import aten


def uninitialised(*arguments: Any) -> None:
    """The memory is all that was asked for; with deterministic algorithms NaN, or the largest number, stands in it."""
    out = arguments[-1]
    if deterministic.fills_new_memory() and out.numel():
        dtype = out.dtype
        if dtype.is_complex:
            aten.fill_(out, complex(math.nan, 0))
        elif dtype.is_floating_point:
            aten.fill_(out, math.nan)
        else:
            aten.fill_(out, True if dtype == DTYPES["bool"] else iinfo(dtype).max)


def register_uninitialised(kernel: Callable[..., Any], **options: Any) -> None:
    """Register the operators that ask for memory only; `kernel` states a function as the kernel of rows, with `options`."""
    kernel("empty.memory_format", "empty_like", "empty_permuted", **options)(uninitialised)
    kernel("empty_strided", "new_empty", "new_empty_strided", **options)(uninitialised)
