"""Reading and writing at places that tensors name. A mask becomes the places where it is true: that waits for the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common.index import as_places, result_layout
from ..compact import chosen, compact, found
from ..copies import copy
from ..indexing import Pick, Work, combine, move
from ..table import CONTIGUOUS, MAY_ALIAS, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor

_REDUCE = {
    "add": "Sum", "sum": "Sum", "multiply": "Prod", "prod": "Prod", "mean": "Mean", "amax": "Largest", "amin": "Smallest",
}  # fmt: skip


def _int64(index: Tensor) -> Tensor:
    return index if index.dtype == DTYPES["int64"] else index.to(DTYPES["int64"])


def _begin(out: Tensor, self: Tensor) -> None:
    """Give an output the elements of `self`, unless it is that tensor."""
    if out.data_ptr() != self.data_ptr() or out.stride() != self.stride():
        copy(out, self)


def _apart(out: Tensor, source: Tensor) -> Tensor:
    """The source, or a copy of one whose memory is written."""
    shared = source.untyped_storage().data_ptr() == out.untyped_storage().data_ptr()
    return source.clone() if shared else source


# ---- any number of indices ----


def _work(big: Tensor, places: list[Any], small: Any) -> Work:
    """The dimensions of an indexing. `small` makes the other side, a tensor of the result's sizes, from these."""
    given = [place for place in places if place is not None]
    for index in given:
        if index.dtype not in (DTYPES["int64"], DTYPES["int32"]):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    try:
        wide = aten.broadcast_tensors(given)
    except RuntimeError:
        shapes = ", ".join(str(list(index.shape)) for index in given)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    common = wide[0].shape
    before, indexed, after = result_layout(big.dim(), places)
    sizes = [*(big.shape[d] for d in before), *common, *(big.shape[d] for d in after)]
    strides = [*(big.stride(d) for d in before), *(0 for _ in common), *(big.stride(d) for d in after)]
    picks = []
    for d, index in zip(indexed, wide, strict=True):
        index = _int64(index)
        along = [*(0 for _ in before), *index.stride(), *(0 for _ in after)]
        picks.append(Pick(index, along, big.shape[d], big.stride(d)))
    return Work(sizes, strides, list(small(sizes).stride()), picks)


@kernel("index.Tensor", "_unsafe_index.Tensor")
def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    places = as_places(self, indices)
    made: list[Tensor] = []

    def result(sizes: list[int]) -> Tensor:
        made.append(aten.new_empty(self, sizes))
        return made[0]

    work = _work(self, places, result)
    move(self, made[0], work, negative=True)
    return made[0]


@kernel("index_put", "_index_put_impl_", "_unsafe_index_put", flags=MAY_ALIAS)
def index_put(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool, *rest: Any) -> None:
    out = rest[-1]
    if out.dtype != values.dtype:
        raise RuntimeError(
            f"Index put requires the source and destination dtypes match, got {_class_name(out)} for the destination and "
            f"{_class_name(values)} for the source."
        )
    values = _apart(out, values.to(out.device))
    _begin(out, self)
    if (
        len(indices) == 1
        and indices[0] is not None
        and _is_mask_of(indices[0], out)
        and values.numel() == 1
        and not accumulate
    ):
        aten.masked_fill_(out, indices[0].to(out.device), values.reshape([]))
        return
    masks = all(i is None or i.dtype in (DTYPES["bool"], DTYPES["uint8"]) for i in indices) and len(indices) == 1
    places = as_places(out, indices)
    wide: list[Tensor] = []

    def given(sizes: list[int]) -> Tensor:
        try:
            wide.append(aten.expand(values, sizes))
        except RuntimeError:
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
                f"{sizes}"
            ) from None
        return wide[0]

    work = _work(out, places, given)
    if accumulate or not (masks or values.numel() == 1):
        combine("Sum" if accumulate else "Assign", out, wide[0], work, include=accumulate, negative=True)
    else:
        move(out, wide[0], work, write=True, negative=True)


