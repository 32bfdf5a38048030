"""Products, convolutions, norms, and what works plane by plane: mapped dimensions are folded into one that batches already."""

from __future__ import annotations

from typing import Any

from .._autograd import batched
from .._ops._table import ROWS, aten
from ._call import RULES, Batch, _arguments, call, is_tensor, rule
from ._pointwise import lined_up
from ._shapes import wrapped

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
    if mask[0]:
        made[0] = aten.matmul(gradient, weight)
    rows = gradient.reshape(-1, gradient.shape[-1]) if gradient.dim() else gradient
    if mask[1]:
        made[1] = aten.matmul(rows.t(), x.reshape(-1, x.shape[-1])).reshape(weight.shape)
    if mask[2]:
        made[2] = rows.sum(0)
    return tuple(made)


# ---- convolutions: the slices' channels side by side, in groups of their own ----


def _channels(batch: Batch, x: Any) -> Any:
    """(N, C, ...) of every slice as (N, slices * C, ...)."""
    flat = batch.flat(x)
    return flat.movedim(0, 1).reshape(x.shape[0], batch.count * x.shape[1], *x.shape[2:])


def _channels_back(batch: Batch, x: Any) -> Any:
    apart = x.reshape(x.shape[0], batch.count, x.shape[1] // batch.count, *x.shape[2:])
    return batch.unflat(apart.movedim(1, 0))


def _first(batch: Batch, x: Any) -> Any:
    """(O, ...) of every slice as (slices * O, ...)."""
    return batch.flat(x).reshape(batch.count * x.shape[0], *x.shape[1:])


def _first_back(batch: Batch, x: Any) -> Any:
    return batch.unflat(x.reshape(batch.count, x.shape[0] // batch.count, *x.shape[1:]))


@rule("convolution")
def _convolution(batch: Batch, op: Any, values: list) -> Any:
    x, weight, bias, *rest, groups = values
    if not batched.levels_of(weight):
        own_bias = None if bias is not None and batched.levels_of(bias) else bias
        made = _first_back(batch, op(_first(batch, x), weight, own_bias, *rest, groups))
        return made if own_bias is bias else made + bias.reshape(-1, *(1,) * (x.dim() - 2))
    made = op(
        _channels(batch, x), _first(batch, weight), None if bias is None else _first(batch, bias), *rest,
        groups * batch.count,
    )  # fmt: skip
    return _channels_back(batch, made)


@rule("convolution_backward")
def _convolution_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, weight, bias_sizes, *rest, groups, mask = values
    made = op(
        _channels(batch, gradient), _channels(batch, x), _first(batch, weight),
        None if bias_sizes is None else [batch.count * bias_sizes[0]], *rest, groups * batch.count, mask,
    )  # fmt: skip
    return tuple(
        None if m is None else back(batch, m)
        for m, back in zip(made, (_channels_back, _first_back, _first_back), strict=True)
    )


# ---- plane by plane: pooling, padding, upsampling ----

_PLANES = (
    "reflection_pad1d reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d "
    "reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward "
    "replication_pad2d_backward replication_pad3d_backward _adaptive_avg_pool2d _adaptive_avg_pool2d_backward "
    "adaptive_max_pool2d adaptive_max_pool2d_backward avg_pool2d avg_pool2d_backward max_pool2d_with_indices "
    "max_pool2d_with_indices_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward adaptive_max_pool3d "
    "adaptive_max_pool3d_backward avg_pool3d avg_pool3d_backward max_pool3d_with_indices max_pool3d_with_indices_backward "
    "im2col col2im grid_sampler_2d grid_sampler_2d_backward"
).split()


def _planes(batch: Batch, op: Any, values: list) -> Any:
    """Every slice's first dimension (a batch, or the channels of a single one) with the mapped ones."""
    first = next(v for v in values if is_tensor(v))
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
    lead = first.shape[0]
    back = [
        m if m is None else batch.unflat(m.reshape(count, lead, *m.shape[1:]))
        for m in ((made,) if is_tensor(made) else made)
    ]
    return back[0] if is_tensor(made) else tuple(back)


rule(*_PLANES)(_planes)
rule(*(name for name, row in ROWS.items() if row.family == "upsample" and "CPU" in row.handle.kernels()))(_planes)


# ---- norms ----


@rule("native_layer_norm")
def _layer_norm(batch: Batch, op: Any, values: list) -> Any:
    x, shape, weight, bias, eps = values
    plain = all(v is None or not batched.levels_of(v) for v in (weight, bias))
    made, mean, rstd = op(batch.full(x), shape, weight if plain else None, bias if plain else None, eps)
    made = batch.wrap(made)
    if not plain:
        made = made if weight is None else made * weight
        made = made if bias is None else made + bias
    return made, batch.wrap(mean), batch.wrap(rstd)


@rule("native_layer_norm_backward")
def _layer_norm_backward(batch: Batch, op: Any, values: list) -> Any:
    gradient, x, shape, mean, rstd, weight, bias, mask = values
    normed = (x - mean) * rstd
    lead = list(range(x.dim() - len(shape)))
    inner = list(range(x.dim() - len(shape), x.dim()))
    made = [None, None, None]
    if mask[0]:
        scaled = gradient if weight is None else gradient * weight
        made[0] = rstd * (scaled - scaled.mean(inner, True) - normed * (scaled * normed).mean(inner, True))
    if mask[1] and weight is not None:
        made[1] = (gradient * normed).sum(lead) if lead else gradient * normed
    if mask[2] and bias is not None:
        made[2] = gradient.sum(lead) if lead else gradient
    return tuple(made)


@rule("native_group_norm")
def _group_norm(batch: Batch, op: Any, values: list) -> Any:
    x, weight, bias, n, channels, size, group, eps = values
    plain = all(v is None or not batched.levels_of(v) for v in (weight, bias))
    made, mean, rstd = op(
        _first(batch, x),
        weight if plain else None,
        bias if plain else None,
        n * batch.count,
        channels,
        size,
        group,
        eps,
    )
    made = _first_back(batch, made)
    if not plain:
        per_channel = [channels, *(1,) * (x.dim() - 2)]
        made = made if weight is None else made * weight.reshape(per_channel)
        made = made if bias is None else made + bias.reshape(per_channel)
    return made, _first_back(batch, mean), _first_back(batch, rstd)


# ---- matrices of linear algebra: stacks of matrices are what the kernels take anyway ----


@rule("linalg_qr", "linalg_eig", "linalg_cholesky_ex", "linalg_inv_ex", "linalg_lu_factor_ex", "_linalg_eigh", "_linalg_svd",
      "_linalg_det", "_linalg_slogdet", "linalg_pinv")  # fmt: skip
def _matrices(batch: Batch, op: Any, values: list) -> Any:
    return wrapped(batch, call(op, [batch.full(values[0]), *values[1:]]))


@rule("_linalg_check_errors")
def _check_errors(batch: Batch, op: Any, values: list) -> Any:
    return op(batch.full(values[0]), values[1], is_matrix=False)


@rule("_linalg_solve_ex")
def _solve(batch: Batch, op: Any, values: list) -> Any:
    a, b, *rest = values
    vector = b.dim() == 1 or (b.dim() == a.dim() - 1 and tuple(b.shape) == tuple(a.shape[:-1]))
    b = b.unsqueeze(-1) if vector else b
    dims = max(a.dim(), b.dim())
    made, *others = call(op, [lined_up(batch, a, dims), lined_up(batch, b, dims), *rest])
    return (batch.wrap(made.squeeze(-1) if vector else made), *map(batch.wrap, others))


@rule("_solve_triangular")
def _solve_triangular(batch: Batch, op: Any, values: list) -> Any:
    a, b, *rest = values
    return batch.wrap(op(batch.full(a), batch.full(b), *rest))


# ---- attention ----


@rule("_fused_sdp_choice")
def _attention_choice(batch: Batch, op: Any, values: list) -> Any:
    """By separate operators, each of which has a rule."""
    return 0


# An implicit composite answers Batched by its own body; these have a rule that is simpler than what the body would do.
def _register_composites() -> None:
    from ._call import _handle

    for row in ROWS.values():
        if row.handle in RULES and "CompositeImplicitAutograd" in row.handle.kernels():
            handle = row.handle
            handle.impl("Batched", lambda *args, _op=handle, **kwargs: _handle(_op, args, kwargs))


_register_composites()
