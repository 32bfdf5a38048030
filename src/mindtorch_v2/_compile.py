"""`torch._compile`: functions that are never captured."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


def _disable_dynamo(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Any:
    """A function that `torch.compile` does not look into, also as a decorator with arguments."""
    if fn is None:
        return functools.partial(_disable_dynamo, recursive=recursive)
    from mindtorch_v2._dynamo import disable

    return disable(fn, recursive)