def _class_name(t: Tensor) -> str:
    return {
        "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
        "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat",
        "complex128": "ComplexDouble",
    }.get(str(t.dtype).rpartition(".")[2], str(t.dtype))  # fmt: skip


def _is_mask_of(index: Tensor | None, out: Tensor) -> bool:
    return index is not None and index.dtype == DTYPES["bool"] and index.shape == out.shape and out.dim() > 0


# ---- an index of the result's sizes, along one dimension ----


def _line(t: Tensor) -> Tensor:
    """A tensor of at least one dimension."""
    return t.view(1) if t.dim() == 0 else t


def _along(big: Tensor, small_strides: Sequence[int], dim: int, index: Tensor) -> Work:
    """Work over the index's elements, each of which is a place in `big` along a dimension."""
    dim %= big.dim()
    strides = list(big.stride())
    step = strides[dim]
    strides[dim] = 0
    index = _int64(index)
    pick = Pick(index, list(index.stride()), big.shape[dim], step)
    return Work(list(index.shape), strides, list(small_strides), [pick])


@kernel("gather")
def gather(self: Tensor, dim: int, index: Tensor, sparse_grad: bool, out: Tensor) -> None:
    if index.numel():
        target = _line(out)
        move(_line(self), target, _along(_line(self), target.stride(), dim, _line(index)))


def _check_scatter(self: Tensor, dim: int, index: Tensor, src: Tensor | None) -> None:
    if index.dtype not in (DTYPES["int64"], DTYPES["int32"]) and index.numel():
        raise RuntimeError("scatter(): Expected dtype int32/int64 for index")
    if src is not None and src.dtype != self.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if not index.numel():
        return
    lines = [_line(t) for t in (self, index) if t is not None]
    if lines[0].dim() != lines[1].dim():
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if src is not None and _line(src).dim() != lines[1].dim():
        raise RuntimeError("Index tensor must have the same number of dimensions as src tensor")
    dim %= lines[0].dim()
    fits = all(d == dim or n <= lines[0].shape[d] for d, n in enumerate(lines[1].shape))
    fits = fits and (src is None or all(n <= m for n, m in zip(lines[1].shape, _line(src).shape, strict=True)))
    if not fits:
        behind = "" if src is None else f" and to be no larger size than src {list(src.shape)}"
        raise RuntimeError(
            f"Expected index {list(index.shape)} to be no larger than self {list(self.shape)} apart from dimension {dim}{behind}"
        )


def _scatter(reduce: str, self: Tensor, dim: int, index: Tensor, src: Any, out: Tensor, include: bool = True) -> None:
    """Combine `src`, a tensor or a number, with the elements that an index names."""
    tensor = src if hasattr(src, "dtype") else None
    _check_scatter(self, dim, index, tensor)
    if tensor is None:
        tensor = aten.full([1] * max(1, self.dim()), src, dtype=self.dtype, device=self.device)
        strides = [0] * max(1, self.dim())
    else:
        tensor = _apart(out, tensor)
        strides = list(_line(tensor).stride())
    _begin(out, self)
    if not index.numel():
        return
    work = _along(_line(out), strides, dim, _line(index))
    if reduce == "Assign" and not any(strides):
        move(_line(out), tensor, work, write=True)
    else:
        combine(reduce, _line(out), tensor, work, include=include and reduce != "Assign")


@kernel("scatter.src", "scatter.value", flags=MAY_ALIAS)
def scatter(self: Tensor, dim: int, index: Tensor, src: Any, out: Tensor) -> None:
    _scatter("Assign", self, dim, index, src, out)


@kernel("scatter_add", flags=MAY_ALIAS)
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor, out: Tensor) -> None:
    _scatter("Sum", self, dim, index, src, out)


@kernel("scatter.reduce", "scatter.value_reduce", flags=MAY_ALIAS)
def scatter_named(self: Tensor, dim: int, index: Tensor, src: Any, reduce: str, out: Tensor) -> None:
    if reduce not in ("add", "multiply"):
        raise RuntimeError("reduce argument must be either add or multiply.")
    _scatter(_REDUCE[reduce], self, dim, index, src, out)


