"""Views, joins, choices and factories. GE's values are in their own order: a view is the same elements in another shape, or a
copy of some."""

from __future__ import annotations

from typing import Any

from .. import apis as ge
from .. import attr
from ..types import DataType
from ._table import converts, kind, operand, promoted, reshape


@converts("view.default", "_unsafe_view.default", "reshape.default", "view_copy.default")
def view(self: Any, size: Any, *, meta_outputs: Any = None) -> Any:
    return reshape(self, meta_outputs.shape)


@converts("unsqueeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze_copy.default")
def unsqueeze(self: Any, dim: Any, *, meta_outputs: Any = None) -> Any:
    return reshape(self, meta_outputs.shape)


@converts("squeeze.default")
def squeeze(self: Any, *, meta_outputs: Any = None) -> Any:
    return reshape(self, meta_outputs.shape)


@converts("alias.default", "detach.default", "clone.default", "lift.default")
def same(self: Any, **_: Any) -> Any:
    return self


@converts("_to_copy.default")
def to_copy(self: Any, *, meta_outputs: Any = None, **_: Any) -> Any:
    return ge.Cast(self, dst_type=kind(meta_outputs))


@converts("copy.default")
def copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    return broadcast(ge.Cast(src, dst_type=self.dtype), self.shape)


def broadcast(x: Any, shape: Any) -> Any:
    """The same elements, repeated."""
    return x if x.shape == list(shape) else ge.function("BroadcastTo")(x, list(shape))


@converts("expand.default", "expand_copy.default")
def expand(self: Any, size: Any, *, implicit: bool = False, meta_outputs: Any = None) -> Any:
    return broadcast(self, meta_outputs.shape)


def transposed(x: Any, perm: Any) -> Any:
    """The dimensions in another order."""
    return x if list(perm) == sorted(perm) else ge.function("Transpose")(x, list(perm))


def swapped(x: Any, a: int, b: int) -> Any:
    """Two dimensions in each other's place."""
    perm = list(range(x.rank))
    if perm:
        perm[a], perm[b] = perm[b], perm[a]
    return transposed(x, perm)


@converts("transpose.int")
def transpose(self: Any, dim0: int, dim1: int) -> Any:
    return swapped(self, dim0, dim1)


@converts("t.default")
def t(self: Any) -> Any:
    return swapped(self, 0, 1) if self.rank == 2 else self


@converts("permute.default")
def permute(self: Any, dims: Any) -> Any:
    return transposed(self, [d % self.rank for d in dims])


def part(x: Any, dim: int, start: int, end: int, step: int = 1) -> Any:
    """Some places of one dimension."""
    if (start, end, step) == (0, x.shape[dim], 1):
        return x
    begin, stop, steps = [0] * x.rank, list(x.shape), [1] * x.rank
    begin[dim], stop[dim], steps[dim] = start, end, step
    return ge.function("StridedSlice")(x, begin, stop, steps)


