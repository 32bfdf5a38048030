"""Matrix products: of groups of rows, of quantised numbers, between permutations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from . import microscaled_product, operations, runs
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .numbers import has_numbers
from .quantization import dtype_named, offset_of, scale_of, unpacked_int4

if TYPE_CHECKING:
    from ...._tensor import Tensor


npu = namespace("npu")
_FLOAT8 = "float8_e4m3fn", "float8_e5m2"
_RESULTS = ("int8", "float16", "bfloat16", "float32", "int32")


@composite(
    "npu::npu_linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor",
    "input @ weight.T + bias.",
    samples=[S(T(3, 4), T(5, 4), T(5))],
)
def npu_linear(input: Any, weight: Any, bias: Any = None) -> Any:
    return aten.linear(input, weight, bias)


@composite(
    "npu::npu_bmmV2(Tensor input, Tensor mat2, int[] output_sizes) -> Tensor",
    "Batched product; `output_sizes` is empty.",
    samples=[S(T(2, 3, 4), T(2, 4, 5), [])],
)
def npu_bmmV2(input: Any, mat2: Any, output_sizes: Any) -> Any:
    require(not output_sizes, "npu_bmmV2", f"output_sizes must be empty, but it is {output_sizes}")
    return aten.matmul(input, mat2)


def _permuted(x, order):
    return x if not order else aten.permute(x, order)


@composite(
    "npu::npu_transpose_batchmatmul(Tensor input, Tensor weight, *, Tensor? bias=None, Tensor? scale=None, "
    "int[]? perm_x1=None, int[]? perm_x2=None, int[]? perm_y=None, int? batch_split_factor=1) -> Tensor",
    "The product of two permuted batches of matrices, permuted: batch and rows change places unless perm_y says otherwise.",
    samples=[S(T(3, 2, 4), T(2, 4, 5), perm_x1=[1, 0, 2], perm_y=[0, 1, 2]), S(T(2, 3, 4), T(2, 4, 5))],
)
def npu_transpose_batchmatmul(
    input: Any, weight: Any, *, bias: Any = None, scale: Any = None, perm_x1: Any = None, perm_x2: Any = None,
    perm_y: Any = None, batch_split_factor: Any = 1,
) -> Any:  # fmt: skip
    operator = "npu_transpose_batchmatmul"
    for name, x in (("input", input), ("weight", weight)):
        require(x.dim() == 3, operator, f"{name} must have 3 dimensions, but it has {x.dim()}")
    require_choice(operator, "batch_split_factor", batch_split_factor, (1, None))
    require_absent(operator, scale=scale)
    y = aten.bmm(_permuted(input, perm_x1), _permuted(weight, perm_x2))
    return aten.permute(y if bias is None else y + bias, perm_y or [1, 0, 2])  # what the device does unless told


# ---- grouped ----

_ALL_APART, _BY_ROWS, _BY_INNER = -1, 0, 2


def _ends(operator, group_list, kind, groups):
    """The number of the row behind each group's last, from cumulative ends (0), counts (1) or pairs (2)."""
    if isinstance(group_list, (list, tuple)):
        values = group_list
    elif has_numbers(group_list):
        values = group_list.tolist()
    else:
        return [0] * groups
    if kind == 2:
        counts = [0] * groups
        for expert, count in values:
            require(0 <= expert < groups, operator, f"group_list names expert {expert} of {groups}")
            counts[expert] = count
        values = counts
    require(len(values) == groups, operator, f"group_list must have {groups} entries, but it has {len(values)}")
    if kind in (1, 2):
        total, values, counts = 0, [], values
        for count in counts:
            require(count >= 0, operator, f"group_list has a negative count: {count}")
            total += count
            values.append(total)
    require(
        all(a <= b for a, b in zip([0, *values], values, strict=False)),
        operator,
        f"group_list must not fall, but it is {list(values)}",
    )
    return values


def _weight_of(weight, scale, offset):
    """A weight that was stored in few bits, as numbers of the wide type."""
    if weight.dtype == DTYPES["int32"]:
        weight = unpacked_int4(weight)
    w = wide(weight)
    if offset is not None:
        w = w + wide(offset).unsqueeze(-2)
    return w * wide(scale).unsqueeze(-2)