@kernel("scatter_reduce.two", flags=MAY_ALIAS)
def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, out: Tensor
) -> None:
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"scatter_reduce reduce argument must be either sum, prod, mean, amax or amin, got {reduce}."
        )
    if self.is_complex() and reduce in ("amax", "amin"):
        raise RuntimeError("scatter_reduce(): amax and amin are not defined for complex numbers")
    _scatter(_REDUCE[reduce], self, dim, index, src, out, include_self)


# ---- slices along one dimension ----


def _slices(big: Tensor, small: Tensor, dim: int, index: Tensor) -> Work:
    """Work over `small`, whose slices along a dimension go to, or come from, those of `big` that a vector names."""
    dim %= big.dim()
    strides = list(big.stride())
    step = strides[dim]
    strides[dim] = 0
    index = _int64(index).reshape(-1)
    along = [0] * big.dim()
    along[dim] = index.stride(0)
    return Work(list(small.shape), strides, list(small.stride()), [Pick(index, along, big.shape[dim], step)])


@kernel("index_select")
def index_select(self: Tensor, dim: int, index: Tensor, out: Tensor) -> None:
    if out.numel():
        move(_line(self), _line(out), _slices(_line(self), _line(out), dim, index))


def _check_slices(op: str, self: Tensor, dim: int, index: Tensor, source: Tensor) -> None:
    if index.dim() > 1:
        raise IndexError(f"{op}(): Index is supposed to be a vector")
    if index.dtype not in (DTYPES["int64"], DTYPES["int32"]):
        raise IndexError(f"{op}(): Expected dtype int32 or int64 for index")
    if self.dtype != source.dtype:
        raise RuntimeError(
            f"{op}(): self ({_class_name(self)}) and source ({_class_name(source)}) must have the same scalar type"
        )
    place = dim % max(1, self.dim())
    if source.dim() and place >= source.dim():
        raise RuntimeError(
            f"{op}(): Indexing dim {place} is out of bounds of the source tensor with dim {source.dim()}"
        )
    length = source.shape[place] if source.dim() else 1
    if index.numel() != length:
        raise RuntimeError(
            f"{op}(): Number of indices ({index.numel()}) should be equal to source.size(dim): ({length}), for dim: {place}"
        )
    same = self.dim() == source.dim() and all(
        d == place or n == m for d, (n, m) in enumerate(zip(self.shape, source.shape, strict=True))
    )
    if not same and (self.dim() > 1 or source.dim() > 1):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(self.shape)} source.shape = {list(source.shape)}"
        )


def _combine_slices(op: str, out: Tensor, dim: int, index: Tensor, source: Tensor, include: bool) -> None:
    target, given = _line(out), _line(source)
    combine(op, target, given, _slices(target, given, dim, index), include=include)


@kernel("index_add", flags=MAY_ALIAS)
def index_add(self: Tensor, dim: int, index: Tensor, source: Tensor, alpha: float, out: Tensor) -> None:
    _check_slices("index_add", self, dim, index, source)
    if self.numel():
        source = _apart(out, source)
        _begin(out, self)
        _combine_slices("Sum", out, dim, index, source if alpha == 1 else source * alpha, True)


@kernel("index_copy", flags=MAY_ALIAS)
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor, out: Tensor) -> None:
    _check_slices("index_copy", self, dim, index, source)
    source = _apart(out, source)
    _begin(out, self)
    _combine_slices("Assign", out, dim, index, source, False)


@kernel("index_reduce", flags=MAY_ALIAS)
def index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, out: Tensor
) -> None:
    _check_slices("index_reduce", self, dim, index, source)
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    source = _apart(out, source)
    _begin(out, self)
    _combine_slices(_REDUCE[reduce], out, dim, index, source, include_self)


