"""Rules that rows share, by the word that they say (`batching=`), and what rules of several families are made with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ..._core.autograd import batched
from ..._core.dimensions import wrap_dim
from ..._core.dtype import DTYPES
from ..._operators.table import ROWS, aten, row_of
from ._call import Batch, Rule, _arguments, call, check_written, is_tensor, shared, tensors_of

_BOOL = DTYPES["bool"]
_TAKEN: set = set()  # operators, and how many dimensions tensors had that they took


def asked_about_a_slice(made: Rule) -> Rule:
    """A rule whose operator is asked first whether it takes a slice: how many dimensions it wants is its own knowledge.

    All slices at once have more dimensions, so that the operator would take vectors for a matrix. It is asked on the meta device,
    once for tensors of so many dimensions.
    """

    def run(batch: Batch, op: Any, values: list) -> Any:
        _ask(batch, op, values)
        return made(batch, op, values)

    return run


def _ask(batch: Batch, op: Any, values: list) -> None:
    key = (op, tuple(v.dim() if is_tensor(v) else None for v in values))
    if key not in _TAKEN:
        with contextlib.suppress(NotImplementedError):  # it computes nothing there
            call(op, [_stand_in(v) for v in values])
        _TAKEN.add(key)


def _stand_in(value: Any) -> Any:
    if is_tensor(value):
        return ROWS["empty.memory_format"].handle(tuple(value.shape), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)) and any(is_tensor(v) for v in value):
        return [_stand_in(v) for v in value]
    return value


def lined_up(batch: Batch, x: Any, dims: int) -> Any:
    """Mapped dimensions, then ones, then the tensor's own dimensions, ``dims`` of them: ready to be broadcast."""
    if batch.n == 0:
        return x
    tensor = batch.aligned(x)
    missing = dims - x.dim()
    if missing:
        tensor = tensor.reshape(*tensor.shape[: batch.n], *(1,) * missing, *x.shape)
    return tensor


def _common_dtype(tensors: list) -> Any:
    """Dtypes that type promotion gives the tensors as the caller sees them, if a 0-dim one among them counts less."""
    dtypes = {t.dtype for t in tensors}
    if len(dtypes) < 2 or not any(t.dim() == 0 for t in tensors):
        return None
    stand_in = [ROWS["empty.memory_format"].handle(t.shape, dtype=t.dtype, device="meta") for t in tensors]
    result = stand_in[0]
    for other in stand_in[1:]:
        result = ROWS["add.Tensor"].handle(result, other)
    return result.dtype


@shared("elementwise")
def pointwise(batch: Batch, op: Any, values: list) -> Any:
    tensors = tensors_of(values)
    dims = max((t.dim() for t in tensors), default=0)
    if op.form != "functional":
        return _in_place(batch, op, values, dims)
    dtype = _common_dtype([t for t in tensors if t.dtype != _BOOL])
    args = [_one(batch, v, dims, dtype) if is_tensor(v) else v for v in values]
    made = call(op, args)
    return batch.wrap(made) if is_tensor(made) else tuple(batch.wrap(m) for m in made)


def _one(batch: Batch, x: Any, dims: int, dtype: Any) -> Any:
    tensor = lined_up(batch, x, dims)
    if dtype is not None and x.dim() == 0 and tensor.dim() and x.dtype not in (dtype, _BOOL):
        return tensor.to(dtype)
    return tensor


def _in_place(batch: Batch, op: Any, values: list, dims: int) -> Any:
    target = values[0] if op.form == "inplace" else values[-1]
    plain = op.form == "inplace" and not batched.levels_of(target)
    if not plain:  # else the operator says itself that the result does not fit, in PyTorch too
        check_written(batch, op, values)
    call(op, [v if plain and v is target else lined_up(batch, v, dims) if is_tensor(v) else v for v in values])
    return target


def shaped_by_first_two(batch: Batch, op: Any, values: list) -> Any:
    """Element by element, but the kernel takes its shape from its first two arguments: those whole."""
    tensors = [v for v in values if is_tensor(v)]
    dims = max(t.dim() for t in tensors)
    args = [lined_up(batch, t, dims) for t in tensors]
    shape = aten.broadcast_tensors([aten.empty(a.shape, device="meta") for a in args])[0].shape
    made = call(op, [args[0].expand(shape), args[1].expand(shape), *args[2:], *values[len(tensors) :]])
    return batch.wrap(made) if is_tensor(made) else tuple(map(batch.wrap, made))


@shared("whole")
def _one_tensor(batch: Batch, op: Any, values: list) -> Any:
    """The tensor as a whole. Results of operators that draw nothing are the same for every slice or follow the tensor."""
    made = call(op, [batch.aligned(values[0]), *values[1:]])
    return values[0] if op.mutates else batch.wrap(made)


_DIMS = {"dim", "dims", "dim0", "dim1", "dim2", "dimension"}


def past(batch: Batch, dim: int, dims: int) -> int:
    """Dimension ``dim`` of a tensor of ``dims`` dimensions, counted past the mapped ones. IndexError if there is none."""
    return wrap_dim(dim, dims) + batch.n


