"""Views, joins, scans, sorts and indexing: the operator on the whole tensor, with its dimensions counted past the mapped ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _C
from .._autograd import batched
from .._dtype import DTYPES
from .._ops._table import aten
from ._call import Batch, _arguments, call, is_tensor, rule
from ._pointwise import lined_up

_BOOL = DTYPES["bool"]
_DIMS = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"}


def past(batch: Batch, dim: int, dims: int) -> int:
    """Dimension ``dim`` of a tensor of ``dims`` dimensions, counted past the mapped ones. IndexError if there is none."""
    limit = max(dims, 1)
    if not -limit <= dim < limit:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-limit}, {limit - 1}], but got {dim})")
    return dim % limit + batch.n


def wrapped(batch: Batch, made: Any) -> Any:
    """Each tensor of a result as the caller sees it."""
    if is_tensor(made):
        return batch.wrap(made)
    if isinstance(made, (tuple, list)):
        return (
            type(made)(batch.wrap(m) if is_tensor(m) else m for m in made)
            if type(made) in (tuple, list)
            else tuple(batch.wrap(m) for m in made)
        )
    return made


def _moved(extra: int = 0) -> Callable[[Batch, Any, list], Any]:
    """A rule for operators whose arguments count dimensions; of a tensor with ``extra`` more than the first argument's."""

    def run(batch: Batch, op: Any, values: list) -> Any:
        names, _ = _arguments(op)
        place = next((i for i, (name, _) in enumerate(names) if name == "input_sizes"), None)
        first = next(v for v in values if is_tensor(v) or isinstance(v, (list, tuple)))
        first = first if is_tensor(first) else first[0]
        dims = (len(values[place]) if place is not None else first.dim()) + extra
        # A tensor without dimensions takes dim=0 and -1: it gets one for the while.
        lift = dims == 0 and place is None
        args = []
        for (name, _), value in zip(names, values, strict=True):
            if is_tensor(value):
                whole = batch.full(value)
                args.append(whole.unsqueeze(-1) if lift else whole)
            elif isinstance(value, (list, tuple)) and any(is_tensor(v) for v in value):
                args.append([batch.full(v) for v in value])
            elif name in _DIMS and value is not None:
                args.append(
                    [past(batch, d, dims) for d in value]
                    if isinstance(value, (list, tuple))
                    else past(batch, value, dims)
                )
            elif name == "input_sizes":
                args.append([*batch.sizes, *value])
            else:
                args.append(value)
        made = call(op, args)
        if lift:
            made = made.squeeze(-1) if is_tensor(made) else [m.squeeze(-1) for m in made]
        return wrapped(batch, made)

    return run


rule(
    "transpose.int", "select.int", "slice.Tensor", "narrow", "unfold", "diagonal", "split.Tensor",
    "split_with_sizes", "unbind.int", "unsafe_split.Tensor", "unsafe_split_with_sizes", "flip", "cat", "select_backward",
    "slice_backward", "diagonal_backward", "unfold_backward", "select_scatter", "slice_scatter", "diagonal_scatter",
    "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp", "sort", "sort.stable", "topk", "_softmax", "_log_softmax",
    "_softmax_backward_data", "_log_softmax_backward_data", "gather", "scatter.src", "scatter.value", "scatter_add",
    "scatter.reduce", "scatter.value_reduce", "scatter_reduce.two", "constant_pad_nd", "_fft_c2c", "_fft_r2c", "_fft_c2r",
    "glu", "glu_backward",
)(_moved())  # fmt: skip
rule("unsqueeze", "stack")(_moved(1))


@rule("tril", "triu")
def _last_two(batch: Batch, op: Any, values: list) -> Any:
    return batch.wrap(call(op, [batch.full(values[0]), *values[1:]]))


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
            f"expand(torch.{x.dtype}{{{list(x.shape)}}}, size={list(size)}): the number of sizes provided ({len(size)}) must be "
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


@rule("roll")
def _roll(batch: Batch, op: Any, values: list) -> Any:
    x, shifts, dims = values
    whole = batch.full(x)
    if not dims:
        flat = whole.reshape(*batch.sizes, x.numel())
        return batch.wrap(op(flat, shifts, [batch.n]).reshape(whole.shape))
    return batch.wrap(op(whole, shifts, [past(batch, d, x.dim()) for d in dims]))