def _item(values, i):
    return None if not values else values[i]


class _Extras:
    """Terms that a grouped product adds to plain products: biases and scales, an entry a group."""

    def __init__(
        self,
        bias: Tensor,
        scale: Tensor,
        antiquant_scale: Tensor,
        antiquant_offset: Tensor,
        per_token_scale: Tensor,
        one_weight: bool,
        exponents: tuple | None = None,
    ) -> None:
        self._lists = (bias, scale, antiquant_scale, antiquant_offset)
        self._exponents = exponents  # the codes of both types, where the scales are exponents of blocks
        self._per_token = per_token_scale
        self._one = one_weight  # the entries of all groups stacked in one tensor

    def _of(self, place, group):
        values = self._lists[place]
        if not values:
            return None
        return values[0][group] if self._one else values[group]

    def product(self, x: Tensor, weight: Tensor, group: int, rows: slice, dtype: Any) -> Tensor:
        """x @ weight with the group's bias and scales; `rows` are those of x within the whole."""
        bias, scale = self._of(0, group), self._of(1, group)
        if self._exponents is not None:
            by_row = self._per_token[0][rows] if len(self._per_token) == 1 else self._per_token[group]
            a = microscaled_product.left("npu_grouped_matmul", "x", x, self._exponents[0], by_row)
            b = microscaled_product.right("npu_grouped_matmul", "weight", weight, self._exponents[1], scale)
            y = aten.matmul(a, b)
            return (y if bias is None else y + wide(bias)).to(dtype)
        from_few_bits = self._of(2, group)
        if from_few_bits is not None:
            y = aten.matmul(wide(x), _weight_of(weight, from_few_bits, self._of(3, group)))
        elif not x.dtype.is_floating_point:
            y = aten.matmul(x.to(DTYPES["float64"]), weight.to(DTYPES["float64"]))  # exact, as int32 sums are
            if bias is not None and not bias.dtype.is_floating_point:
                y, bias = y + bias, None
            y = y.to(DTYPES["float32"])
        else:
            y = aten.matmul(x, weight)
            return (y if bias is None else y + bias.to(y.dtype)).to(dtype)
        if scale is not None:
            y = y * scale_of(scale)
        if self._per_token:
            y = y * wide(self._per_token[0][rows] if self._one else self._per_token[group]).unsqueeze(-1)
        return (y if bias is None else y + wide(bias)).to(dtype)


