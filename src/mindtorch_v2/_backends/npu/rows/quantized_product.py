"""Products of 8-bit numbers with what programs do to them next: scales, gates, and rounding again."""

from __future__ import annotations

import itertools
from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .. import casts
from . import microscaled_product, microscaling, operations, runs
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .numbers import numbers_of
from .product import _ends, _permuted
from .quantization import _stored, dtype_named, packed_int4, quantized_by_row, scale_of, unpacked_int4

_FLOAT32 = DTYPES["float32"]


def _exact(x, weight):
    """The product of 8-bit matrices, as sums of int32 hold it, in float32."""
    return aten.matmul(x.to(DTYPES["float64"]), weight.to(DTYPES["float64"])).to(_FLOAT32)


def _gated(x, left_is_active=True):
    """silu of one half times the other."""
    left, right = aten.chunk(x, 2, -1)
    return aten.silu(left) * right if left_is_active else aten.silu(right) * left


def _groups(operator, x, weight, group_list, kind) -> tuple:
    """The runs of rows with their matrices; and which rows have a group, where the host cannot tell."""
    weights = list(weight[0]) if len(weight) == 1 and weight[0].dim() == 3 else list(weight)
    if not isinstance(group_list, (list, tuple)) and runs.is_recorded(group_list):
        require_choice(operator, "group_list_type of a call that is recorded", kind, (0, 1))
        found, alive = runs.recorded(group_list, kind, len(weights), x.shape[0])
        whole = aten.stack(weights)
        return [(run.of(whole), run) for run in found], alive
    ends = _ends(operator, group_list, kind, len(weights))
    require(ends[-1] <= x.shape[0], operator, f"group_list ends at row {ends[-1]}, but x has {x.shape[0]} rows")
    spans = zip([0, *ends[:-1]], ends, strict=True)
    return [(weights[i], runs.Run(a, b, i)) for i, (a, b) in enumerate(spans)], None


def _where(alive, y) -> Any:
    """Zero in the place of rows without a group, of which the host cannot tell."""
    return y if alive is None else aten.where(alive.reshape(-1, *[1] * (y.dim() - 1)), y, 0)


def _scaled_product(operator, x, matrix, scale, assist) -> Any:
    """The product of whole numbers times a scale a column, or one a column for each part of the inner dimension; `assist` is added.

    The matrix unit takes the upper and the lower halves of 8-bit rows against 4-bit columns by themselves, the lower ones less 8:
    `assist` is what makes up for that.
    """
    if assist is not None:
        x = x.to(DTYPES["int32"]) - 8
    if scale.dim() == 1:
        product = _exact(x, matrix) * scale
    else:
        parts = scale.shape[0]
        require(
            x.shape[1] % parts == 0,
            operator,
            f"weight_scale has {parts} rows for each group, which do not divide the {x.shape[1]} columns of x",
        )
        inner = x.shape[1] // parts
        columns = [slice(i * inner, (i + 1) * inner) for i in range(parts)]
        product = sum(_exact(x[:, of], matrix[of]) * scale[i] for i, of in enumerate(columns))
    return product if assist is None else product + wide(assist)


