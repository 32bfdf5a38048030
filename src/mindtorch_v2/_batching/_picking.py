"""What picks elements by a running number, a mask or a search: as gathers and scatters of each slice."""

from __future__ import annotations

from typing import Any

from .._autograd import batched
from .._ops._table import aten
from ._call import Batch, by_slices, call, is_tensor, rule
from ._pointwise import lined_up


def _numbers(index: Any, n: int) -> Any:
    """Positions among ``n`` elements, counted from the end where negative, in a row."""
    index = index.reshape(-1)
    return aten.where(index < 0, index + n, index)


@rule("take")
def _take(batch: Batch, op: Any, values: list) -> Any:
    x, index = values
    if not x.numel():
        return by_slices(op, values)
    return x.reshape(-1).gather(0, _numbers(index, x.numel())).reshape(index.shape)


@rule("put")
def _put(batch: Batch, op: Any, values: list) -> Any:
    x, index, source, accumulate = values
    where, source = _numbers(index, x.numel()), source.reshape(-1)
    flat = x.reshape(-1)
    made = flat.scatter_add(0, where, source) if accumulate else flat.scatter(0, where, source)
    made = made.reshape(x.shape)
    return x.copy_(made) if op.form == "inplace" else made


@rule("masked_scatter")
def _masked_scatter(batch: Batch, op: Any, values: list) -> Any:
    x, mask, source = values
    if not source.numel():
        return by_slices(op, values)
    shape = aten.broadcast_tensors([aten.empty(t.shape, device="meta") for t in (x, mask)])[0].shape
    mask = mask.expand(shape)
    places = (mask.reshape(-1).cumsum(0) - 1).clamp(min=0)
    if batch.count and (batch.full(places) >= source.numel()).any():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    made = aten.where(mask, source.reshape(-1).gather(0, places).reshape(shape), x)
    return x.copy_(made) if op.form == "inplace" else made


@rule("masked_fill.Tensor")
def _masked_fill(batch: Batch, op: Any, values: list) -> Any:
    x, mask, value = values
    if value.dim():
        raise RuntimeError(
            f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
        )
    made = aten.where(mask, value.to(x.dtype), x)
    return x.copy_(made) if op.form == "inplace" else made


@rule("copy", "fill.Tensor")
def _filled(batch: Batch, op: Any, values: list) -> Any:
    """New memory for every slice, as what is written may differ among them where ``self`` does not."""
    x, source, *rest = values
    if op.form == "inplace":
        return x.copy_(source, *rest)
    if op.name == "fill" and source.dim():
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {source.dim()} dimensions."
        )
    return batch.wrap(batch.full(x).clone()).copy_(source, *rest)


@rule("searchsorted.Tensor")
def _searchsorted(batch: Batch, op: Any, values: list) -> Any:
    rows, x, out_int32, right, side, sorter = values
    if rows.dim() > 1 or batched.levels_of(rows) or (sorter is not None and batched.levels_of(sorter)):
        # One row for each slice takes all of the slice's values; several are a row for each row of values.
        own = batch.full(x) if rows.dim() > 1 else batch.full(x).reshape(*batch.sizes, x.numel())
        order = None if sorter is None else batch.full(sorter)
        made = op(batch.full(rows), own, out_int32=out_int32, right=right, side=side, sorter=order)
        return batch.wrap(made.reshape(*batch.sizes, *x.shape))
    return batch.wrap(op(rows, batch.full(x), out_int32=out_int32, right=right, side=side, sorter=sorter))


@rule("searchsorted.Scalar")
def _searchsorted_number(batch: Batch, op: Any, values: list) -> Any:
    rows, number, *rest = values
    out_int32, right, side, sorter = rest
    x = aten.full([], number, device=rows.device)
    return aten.searchsorted(rows, x, out_int32=out_int32, right=right, side=side, sorter=sorter)


@rule("bucketize.Tensor")
def _bucketize(batch: Batch, op: Any, values: list) -> Any:
    x, boundaries, out_int32, right = values
    return aten.searchsorted(boundaries, x, out_int32=out_int32, right=right)


@rule("bucketize.Scalar")
def _bucketize_number(batch: Batch, op: Any, values: list) -> Any:
    number, boundaries, out_int32, right = values
    return aten.searchsorted(boundaries, number, out_int32=out_int32, right=right)


@rule("isin.Tensor_Tensor", "isin.Tensor_Scalar", "isin.Scalar_Tensor")
def _isin(batch: Batch, op: Any, values: list) -> Any:
    elements, among, unique, invert = values
    if not is_tensor(among) or not batched.levels_of(among):
        return batch.wrap(call(op, [batch.full(elements), among, unique, invert]))
    if is_tensor(elements):
        elements = elements.unsqueeze(-1)
    found = (among.reshape(-1) == elements).any(-1)
    return ~found if invert else found


@rule("one_hot")
def _one_hot(batch: Batch, op: Any, values: list) -> Any:
    x, classes = values
    if classes <= 0:
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."
        )
    return (x.unsqueeze(-1) == aten.arange(classes, device=x.device)).to(x.dtype)


@rule("_prelu_kernel_backward", "log_sigmoid_backward", "_masked_scale")
def _whole(batch: Batch, op: Any, values: list) -> Any:
    """Element by element, but the kernel takes its shape from its first two arguments: those whole."""
    tensors = [v for v in values if is_tensor(v)]
    dims = max(t.dim() for t in tensors)
    args = [lined_up(batch, t, dims) for t in tensors]
    shape = aten.broadcast_tensors([aten.empty(a.shape, device="meta") for a in args])[0].shape
    made = call(op, [args[0].expand(shape), args[1].expand(shape), *args[2:], *values[len(tensors) :]])
    return batch.wrap(made) if is_tensor(made) else tuple(map(batch.wrap, made))
