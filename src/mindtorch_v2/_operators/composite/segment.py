"""Reductions of segments: runs of elements along a dimension, given by their lengths or by their ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..._core.dimensions import wrap_dim
from ..._core.dtype import DTYPES
from ..table import S, T, aten, class_name, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


_INITIAL = {"sum": 0, "mean": 0, "prod": 1, "max": -math.inf, "min": math.inf}
_LONG = {"amax": "max", "amin": "min"}


def _bounds(data, lengths, offsets, axis, unsafe) -> tuple:
    """Where each segment begins and, last, where the last one ends: (..., segments + 1); and the axis from 0 up."""
    axis = wrap_dim(axis, data.dim())
    given, name = (lengths, "lengths") if offsets is None else (offsets, "offsets")
    if given is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if given.dim() - 1 != axis:
        raise RuntimeError(f"segment_reduce(): Expected axis to be the last dimension of {name} but got {axis}.")
    if given.dtype not in (DTYPES["int32"], DTYPES["int64"]):
        raise NotImplementedError(
            f"\"_segment_reduce_{name}_cpu_kernel1\" not implemented for '{class_name(given.dtype)}'"
        )
    if offsets is not None:
        return given, axis
    if not unsafe and not given.is_meta:
        if (given < 0).any():
            raise RuntimeError("lengths contains negative value!")
        if (given.sum(-1) != data.size(axis)).any():
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when "
                "!unsafe."
            )
    return aten.cat([given.new_zeros([*given.shape[:-1], 1]), given.cumsum(-1)], -1), axis


def _places(data, bounds, axis):
    """The segment of every element, in data's shape; what lies before or after all has the number of segments."""
    count = bounds.size(-1) - 1
    at = aten.arange(data.size(axis), device=data.device).expand([*bounds.shape[:-1], data.size(axis)]).contiguous()
    place = aten.searchsorted(bounds.contiguous(), at, right=True) - 1
    place = aten.where(place < 0, count, place)
    return place.reshape([*place.shape, *[1] * (data.dim() - 1 - axis)]).expand(data.shape)


def _sizes(bounds, data):
    """How many elements each segment has, to be broadcast over data's dimensions behind the axis."""
    sizes = bounds.diff().clamp(0)
    return sizes.reshape([*sizes.shape, *[1] * (data.dim() - sizes.dim())]).to(data.dtype)


def _reduced(data, place, axis, count, kind, start):
    """`kind` of each segment's elements and of `start`."""
    shape = [*data.shape]
    shape[axis] = count + 1
    into = aten.full(shape, start, dtype=data.dtype, device=data.device)
    if kind in ("sum", "mean"):
        into = into.scatter_add(axis, place, data)
    else:
        into = into.scatter_reduce(axis, place, data, {"max": "amax", "min": "amin"}.get(kind, kind))
    return into.narrow(axis, 0, count)


def _segment_reduce_grad(grad, data, reduce, lengths, offsets, axis, unsafe, initial, result):
    kind = _LONG.get(reduce, reduce)
    bounds, axis = _bounds(data, lengths, offsets, axis, True)
    count, place = bounds.size(-1) - 1, _places(data, bounds, axis)

    def spread(x: Tensor) -> Tensor:
        """Each segment's value at each of its elements; zero outside of all."""
        return aten.cat([x, x.new_zeros([*x.shape[:axis], 1, *x.shape[axis + 1 :]])], axis).gather(axis, place)

    if kind == "mean":
        grad = grad / _sizes(bounds, data)
    if kind in ("sum", "mean"):
        return spread(grad)
    if kind == "prod":
        # Without zeros the others' product is the quotient; with one, only the zero itself has a gradient. With a NaN
        # only the NaN itself has one that is a number.
        unknown = data.isnan()
        zero = (data == 0) | unknown
        zeros = _reduced(zero.to(data.dtype), place, axis, count, "sum", 0)
        start = 1 if initial is None else initial
        others = _reduced(data.masked_fill(zero, 1), place, axis, count, "prod", start)
        quotient = aten.where(zero, 1, data)
        found = spread(grad * others) / quotient * (spread(zeros) == zero.to(data.dtype))
        unknowns = _reduced(unknown.to(data.dtype), place, axis, count, "sum", 0)
        return found.masked_fill(spread(unknowns) > unknown.to(data.dtype), math.nan)
    wanted = spread(result)
    chosen = ((data == wanted) | (data.isnan() & wanted.isnan())).to(data.dtype)
    ties = _reduced(chosen, place, axis, count, "sum", 0)
    return chosen * spread(grad / ties.clamp(1))


@composite(
    "segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None,"
    " int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor",
    "The sum, mean, max, min or prod of each of the segments of `data` along `axis`, given by lengths or offsets.",
    bind="function out",
    out_dtype="exact",
    alias="_segment_reduce",
    out_tags="generated",
    explicit=True,
    grad={"data": _segment_reduce_grad},
    samples=[
        S(T(6, 2), "sum", lengths=T(3, dtype="int64", data=[2, 0, 4], grad=False)),
        S(T(6), "mean", lengths=T(2, dtype="int64", data=[2, 4], grad=False)),
        S(T(6), "max", lengths=T(3, dtype="int64", data=[2, 0, 4], grad=False), initial=-0.5),
        S(T(6), "prod", lengths=T(3, dtype="int64", data=[2, 0, 4], grad=False), initial=2),
        S(T(6), "min", lengths=T(2, dtype="int64", data=[2, 4], grad=False)),
    ],
    dtypes="float",
)
def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Number | None = None,
) -> Tensor:
    kind = _LONG.get(reduce, reduce)
    if kind not in _INITIAL:
        raise RuntimeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}")
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    bounds, axis = _bounds(data, lengths, offsets, axis, unsafe)
    if not data.is_floating_point():
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{class_name(data.dtype)}'")
    start = _INITIAL[kind] if initial is None else initial
    out = _reduced(data, _places(data, bounds, axis), axis, bounds.size(-1) - 1, kind, start)
    if kind != "mean":
        return out
    sizes = _sizes(bounds, data)
    return out / (sizes if initial is None else sizes.clamp(1))
