"""Rules of vmap for the family distance: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._operators.table import aten
from ._call import Batch, call, is_tensor, rule
from ._shared import asked_about_a_slice


@rule("_cdist_forward", "_cdist_backward")
@asked_about_a_slice
def _distances(batch: Batch, op: Any, values: list) -> Any:
    tensors = [v for v in values if is_tensor(v)]
    dims = max(t.dim() for t in tensors)
    lead = aten.broadcast_tensors([aten.empty([*t.shape[:-2], 1], device="meta") for t in tensors])[0].shape[:-1]
    args = [batch.full(v.expand(*lead, *v.shape[-2:]) if dims > 2 else v) if is_tensor(v) else v for v in values]
    return batch.wrap(call(op, args))


@rule("_pdist_forward")
@asked_about_a_slice
def _distances_within(batch: Batch, op: Any, values: list) -> Any:
    x, p = values
    first, second = aten.triu_indices(x.shape[0], x.shape[0], 1, device=x.device)
    return aten.linalg_vector_norm(x[first] - x[second], p, -1)


@rule("_pdist_backward")
def _distances_within_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, p, distances = values
    n = x.shape[0]
    places = tuple(aten.triu_indices(n, n, 1, device=x.device))

    def square(pairs: Any) -> Any:
        upper = pairs.new_zeros(n, n).index_put(places, pairs)
        return upper + upper.mT

    return aten._cdist_backward(square(gradient), x, x, p, square(distances))
