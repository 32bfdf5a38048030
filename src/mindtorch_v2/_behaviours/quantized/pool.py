"""Windows of quantized images."""

from __future__ import annotations

from typing import Any

from ... import _C
from ..._operators.table import ROWS, aten
from .table import KEY, on_numbers, per_tensor, with_whole

on_numbers("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "avg_pool2d", "avg_pool3d")


def greatest(self: Any, dims: int, *args: Any, **kwargs: Any) -> Any:
    """The greatest element of each window of one, two or three dimensions."""
    quantizer = per_tensor(self, f"quantized_max_pool{dims}d: Expected per-tensor quantized tensor")
    pool = getattr(aten, f"max_pool{dims}d")
    whole = _C._whole(self)
    return with_whole(self, pool(whole.float(), *args, **kwargs).to(whole.dtype), quantizer)


def _greatest(name: str, dims: int) -> None:
    ROWS[name].handle.impl(KEY, lambda self, *args, **kwargs: greatest(self, dims, *args, **kwargs))


for _d in (1, 2, 3):
    for _name in (f"quantized_max_pool{_d}d", f"max_pool{_d}d"):
        _greatest(_name, _d)
