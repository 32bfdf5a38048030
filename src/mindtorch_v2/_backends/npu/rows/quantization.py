"""Rounding to 8 and 4 bits, by given scales and by those that the data ask for."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_choice, require_dtype, wide

# torch_npu numbers dtypes as PyTorch's C++ does, and those of its own from 290 on.
_CODES = {1: "int8", 3: "int32", 5: "float16", 6: "float32", 15: "bfloat16", 16: "quint4x2", 23: "float8_e5m2",
          24: "float8_e4m3fn"}  # fmt: skip
_OFFSET_BIT = 37  # of the 9 bits in which the matrix unit reads an offset
_INT4 = 16
# torch_npu's numbers of dtypes that PyTorch lacked: 256 more than ACL's.
_OF_ACL = {256: 6, 257: 5, 258: 1, 259: 3, 265: 4, 283: 15, 291: 23, 292: 24}
_LIMITS = {"int8": 127.0, "quint4x2": 7.0, "float8_e5m2": 57344.0, "float8_e4m3fn": 448.0}


def dtype_named(operator: Any, code: Any, allowed: Any, default: Any = "int8") -> Any:
    """The name of the dtype that a code of torch_npu's, or a dtype, stands for."""
    if code is None:
        return default
    code = _OF_ACL.get(code, code) if isinstance(code, int) else code
    name = _CODES.get(code) if isinstance(code, int) else str(code).rpartition(".")[2]
    name = "int8" if name == "qint8" else name  # that names what is made; the tensor is of int8
    require(name in allowed, operator, f"the result's dtype must be one of {', '.join(allowed)}, but it is {code}")
    return name


