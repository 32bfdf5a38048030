"""Rules of vmap for the family image: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ._call import Batch, call, rule
from ._shared import _planes


@rule("im2col", "col2im")
def _columns(batch: Batch, op: Any, values: list) -> Any:
    """Of a single slice without a batch the mapped dimensions become one: its channels are mixed with the window."""
    x, *rest = values
    if x.dim() == (3 if op.name == "im2col" else 2):
        return batch.unflat(call(op, [batch.flat(x), *rest]))
    return _planes(batch, op, values)
