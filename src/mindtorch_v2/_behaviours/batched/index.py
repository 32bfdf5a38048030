"""Rules of vmap for the family index: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._core.autograd import batched
from ..._core.dtype import DTYPES
from ..._operators.table import aten
from ._call import Batch, _sliced, by_slices, call, is_tensor, rule
from ._shared import asked_about_a_slice, lined_up, past

_BOOL = DTYPES["bool"]


@rule("index_select")
@asked_about_a_slice
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
@asked_about_a_slice
def _along_index(batch: Batch, op: Any, values: list) -> Any:
    x, dim, index, source, *rest = values
    if index.dim() > 1:
        raise RuntimeError(f"{op.name}(): Index has to be a vector/scalar, got one of {index.dim()} dimensions")
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


@rule("argwhere")
def _argwhere(batch: Batch, op: Any, values: list) -> Any:
    """As many elements in each slice, else they cannot be stacked: PyTorch computes one after the other here, too."""
    return _sliced(op, values, batch, lambda: None)


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
    shape = (aten.empty(x.shape, device="meta") + aten.empty(mask.shape, device="meta")).shape
    mask = mask.expand(shape)
    places = (mask.reshape(-1).cumsum(0) - 1).clamp(min=0)
    if batch.count and (batch.full(places) >= source.numel()).any():
        raise RuntimeError("Number of elements of source < number of ones in mask")
    made = aten.where(mask, source.reshape(-1).gather(0, places).reshape(shape), x)
    return x.copy_(made) if op.form == "inplace" else made


@rule("one_hot")
def _one_hot(batch: Batch, op: Any, values: list) -> Any:
    x, classes = values
    if classes <= 0:
        raise RuntimeError(
            "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument."
        )
    return (x.unsqueeze(-1) == aten.arange(classes, device=x.device)).to(x.dtype)
