"""Rules of vmap for the family activation: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._operators.table import aten
from ._call import Batch, call, is_tensor, rule
from ._shared import lined_up


@rule("_prelu_kernel_backward", "log_sigmoid_backward", "_masked_scale")
def _whole(batch: Batch, op: Any, values: list) -> Any:
    """Element by element, but the kernel takes its shape from its first two arguments: those whole."""
    tensors = [v for v in values if is_tensor(v)]
    dims = max(t.dim() for t in tensors)
    args = [lined_up(batch, t, dims) for t in tensors]
    shape = aten.broadcast_tensors([aten.empty(a.shape, device="meta") for a in args])[0].shape
    made = call(op, [args[0].expand(shape), args[1].expand(shape), *args[2:], *values[len(tensors) :]])
    return batch.wrap(made) if is_tensor(made) else tuple(map(batch.wrap, made))