@converts("slice.Tensor")
def slice_(self: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    first, last, by = slice(start, end, step).indices(self.shape[dim])
    return part(self, dim % self.rank, first, max(first, last), by)


@converts("narrow.default")
def narrow(self: Any, dim: int, start: int, length: int) -> Any:
    start = start + self.shape[dim] if start < 0 else start
    return part(self, dim % self.rank, start, start + length)


@converts("select.int")
def select(self: Any, dim: int, index: int, *, meta_outputs: Any = None) -> Any:
    index = index + self.shape[dim] if index < 0 else index
    return reshape(part(self, dim % self.rank, index, index + 1), meta_outputs.shape)


@converts("split.Tensor", "split.sizes", "split_with_sizes.default", "chunk.default")
def split(self: Any, sizes: Any, dim: int = 0, *, meta_outputs: Any = None) -> Any:
    lengths = [each.shape[dim] for each in meta_outputs]
    if len(lengths) == 1:
        return [self]
    return list(ge.function("SplitV")(self, lengths, [dim % self.rank], num_split=len(lengths)))


def halves(self: Any, dim: int) -> list:
    """The two halves of a value along a dimension of even size."""
    half = self.shape[dim] // 2
    return list(ge.function("SplitV")(self, [half, half], [dim % self.rank], num_split=2))


@converts("unbind.int")
def unbind(self: Any, dim: int = 0, *, meta_outputs: Any = None) -> Any:
    n, dim = self.shape[dim], dim % self.rank
    parts = ge.function("SplitV")(self, [1] * n, [dim], num_split=n) if n > 1 else [self] * n
    return [reshape(each, meta.shape) for each, meta in zip(parts, meta_outputs, strict=True)]


def joined(values: list, dim: int) -> Any:
    """Values one after the other."""
    return values[0] if len(values) == 1 else ge.function("ConcatD")(values, concat_dim=dim)


@converts("cat.default")
def cat(tensors: Any, dim: int = 0, *, meta_outputs: Any = None) -> Any:
    dim %= len(meta_outputs.shape)
    made = kind(meta_outputs)
    return joined([operand(x, made) for x in tensors if x.shape != [0]] or [operand(tensors[0], made)], dim)


@converts("stack.default")
def stack(tensors: Any, dim: int = 0, *, meta_outputs: Any = None) -> Any:
    dim %= len(meta_outputs.shape)
    made = kind(meta_outputs)
    return joined([reshape(operand(x, made), [*x.shape[:dim], 1, *x.shape[dim:]]) for x in tensors], dim)


def padded(x: Any, dim: int, before: int, after: int) -> Any:
    """Zeros before and behind one dimension."""
    if not before and not after:
        return x
    paddings = [[0, 0] for _ in range(x.rank)]
    paddings[dim] = [before, after]
    return ge.function("PadV3")(x, sum(paddings, []), ge.Const(0, x.dtype))


@converts("constant_pad_nd.default")
def constant_pad_nd(self: Any, pad: Any, value: Any = 0) -> Any:
    value_x, pairs = self, list(zip(pad[::2], pad[1::2], strict=True))
    paddings = [[0, 0] for _ in range(self.rank)]
    for at, (before, after) in enumerate(pairs):
        dim = self.rank - 1 - at
        if before < 0 or after < 0:
            size = value_x.shape[dim]
            value_x = part(value_x, dim, max(-before, 0), size - max(-after, 0))
        paddings[dim] = [max(before, 0), max(after, 0)]
    if not any(map(any, paddings)):
        return value_x
    return ge.function("PadV3")(value_x, sum(paddings, []), ge.Const(value, self.dtype))


@converts("select_backward.default")
def select_backward(grad_output: Any, input_sizes: Any, dim: int, index: int) -> Any:
    dim %= len(input_sizes)
    size = input_sizes[dim]
    index = index + size if index < 0 else index
    row = reshape(grad_output, [*grad_output.shape[:dim], 1, *grad_output.shape[dim:]])
    return padded(row, dim, index, size - index - 1)


@converts("slice_backward.default")
def slice_backward(grad_output: Any, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Any:
    if step != 1:
        raise NotImplementedError(f"slice_backward with step {step}")
    dim %= len(input_sizes)
    first = slice(start, end).indices(input_sizes[dim])[0]
    return padded(grad_output, dim, first, input_sizes[dim] - first - grad_output.shape[dim])


def _replaced(x: Any, src: Any, dim: int, start: int) -> Any:
    parts = [part(x, dim, 0, start), src, part(x, dim, start + src.shape[dim], x.shape[dim])]
    return joined([each for each in parts if each.shape[dim]], dim)


@converts("slice_scatter.default")
def slice_scatter(self: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    if step != 1:
        raise NotImplementedError(f"slice_scatter with step {step}")
    dim %= self.rank
    return _replaced(self, src, dim, slice(start, end).indices(self.shape[dim])[0])


@converts("select_scatter.default")
def select_scatter(self: Any, src: Any, dim: int, index: int) -> Any:
    dim %= self.rank
    index = index + self.shape[dim] if index < 0 else index
    return _replaced(self, reshape(src, [*src.shape[:dim], 1, *src.shape[dim:]]), dim, index)


@converts("gather.default")
def gather(self: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Any:
    return ge.function("GatherElements")(self, index, dim=dim % max(self.rank, 1))


def _placed(self: Any, dim: int, index: Any, src: Any, reduction: str) -> Any:
    for place, size in enumerate(index.shape):
        if src.shape[place] != size:
            src = part(src, place, 0, size)
    return ge.function("ScatterElements")(self, index, src, axis=dim % max(self.rank, 1), reduction=reduction)


@converts("scatter.src")
def scatter(self: Any, dim: int, index: Any, src: Any) -> Any:
    return _placed(self, dim, index, src, "none")


@converts("scatter_add.default")
def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    return _placed(self, dim, index, src, "add")


@converts("scatter.value")
def scatter_value(self: Any, dim: int, index: Any, value: Any) -> Any:
    filled = ge.function("Fill")(list(index.shape), ge.Const(value, self.dtype))
    return ge.function("ScatterElements")(self, index, filled, axis=dim % max(self.rank, 1))


@converts("view.dtype")
def view_dtype(self: Any, dtype: Any) -> Any:
    return ge.custom_op("Bitcast", inputs={"x": self}, outputs=["y"], attrs={"type": attr.DataType(DataType.of(dtype))})


@converts("index_select.default")
def index_select(self: Any, dim: int, index: Any) -> Any:
    return ge.function("GatherV2")(self, index, [dim % max(self.rank, 1)])


@converts("embedding.default")
def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    return ge.function("GatherV2")(weight, indices, [0])


@converts("index.Tensor")
def index(self: Any, indices: Any) -> Any:
    given = [each for each in indices if each is not None]
    if any(each.dtype in (DataType.DT_BOOL, DataType.DT_UINT8) for each in given):
        raise NotImplementedError("a mask as index: the size of the result would depend on data")
    taken = [int(each is not None) for each in indices] + [0] * (self.rank - len(indices))
    wide = [operand(each, DataType.DT_INT64) for each in given]
    return ge.function("Index")(self, taken, [1] * len(taken), wide)


@converts("index_put.default")
def index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    if any(each is not None and each.dtype in (DataType.DT_BOOL, DataType.DT_UINT8) for each in indices):
        raise NotImplementedError("a mask as index: how many values are taken would depend on data")
    taken = [int(each is not None) for each in indices] + [0] * (self.rank - len(indices))
    wide = [operand(each, DataType.DT_INT64) for each in indices if each is not None]
    values = operand(values, self.dtype)
    return ge.function("IndexPutV2")(ge.Clone(self), values, taken, [1] * len(taken), wide, accumulate=accumulate)


@converts("searchsorted.Tensor")
def searchsorted(
    sorted_sequence: Any, self: Any, *, out_int32: bool = False, right: bool = False, side: Any = None,
    sorter: Any = None, meta_outputs: Any = None,
) -> Any:  # fmt: skip
    right = right or side == "right"
    common = promoted(sorted_sequence, self)
    given = operand(sorted_sequence, common), operand(self, common)
    return ge.function("SearchSorted")(*given, sorter, dtype=kind(meta_outputs), right=right)


# ---- factories ----


def filled(value: Any, meta: Any) -> Any:
    """A tensor of one number."""
    return ge.function("Fill")(list(meta.shape), ge.Const(value, kind(meta)))


@converts("new_ones.default", "ones_like.default")
def new_ones(self: Any, *_: Any, meta_outputs: Any = None, **__: Any) -> Any:
    return filled(1, meta_outputs)


@converts("new_zeros.default", "zeros_like.default", "empty_like.default", "new_empty.default")
def new_zeros(self: Any, *_: Any, meta_outputs: Any = None, **__: Any) -> Any:
    return filled(0, meta_outputs)


@converts("ones.default")
def ones(size: Any, *, meta_outputs: Any = None, **_: Any) -> Any:
    return filled(1, meta_outputs)


@converts("zeros.default", "empty.memory_format")
def zeros(size: Any, *, meta_outputs: Any = None, **_: Any) -> Any:
    return filled(0, meta_outputs)


@converts("full.default")
def full(size: Any, fill_value: Any, *, meta_outputs: Any = None, **_: Any) -> Any:
    return filled(fill_value, meta_outputs)


@converts("new_full.default")
def new_full(self: Any, size: Any, fill_value: Any, *, meta_outputs: Any = None, **_: Any) -> Any:
    return filled(fill_value, meta_outputs)


@converts("full_like.default")
def full_like(self: Any, fill_value: Any, *, meta_outputs: Any = None, **_: Any) -> Any:
    return filled(fill_value, meta_outputs)


@converts("scalar_tensor.default")
def scalar_tensor(s: Any, *, meta_outputs: Any = None, **_: Any) -> Any:
    return filled(s, meta_outputs)


def _range(start: Any, end: Any, step: Any, meta: Any) -> Any:
    made = kind(meta)
    if meta.numel() == 0:
        return filled(0, meta)
    limits = [ge.Const(value, made) for value in (start, end, step)]
    return ge.function("Range")(*limits)


@converts("arange.default")
def arange(end: Any, *, meta_outputs: Any = None, **_: Any) -> Any:
    return _range(0, end, 1, meta_outputs)


@converts("arange.start", "arange.start_step")
def arange_from(start: Any, end: Any, step: Any = 1, *, meta_outputs: Any = None, **_: Any) -> Any:
    return _range(start, end, step, meta_outputs)


@converts("tril.default")
def tril(self: Any, diagonal: int = 0) -> Any:
    return ge.function("Tril")(self, diagonal=diagonal)


@converts("triu.default")
def triu(self: Any, diagonal: int = 0) -> Any:
    return ge.function("Triu")(self, diagonal=diagonal)