def packed_int4(values: Any) -> Any:
    """Whole numbers from -8 to 7, eight to an int32, the first in the lowest bits."""
    require(
        values.shape[-1] % 8 == 0,
        "int4",
        f"the last dimension must be a multiple of 8, but it is {values.shape[-1]}",
    )
    nibbles = aten.unflatten(values.to(DTYPES["int32"]) & 15, -1, [values.shape[-1] // 8, 8])
    places = aten.arange(0, 32, 4, dtype=DTYPES["int32"], device=values.device)
    return (nibbles << places).sum([-1]).to(DTYPES["int32"])  # the highest four bits bring the sign


def unpacked_int4(words: Any) -> Any:
    """The eight whole numbers of each int32, as int8."""
    places = aten.arange(0, 32, 4, dtype=DTYPES["int64"], device=words.device)
    nibbles = (words.to(DTYPES["int64"]).unsqueeze(-1) >> places) & 15
    return aten.flatten(aten.where(nibbles >= 8, nibbles - 16, nibbles), -2).to(DTYPES["int8"])


def _stored(values, name):
    """Values as the quantised type holds them: rounded to even and kept within its range."""
    if name.startswith("float8"):
        return aten.clamp(values, -_LIMITS[name], _LIMITS[name]).to(DTYPES[name])
    low = -8.0 if name == "quint4x2" else -128.0
    whole = aten.clamp(aten.round(values), low, _LIMITS[name])
    return packed_int4(whole) if name == "quint4x2" else whole.to(DTYPES["int8"])


def quantized(operator: Any, x: Any, scales: Any, zero_points: Any, div_mode: Any, dst_type: Any) -> Any:
    """round(x / scales + zero_points), or by multiplication."""
    name = dtype_named(operator, dst_type, ("int8",))
    y = wide(x) / wide(scales) if div_mode else wide(x) * wide(scales)
    return _stored(y if zero_points is None else y + wide(zero_points), name)


def _smoothed(operator, x, smooth_scales, group_index):
    if smooth_scales is None:
        return wide(x)
    if group_index is None:
        return wide(x) * wide(smooth_scales)
    rows = x.numel() // x.shape[-1]
    expert = aten.searchsorted(group_index.to(DTYPES["int64"]), aten.arange(rows, device=x.device), right=True).clamp(
        max=smooth_scales.shape[0] - 1
    )
    return wide(x) * aten.index_select(wide(smooth_scales), 0, expert).reshape(x.shape)


def quantized_by_row(
    operator: Any, x: Any, smooth_scales: Any = None, dst_type: Any = None, group_index: Any = None,
) -> tuple:  # fmt: skip
    """Each row rounded by the scale that brings its largest element to the type's limit, and the scales."""
    name = dtype_named(operator, dst_type, tuple(_LIMITS))
    y = _smoothed(operator, x, smooth_scales, group_index)
    scale = y.abs().amax([-1]) / _LIMITS[name]
    safe = aten.where(scale == 0, 1, scale)
    return _stored(y / safe.unsqueeze(-1), name), scale.to(DTYPES["float32"])


@composite(
    "npu::npu_dynamic_quant(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, int? dst_type=None, "
    'str quant_mode="pertoken", float dst_type_max=0.0) -> (Tensor, Tensor)',
    "Rows rounded to int8 (or int4, float8) by their largest element; the scales in float32.",
    explicit=True,
    grad=no_gradient("npu_dynamic_quant", "input"),
    samples=[S(T(3, 8, grad=False))],
)
def npu_dynamic_quant(
    input: Any, *, smooth_scales: Any = None, group_index: Any = None, dst_type: Any = None,
    quant_mode: str = "pertoken", dst_type_max: float = 0.0,
) -> Any:  # fmt: skip
    operator = "npu_dynamic_quant"
    require_choice(operator, "quant_mode", quant_mode, ("pertoken",))
    require(dst_type_max == 0.0, operator, f"dst_type_max must be 0, but it is {dst_type_max}")
    require(input.dim() > 1, operator, f"input must have at least two dimensions, but it has {input.dim()}")
    return quantized_by_row(operator, input, smooth_scales, dst_type, group_index)


@composite(
    "npu::npu_dynamic_quant_asymmetric(Tensor input, *, Tensor? smooth_scales=None, Tensor? group_index=None, "
    'int? dst_type=None, str quant_mode="pertoken", float dst_type_max=0.0) -> (Tensor, Tensor, Tensor)',
    "Rows rounded so that their smallest and largest element meet the type's ends: values, scales, offsets.",
    explicit=True,
    grad=no_gradient("npu_dynamic_quant_asymmetric", "input"),
    samples=[S(T(3, 8, grad=False))],
)
def npu_dynamic_quant_asymmetric(
    input: Any, *, smooth_scales: Any = None, group_index: Any = None, dst_type: Any = None,
    quant_mode: str = "pertoken", dst_type_max: float = 0.0,
) -> tuple:  # fmt: skip
    operator = "npu_dynamic_quant_asymmetric"
    require_choice(operator, "quant_mode", quant_mode, ("pertoken",))
    name = dtype_named(operator, dst_type, ("int8", "quint4x2"))
    levels = 15.0 if name == "quint4x2" else 255.0
    x = _smoothed(operator, input, smooth_scales, group_index)
    largest, smallest = x.amax([-1]), x.amin([-1])
    scale = (largest - smallest) / levels
    scale = aten.where(scale == 0, 1, scale)
    offset = _LIMITS[name] - largest / scale
    y = _stored(x / scale.unsqueeze(-1) + offset.unsqueeze(-1), name)
    return y, scale.to(DTYPES["float32"]), offset.to(DTYPES["float32"])


def _factors(operator: str, values: Any, group_index: Any, counted: bool, rows: int) -> Any:
    """The row of `values` (groups, width) that belongs to each of `rows` rows; `values` itself without groups."""
    if values is None or group_index is None:
        return None if values is None else wide(values)
    require(
        values.shape[0] == group_index.numel(),
        operator,
        f"smooth_scales and offsets must have a row for each of the {group_index.numel()} groups, but they have "
        f"{values.shape[0]}",
    )
    ends = group_index.to(DTYPES["int64"])
    ends = aten.cumsum(ends, 0) if counted else ends
    group = aten.searchsorted(ends, aten.arange(rows, device=values.device), right=True)
    return aten.index_select(wide(values), 0, group.clamp(max=values.shape[0] - 1))


@composite(
    "npu::npu_swiglu_quant(Tensor x, *, Tensor? smooth_scales=None, Tensor? offsets=None, Tensor? group_index=None, bool "
    "activate_left=False, int quant_mode=0, int group_list_type=0, ScalarType? dst_type=None) -> (Tensor, Tensor)",
    "One half times silu of the other (the right one unless `activate_left`), rounded to int8: by scales and offsets that are "
    "given (quant_mode 0), or each row by its largest (1); and what those rows were multiplied by.",
    explicit=True,
    grad=no_gradient("npu_swiglu_quant", "x"),
    samples=[S(T(3, 8, grad=False), quant_mode=1)],
)
def npu_swiglu_quant(
    x: Any, *, smooth_scales: Any = None, offsets: Any = None, group_index: Any = None, activate_left: bool = False,
    quant_mode: int = 0, group_list_type: int = 0, dst_type: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_swiglu_quant"
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    require_choice(operator, "quant_mode", quant_mode, (0, 1))
    require_choice(operator, "group_list_type", group_list_type, (0, 1))
    require(quant_mode == 1 or smooth_scales is not None, operator, "smooth_scales is needed with quant_mode 0")
    require(x.shape[-1] % 2 == 0, operator, f"the last dimension must be even, but it is {x.shape[-1]}")
    name = dtype_named(operator, dst_type, ("int8",))
    left, right = aten.chunk(wide(x), 2, -1)
    y = aten.silu(left) * right if activate_left else left * aten.silu(right)
    y = y.reshape(-1, y.shape[-1])
    factor = _factors(operator, smooth_scales, group_index, group_list_type == 1, y.shape[0])
    y = y if factor is None else y * factor
    shape = [*x.shape[:-1], x.shape[-1] // 2]
    if quant_mode == 0:
        shift = _factors(operator, offsets, group_index, group_list_type == 1, y.shape[0])
        y = y if shift is None else y + shift
        return _stored(y, name).reshape(shape), aten.zeros(shape[:-1], dtype=DTYPES["float32"], device=x.device)
    scale = _LIMITS[name] / y.abs().amax([-1])
    return _stored(y * scale.unsqueeze(-1), name).reshape(shape), scale.reshape(shape[:-1]).to(DTYPES["float32"])


@composite(
    "npu::npu_quantize(Tensor input, Tensor scales, Tensor? zero_points, int dtype, int axis=1, bool div_mode=True) -> Tensor",
    "round(input / scales + zero_points), or times scales, within the range of `dtype`; 4-bit numbers are eight to an int32, float8 ones not rounded to whole numbers.",
    explicit=True,
)
def npu_quantize(input: Any, scales: Any, zero_points: Any, dtype: int, axis: int = 1, div_mode: bool = True) -> Any:
    operator = "npu_quantize"
    codes = {1: ("int8", -128, 127), 12: ("int8", -128, 127), 0: ("uint8", 0, 255), 13: ("uint8", 0, 255),
             3: ("int32", -(1 << 31), (1 << 31) - 1), 14: ("int32", -(1 << 31), (1 << 31) - 1), _INT4: ("int32", -8, 7)}  # fmt: skip
    eight = {23: "float8_e5m2", 24: "float8_e4m3fn"}.get(_OF_ACL.get(dtype, dtype))
    require(
        dtype in codes or eight is not None,
        operator,
        f"dtype must be the number of int8, uint8, int32, quint4x2, float8_e4m3fn or float8_e5m2, but it is {dtype}",
    )
    require(dtype != _INT4 or not div_mode, operator, "quint4x2 takes div_mode=False")
    shape = [1] * input.dim()
    if scales.numel() > 1:
        shape[axis] = scales.numel()
    scale = wide(scales).reshape(shape)
    y = wide(input) / scale if div_mode else wide(input) * scale
    if zero_points is not None:
        y = y + wide(zero_points).reshape(shape if zero_points.numel() > 1 else [1] * input.dim())
    if eight is not None:
        return aten.clamp(y, -_LIMITS[eight], _LIMITS[eight]).to(DTYPES[eight])
    name, low, high = codes[dtype]
    rounded = aten.round(y)
    if name == "int32":  # whose ends are no numbers of float32
        rounded = rounded.to(DTYPES["float64"])
    whole = aten.clamp(rounded, low, high).to(DTYPES[name])
    return packed_int4(whole) if dtype == _INT4 else whole


@composite(
    "npu::npu_trans_quant_param(Tensor scale, Tensor? offset=None, int? round_mode=0) -> Tensor",
    "The scale in the 64 bits that the matrix unit reads: its upper 19 bits, a mark at bit 46, and an offset, a whole number of 9 bits, "
    "at bit 37.",
    explicit=True,
)
def npu_trans_quant_param(scale: Any, offset: Any = None, round_mode: Any = 0) -> Any:
    operator = "npu_trans_quant_param"
    require_choice(operator, "round_mode", round_mode, (0, None))
    bits = scale.to(DTYPES["float32"]).view(DTYPES["int32"]).to(DTYPES["int64"]) & 0xFFFFE000
    bits = bits | (1 << 46)
    if offset is None:
        return bits
    require_dtype(operator, "offset", offset, ("float32",))
    whole = aten.clamp(aten.round(offset), -256, 255).to(DTYPES["int64"])
    return bits | ((whole & 0x1FF) << _OFFSET_BIT)


def offset_of(parameter: Any) -> Any:
    """The offset of what npu_trans_quant_param makes, which results of 8 bits are moved by; None of a plain scale."""
    if parameter.dtype != DTYPES["int64"]:
        return None
    held = (parameter >> _OFFSET_BIT) & 0x1FF
    return aten.where(held >= 1 << 8, held - (1 << 9), held).to(DTYPES["float32"])


def scale_of(parameter: Any) -> Any:
    """The float32 scale of what npu_trans_quant_param makes; of a scale, itself."""
    if parameter.dtype != DTYPES["int64"]:
        return wide(parameter)
    low = parameter & 0xFFFFFFFF
    signed = aten.where(low >= 1 << 31, low - (1 << 32), low)
    return signed.to(DTYPES["int32"]).view(DTYPES["float32"])


@composite(
    "npu::npu_convert_weight_to_int4pack(Tensor weight, int inner_k_tiles=0) -> Tensor",
    "int32 numbers from -8 to 7, (K, N), packed eight to an int32: (K, N / 8).",
    explicit=True,
)
def npu_convert_weight_to_int4pack(weight: Any, inner_k_tiles: int = 0) -> Any:
    operator = "npu_convert_weight_to_int4pack"
    require(weight.dtype == DTYPES["int32"], operator, f"weight must be int32, but it is {weight.dtype}")
    require(inner_k_tiles == 0, operator, f"inner_k_tiles must be 0, but it is {inner_k_tiles}")
    return packed_int4(weight)


@composite(
    'npu::npu_dynamic_block_quant(Tensor x, *, float min_scale=0.0, str round_mode="rint", int dst_type=1, '
    "int row_block_size=1, int col_block_size=128, float dst_type_max=0.0) -> (Tensor y, Tensor scale)",
    "Blocks of a matrix rounded by their largest element: values, and what to multiply them by.",
    explicit=True,
)
def npu_dynamic_block_quant(
    x: Any, *, min_scale: float = 0.0, round_mode: str = "rint", dst_type: int = 1, row_block_size: int = 1,
    col_block_size: int = 128, dst_type_max: float = 0.0,
) -> tuple:  # fmt: skip
    operator = "npu_dynamic_block_quant"
    require_choice(operator, "round_mode", round_mode, ("rint",))
    name = dtype_named(operator, dst_type, ("int8", "float8_e5m2", "float8_e4m3fn"))
    rows, columns = x.shape[-2], x.shape[-1]
    down, across = -(-rows // row_block_size), -(-columns // col_block_size)
    padded = aten.constant_pad_nd(wide(x), [0, across * col_block_size - columns, 0, down * row_block_size - rows], 0.0)
    blocks = padded.reshape(*x.shape[:-2], down, row_block_size, across, col_block_size)
    largest = blocks.abs().amax([-3, -1], True)
    scale = largest / _LIMITS[name]
    if min_scale:
        scale = aten.clamp(scale, min=min_scale)
    safe = aten.where(scale == 0, 1, scale)
    y = _stored(blocks / safe, name).reshape(padded.shape)[..., :rows, :columns]
    return y, scale.squeeze(-1).squeeze(-2).to(DTYPES["float32"])
