"""Element by element: derived from the rows' shape rules. Mapped dimensions come first, so broadcasting does the work."""

from __future__ import annotations

from typing import Any

from .._autograd import batched
from .._dtype import DTYPES
from .._ops._table import ROWS, Rule
from ._call import RULES, Batch, call, check_written, is_tensor, rule, tensors_of

_BOOL = DTYPES["bool"]
_SHAPES = {"masked_fill", "where", "complex_pair", "div_mode"}
_LIKE_FAMILIES = {"activation", "arithmetic", "bitwise", "complex", "extremum", "unary", "special", "cast"}


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
    """What type promotion makes of the tensors as the caller sees them, if a 0-dim one among them counts less."""
    dtypes = {t.dtype for t in tensors}
    if len(dtypes) < 2 or not any(t.dim() == 0 for t in tensors):
        return None
    stand_in = [ROWS["empty.memory_format"].handle(t.shape, dtype=t.dtype, device="meta") for t in tensors]
    result = stand_in[0]
    for other in stand_in[1:]:
        result = ROWS["add.Tensor"].handle(result, other)
    return result.dtype


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


def _derive() -> None:
    for row in ROWS.values():
        meta = row.extra.get("meta")
        if not isinstance(meta, Rule):
            continue
        if (
            meta.name.startswith("pointwise")
            or meta.name in _SHAPES
            or (meta.name == "like" and row.family in _LIKE_FAMILIES)
            or row.name in ("native_dropout_backward", "_masked_scale", "mse_loss_backward", "smooth_l1_loss_backward")
        ):
            for handle in (row.handle, row.inplace, row.out):
                if handle is not None:
                    RULES[handle] = pointwise


_derive()
for _name in ("_masked_scale", "mse_loss_backward", "smooth_l1_loss_backward"):
    RULES.pop(ROWS[_name].handle, None)
rule("native_dropout_backward")(pointwise)


@rule("clone", "_to_copy", "fill_.Scalar", "zero_", "zeros_like", "ones_like", "empty_like", "full_like", "alias", "detach",
      "conj_physical", "real", "imag", "view_as_real", "view_as_complex", "lift_fresh", "_neg_view")  # fmt: skip
def _one_tensor(batch: Batch, op: Any, values: list) -> Any:
    """The tensor as a whole. Results of operators that draw nothing are the same for every slice or follow the tensor."""
    made = call(op, [batch.aligned(values[0]), *values[1:]])
    return values[0] if op.mutates else batch.wrap(made)


@rule("copy_", "fill_.Tensor")
def _copy(batch: Batch, op: Any, values: list) -> Any:
    target, source, *rest = values
    return _in_place(batch, op, [target, source, *rest], max(target.dim(), source.dim()))


@rule("allclose")
def _allclose(batch: Batch, op: Any, values: list) -> Any:
    raise RuntimeError(
        "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
        "need this feature."
    )


@rule("equal", "is_nonzero")
def _equal(batch: Batch, op: Any, values: list) -> Any:
    raise RuntimeError(
        "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
        "please file an issue at https://github.com/pytorch/pytorch/issues ."
    )