def _grouped(x, weight, group_list, lists, kinds, output_dtype, exponents=None):
    operator = "npu_grouped_matmul"
    split_item, group_type, group_list_type, act_type = kinds
    require_choice(operator, "split_item", split_item, (0, 1, 2, 3))
    require(group_type is not None, operator, "Requires manual passing group_type, current is None")
    require(
        group_type in (_ALL_APART, _BY_ROWS, _BY_INNER),
        operator,
        f"The group type must be -1, 0 or 2, but it is {group_type}",
    )
    require_choice(operator, "group_list_type", group_list_type, (0, 1, 2))
    require_choice(operator, "act_type", act_type, (0,))
    require(len(x) > 0 and len(weight) > 0, operator, "x and weight must not be empty lists")
    bias, scale, offset, antiquant_scale, antiquant_offset, per_token_scale = lists
    require_absent(operator, offset=offset)
    if exponents is not None:
        require_absent(operator, antiquant_scale=antiquant_scale, antiquant_offset=antiquant_offset)
        require(
            bool(scale and per_token_scale),
            operator,
            "exponents are those of scale and of per_token_scale: both are needed",
        )
        dtype = microscaled_product.result_dtype(operator, output_dtype)
    elif output_dtype is None and x[0].dtype.is_floating_point:
        dtype = x[0].dtype
    else:
        dtype = DTYPES[dtype_named(operator, output_dtype, _RESULTS)]
    if group_type == _ALL_APART or (group_type == _BY_ROWS and len(x) > 1):
        require(
            len(x) == len(weight),
            operator,
            f"several x take as many weights, but there are {len(x)} and {len(weight)}",
        )
        extras = _Extras(bias, scale, antiquant_scale, antiquant_offset, per_token_scale, False, exponents)
        results = [extras.product(x[i], weight[i], i, slice(None), dtype) for i in range(len(x))]
        return results if split_item in (0, 1) else [aten.cat(results, 0)]
    require(len(x) == 1, operator, f"group_type {group_type} takes one x, but there are {len(x)}")
    require(group_list is not None, operator, f"group_type {group_type} takes a group_list")
    whole = x[0]
    if group_type == _BY_INNER:
        require(len(weight) == 1, operator, f"group_type 2 takes one weight, but there are {len(weight)}")
        groups = len(group_list) if isinstance(group_list, (list, tuple)) else group_list.shape[0]
        ends = _ends(operator, group_list, group_list_type, groups)
        runs = list(zip([0, *ends[:-1]], ends, strict=True))
        if exponents is not None:
            return [
                microscaled_product.of_inner_runs(
                    operator, whole, weight[0], per_token_scale[0], scale[0], runs, exponents
                ).to(dtype)
            ]
        return [aten.stack([aten.matmul(whole[:, a:b], weight[0][a:b]).to(dtype) for a, b in runs])]
    stacked = len(weight) == 1 and weight[0].dim() == 3
    weights = list(weight[0]) if stacked else list(weight)
    ends = _ends(operator, group_list, group_list_type, len(weights))
    require(
        ends[-1] <= whole.shape[0],
        operator,
        f"group_list ends at row {ends[-1]}, but x has {whole.shape[0]} rows",
    )
    extras = _Extras(bias, scale, antiquant_scale, antiquant_offset, per_token_scale, stacked, exponents)
    parts = [
        extras.product(whole[a:b], w, i, slice(a, b), dtype)
        for i, (w, a, b) in enumerate(zip(weights, [0, *ends[:-1]], ends, strict=True))
    ]
    if split_item in (0, 1):
        return parts
    rest = whole.shape[0] - ends[-1]
    if rest:  # rows of no group
        parts.append(aten.zeros([rest, parts[0].shape[-1]], dtype=dtype, device=whole.device))
    return [aten.cat(parts, 0)]


_LISTS = (
    "Tensor[] x, Tensor[] weight, *, Tensor[]? bias=None, Tensor[]? scale=None, Tensor[]? offset=None, "
    "Tensor[]? antiquant_scale=None, Tensor[]? antiquant_offset=None, Tensor[]? per_token_scale=None, "
)
_ACTIVATION = (
    "Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None, Tensor[]? activation_quant_offset=None, "
    "int? split_item=0, int? group_type=None, int? group_list_type=0, int? act_type=0, int[]? tuning_config=None, "
)


@composite(
    f"npu::npu_grouped_matmul({_LISTS}Tensor? group_list=None, {_ACTIVATION}int? output_dtype=None, int? x_dtype=None, "
    "int? weight_dtype=None, int? scale_dtype=None, int? per_token_scale_dtype=None) -> Tensor[]",
    "Products of groups: of lists (group_type -1), of runs of rows with a weight each (0), or over runs of the inner "
    "dimension (2). Rows of no group are zero.",
    explicit=True,
    flops=operations.of_groups,
    grad=no_gradient("npu_grouped_matmul", "x", "weight"),
)
def npu_grouped_matmul(
    x: Any, weight: Any, *, bias: Any = None, scale: Any = None, offset: Any = None, antiquant_scale: Any = None,
    antiquant_offset: Any = None, per_token_scale: Any = None, group_list: Any = None, activation_input: Any = None,
    activation_quant_scale: Any = None, activation_quant_offset: Any = None, split_item: Any = 0,
    group_type: Any = None, group_list_type: Any = 0, act_type: Any = 0, tuning_config: Any = None,
    output_dtype: Any = None, x_dtype: Any = None, weight_dtype: Any = None, scale_dtype: Any = None,
    per_token_scale_dtype: Any = None,
) -> Any:  # fmt: skip
    require_absent(
        "npu_grouped_matmul", activation_input=activation_input, activation_quant_scale=activation_quant_scale,
        activation_quant_offset=activation_quant_offset,
    )  # fmt: skip
    exponents = (
        (x_dtype, weight_dtype) if microscaled_product.is_asked(scale_dtype, scale[0] if scale else None) else None
    )
    if exponents is None:
        require_absent(
            "npu_grouped_matmul", x_dtype=x_dtype, weight_dtype=weight_dtype, scale_dtype=scale_dtype,
            per_token_scale_dtype=per_token_scale_dtype,
        )  # fmt: skip
    lists = (bias, scale, offset, antiquant_scale, antiquant_offset, per_token_scale)
    kinds = (split_item or 0, group_type, group_list_type or 0, act_type or 0)
    return _grouped(x, weight, group_list, lists, kinds, output_dtype, exponents)


