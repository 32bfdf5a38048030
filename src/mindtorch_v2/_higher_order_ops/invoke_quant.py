"""Parts of programs that a compiler may compute in the precision of their quantized tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["InvokeQuant"]


class InvokeQuant:
    """Call a function: ``InvokeQuant()(function, *args)`` is ``function(*args)``, here in graphs too.

    `codegen_low_precision` and `force_fuse_mm` are said to PyTorch's compiler only.
    """

    def __init__(self, codegen_low_precision: bool = True, force_fuse_mm: bool = False) -> None:
        self.codegen_low_precision = codegen_low_precision
        self.force_fuse_mm = force_fuse_mm

    def __call__(self, function: Callable[..., Any], *args: Any, scheme: Any = None, **kwargs: Any) -> Any:
        return function(*args, **kwargs)
