"""Products, convolutions, attention, and what works plane by plane: mapped dimensions are folded into one that batches
already."""

from __future__ import annotations

from typing import Any

from .._autograd import batched
from .._ops._table import ROWS, aten
from ._call import Batch, _arguments, by_slices, call, is_tensor, of_no_slices, rule
from ._pointwise import lined_up

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
        raise RuntimeError("both arguments to matmul need to be at least 1D, but they are 0D and the other")
    row, column = a.dim() == 1, b.dim() == 1
    made = _multiplied(batch, a.unsqueeze(0) if row else a, b.unsqueeze(-1) if column else b)
    made = made.squeeze(-1) if column else made
    return made.squeeze(-1 if column else -2) if row else made


@rule("mv")
def _mv(batch: Batch, op: Any, values: list) -> Any:
    return aten.matmul(values[0], values[1])


@rule("dot")
def _dot(batch: Batch, op: Any, values: list) -> Any:
    return (values[0] * values[1]).sum(-1)


@rule("vdot")
def _vdot(batch: Batch, op: Any, values: list) -> Any:
    return (aten.conj_physical(values[0]) * values[1]).sum(-1)


@rule("addmm", "addmv", "baddbmm")
def _add_product(batch: Batch, op: Any, values: list) -> Any:
    bias, a, b, beta, alpha = values
    made = aten.matmul(a, b)
    made = made if alpha == 1 else made * alpha
    if beta:
        made = made + (bias if beta == 1 else bias * beta)
    return bias.copy_(made) if op.form == "inplace" else made


@rule("addbmm")
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


# ---- convolutions: the slices' channels side by side, in groups of their own ----


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


@rule("convolution")
@of_no_slices
def _convolution(batch: Batch, op: Any, values: list) -> Any:
    x, weight, bias, *rest, groups = values
    if not batched.levels_of(weight):
        own_bias = None if bias is not None and batched.levels_of(bias) else bias
        made = first_back(batch, op(first(batch, x), weight, own_bias, *rest, groups))
        return made if own_bias is bias else made + bias.reshape(-1, *(1,) * (x.dim() - 2))
    made = op(
        channels(batch, x), first(batch, weight), None if bias is None else first(batch, bias), *rest,
        groups * batch.count,
    )  # fmt: skip
    return channels_back(batch, made)


@rule("convolution_backward")
@of_no_slices
def _convolution_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, weight, bias_sizes, *rest, groups, mask = values
    made = op(
        channels(batch, gradient), channels(batch, x), first(batch, weight),
        None if bias_sizes is None else [batch.count * bias_sizes[0]], *rest, groups * batch.count, mask,
    )  # fmt: skip
    return tuple(
        None if m is None else back(batch, m)
        for m, back in zip(made, (channels_back, first_back, first_back), strict=True)
    )


# ---- plane by plane: pooling, padding, upsampling ----

_PLANES = (
    "reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d "
    "reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward "
    "replication_pad2d_backward replication_pad3d_backward _adaptive_avg_pool2d _adaptive_avg_pool2d_backward "
    "adaptive_max_pool2d adaptive_max_pool2d_backward avg_pool2d avg_pool2d_backward max_pool2d_with_indices "
    "max_pool2d_with_indices_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward adaptive_max_pool3d "
    "adaptive_max_pool3d_backward avg_pool3d avg_pool3d_backward max_pool3d_with_indices max_pool3d_with_indices_backward "
    "grid_sampler_2d grid_sampler_2d_backward"
).split()


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


rule(*_PLANES)(_planes)
rule(*(name for name, row in ROWS.items() if row.family == "upsample" and "CPU" in row.handle.kernels()))(_planes)


@rule("im2col", "col2im")
def _columns(batch: Batch, op: Any, values: list) -> Any:
    """Of a single slice without a batch the mapped dimensions become one: its channels are mixed with the window."""
    x, *rest = values
    if x.dim() == (3 if op.name == "im2col" else 2):
        return batch.unflat(call(op, [batch.flat(x), *rest]))
    return _planes(batch, op, values)


# ---- attention: each slice's batch is part of one batch ----


@rule("_fused_sdp_choice")
def _attention_choice(batch: Batch, op: Any, values: list) -> Any:
    """Which kernel takes it: what decides is the same for all slices."""
    return call(op, [batch.flat(v)[0] if is_tensor(v) and batch.count else v for v in values])


def _mask_of_all(batch: Batch, mask: Any, n: int) -> Any:
    """An attention mask for the slices' batches in one; as it is where it serves all of them."""
    if mask is None or (not batched.levels_of(mask) and (mask.dim() < 3 or mask.shape[0] == 1)):
        return mask
    mask = mask.reshape(*(1,) * (4 - mask.dim()), *mask.shape)
    return first(batch, mask.expand(n, *mask.shape[1:]))


@rule("_scaled_dot_product_flash_attention_for_cpu")
@of_no_slices
def _attention(batch: Batch, op: Any, values: list) -> Any:
    query, key, value, dropout, causal, mask, scale = values
    mask = _mask_of_all(batch, mask, query.shape[0])
    made = op(*(first(batch, t) for t in (query, key, value)), dropout, causal, attn_mask=mask, scale=scale)
    return tuple(first_back(batch, m) for m in made)


@rule("_scaled_dot_product_flash_attention_for_cpu_backward")
@of_no_slices
def _attention_backward(batch: Batch, op: Any, values: list) -> Any:
    *tensors, dropout, causal, mask, scale = values
    mask = _mask_of_all(batch, mask, tensors[1].shape[0])
    made = op(*(first(batch, t) for t in tensors), dropout, causal, attn_mask=mask, scale=scale)
    return tuple(first_back(batch, m) for m in made)


# ---- a recurrence: the slices' sequences side by side ----


@rule("_lstm_scan")
@of_no_slices
def _lstm_scan(batch: Batch, op: Any, values: list) -> Any:
    gates, hx, cx, w_hh, reverse = values
    if batched.levels_of(w_hh):
        return by_slices(op, values)
    made = op(channels(batch, gates), first(batch, hx), first(batch, cx), w_hh, reverse)
    return tuple(channels_back(batch, m) if m.dim() == gates.dim() else first_back(batch, m) for m in made)
