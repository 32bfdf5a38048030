"""Counters of what `torch.compile` did, and where it can."""

from __future__ import annotations

import collections
import contextlib
import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._dynamo import config

__all__ = ["LazyString", "counters", "is_compile_supported", "warn_once"]

counters: collections.defaultdict = collections.defaultdict(collections.Counter)
"""`counters["stats"]`: unique_graphs, calls_captured; `["frames"]`: total, ok; `["not_captured_whole"]` and
`["graph_break"]` (where a program that is not breaks): by reason;
`["recompiles"]`: by function; `["aot_autograd"]`: ok, not_ok."""


def is_compile_supported(device_type: str) -> bool:
    """Whether functions on tensors of that device can be compiled: on the CPU, NPUs and GPUs of NVIDIA."""
    return _C.device(device_type).type in ("cpu", "npu", "cuda")


def disable_cache_limit() -> contextlib.AbstractContextManager[None]:
    """A context in which as many graphs are kept of a function as it asks for."""
    return config.patch(recompile_limit=sys.maxsize, accumulated_recompile_limit=sys.maxsize)


class LazyString:
    """A text that is made when it is asked for: what a function gives for the arguments."""

    def __init__(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self) -> str:
        return str(self.func(*self.args, **self.kwargs))


def clone_input(x: Any, *, dtype: Any = None) -> Any:
    """A leaf with a tensor's values and strides, and no history."""
    result = x.detach().clone() if dtype is None else x.detach().to(dtype, copy=True)
    return result.requires_grad_(x.requires_grad and (result.is_floating_point() or result.is_complex()))


@functools.cache
def warn_once(msg: str, stacklevel: int = 1) -> None:
    """Warn with a text, the first time that it is said."""
    warnings.warn(msg, stacklevel=stacklevel + 1)