@composite(
    f"npu::npu_grouped_matmul.List({_LISTS}int[]? group_list=None, "
    "Tensor[]? activation_input=None, Tensor[]? activation_quant_scale=None, Tensor[]? activation_quant_offset=None, "
    "int? split_item=0, int? group_type=None, int? group_list_type=0, int? act_type=0, ScalarType? output_dtype=None) "
    "-> Tensor[]",
    "npu_grouped_matmul with Python's numbers for its group_list.",
    explicit=True,
    flops=operations.of_groups,
    grad=no_gradient("npu_grouped_matmul", "x", "weight"),
)
def npu_grouped_matmul_list(
    x: Any, weight: Any, *, bias: Any = None, scale: Any = None, offset: Any = None, antiquant_scale: Any = None,
    antiquant_offset: Any = None, per_token_scale: Any = None, group_list: Any = None, activation_input: Any = None,
    activation_quant_scale: Any = None, activation_quant_offset: Any = None, split_item: Any = 0,
    group_type: Any = None, group_list_type: Any = 0, act_type: Any = 0, output_dtype: Any = None,
) -> Any:  # fmt: skip
    require_absent(
        "npu_grouped_matmul", activation_input=activation_input, activation_quant_scale=activation_quant_scale,
        activation_quant_offset=activation_quant_offset,
    )  # fmt: skip
    lists = (bias, scale, offset, antiquant_scale, antiquant_offset, per_token_scale)
    return _grouped(
        x, weight, group_list, lists, (split_item or 0, group_type, group_list_type or 0, act_type or 0), output_dtype
    )


@composite(
    "npu::npu_grouped_matmul_add_(Tensor(a!) input, Tensor x, Tensor weight, Tensor group_list, *, bool transpose_x=True, "
    "bool transpose_weight=False, int group_type=2, int? group_list_type=0) -> Tensor(a!)",
    "Adds the products over runs of rows, x[rows].T @ weight[rows], to `input` (groups, K, N).",
    explicit=True,
    flops=operations.of_product,
)
def npu_grouped_matmul_add_(
    input: Any, x: Any, weight: Any, group_list: Any, *, transpose_x: bool = True, transpose_weight: bool = False,
    group_type: int = 2, group_list_type: Any = 0,
) -> Any:  # fmt: skip
    operator = "npu_grouped_matmul_add_"
    require(transpose_x and not transpose_weight, operator, "only transpose_x=True, transpose_weight=False is known")
    require_choice(operator, "group_type", group_type, (_BY_INNER,))
    kind, groups = group_list_type or 0, group_list.shape[0]
    if runs.is_recorded(group_list):
        require_choice(operator, "group_list_type of a call that is recorded", kind, (0, 1))
        taken = runs.members(group_list, kind, groups, x.shape[0]).unsqueeze(-1)
        pairs = ((aten.where(rows, wide(x), 0), aten.where(rows, wide(weight), 0)) for rows in aten.unbind(taken))
    else:
        ends = _ends(operator, group_list, kind, groups)
        pairs = ((wide(x[a:b]), wide(weight[a:b])) for a, b in zip([0, *ends[:-1]], ends, strict=True))
    parts = [aten.matmul(left.transpose(0, 1), right) for left, right in pairs]
    return aten.add_(input, aten.stack(parts).reshape(input.shape).to(input.dtype))


