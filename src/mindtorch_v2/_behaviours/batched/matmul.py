"""Rules of vmap for the family matmul: each slice's result, made for all slices at once."""

from __future__ import annotations

from typing import Any

from ..._core.autograd import batched
from ..._operators.table import ROWS, aten
from ._call import Batch, rule
from ._shared import asked_about_a_slice, lined_up

_matmul = ROWS["matmul"].handle


def _multiplied(batch: Batch, a: Any, b: Any) -> Any:
    """Matrices (or stacks of them) multiplied slice by slice."""
    dims = max(a.dim(), b.dim())
    return batch.wrap(_matmul(lined_up(batch, a, dims), lined_up(batch, b, dims)))


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
    made = _multiplied(batch, a.unsqueeze(0) if row else a, b.unsqueeze(-1) if column else b)
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
    made = aten.matmul(a, b)
    made = made if alpha == 1 else made * alpha
    if beta:
        made = made + (bias if beta == 1 else bias * beta)
    return bias.copy_(made) if op.form == "inplace" else made


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
    if not batched.levels_of(weight) and (bias is None or not batched.levels_of(bias)):
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
