"""Rules of vmap for the family embedding: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._core.autograd import batched
from ..._operators.table import aten
from ._call import Batch, rule


@rule("embedding")
def _embedding(batch: Batch, op: Any, values: list) -> Any:
    weight, indices, *rest = values
    if not batched.levels_of(weight):
        return batch.wrap(op(weight, batch.full(indices), *rest))
    table = batch.flat(weight)
    count, rows, width = table.shape
    step = (aten.arange(count, device=table.device) * rows).reshape(count, *(1,) * indices.dim())
    places = batch.flat(indices)
    made = op(table.reshape(count * rows, width), places + step, -1, *rest[1:])
    padding = rest[0]
    if padding >= 0:  # each slice has such a row, and none of them a gradient
        made = aten.where((places != padding).unsqueeze(-1), made, made.detach())
    return batch.unflat(made)


@rule("embedding_dense_backward")
def _embedding_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, indices, rows, padding, by_frequency = values
    gradient, indices = batch.flat(gradient), batch.flat(indices)
    count = batch.count
    step = (aten.arange(count, device=indices.device) * rows).reshape(count, *(1,) * (indices.dim() - 1))
    if padding >= 0:
        gradient = gradient * (indices != padding).unsqueeze(-1)
    made = op(gradient, indices + step, count * rows, -1, by_frequency)
    return batch.unflat(made.reshape(count, rows, gradient.shape[-1]))