@kernel("index_fill.int_Scalar", "index_fill.int_Tensor", flags=MAY_ALIAS)
def index_fill(self: Tensor, dim: int, index: Tensor, value: Any, out: Tensor) -> None:
    if index.dtype != DTYPES["int64"]:
        raise IndexError("index_fill_(): Expected dtype int64 for index.")
    if index.dim() > 1:
        raise RuntimeError("Index has to be a vector/scalar")
    _begin(out, self)
    if hasattr(value, "dtype"):
        if value.dim():
            raise RuntimeError(
                f"index_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
            )
        filler = value.to(device=self.device, dtype=self.dtype).reshape(1)
    else:
        if isinstance(value, complex) and not self.is_complex():
            raise RuntimeError("index_fill_(): Converting complex Scalar to non-complex type is not supported")
        filler = aten.full([1], value, dtype=self.dtype, device=self.device)
    target = _line(out)
    sizes = list(target.shape)
    sizes[dim % target.dim()] = index.numel()
    wide = aten.expand(filler, sizes)
    move(target, wide, _slices(target, wide, dim, index), write=True, negative=True)


# ---- places in the flattened tensor ----


def _flat(big: Tensor, index: Tensor, strides: Sequence[int]) -> Work:
    return Work(
        list(index.shape), [0] * index.dim(), list(strides), [Pick(index, list(index.stride()), big.numel(), 1)]
    )


@kernel("take")
def take(self: Tensor, index: Tensor, out: Tensor) -> None:
    if index.dtype != DTYPES["int64"]:
        raise RuntimeError(f"take(): Expected a long tensor for index, but got {_class_name(index)}")
    if index.numel() and not self.numel():
        raise IndexError("take(): tried to take from an empty tensor")
    if index.numel():
        source = self.contiguous()
        move(source, out, _flat(source, _line(index), _line(out).stride()), negative=True)


@kernel("put", flags=MAY_ALIAS)
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool, out: Tensor) -> None:
    if self.dtype != source.dtype:
        raise RuntimeError(
            "put_(): self and source expected to have the same dtype, but got self.dtype = "
            f"{_class_name(self)} and source.dtype = {_class_name(source)}"
        )
    if index.dtype != DTYPES["int64"]:
        raise RuntimeError(f"put_(): Expected a long tensor for index, but got {_class_name(index)}")
    if index.numel() != source.numel():
        raise RuntimeError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.numel()}, index.numel() = {index.numel()}"
        )
    given = _apart(out, source).reshape(-1)
    _begin(out, self)
    if index.numel():
        flat = out.contiguous()
        work = _flat(flat, index.reshape(-1), given.stride())
        combine("Sum" if accumulate else "Assign", flat, given, work, include=accumulate, negative=True)
        if flat.data_ptr() != out.data_ptr():
            copy(out, flat)


# ---- masks ----


@kernel("nonzero")
def nonzero(self: Tensor) -> Tensor:
    places = found(self)
    count = int(places[-1].item()) if self.numel() else 0
    columns = aten.empty([self.dim(), count], dtype=DTYPES["int64"], device=self.device)
    compact(self, places, columns, count, count)
    return columns.t()


@kernel("nonzero_static", flags=CONTIGUOUS)
def nonzero_static(self: Tensor, size: int, fill_value: int, out: Tensor) -> None:
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    columns = aten.full([self.dim(), size], fill_value, dtype=DTYPES["int64"], device=self.device)
    if self.numel():
        compact(self, found(self), columns, size, size)
    copy(out, columns.t())


@kernel("masked_select")
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype != DTYPES["bool"]:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    values, where = (t.contiguous() for t in aten.broadcast_tensors([self, mask]))
    places = found(where)
    count = int(places[-1].item()) if where.numel() else 0
    out = aten.new_empty(self, [count])
    chosen(values, where, places, out, scatter=False)
    return out


@kernel("masked_scatter", flags=CONTIGUOUS | MAY_ALIAS)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor, out: Tensor) -> None:
    if self.dtype != source.dtype:
        raise RuntimeError(
            "masked_scatter: expected self and source to have same dtypes but got "
            f"{_class_name(self)} and {_class_name(source)}"
        )
    if mask.dtype != DTYPES["bool"]:
        raise RuntimeError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {_class_name(mask)}")
    source = _apart(out, source).contiguous()
    _begin(out, aten.expand(self, out.shape))
    where = aten.expand(mask, out.shape).contiguous()
    chosen(source, where, found(where), out, scatter=True)