@rule("repeat")
def _repeat(batch: Batch, op: Any, values: list) -> Any:
    x, repeats = values
    if len(repeats) < x.dim():
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    return batch.wrap(op(lined_up(batch, x, len(repeats)), [*(1,) * batch.n, *repeats]))


@rule("trace")
def _trace(batch: Batch, op: Any, values: list) -> Any:
    return batch.wrap(batch.full(values[0]).diagonal(0, -2, -1).sum(-1))


@rule("transpose_", "t_", "squeeze_", "squeeze_.dim", "squeeze_.dims", "unsqueeze_")
def _in_place(batch: Batch, op: Any, values: list) -> Any:
    """The tensor stands for another view of its memory from now on."""
    x, *rest = values
    made = getattr(aten, op.name[:-1])(x, *rest)
    _C._rebatch(x, batched.physical(made))
    return x


@rule("resize_", "resize_as_", "set_", "set_.source_Storage", "set_.source_Storage_storage_offset", "set_.source_Tensor",
      "set_.source_Tensor_storage_offset")  # fmt: skip
def _other_memory(batch: Batch, op: Any, values: list) -> Any:
    raise RuntimeError(
        f"vmap: {op.namespace}::{op.name} gives a tensor another size or memory, and the memory of a slice is not its own: it is "
        "part of that of the mapped tensor. Make a new tensor instead"
    )


# ---- new tensors: the sizes are one slice's ----


@rule("new_empty", "new_zeros", "new_ones", "new_full")
def _new(batch: Batch, op: Any, values: list) -> Any:
    x, size, *rest = values
    return batch.wrap(call(op, [batch.full(x), [*batch.sizes, *size], *rest]))


@rule("new_empty_strided")
def _new_strided(batch: Batch, op: Any, values: list) -> Any:
    x, size, stride, *rest = values
    span = 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if all(size) else 0
    steps, step = [], span
    for n in reversed(batch.sizes):
        steps.append(step)
        step *= n
    return batch.wrap(call(op, [batch.full(x), [*batch.sizes, *size], [*reversed(steps), *stride], *rest]))


# ---- indexing ----


@rule("index_select")
def _index_select(batch: Batch, op: Any, values: list) -> Any:
    x, dim, index = values
    if not batched.levels_of(index):
        return batch.wrap(
            op(batch.full(x).unsqueeze(-1), batch.n, index).squeeze(-1)
            if x.dim() == 0
            else op(batch.full(x), past(batch, dim, x.dim()), index)
        )
    return aten.gather(x, dim, _spread(index, x, dim)) if x.dim() else aten.gather(x, 0, index.reshape(()))


def _spread(index: Any, x: Any, dim: int) -> Any:
    """A list of positions along ``dim`` as gather and scatter want it: the same for every place across."""
    dim %= x.dim()
    index = index.reshape(-1)
    shape = [1] * x.dim()
    shape[dim] = index.shape[0]
    sizes = list(x.shape)
    sizes[dim] = index.shape[0]
    return index.reshape(shape).expand(sizes)


@rule("index_add", "index_copy", "index_fill.int_Scalar", "index_fill.int_Tensor", "index_reduce")
def _along_index(batch: Batch, op: Any, values: list) -> Any:
    x, dim, index, source, *rest = values
    if x.dim() == 0:
        x_lifted = x.unsqueeze(0)
        source = source.reshape(1) if is_tensor(source) and not op.name.startswith("index_fill") else source
        made = _along_index(batch, op, [x_lifted, 0, index, source, *rest])
        return made.squeeze(0)
    own_fill = op.name.startswith("index_fill") and is_tensor(source) and batched.levels_of(source)
    if not batched.levels_of(index) and not own_fill:
        whole = batch.full(source) if is_tensor(source) and source.dim() else source
        made = call(op, [batch.full(x), past(batch, dim, x.dim()), index, whole, *rest])
        return x if op.form == "inplace" else batch.wrap(made)
    where = _spread(index, x, dim)
    if op.name.startswith("index_add"):
        source = source if rest[0] == 1 else source * rest[0]
        made = aten.scatter_add(x, dim, where, source)
    elif op.name.startswith("index_copy"):
        made = aten.scatter(x, dim, where, source)
    elif op.name.startswith("index_reduce"):
        reduction, include_self = rest
        made = aten.scatter_reduce(x, dim, where, source, reduction, include_self=include_self)
    else:
        hit = aten.zeros(x.shape, dtype=_BOOL, device=x.device).scatter(dim, where, True)
        made = aten.where(hit, source.to(x.dtype) if is_tensor(source) else source, x)
    return x.copy_(made) if op.form == "inplace" else made


