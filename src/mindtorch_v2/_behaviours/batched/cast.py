"""Rules of vmap for the family cast: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ... import _C
from ._call import Batch, by_slices, call, rule
from ._shared import _in_place


@rule("copy_")
def _copy(batch: Batch, op: Any, values: list) -> Any:
    target, source, *rest = values
    return _in_place(batch, op, [target, source, *rest], max(target.dim(), source.dim()))


@rule("chalf")
def _chalf(batch: Batch, op: Any, values: list) -> Any:
    x, memory_format = values
    if memory_format in (_C.channels_last, _C.channels_last_3d):  # of each slice
        return by_slices(op, values)
    return batch.wrap(call(op, [batch.full(x), memory_format]))


@rule("fill_.Tensor", "copy", "fill.Tensor")
def _filled(batch: Batch, op: Any, values: list) -> Any:
    """New memory for every slice, as what is written may differ among them where ``self`` does not."""
    x, source, *rest = values
    if op.name.startswith("fill") and source.dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {source.dim()} dimensions."
        )
    if op.form == "inplace":
        return x.copy_(source, *rest)
    return batch.wrap(batch.full(x).clone()).copy_(source, *rest)