# ---- quantised ----


def _whole_numbers(x: Any) -> Any:
    """A matrix of 8-bit numbers, or that of the 4-bit ones which lie eight to an int32 in its rows, or in those of its transpose."""
    if x.dtype != DTYPES["int32"]:
        return x
    if x.stride(-2) == 1 and x.stride(-1) == x.shape[-2] and x.shape[-2] > 1:
        return unpacked_int4(x.transpose(-2, -1)).transpose(-2, -1)
    return unpacked_int4(x)


def _of_groups_of_rows(operator, x1, x2, scale, offset, by_row, bias, output_dtype, sizes) -> Any:
    """(x1 - 8) times a packed int4 weight with a scale for each column of so many rows, plus offset, times a scale a row.

    The eight is of the int4 halves of x1 that the matrix unit takes one after the other; `offset` makes up for it.
    """
    require_dtype(operator, "x1", x1, ("int8",))
    require_dtype(operator, "x2", x2, ("int32",))
    require_absent(operator, bias=bias)
    rows, w = sizes[-1], _whole_numbers(x2)
    require(
        len(sizes) == 3 and max(sizes[:2]) <= 1 and rows > 0 and w.shape[-2] % rows == 0,
        operator,
        f"group_sizes must be [0, 0, rows], rows a divisor of the {w.shape[-2]} rows of x2, but they are {list(sizes)}",
    )
    factors = scale_of(scale).reshape(w.shape[-2] // rows, w.shape[-1])
    name = dtype_named(operator, output_dtype, ("float16", "bfloat16"), "float16")
    y = aten.matmul(x1.to(factors.dtype) - 8, w.to(factors.dtype) * aten.repeat_interleave(factors, rows, 0))
    if offset is not None:
        y = y + wide(offset).flatten()
    if by_row is not None:
        y = y * wide(by_row).reshape(-1, 1)
    return y.to(DTYPES[name])


@composite(
    "npu::npu_quant_matmul(Tensor x1, Tensor x2, Tensor scale, *, Tensor? offset=None, Tensor? pertoken_scale=None, "
    "Tensor? bias=None, int? output_dtype=None, int? x1_dtype=None, int? x2_dtype=None, int? pertoken_scale_dtype=None, "
    "int? scale_dtype=None, int[]? group_sizes=None, Tensor? y_scale=None) -> Tensor",
    "The exact product of int8 (or packed int4) matrices, or that of float8 ones, times a scale a column and one a row; int32 "
    "biases are added before the scales, others after. Or that of float8 and packed float4 numbers in blocks of 32 with exponents.",
    explicit=True,
    flops=operations.of_factors,
)
def npu_quant_matmul(
    x1: Any, x2: Any, scale: Any, *, offset: Any = None, pertoken_scale: Any = None, bias: Any = None,
    output_dtype: Any = None, x1_dtype: Any = None, x2_dtype: Any = None, pertoken_scale_dtype: Any = None,
    scale_dtype: Any = None, group_sizes: Any = None, y_scale: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_quant_matmul"
    if microscaled_product.is_asked(scale_dtype, scale):
        return microscaled_product.product(
            operator, x1, x2, scale, pertoken_scale, bias, output_dtype, (x1_dtype, x2_dtype), group_sizes,
            offset=offset, y_scale=y_scale,
        )  # fmt: skip
    require_absent(
        operator, x1_dtype=x1_dtype, x2_dtype=x2_dtype, pertoken_scale_dtype=pertoken_scale_dtype,
        scale_dtype=scale_dtype, y_scale=y_scale,
    )  # fmt: skip
    if group_sizes is not None:
        return _of_groups_of_rows(operator, x1, x2, scale, offset, pertoken_scale, bias, output_dtype, group_sizes)
    eight = x1.dtype in (DTYPES["float8_e4m3fn"], DTYPES["float8_e5m2"])
    for name, x in (("x1", x1), ("x2", x2)):
        others = ("int8", "int32", *_FLOAT8) if name == "x1" else ("int8", "int32")
        require_dtype(operator, name, x, _FLOAT8 if eight else others)
    left, right = (_whole_numbers(x) for x in (x1, x2))
    require(
        left.shape[-1] == right.shape[-2],
        operator,
        f"x1 has {left.shape[-1]} columns, x2 {right.shape[-2]} rows: they must be as many",
    )
    require(left.shape[-1] <= 65535, operator, f"the inner size must be at most 65535, but it is {left.shape[-1]}")
    name = dtype_named(operator, output_dtype, _RESULTS)
    require(
        not eight or name not in ("int8", "int32"),
        operator,
        f"a product of float8 numbers takes output_dtype float16 or bfloat16, but it is {name}",
    )
    # Sums of int32, exactly.
    total = aten.matmul(*(x.to(DTYPES["float32" if eight else "float64"]) for x in (left, right)))
    if bias is not None and bias.dtype == DTYPES["int32"]:
        total, bias = total + bias, None
    if name == "int32":
        return total.to(DTYPES["int32"])
    y = total.to(DTYPES["float32"]) * scale_of(scale)
    if pertoken_scale is not None:
        y = y * wide(pertoken_scale).unsqueeze(-1)
    if bias is not None:
        y = y + wide(bias)
    if name != "int8":
        require(offset is None, operator, "offset is for int8 results only")
        return y.to(DTYPES[name])
    offset = offset_of(scale) if offset is None else wide(offset)
    if offset is not None:
        y = y + offset
    return aten.clamp(aten.round(y), -128, 127).to(DTYPES["int8"])


@composite(
    "npu::npu_weight_quant_batchmatmul(Tensor x, Tensor weight, Tensor antiquant_scale, Tensor? antiquant_offset=None, "
    "Tensor? quant_scale=None, Tensor? quant_offset=None, Tensor? bias=None, int antiquant_group_size=0, "
    "int inner_precise=0, int? weight_dtype=None) -> Tensor",
    "x times a weight of int8 or packed int4, (weight + offset) * scale by tensor, column or group of rows; plus bias.",
    explicit=True,
    flops=operations.of_product,
    grad=no_gradient("npu_weight_quant_batchmatmul", "x"),
)
def npu_weight_quant_batchmatmul(
    x: Any, weight: Any, antiquant_scale: Any, antiquant_offset: Any = None, quant_scale: Any = None,
    quant_offset: Any = None, bias: Any = None, antiquant_group_size: int = 0, inner_precise: int = 0,
    weight_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_weight_quant_batchmatmul"
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    require_absent(operator, weight_dtype=weight_dtype)
    require_dtype(operator, "weight", weight, ("int8", "int32"))
    w = wide(unpacked_int4(weight) if weight.dtype == DTYPES["int32"] else weight)

    def spread(parameter: Tensor) -> Tensor:
        if antiquant_group_size and parameter.dim() == 2:
            return aten.repeat_interleave(wide(parameter), antiquant_group_size, 0)[: w.shape[-2]]
        return wide(parameter)

    if antiquant_offset is not None:
        w = w + spread(antiquant_offset)
    y = aten.matmul(wide(x), w * spread(antiquant_scale))
    if bias is not None:
        y = y + wide(bias)
    if quant_scale is None:
        return y.to(x.dtype)
    y = y * scale_of(quant_scale)
    moved = offset_of(quant_scale) if quant_offset is None else wide(quant_offset)
    if moved is not None:
        y = y + moved
    return aten.clamp(aten.round(y), -128, 127).to(DTYPES["int8"])


@composite(
    "npu::npu_linear_backward(Tensor grad, Tensor input, Tensor weight) -> (Tensor, Tensor)",
    "Gradients of npu_linear by its input and its weight.",
    samples=[S(T(3, 2), T(3, 4), T(2, 4))],
)
def npu_linear_backward(grad: Any, input: Any, weight: Any) -> tuple:
    return aten.matmul(grad, weight), aten.matmul(grad.transpose(0, 1), input)
