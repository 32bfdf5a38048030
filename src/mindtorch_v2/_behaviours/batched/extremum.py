"""Rules of vmap for the family extremum: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._operators.table import aten
from ._call import Batch, rule


@rule("masked_fill.Tensor")
def _masked_fill(batch: Batch, op: Any, values: list) -> Any:
    x, mask, value = values
    if value.dim():
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    made = aten.where(mask, value.to(x.dtype), x)
    return x.copy_(made) if op.form == "inplace" else made