class _Places(NamedTuple):
    """Indices with one for each mapped dimension before them, and what they pick from one slice.

    ``dims`` is how many dimensions the indices make, ``first`` where the result of one slice, of ``shape``, has them.
    """

    indices: list
    dims: int
    first: int
    shape: tuple


def _places(batch: Batch, x: Any, indices: list) -> _Places:
    given = []
    for index in indices:
        if index is not None and index.dtype in (_BOOL, DTYPES["uint8"]):
            if batched.levels_of(index):
                raise RuntimeError(
                    "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                    "indexing with a boolean mask."
                )
            given += index.nonzero().unbind(1)
        else:
            given.append(index)
    tensors = [i for i in given if i is not None]
    shape = tensors[0].shape
    for other in tensors[1:]:
        shape = _broadcast(shape, other.shape)
    dims = len(shape)
    used = [place for place, i in enumerate(given) if i is not None]
    # Where a None parts them, the dimensions that the indices make come first.
    first = used[0] if used[-1] - used[0] + 1 == len(used) else 0
    rest = [size for place, size in enumerate(x.shape) if place not in used]
    own = [
        aten.arange(size, device=tensors[0].device).reshape(size, *(1,) * (batch.n - 1 - place + dims))
        for place, size in enumerate(batch.sizes)
    ]
    others = [i if i is None or not batched.levels_of(i) else lined_up(batch, i, dims) for i in given]
    return _Places([*own, *others], dims, first, (*rest[:first], *shape, *rest[first:]))


def _broadcast(a: Any, b: Any) -> tuple:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    shorter = (1,) * (len(longer) - len(shorter)) + tuple(shorter)
    return tuple(m if n == 1 else n for n, m in zip(shorter, longer, strict=True))


@rule("index.Tensor", "_unsafe_index.Tensor")
def _index(batch: Batch, op: Any, values: list) -> Any:
    x, indices = values
    full, dims, first, _ = _places(batch, x, list(indices))
    made = op(batch.full(x), full)
    # The indices of the mapped dimensions have those of the slice beside them, in front.
    return batch.wrap(made.movedim(*_ranges(dims, batch.n, batch.n + first)) if first else made)


@rule("index_put", "_index_put_impl_", "_unsafe_index_put")
def _index_put(batch: Batch, op: Any, values: list) -> Any:
    x, indices, source, *rest = values
    full, dims, first, shape = _places(batch, x, list(indices))
    source = lined_up(batch, source, len(shape)).expand(*batch.sizes, *shape)
    if first:
        source = source.movedim(*_ranges(dims, batch.n + first, batch.n))
    made = call(op, [batch.full(x), full, source, *rest])
    return x if op.form == "inplace" else batch.wrap(made)


def _ranges(count: int, source: int, target: int) -> tuple[tuple, tuple]:
    """``count`` dimensions from ``source`` on, and from ``target`` on, as ``movedim`` takes them."""
    return tuple(range(source, source + count)), tuple(range(target, target + count))


@rule("embedding")
def _embedding(batch: Batch, op: Any, values: list) -> Any:
    weight, indices, *rest = values
    if not batched.levels_of(weight):
        return batch.wrap(op(weight, batch.full(indices), *rest))
    table = batch.flat(weight)
    count, rows, width = table.shape
    step = (aten.arange(count, device=table.device) * rows).reshape(count, *(1,) * indices.dim())
    return batch.unflat(op(table.reshape(count * rows, width), batch.flat(indices) + step, -1, *rest[1:]))


@rule("embedding_dense_backward")
def _embedding_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, indices, rows, padding, by_frequency = values
    gradient, indices = batch.flat(gradient), batch.flat(indices)
    count = batch.count
    step = (aten.arange(count, device=indices.device) * rows).reshape(count, *(1,) * (indices.dim() - 1))
    if padding >= 0:
        gradient = gradient * (indices != padding).unsqueeze(-1)
    made = op(gradient, indices + step, count * rows, -1, by_frequency)
    return batch.unflat(made.reshape(count, rows, -1))