def _swiglu_quant(
    operator, x, weight, group_list, weight_scale, x_scale, kind, assist=None, smooth_scale=None
) -> tuple:  # fmt: skip
    """The gated product of 8-bit or packed 4-bit rows; `assist` has a row for each group, `smooth_scale` one or a number."""
    require_dtype(operator, "x", x, ("int8", "int32"))
    for each in weight:
        require_dtype(operator, "weight", each, ("int8", "int32"))
    packed = {each.dtype == DTYPES["int32"] for each in weight}
    mixed = packed == {True} and x.dtype == DTYPES["int8"]
    require(
        len(packed) == 1 and (x.dtype == DTYPES["int8"] or packed == {True}),
        operator,
        "rows of packed int4 (int32) take weights of packed int4, but weight is int8",
    )
    require(
        mixed == (assist is not None),
        operator,
        "weight_assist_matrix (bias of the first version) belongs to int8 rows with weights of packed int4 (int32), and to no "
        f"other, but x is {x.dtype}, weight is {weight[0].dtype}, and it is {'absent' if assist is None else 'given'}",
    )
    require(
        smooth_scale is None or x.dtype == DTYPES["int32"],
        operator,
        f"smooth_scale belongs to rows of packed int4 (int32), but x is {x.dtype}",
    )
    weight = [_by_rows(operator, each) for each in weight]
    x = unpacked_int4(x) if x.dtype == DTYPES["int32"] else x
    groups, alive = _groups(operator, x, weight, group_list, kind)
    scales = list(weight_scale[0]) if len(weight_scale) == 1 and weight_scale[0].dim() > 1 else list(weight_scale)
    count = len(weight[0]) if len(weight) == 1 and weight[0].dim() == 3 else len(weight)
    require(
        len(scales) == count,
        operator,
        f"weight_scale must have a row for each of the {count} groups, but it has {len(scales)}",
    )
    width = groups[0][0].shape[-1] // 2
    made = [
        aten.zeros([x.shape[0], width], dtype=DTYPES["int8"], device=x.device),
        aten.zeros([x.shape[0]], dtype=_FLOAT32, device=x.device),
    ]
    for matrix, run in groups:
        if run.first == run.last:
            continue
        added = None if assist is None else run.of(assist)
        rows = _scaled_product(operator, x[run.rows], matrix, scale_of(run.of(scales)), added)
        gated = _gated(rows * wide(x_scale[run.rows]).reshape(-1, 1))
        if smooth_scale is not None:
            gated = gated * wide(run.of(smooth_scale))
        for target, part in zip(made, quantized_by_row(operator, gated), strict=True):
            aten.copy_(target[run.rows], part)
    return tuple(_where(alive, each) for each in made)


def _microscaled_swiglu(operator, x, weight, weight_scale, x_scale, group_list, kind, codes, quant_dtype) -> tuple:
    """The gated product of rows and weights in blocks with exponents, in such blocks again; rows of no group are zero."""
    element = microscaling._element(operator, quant_dtype, "rint", 0, 0.0)
    scales = list(weight_scale[0]) if len(weight_scale) == 1 and weight_scale[0].dim() == 4 else list(weight_scale)
    parts, last = [], 0
    groups, alive = _groups(operator, x, weight, group_list, kind)
    for matrix, run in groups:
        rows = microscaled_product.left(operator, "x", x[run.rows], codes[0], x_scale[run.rows])
        columns = microscaled_product.right(operator, "weight", matrix, codes[1], run.of(scales))
        parts.append(_gated(aten.matmul(rows, columns)))
        last = run.last
    parts.append(aten.zeros([x.shape[0] - last, parts[0].shape[-1]], dtype=_FLOAT32, device=x.device))
    return microscaling._quantized(_where(alive, aten.cat(parts, 0)), -1, microscaling._BLOCK, element)


def _by_rows(operator, weight) -> Any:
    """A weight (groups, K, N) of one in blocks of (16, 32) bytes, or 4-bit ones; 4-bit numbers unpacked.

    The sizes of the blocks tell where elements lie in memory. Of a storage in FRACTAL_NZ that is what memory holds, while the numbers
    of a tensor over it are those of the rows.
    """
    cast = casts.format_of(weight) == casts.Format.FRACTAL_NZ
    if weight.dim() == 5 and cast:
        require(
            weight.is_contiguous(), operator, "a weight in blocks of FRACTAL_NZ must be a view of all of its storage"
        )
    if weight.dim() == 5:
        wanted = (16, 8) if weight.dtype == DTYPES["int32"] else (16, 32)
        require(
            tuple(weight.shape[3:]) == wanted,
            operator,
            f"a weight in blocks of {weight.dtype} must end in {wanted}, but its sizes are {list(weight.shape)}",
        )
    if weight.dtype == DTYPES["int32"]:
        weight = unpacked_int4(weight)
    if weight.dim() != 5:
        return weight
    blocks = (weight.shape[2] * 16, weight.shape[1] * weight.shape[4])
    if cast:
        return weight.reshape(weight.shape[0], *blocks)
    return weight.permute([0, 2, 3, 1, 4]).reshape(weight.shape[0], *blocks)


