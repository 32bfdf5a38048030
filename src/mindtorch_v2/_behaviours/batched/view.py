"""Rules of vmap for the family view: each slice's result, made for all slices at once."""

from __future__ import annotations

import math
from typing import Any

from ... import _C
from ..._core.autograd import batched
from ..._operators.table import aten
from ._call import Batch, rule
from ._shared import lined_up, past


@rule("permute")
def _permute(batch: Batch, op: Any, values: list) -> Any:
    x, dims = values
    return batch.wrap(op(batch.full(x), [*range(batch.n), *(past(batch, d, x.dim()) for d in dims)]))


@rule("diag_embed")
def _diag_embed(batch: Batch, op: Any, values: list) -> Any:
    x, offset, first, second = values
    dims = x.dim() + 1
    return batch.wrap(op(batch.full(x), offset, past(batch, first, dims), past(batch, second, dims)))


@rule("t")
def _t(batch: Batch, op: Any, values: list) -> Any:
    (x,) = values
    if x.dim() > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {x.dim()}D")
    whole = batch.full(x)
    return batch.wrap(whole.transpose(-2, -1) if x.dim() == 2 else whole)


@rule("squeeze", "squeeze.dim", "squeeze.dims")
def _squeeze(batch: Batch, op: Any, values: list) -> Any:
    x, *rest = values
    dims = range(x.dim()) if not rest else rest[0] if isinstance(rest[0], (list, tuple)) else (rest[0],)
    if x.dim() == 0:
        return x
    wanted = [past(batch, d, x.dim()) for d in dims]
    return batch.wrap(aten.squeeze(batch.full(x), tuple(d for d in wanted if x.shape[d - batch.n] == 1)))


@rule("expand")
def _expand(batch: Batch, op: Any, values: list) -> Any:
    x, size, implicit = values
    if len(size) < x.dim():
        raise RuntimeError(
            f"expand: the number of sizes provided ({len(size)}) must be "
            f"greater or equal to the number of dimensions in the tensor ({x.dim()})"
        )
    return batch.wrap(op(lined_up(batch, x, len(size)), [*batch.sizes, *size], implicit=implicit))


@rule("view", "_unsafe_view")
def _view(batch: Batch, op: Any, values: list) -> Any:
    x, size = values
    return batch.wrap(op(batch.full(x), [*batch.sizes, *_inferred(x, size)]))


@rule("_reshape_alias")
def _reshape_alias(batch: Batch, op: Any, values: list) -> Any:
    x, size, _ = values
    return batch.wrap(batch.full(x).reshape([*batch.sizes, *_inferred(x, size)]))


@rule("reshape")
def _reshape(batch: Batch, op: Any, values: list) -> Any:
    x, size = values
    return batch.wrap(op(batch.full(x), [*batch.sizes, *_inferred(x, size)]))


def _inferred(x: Any, size: Any) -> list:
    """``size`` with its -1 worked out for one slice."""
    size = list(size)
    if -1 in size:
        known = 1
        for n in size:
            known *= 1 if n == -1 else n
        if known == 0 or x.numel() % known or size.count(-1) > 1:
            raise RuntimeError(f"shape '{size}' is invalid for input of size {x.numel()}")
        size[size.index(-1)] = x.numel() // known
    return size


@rule("view.dtype")
def _view_dtype(batch: Batch, op: Any, values: list) -> Any:
    return batch.wrap(op(batch.full(values[0]), values[1]))


@rule("as_strided")
def _as_strided(batch: Batch, op: Any, values: list) -> Any:
    x, size, stride, offset = values
    whole = batch.full(x)
    return batch.wrap(
        op(
            whole,
            [*batch.sizes, *size],
            [*whole.stride()[: batch.n], *stride],
            whole.storage_offset() if offset is None else offset,
        )
    )


@rule("_as_strided_backward")
def _as_strided_backward(batch: Batch, op: Any, values: list) -> Any:
    """The storages that the slices' gradients are added into lie one after the other."""
    gradient, input_sizes, size, stride, offset = values
    steps = [math.prod(batch.sizes[i + 1 :]) * math.prod(input_sizes) for i in range(batch.n)]
    sizes = batch.sizes
    return batch.wrap(op(batch.full(gradient), [*sizes, *input_sizes], [*sizes, *size], [*steps, *stride], offset))


@rule("transpose_", "t_", "squeeze_", "squeeze_.dim", "squeeze_.dims", "unsqueeze_")
def _in_place(batch: Batch, op: Any, values: list) -> Any:
    """The tensor stands for another view of its memory from now on."""
    x, *rest = values
    made = getattr(aten, op.name[:-1])(x, *rest)
    _C._rebatch(x, batched.physical(made))
    return x


@rule("resize_")
def _resize(batch: Batch, op: Any, values: list) -> Any:
    """All slices at once, where they lie one after the other."""
    x, size, memory_format = values
    whole = batched.physical(x)
    if (
        batched.levels_of(x) != batch.levels
        or not whole.is_contiguous()
        or memory_format not in (None, _C.contiguous_format)
    ):
        return _other_memory(batch, op, values)
    aten.resize_(whole, [*batch.sizes, *size])
    _C._rebatch(x, whole)
    return x


@rule("resize_as_", "set_", "set_.source_Storage", "set_.source_Storage_storage_offset", "set_.source_Tensor",
      "set_.source_Tensor_storage_offset")  # fmt: skip
def _other_memory(batch: Batch, op: Any, values: list) -> Any:
    raise RuntimeError(
        f"vmap: {op.namespace}::{op.name} gives a tensor another size or memory, and the memory of a slice is not its own: it is "
        "part of that of the mapped tensor. Make a new tensor instead"
    )
