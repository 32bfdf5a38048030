"""Reading and writing at places that tensors name. A mask becomes the places where it is true: that waits for the device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common.index import as_places, result_sizes
from ..table import aclnn, call, call_sized, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


@kernel("nonzero")
def nonzero(self: Tensor) -> Tensor:
    places = aten.empty([self.numel(), self.dim()], dtype=_int64(), device=self.device)
    if self.numel() == 0:
        return places
    count = call_sized("aclnnNonzero", 1, self, places)[0]
    return places.narrow(0, 0, count)


@kernel("masked_select")
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    shape = aten.broadcast_tensors([self, mask])[0].shape
    chosen = self.new_empty([shape.numel()])
    if shape.numel() == 0:
        return chosen
    count = call_sized("aclnnMaskedSelect", 2, self, mask, chosen)[0]
    return chosen.narrow(0, 0, count).clone()


def _int64():
    return aten.arange(0).dtype


@kernel("index.Tensor", "_unsafe_index.Tensor")
def index(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    places = as_places(self, indices)
    out = self.new_empty(result_sizes(self, places))
    if out.numel():
        call("aclnnIndex", self, places, out)
    return out


@kernel("index_put", "_index_put_impl_", "_unsafe_index_put", alias=True)
def index_put(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool, *rest: Any) -> None:
    out = rest[-1]
    if out.data_ptr() != self.data_ptr() or out.stride() != self.stride():
        call("aclnnInplaceCopy", out, self)
    places = as_places(self, indices)
    if values.numel() and all(p is None or p.numel() for p in places):
        call("aclnnIndexPutImpl", out, places, values.to(self.device), accumulate, False)


@kernel("masked_scatter")
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor, out: Tensor) -> None:
    call("aclnnInplaceCopy", out, self)
    places = as_places(self, [mask.expand(self.shape)])
    count = places[0].numel()
    if source.numel() < count:
        raise RuntimeError(f"Number of elements of source < number of ones in mask: {source.numel()} < {count}")
    if count:
        call("aclnnIndexPutImpl", out, places, source.reshape(-1).narrow(0, 0, count), False, False)


_REDUCE = {"add": 1, "multiply": 2}


@kernel("scatter.reduce")
def scatter_reduce(self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, out: Tensor) -> None:
    call("aclnnScatter", self, dim, index, src, _REDUCE[reduce], out)


aclnn("gather", "aclnnGather", "self dim index out")
aclnn("index_add", "aclnnIndexAdd", "self dim index source alpha out")
aclnn("index_select", "aclnnIndexSelect")
aclnn("scatter.src", "aclnnScatter", "self dim index src 0 out")
aclnn("scatter.value", "aclnnScatterValue", "self dim index value 0 out")
aclnn("scatter_add", "aclnnScatterAdd")


@kernel("index_copy")
def index_copy(self: Tensor, dim: int, index: Tensor, source: Tensor, out: Tensor) -> None:
    call("aclnnInplaceCopy", out, self)
    if source.numel():
        places = [None] * (dim % max(self.dim(), 1)) + [index.reshape(-1)]
        call("aclnnIndexPutImpl", out, places, source, False, False)


@kernel("index_fill.int_Scalar")
def index_fill(self: Tensor, dim: int, index: Tensor, value: float, out: Tensor) -> None:
    call("aclnnInplaceCopy", out, self)
    if index.numel() and self.numel():
        number = aten.full([], value, dtype=self.dtype, device=self.device)
        places = [None] * (dim % max(self.dim(), 1)) + [index.reshape(-1)]
        call("aclnnIndexPutImpl", out, places, number, False, False)


@kernel("index_fill.int_Tensor")
def index_fill_tensor(self: Tensor, dim: int, index: Tensor, value: Tensor, out: Tensor) -> None:
    index_fill(self, dim, index, value.item(), out)


@kernel("nonzero_static")
def nonzero_static(self: Tensor, size: int, fill_value: int, out: Tensor) -> None:
    call("aclnnInplaceFillScalar", out, fill_value)
    found = nonzero(self)
    rows = min(size, found.shape[0])
    if rows and self.dim():
        call("aclnnInplaceCopy", out.narrow(0, 0, rows), found.narrow(0, 0, rows))


@kernel("take")
def take(self: Tensor, index: Tensor, out: Tensor) -> None:
    if index.numel():
        call("aclnnIndex", self.reshape(-1), [index], out)


@kernel("scatter.value_reduce")
def scatter_value_reduce(self: Tensor, dim: int, index: Tensor, value: float, reduce: str, out: Tensor) -> None:
    call("aclnnScatterValue", self, dim, index, value, _REDUCE[reduce], out)


@kernel("put")
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool, out: Tensor) -> None:
    flat = self.reshape(-1).clone()
    if index.numel():
        call("aclnnIndexPutImpl", flat, [index.reshape(-1)], source.reshape(-1), accumulate, False)
    call("aclnnInplaceCopy", out, flat.view(self.shape))


def _largest(self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool) -> Tensor:
    """The largest of the elements of `src` that go to a place, by two sorts: no operator of CANN does it."""
    flat = self.reshape(-1).clone()
    places = aten.arange(flat.shape[0], device=self.device).view(self.shape).gather(dim, index).reshape(-1)
    values, order = aten.sort(src.reshape(-1), stable=True)
    places, order = aten.sort(places.index_select(0, order), stable=True)
    ends = aten.cat([places[1:] != places[:-1], aten.new_ones(places, 1, dtype=DTYPES["bool"])])
    last = aten.nonzero(ends).view(-1)
    places, values = places.index_select(0, last), values.index_select(0, order).index_select(0, last)
    if include_self:
        values = aten.maximum(values, flat.index_select(0, places))
    return flat.scatter(0, places, values).view(self.shape)


def _reduced(
    operator: str, self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool
) -> Tensor:
    if index.numel() == 0:
        return self
    index = index.to(DTYPES["int64"])
    src = aten.as_strided(src, index.shape, src.stride(), src.storage_offset())
    if reduce == "amax":
        return _largest(self, dim, index, src, include_self)
    if reduce == "amin":
        flip = aten.neg if self.is_floating_point() else aten.bitwise_not
        return flip(_largest(flip(self), dim, index, flip(src), include_self))
    if reduce not in ("sum", "mean"):
        raise NotImplementedError(
            f"{operator}(): reduce={reduce!r} is not implemented on NPUs; sum, mean, amax and amin are"
        )
    kept = self if include_self else self.scatter(dim, index, 0)
    total = kept.scatter_add(dim, index, src)
    if reduce == "sum":
        return total
    ones = aten.ones_like(self)
    counts = (ones if include_self else ones.scatter(dim, index, 0)).scatter_add(dim, index, aten.ones_like(src))
    return aten.div(total, counts.clamp(min=1), rounding_mode=None if self.is_floating_point() else "floor")


@kernel("scatter_reduce.two")
def scatter_reduce_two(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool, out: Tensor
) -> None:
    call("aclnnInplaceCopy", out, _reduced("scatter_reduce", self, dim, index, src, reduce, include_self))


@kernel("index_reduce")
def index_reduce(
    self: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, include_self: bool, out: Tensor
) -> None:
    sizes = [1] * source.dim()
    if sizes:
        sizes[dim] = index.numel()
    wide = index.reshape(sizes).expand(source.shape)
    call("aclnnInplaceCopy", out, _reduced("index_reduce", self, dim, wide, source, reduce, include_self))
