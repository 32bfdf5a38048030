"""Operators that onnxscript does not have, by those that it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._decomp import decomposition_table
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.onnx._library import qualified_name, translations

__all__ = ["table"]

_aten = torch.ops.aten


def table() -> dict[OpOverload, Callable[..., Any]]:
    """Functions that take the place of operators when a program is lowered for ONNX."""
    known = {name for name, _ in translations()}
    found = {op: rule for op, rule in decomposition_table.items() if qualified_name(op) not in known}
    found[_aten._adaptive_avg_pool2d.default] = found[_aten._adaptive_avg_pool3d.default] = _adaptive_average
    found[_aten.to.dtype] = lambda self, dtype, *how: _aten._to_copy.default(self, dtype=dtype)
    found[_aten.sort.stable] = lambda self, *, stable, dim=-1, descending=False: _aten.sort.default(
        self, dim, descending
    )
    return found


def _adaptive_average(self: torch.Tensor, output_size: list[int]) -> torch.Tensor:
    """Means over windows of one size, or NotImplemented where the sizes of windows differ."""
    dims = len(output_size)
    if all(size == 1 for size in output_size):
        return self.mean(list(range(-dims, 0)), keepdim=True)
    given = self.shape[-dims:]
    if any(type(size) is not int or size % wanted for size, wanted in zip(given, output_size)):
        return NotImplemented
    windows = [size // wanted for size, wanted in zip(given, output_size)]
    return (_aten.avg_pool2d if dims == 2 else _aten.avg_pool3d).default(self, windows, windows)
