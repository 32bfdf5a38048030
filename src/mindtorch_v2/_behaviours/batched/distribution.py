"""Rules of vmap for the family distribution: each slice's numbers, drawn for all slices at once."""

from __future__ import annotations

from typing import Any

from ._call import Batch, call, drawn, is_tensor, tensors_of
from ._shared import lined_up


@drawn("multinomial")
def _multinomial(batch: Batch, op: Any, values: list) -> Any:
    """Rows of categories, as they come without vmap."""
    weights, samples, *rest = values
    if weights.dim() not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    rows = batch.full(weights).reshape(-1, weights.shape[-1])
    return batch.wrap(call(op, [rows, samples, *rest]).reshape(*batch.sizes, *weights.shape[:-1], samples))


@drawn("normal.Tensor_Tensor", "normal.float_Tensor", "binomial")
def _element_by_element(batch: Batch, op: Any, values: list) -> Any:
    """Tensors that are broadcast: a number for each element of the result."""
    dims = max(tensor.dim() for tensor in tensors_of(values))
    return batch.wrap(call(op, [lined_up(batch, v, dims) if is_tensor(v) else v for v in values]))