def wrapped(batch: Batch, made: Any) -> Any:
    """Each tensor of a result as the caller sees it; one that the operator left empty, not being asked for it, as it is."""
    if is_tensor(made):
        return batch.wrap(made) if tuple(made.shape[: batch.n]) == batch.sizes else made
    if isinstance(made, (tuple, list)):
        parts = [wrapped(batch, m) for m in made]
        return type(made)(parts) if type(made) in (tuple, list) else tuple(parts)
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
        back = lift and all(tensor.dim() == 0 for tensor in tensors_of(values))
        if lift:
            _ask(batch, op, values)
        args = []
        for (name, _), value in zip(names, values, strict=True):
            if is_tensor(value):
                whole = batch.full(value)
                args.append(whole.unsqueeze(-1) if lift and value.dim() == 0 else whole)
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
        if back:
            made = made.squeeze(-1) if is_tensor(made) else [m.squeeze(-1) for m in made]
        return wrapped(batch, made)

    return run


shared("dims")(_moved())


shared("dims+1")(_moved(1))


_UINT8 = DTYPES["uint8"]


def _slice_dims(batch: Batch, whole: Any) -> list:
    return list(range(batch.n, whole.dim()))


@shared("reduction")
def _reduction(batch: Batch, op: Any, values: list) -> Any:
    names = [name for name, _ in _arguments(op)[0]]
    place = names.index("dim")
    dims = op.arguments[place]["type"]
    x, dim = values[0], values[place]
    keepdim = "keepdim" in names and values[names.index("keepdim")]
    whole = batch.full(x)
    lift = x.dim() == 0
    if lift:
        whole = whole.unsqueeze(-1)
    everything = dim is None or (isinstance(dim, (list, tuple)) and not dim)
    if everything and dim is not None and dims == "int[]?":  # as all.dims has it: None is all dimensions, none is none
        return x.to(x.dtype if x.dtype == _UINT8 else _BOOL) if x.dtype != _BOOL else x.clone()
    args = list(values)
    if everything and dims == "int?":  # it takes one dimension or none
        whole = whole.reshape(*batch.sizes, x.numel())
        args[place] = batch.n
    elif everything:
        args[place] = _slice_dims(batch, whole)
    elif isinstance(dim, (list, tuple)):
        args[place] = [past(batch, d, x.dim()) for d in dim]
    else:
        args[place] = past(batch, dim, x.dim())
    args[0] = whole
    if lift and keepdim:
        args[names.index("keepdim")] = False
    made = call(op, args)
    if everything and keepdim and dims == "int?":
        ones = (1,) * x.dim()
        flat = made if not is_tensor(made) else (made,)
        flat = [m.reshape(*batch.sizes, *ones) for m in flat]
        made = flat[0] if is_tensor(made) else tuple(flat)
    return wrapped(batch, made)


@shared("matrix")
def _matrices(batch: Batch, op: Any, values: list) -> Any:
    if values[0].dim() < 2:
        raise RuntimeError(f"{op.name}: The input tensor A must have at least 2 dimensions.")
    return wrapped(batch, call(op, [batch.full(values[0]), *values[1:]]))


@shared("stack")
@asked_about_a_slice
def _stacks(batch: Batch, op: Any, values: list) -> Any:
    return wrapped(batch, call(op, [batch.full(v) if is_tensor(v) else v for v in values]))


@shared("body")
def _by_its_body(batch: Batch, op: Any, values: list) -> Any:
    named, positional = _arguments(op)
    by_name = {name: v for (name, _), v in zip(named[positional:], values[positional:], strict=True)}
    return row_of(op).body(*values[:positional], **by_name)  # type: ignore[misc, union-attr]  # (composites have rows with bodies)


def channels(batch: Batch, x: Any) -> Any:
    """(N, C, ...) of every slice as (N, slices * C, ...)."""
    flat = batch.flat(x)
    return flat.movedim(0, 1).reshape(x.shape[0], batch.count * x.shape[1], *x.shape[2:])


def channels_back(batch: Batch, x: Any) -> Any:
    apart = x.reshape(x.shape[0], batch.count, x.shape[1] // batch.count, *x.shape[2:])
    return batch.unflat(apart.movedim(1, 0))


def first(batch: Batch, x: Any) -> Any:
    """(O, ...) of every slice as (slices * O, ...)."""
    return batch.flat(x).reshape(batch.count * x.shape[0], *x.shape[1:])


def first_back(batch: Batch, x: Any) -> Any:
    return batch.unflat(x.reshape(batch.count, x.shape[0] // batch.count, *x.shape[1:]))


@shared("planes")
def _planes(batch: Batch, op: Any, values: list) -> Any:
    """Every slice's first dimension (a batch, or the channels of a single one) with the mapped ones."""
    lead = next(v for v in values if is_tensor(v)).shape[0]
    count = batch.count
    args = []
    for (name, _), value in zip(_arguments(op)[0], values, strict=True):
        if is_tensor(value):
            args.append(batch.flat(value).reshape(count * value.shape[0], *value.shape[1:]))
        elif name == "input_size":
            args.append([count * value[0], *value[1:]])
        else:
            args.append(value)
    made = call(op, args)
    back = [
        m if m is None else batch.unflat(m.reshape(count, lead, *m.shape[1:]))
        for m in ((made,) if is_tensor(made) else made)
    ]
    return back[0] if is_tensor(made) else tuple(back)