@composite(
    "npu::npu_grouped_matmul_swiglu_quant(Tensor x, Tensor weight, Tensor group_list, Tensor weight_scale, Tensor "
    "x_scale, *, Tensor? bias=None, Tensor? offset=None) -> (Tensor, Tensor, Tensor)",
    "Runs of 8-bit rows by their groups' matrices and both scales, gated (silu of the first half times the second), "
    "rounded to int8 by their largest; those, their scales, and 0 for an offset. Weights are (groups, K, N), or in blocks of "
    "(16, 32): (groups, N / 32, K / 16, 16, 32); those of 4 bits are eight to an int32, with `bias` a row for each group.",
    explicit=True,
    flops=operations.of_quantised_groups,
    grad=no_gradient("npu_grouped_matmul_swiglu_quant", "weight_scale", "x_scale"),
)
def npu_grouped_matmul_swiglu_quant(
    x: Any, weight: Any, group_list: Any, weight_scale: Any, x_scale: Any, *, bias: Any = None, offset: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_grouped_matmul_swiglu_quant"
    require_absent(operator, offset=offset)
    y, scale = _swiglu_quant(operator, x, [weight], group_list, [weight_scale], x_scale, 0, bias)
    return y, scale, aten.zeros([], dtype=_FLOAT32, device=x.device)


@composite(
    "npu::npu_grouped_matmul_swiglu_quant_v2(Tensor x, Tensor[] weight, Tensor[] weight_scale, Tensor x_scale, "
    "Tensor group_list, *, Tensor? smooth_scale=None, Tensor[]? weight_assist_matrix=None, Tensor? bias=None, int? "
    "dequant_mode=0, int? dequant_dtype=6, int? quant_mode=0, int? quant_dtype=1, int? group_list_type=0, int[]? "
    "tuning_config=None, int? x_dtype=None, int? weight_dtype=None, int? weight_scale_dtype=None, int? "
    "x_scale_dtype=None) -> (Tensor, Tensor)",
    "npu_grouped_matmul_swiglu_quant with lists of matrices and scales, and ends or counts of rows; rows may be packed int4 too, "
    "with a factor for the gated numbers of each group. With 2 for both modes all are in blocks of 32 with exponents.",
    explicit=True,
    flops=operations.of_quantised_groups,
    grad=no_gradient("npu_grouped_matmul_swiglu_quant_v2", "x_scale"),
)
def npu_grouped_matmul_swiglu_quant_v2(
    x: Any, weight: Any, weight_scale: Any, x_scale: Any, group_list: Any, *, smooth_scale: Any = None,
    weight_assist_matrix: Any = None, bias: Any = None, dequant_mode: Any = 0, dequant_dtype: Any = 6,
    quant_mode: Any = 0, quant_dtype: Any = 1, group_list_type: Any = 0, tuning_config: Any = None,
    x_dtype: Any = None, weight_dtype: Any = None, weight_scale_dtype: Any = None, x_scale_dtype: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_grouped_matmul_swiglu_quant_v2"
    if dequant_mode == quant_mode == 2:
        require_absent(
            operator, bias=bias, smooth_scale=smooth_scale, weight_assist_matrix=weight_assist_matrix or None
        )
        return _microscaled_swiglu(
            operator, x, list(weight), weight_scale, x_scale, group_list, group_list_type or 0, (x_dtype, weight_dtype),
            quant_dtype,
        )  # fmt: skip
    require_absent(
        operator, bias=bias, x_dtype=x_dtype, weight_dtype=weight_dtype, weight_scale_dtype=weight_scale_dtype,
        x_scale_dtype=x_scale_dtype,
    )  # fmt: skip
    for name, value, allowed in (
        ("dequant_mode", dequant_mode, (0, 1, None)), ("quant_mode", quant_mode, (0, None)), ("quant_dtype", quant_dtype, (0, 1, None)),
    ):  # fmt: skip
        require_choice(operator, name, value, allowed)
    parts = any(scale.dim() > 2 for scale in weight_scale)
    require(
        parts == (dequant_mode == 1),
        operator,
        f"weight_scale has 3 dimensions with dequant_mode 1 and 2 with 0, but dequant_mode is {dequant_mode or 0} and the "
        f"sizes are {[list(scale.shape) for scale in weight_scale]}",
    )
    assist = None if not weight_assist_matrix else weight_assist_matrix[0]
    return _swiglu_quant(
        operator, x, list(weight), group_list, weight_scale, x_scale, group_list_type or 0, assist, smooth_scale
    )


def _counted_runs(operator, group_index, rows) -> tuple:
    """The runs of rows that are counted, all rows without counts; and which rows have a group, where the host cannot tell."""
    if group_index is not None and runs.is_recorded(group_index):
        return runs.recorded(group_index, 1, group_index.shape[0], rows)
    counts = [rows] if group_index is None else numbers_of(group_index, [])
    require(sum(counts) <= rows, operator, f"group_index sums to {sum(counts)}, but x has {rows} rows")
    ends = list(itertools.accumulate(counts))
    return [runs.Run(end - count, end, i) for i, (count, end) in enumerate(zip(counts, ends, strict=True))], None


def _own(values, run) -> Any:
    """A group's row of a matrix; of one with fewer rows, the last."""
    last = values.shape[0] - 1
    if isinstance(run.group, int):
        return values[min(run.group, last)]
    return run._replace(group=aten.clamp(run.group, max=last)).of(values)


@composite(
    "npu::npu_dequant_swiglu_quant(Tensor x, *, Tensor? weight_scale=None, Tensor? activation_scale=None, Tensor? "
    "bias=None, Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? group_index=None, bool "
    "activate_left=False, int quant_mode=0, int? dst_type=None, int? round_mode=None, int? activate_dim=None, int "
    "swiglu_mode=0, float clamp_limit=7.0, float glu_alpha=1.702, float glu_bias=1.0) -> (Tensor, Tensor)",
    "int32 sums times a scale a column (of each group) and one a row, or floating numbers; gated; rounded to int8 by "
    "their largest (quant_mode 1), or by given scales and offsets (0).",
    explicit=True,
    grad=no_gradient("npu_dequant_swiglu_quant", "x"),
)
def npu_dequant_swiglu_quant(
    x: Any, *, weight_scale: Any = None, activation_scale: Any = None, bias: Any = None, quant_scale: Any = None,
    quant_offset: Any = None, group_index: Any = None, activate_left: bool = False, quant_mode: int = 0,
    dst_type: Any = None, round_mode: Any = None, activate_dim: Any = None, swiglu_mode: int = 0,
    clamp_limit: float = 7.0, glu_alpha: float = 1.702, glu_bias: float = 1.0,
) -> tuple:  # fmt: skip
    operator = "npu_dequant_swiglu_quant"
    require(x.shape[-1] % 2 == 0, operator, f"the last size of x must be even, but x has {list(x.shape)}")
    require_choice(operator, "quant_mode", quant_mode, (0, 1))
    require_choice(operator, "dst_type", dst_type, (None, 1))
    require_choice(operator, "round_mode", round_mode, (None, 0))
    require(
        activate_dim in (None, -1, x.dim() - 1),
        operator,
        f"activate_dim must be the last one, but it is {activate_dim}",
    )
    require_choice(operator, "swiglu_mode", swiglu_mode, (0, 1))
    whole = not x.dtype.is_floating_point
    require(not whole or weight_scale is not None, operator, "an x of int32 takes weight_scale")
    rows = x.reshape(-1, x.shape[-1])
    found, alive = _counted_runs(operator, group_index, rows.shape[0])

    def of_group(parameter: Any, run: runs.Run, columns: int) -> Any:
        values = wide(parameter)
        values = values.reshape(-1, columns) if values.numel() % columns == 0 else values.reshape(-1, 1)
        return _own(values, run)

    made = [
        aten.zeros([rows.shape[0], rows.shape[1] // 2], dtype=DTYPES["int8"], device=x.device),
        aten.zeros([rows.shape[0] if quant_mode == 1 else 1], dtype=_FLOAT32, device=x.device),
    ]
    for run in found:
        part, at = rows[run.rows], run.rows
        if whole:
            first = bias is not None and bias.dtype == DTYPES["int32"]
            part = part + _own(bias.reshape(-1, rows.shape[1]), run) if first else part
            part = wide(part) * of_group(weight_scale, run, rows.shape[1])
            if activation_scale is not None:
                part = part * wide(activation_scale).reshape(-1, 1)[at]
            part = part if bias is None or first else part + of_group(bias, run, rows.shape[1])
        part = wide(part)
        if swiglu_mode == 0:
            y = _gated(part, activate_left)
        else:
            active, other = part[:, ::2].clamp(max=clamp_limit), part[:, 1::2].clamp(-clamp_limit, clamp_limit)
            y = active * aten.sigmoid(glu_alpha * active) * (other + glu_bias)
        if quant_mode == 1:
            y = y if quant_scale is None else y * of_group(quant_scale, run, y.shape[1])
            for target, values in zip(made, quantized_by_row(operator, y), strict=True):
                aten.copy_(target[at], values)
            continue
        y = y if quant_scale is None else y / of_group(quant_scale, run, y.shape[1])
        y = y if quant_offset is None else y + of_group(quant_offset, run, y.shape[1])
        aten.copy_(made[0][at], _stored(y, "int8"))
    made = [_where(alive, made[0]), _where(alive, made[1]) if quant_mode == 1 else made[1]]
    return made[0].reshape(*x.shape[:-1], rows.shape[1] // 2), made[1].reshape(
        x.shape[:-1]
    ) if quant_mode == 1 else made[1]


@composite(
    "npu::npu_quant_grouped_matmul_dequant(Tensor x, Tensor quantized_weight, Tensor weight_scale, Tensor "
    "group_list, *, Tensor? bias=None, Tensor? x_scale=None, Tensor? x_offset=None, Tensor? smooth_scale=None, str? "
    "quant_mode='pertoken') -> Tensor",
    "Runs of rows, rounded to int8 by row or tensor, by their groups' 8-bit matrices (transposed), times both scales.",
    explicit=True,
    grad=no_gradient("npu_quant_grouped_matmul_dequant", "x"),
)
def npu_quant_grouped_matmul_dequant(
    x: Any, quantized_weight: Any, weight_scale: Any, group_list: Any, *, bias: Any = None, x_scale: Any = None,
    x_offset: Any = None, smooth_scale: Any = None, quant_mode: Any = "pertoken",
) -> Any:  # fmt: skip
    operator = "npu_quant_grouped_matmul_dequant"
    require_absent(operator, bias=bias, x_offset=x_offset)
    require_choice(operator, "quant_mode", quant_mode, ("pertoken", "pertensor"))
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    require(
        quantized_weight.dim() == 3 and quantized_weight.shape[1] == weight_scale.shape[1],
        operator,
        f"quantized_weight must be (groups, N, K) with N as in weight_scale, {weight_scale.shape[1]}, but its sizes are "
        f"{list(quantized_weight.shape)}",
    )
    y = wide(x) if smooth_scale is None else wide(x) * wide(smooth_scale)
    if x_scale is not None:
        scale = wide(x_scale).reshape(-1, 1)
        rows = _stored(y / scale, "int8")
    else:
        require(quant_mode == "pertoken", operator, "quant_mode 'pertensor' takes x_scale")
        rows, scale = quantized_by_row(operator, y)
        scale = scale.reshape(-1, 1)
    made = aten.zeros([x.shape[0], weight_scale.shape[1]], dtype=x.dtype, device=x.device)
    groups, alive = _groups(operator, x, [quantized_weight], group_list, 0)
    for matrix, run in groups:
        product = _exact(rows[run.rows], matrix.transpose(0, 1)) * wide(run.of(weight_scale))
        aten.copy_(made[run.rows], product * (scale if scale.numel() == 1 else scale[run.rows]))
    return _where(alive, made)


@composite(
    "npu::npu_transpose_quant_batchmatmul(Tensor x1, Tensor x2, int dtype, *, Tensor? bias=None, Tensor? "
    "x1_scale=None, Tensor? x2_scale=None, int[]? group_sizes=None, int[]? perm_x1=None, int[]? perm_x2=None, int[]? "
    "perm_y=None, int? batch_split_factor=1, int? x1_dtype=None, int? x2_dtype=None) -> Tensor",
    "The product of two permuted batches of 8-bit matrices, times scales of rows and columns, permuted.",
    explicit=True,
    grad=no_gradient("npu_transpose_quant_batchmatmul", "x1", "x2"),
)
def npu_transpose_quant_batchmatmul(
    x1: Any, x2: Any, dtype: int, *, bias: Any = None, x1_scale: Any = None, x2_scale: Any = None,
    group_sizes: Any = None, perm_x1: Any = None, perm_x2: Any = None, perm_y: Any = None,
    batch_split_factor: Any = 1, x1_dtype: Any = None, x2_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_transpose_quant_batchmatmul"
    require_absent(operator, bias=bias, group_sizes=group_sizes, x1_dtype=x1_dtype, x2_dtype=x2_dtype)
    require_choice(operator, "batch_split_factor", batch_split_factor, (1, None))
    for name, x in (("x1", x1), ("x2", x2)):
        require(x.dim() == 3, operator, f"{name} must have 3 dimensions, but it has {x.dim()}")
        require_dtype(operator, name, x, ("int8", "float8_e5m2", "float8_e4m3fn"))
    turned = [1, 0, 2]  # the order of x1 and of the result, unless told
    y = _exact(_permuted(wide(x1), perm_x1 or turned), _permuted(wide(x2), perm_x2))
    if x1_scale is not None:
        y = y * wide(x1_scale).reshape(-1, 1)
    if x2_scale is not None:
        y = y * scale_of(x2_scale)
    name = dtype_named(operator, dtype, ("float16", "bfloat16", "float32"))
    return aten.contiguous(_permuted(y, perm_y or turned)).to(DTYPES[name])


@composite(
    "npu::npu_add_quant_matmul_(Tensor(a!) input, Tensor x1, Tensor x2, Tensor x2_scale, *, Tensor? x1_scale=None, "
    "int[]? group_sizes=None, int? x1_dtype=None, int? x2_dtype=None, int? x1_scale_dtype=None, int? "
    "x2_scale_dtype=None) -> Tensor(a!)",
    "Adds the product of 8-bit matrices, times scales, to `input`.",
    explicit=True,
    flops=operations.of_factors,
)
def npu_add_quant_matmul_(
    input: Any, x1: Any, x2: Any, x2_scale: Any, *, x1_scale: Any = None, group_sizes: Any = None,
    x1_dtype: Any = None, x2_dtype: Any = None, x1_scale_dtype: Any = None, x2_scale_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_add_quant_matmul_"
    if microscaled_product.is_asked(x2_scale_dtype, x2_scale):
        codes = (x1_dtype, x2_dtype)
        y = microscaled_product.product(operator, x1, x2, x2_scale, x1_scale, None, input.dtype, codes, group_sizes)
        return aten.add_(input, y)
    require_absent(
        operator, group_sizes=group_sizes, x1_dtype=x1_dtype, x2_dtype=x2_dtype, x1_scale_dtype=x1_scale_dtype,
        x2_scale_dtype=x2_scale_dtype,
    )  # fmt: skip
    y = _exact(wide(x1), wide(x2)) * wide(x2_scale)
    y = y if x1_scale is None else y * wide(x1_scale).reshape(-1, 1)
    return aten.add_(input, y.to(input.dtype))


@composite(
    "npu::npu_add_quant_gmm_(Tensor(a!) input, Tensor x1, Tensor x2, Tensor x2_scale, Tensor group_list, *, Tensor? "
    "x1_scale=None, int? group_list_type=0, int[]? group_sizes=None, int? x1_dtype=None, int? x2_dtype=None, int? "
    "x1_scale_dtype=None, int? x2_scale_dtype=None) -> Tensor(a!)",
    "Adds the products over runs of rows, x1[:, rows] @ x2[rows], of 8-bit numbers times scales of the group, to "
    "`input` (groups, M, N).",
    explicit=True,
)
def npu_add_quant_gmm_(
    input: Any, x1: Any, x2: Any, x2_scale: Any, group_list: Any, *, x1_scale: Any = None, group_list_type: Any = 0,
    group_sizes: Any = None, x1_dtype: Any = None, x2_dtype: Any = None, x1_scale_dtype: Any = None,
    x2_scale_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_add_quant_gmm_"
    ends = _ends(operator, group_list, group_list_type or 0, input.shape[0])
    if microscaled_product.is_asked(x2_scale_dtype, x2_scale):
        microscaled_product.check_sizes(operator, group_sizes)
        require(x1_scale is not None, operator, "x1_scale is needed beside exponents of x2")
        runs, codes = zip([0, *ends[:-1]], ends, strict=True), (x1_dtype, x2_dtype)
        y = microscaled_product.of_inner_runs(operator, x1, x2, x1_scale, x2_scale, runs, codes)
        return aten.add_(input, y.to(input.dtype))
    require_absent(
        operator, group_sizes=group_sizes, x1_dtype=x1_dtype, x2_dtype=x2_dtype, x1_scale_dtype=x1_scale_dtype,
        x2_scale_dtype=x2_scale_dtype,
    )  # fmt: skip
    for group, (first, last) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        y = _exact(wide(x1[:, first:last]), wide(x2[first:last])) * wide(x2_scale[group])
        aten.add_(input[group], (y if x1_scale is None else y * wide(x1_scale[group])).to(input.dtype))
    return input


@composite(
    "npu::npu_kronecker_quant(Tensor x, Tensor kronecker_p1, Tensor kronecker_p2, float? clip_ratio=None, int? "
    "dst_dtype=None, float? dst_type_max=None) -> (Tensor out, Tensor quant_scale)",
    "kronecker_p1 @ x @ kronecker_p2 for each matrix of x, rounded to 4 bits, eight to an int32, by its largest "
    "element times clip_ratio; and the scales.",
    explicit=True,
    grad=no_gradient("npu_kronecker_quant", "x", "kronecker_p1", "kronecker_p2"),
)
def npu_kronecker_quant(
    x: Any, kronecker_p1: Any, kronecker_p2: Any, clip_ratio: Any = None, dst_dtype: Any = None,
    dst_type_max: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_kronecker_quant"
    require(x.dim() == 3, operator, f"x must have 3 dimensions, but it has {x.dim()}")
    require_choice(operator, "dst_dtype", dst_dtype, (None, 3))
    require(not dst_type_max, operator, f"dst_type_max must be 0, but it is {dst_type_max}")
    ratio = 1.0 if clip_ratio is None else clip_ratio
    require(0 < ratio <= 1, operator, f"clip_ratio must be above 0 and at most 1, but it is {ratio}")
    y = wide(aten.matmul(kronecker_p1, aten.matmul(x, kronecker_p2)))
    scale = y.abs().amax([1, 2]) / (7.0 * ratio)
    safe = aten.where(scale == 0, 1, scale)
    rounded = aten.clamp(aten.round(y / safe.reshape(-1, 1, 1)), -8, 7)
    return packed_int4(rounded), scale.to(_FLOAT32)


@composite(
    "npu::npu_matmul_compress_dequant(Tensor x1, Tensor x2, Tensor compress_index, Tensor bias, Tensor scale, *, "
    "Tensor? offsetW=None, int? offsetX=None) -> Tensor",
    "Raises NotImplementedError: how its weights are compressed is not documented.",
    explicit=True,
    grad=no_gradient("npu_matmul_compress_dequant", "x1", "bias"),
)
def npu_matmul_compress_dequant(
    x1: Any, x2: Any, compress_index: Any, bias: Any, scale: Any, *, offsetW: Any = None, offsetX: Any = None,
) -> Any:  # fmt: skip
    raise NotImplementedError(
        "npu_matmul_compress_dequant(): the form of compressed weights is not documented, so that there is no definition of it "
        "here; npu_quant_matmul takes the weights as they were before"
    )
