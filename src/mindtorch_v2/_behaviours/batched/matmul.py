"""Rules of vmap for the family matmul: each slice's result, made for all slices at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _C
from ..._core.autograd import batched
from ..._operators.composite.sparse import LAYOUT_NAMES
from ..._operators.table import ROWS, aten
from ._call import Batch, rule
from ._shared import asked_about_a_slice, lined_up

_matmul = ROWS["matmul"].handle


def _multiplied(batch: Batch, a: Any, b: Any, column: bool = False) -> Any:
    """Matrices (or stacks of them) multiplied slice by slice; `b` may be a vector as a column."""
    if a.dim() == b.dim() and is_shared_sparse(a) and b.layout == _C.strided:
        # PyTorch makes no stack of one sparse matrix; a single column it multiplies without.
        if not column or batch.n > 1:
            raise RuntimeError(f"expand is unsupported for {LAYOUT_NAMES[a.layout]} tensors")
        return columns_side_by_side(batch, _matmul, a, b)
    if a.dim() == b.dim() and is_shared_sparse(b) and a.layout == _C.strided:
        return columns_side_by_side(batch, _matmul, b.transpose(-2, -1), a.transpose(-2, -1)).transpose(-2, -1)
    dims = max(a.dim(), b.dim())
    return batch.wrap(_matmul(lined_up(batch, a, dims), lined_up(batch, b, dims)))


def is_shared_sparse(x: Any) -> bool:
    """Whether all slices have this sparse tensor."""
    return x.layout != _C.strided and not batched.levels_of(x)


def columns_side_by_side(batch: Batch, product: Callable, shared: Any, mapped: Any) -> Any:
    """One product for all slices: a sparse matrix is not copied for each, so theirs are its operand's columns."""
    *rows, columns = mapped.shape
    beside = batch.full(mapped).movedim(tuple(range(batch.n)), tuple(range(-1 - batch.n, -1)))
    made = product(shared, beside.reshape(*rows, batch.count * columns))
    apart = made.reshape(*made.shape[:-1], *batch.sizes, columns)
    return batch.wrap(apart.movedim(tuple(range(-1 - batch.n, -1)), tuple(range(batch.n))))


@rule("mm", "bmm")
def _mm(batch: Batch, op: Any, values: list) -> Any:
    a, b = values[:2]
    if a.dim() != b.dim() or a.dim() != (2 if op.name == "mm" else 3):
        raise RuntimeError("self must be a matrix" if op.name == "mm" else "batch1 must be a 3D tensor")
    return _multiplied(batch, a, b)


@rule("matmul")
def _matmul_rule(batch: Batch, op: Any, values: list) -> Any:
    a, b = values
    if a.dim() == 0 or b.dim() == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a.dim()}D and {b.dim()}D")
    row, column = a.dim() == 1, b.dim() == 1
    made = _multiplied(batch, a.unsqueeze(0) if row else a, b.unsqueeze(-1) if column else b, column)
    made = made.squeeze(-1) if column else made
    return made.squeeze(-1 if column else -2) if row else made


@rule("mv")
@asked_about_a_slice
def _mv(batch: Batch, op: Any, values: list) -> Any:
    return aten.matmul(values[0], values[1])


@rule("dot")
@asked_about_a_slice
def _dot(batch: Batch, op: Any, values: list) -> Any:
    return (values[0] * values[1]).sum(-1)


@rule("vdot")
@asked_about_a_slice
def _vdot(batch: Batch, op: Any, values: list) -> Any:
    return (aten._conj_physical(values[0]) * values[1]).sum(-1)


@rule("addmm", "addmv", "baddbmm")
@asked_about_a_slice
def _add_product(batch: Batch, op: Any, values: list) -> Any:
    bias, a, b, beta, alpha = values
    made = added(aten.matmul(a, b), bias, beta, alpha)
    return bias.copy_(made) if op.form == "inplace" else made


def added(product: Any, bias: Any, beta: Any, alpha: Any) -> Any:
    """alpha * product + beta * bias, whatever is in a bias that counts for nothing."""
    product = product if alpha == 1 else product * alpha
    return product + (bias if beta == 1 else bias * beta) if beta else product


@rule("addbmm")
@asked_about_a_slice
def _addbmm(batch: Batch, op: Any, values: list) -> Any:
    bias, a, b, beta, alpha = values
    made = aten.matmul(a, b).sum(0) * alpha + bias * beta
    return bias.copy_(made) if op.form == "inplace" else made


@rule("matmul_backward")
def _matmul_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, a, b, mask = values
    row, column = a.dim() == 1, b.dim() == 1
    left = a.unsqueeze(0) if row else a
    right = b.unsqueeze(-1) if column else b
    gradient = gradient.unsqueeze(-1) if column else gradient
    gradient = gradient.unsqueeze(-2) if row else gradient
    made = [None, None]
    if mask[0]:
        made[0] = aten.matmul(gradient, right.mT.conj()).sum_to_size(left.shape).reshape(a.shape)
    if mask[1]:
        made[1] = aten.matmul(left.mT.conj(), gradient).sum_to_size(right.shape).reshape(b.shape)
    return tuple(made)


@rule("linear")
def _linear(batch: Batch, op: Any, values: list) -> Any:
    x, weight, bias = values
    if weight.layout == _C.strided and not batched.levels_of(weight) and (bias is None or not batched.levels_of(bias)):
        return batch.wrap(op(batch.full(x), weight, bias))
    made = aten.matmul(x, weight.t())
    return made if bias is None else made + bias


@rule("linear_backward")
def _linear_backward(batch: Batch, op: Any, values: list) -> Any:
    x, gradient, weight, mask = values
    made = [None, None, None]
    if weight.dim() == 1:  # one output, which the result has no dimension for
        by_x, by_weight, by_bias = _linear_backward(batch, op, [x, gradient.unsqueeze(-1), weight.unsqueeze(0), mask])
        return by_x, *(m if m is None else m.squeeze(0) for m in (by_weight, by_bias))
    if mask[0]:
        made[0] = aten.matmul(gradient, weight)
    rows = gradient.reshape(-1, gradient.shape[-1]) if gradient.dim() else gradient
    if mask[1]:
        made[1] = aten.matmul(rows.t(), x.reshape(-1, x.shape[-1])).reshape(weight.shape)
    if mask[2]:
        made[2] = rows.sum(0)
    return tuple(made)
