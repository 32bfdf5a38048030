"""`torch.cuda.nvtx`: marks for NVIDIA's profilers, which a build without CUDA does not make."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Never

__all__ = ["mark", "range", "range_end", "range_pop", "range_push", "range_start"]


def _refuse(*args: Any, **kwargs: Any) -> Never:
    """Raise RuntimeError: marks for NVIDIA's profilers need a build for CUDA.

    >>> try:
    ...     torch.cuda.nvtx.mark("step")
    ... except RuntimeError as error:
    ...     print(error)
    NVTX functions not installed. Are you sure you have a CUDA build?
    """
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


mark = range_end = range_pop = range_push = range_start = _refuse


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Mark a stretch of the program: RuntimeError once it is entered; a function can be decorated with it.

    >>> try:
    ...     with torch.cuda.nvtx.range("step"):
    ...         pass
    ... except RuntimeError as error:
    ...     print(error)
    NVTX functions not installed. Are you sure you have a CUDA build?
    """
    range_push(msg.format(*args, **kwargs))
    yield
