"""Norms, activations and runs of rows that are rounded at once, and numbers that were rounded made whole again."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten
from . import microscaled_product, microscaling
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .norm import _add_norm, normalized
from .quantization import _factors, _stored, dtype_named, quantized_by_row

_FLOAT32 = DTYPES["float32"]
_KINDS = ("int8", "quint4x2", "float8_e5m2", "float8_e4m3fn")


def _gain(gamma) -> Any:
    """A gain of (1, columns) as one of (columns)."""
    return gamma.squeeze(0) if gamma.dim() == 2 and gamma.shape[0] == 1 else gamma


@composite(
    "npu::npu_rms_norm_quant(Tensor x, Tensor gamma, Tensor beta, Tensor scale, Tensor offset, float epsilon=1e-06, *, int? "
    "dst_dtype=None) -> Tensor",
    "npu_rms_norm plus beta, times one scale plus one offset, rounded.",
    explicit=True,
    grad=no_gradient("npu_rms_norm_quant", "x", "gamma", "beta"),
)
def npu_rms_norm_quant(
    x: Any, gamma: Any, beta: Any, scale: Any, offset: Any, epsilon: float = 1e-06, *, dst_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_rms_norm_quant"
    name = dtype_named(operator, dst_dtype, _KINDS)
    y = normalized(operator, wide(x), _gain(gamma), epsilon)[0] + wide(_gain(beta))
    return _stored(y * wide(scale) + wide(offset), name)


@composite(
    "npu::npu_rms_norm_quant_v2(Tensor x, Tensor gamma, Tensor scale, *, Tensor? offset=None, Tensor? beta=None, float "
    "epsilon=1e-06, bool div_mode=True, int? dst_dtype=None) -> (Tensor, Tensor)",
    "npu_rms_norm plus beta, divided by scales (or times them) plus offsets, rounded; and the reciprocal root of an x that has a "
    "gradient.",
    explicit=True,
    grad=no_gradient("npu_rms_norm_quant_v2", "x", "gamma"),
)
def npu_rms_norm_quant_v2(
    x: Any, gamma: Any, scale: Any, *, offset: Any = None, beta: Any = None, epsilon: float = 1e-06,
    div_mode: bool = True, dst_dtype: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_rms_norm_quant_v2"
    name = dtype_named(operator, dst_dtype, _KINDS)
    y, rstd = normalized(operator, wide(x), _gain(gamma), epsilon)
    y = y if beta is None else y + wide(_gain(beta))
    y = y / wide(scale) if div_mode else y * wide(scale)
    y = y if offset is None else y + wide(offset)
    nothing = aten.empty([0], dtype=_FLOAT32, device=x.device)
    return _stored(y, name), rstd.to(_FLOAT32) if x.requires_grad else nothing


@composite(
    "npu::npu_add_rms_norm_cast(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor, Tensor)",
    "npu_add_rms_norm whose norm is given in float32 too: that, the norm, the reciprocal root, the sum.",
    explicit=True,
    grad=no_gradient("npu_add_rms_norm_cast", "x1", "x2", "gamma"),
    samples=[S(T(2, 3, 8), T(2, 3, 8), T(8))],
)
def npu_add_rms_norm_cast(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-06) -> tuple:
    y, rstd, total = _add_norm("npu_add_rms_norm_cast", x1, x2, gamma, epsilon)
    short = y.to(x1.dtype)
    return short.to(_FLOAT32), aten.clone(short), rstd, total


@composite(
    "npu::npu_group_quant(Tensor x, Tensor scale, Tensor group_index, *, Tensor? offset=None, ScalarType? dst_dtype=None) -> Tensor",
    "Runs of rows, whose ends group_index has, times the scales of their run, plus one offset, rounded to int8 or to int4, eight to "
    "an int32.",
    explicit=True,
    grad=no_gradient("npu_group_quant", "x", "scale"),
)
def npu_group_quant(x: Any, scale: Any, group_index: Any, *, offset: Any = None, dst_dtype: Any = None) -> Any:
    operator = "npu_group_quant"
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    name = dtype_named(operator, dst_dtype, ("int8", "quint4x2"))
    require(
        x.dim() == scale.dim() == 2 and x.shape[1] == scale.shape[1],
        operator,
        f"x and scale must be matrices of as many columns, but their sizes are {list(x.shape)} and {list(scale.shape)}",
    )
    y = wide(x) * _factors(operator, scale, group_index, False, x.shape[0])
    return _stored(y if offset is None else y + wide(offset), name)


@composite(
    "npu::npu_gelu_quant(Tensor input, *, Tensor? input_scale=None, Tensor? input_offset=None, str approximate='none', str "
    "quant_mode='dynamic', int? dst_type=None, str round_mode='rint') -> (Tensor, Tensor)",
    "gelu, times given scales plus offsets ('static'), or each row by its largest ('dynamic'), rounded; and the rows' scales.",
    explicit=True,
    grad=no_gradient("npu_gelu_quant", "input"),
    samples=[S(T(3, 8, grad=False)), S(T(3, 8, grad=False), approximate="tanh")],
)
def npu_gelu_quant(
    input: Any, *, input_scale: Any = None, input_offset: Any = None, approximate: str = "none",
    quant_mode: str = "dynamic", dst_type: Any = None, round_mode: str = "rint",
) -> tuple:  # fmt: skip
    operator = "npu_gelu_quant"
    require_dtype(operator, "input", input, HALF_AND_FLOAT)
    require_choice(operator, "approximate", approximate, ("none", "tanh"))
    require_choice(operator, "quant_mode", quant_mode, ("dynamic", "static"))
    require_choice(operator, "round_mode", round_mode, ("rint",))
    name = dtype_named(operator, dst_type, ("int8", "float8_e5m2", "float8_e4m3fn"))
    y = aten.gelu(wide(input), approximate=approximate)
    if quant_mode == "dynamic":
        return quantized_by_row(operator, y, input_scale, None if name == "int8" else dst_type)
    require(input_scale is not None, operator, "input_scale is needed with quant_mode 'static'")
    y = y * wide(input_scale)
    y = y if input_offset is None else y + wide(input_offset)
    return _stored(y, name), aten.empty([0], dtype=_FLOAT32, device=input.device)


@composite(
    "npu::npu_dequant_bias(Tensor x, Tensor weight_scale, Tensor? activation_scale, Tensor? bias, *, ScalarType? "
    "output_dtype=None) -> Tensor",
    "int32 sums times a scale a column and one a row; an int32 bias is added before, another after.",
    explicit=True,
)
def npu_dequant_bias(
    x: Any, weight_scale: Any, activation_scale: Any, bias: Any, *, output_dtype: Any = None,
) -> Any:  # fmt: skip
    operator = "npu_dequant_bias"
    require_dtype(operator, "x", x, ("int32",))
    require(x.dim() == 2, operator, f"x must have 2 dimensions, but it has {x.dim()}")
    dtype = DTYPES[dtype_named(operator, output_dtype, ("float16", "bfloat16"), "float16")]
    y = x
    if bias is not None and bias.dtype == DTYPES["int32"]:
        y, bias = y + bias, None
    y = y.to(_FLOAT32) * wide(weight_scale)
    y = y if activation_scale is None else y * wide(activation_scale).reshape(-1, 1)
    return (y if bias is None else y + wide(bias)).to(dtype)


@composite(
    "npu::npu_anti_mx_quant(Tensor x, Tensor mxscale, *, int? axis=-1, int? dst_type=15, int? src_type=292) -> Tensor",
    "The numbers that blocks of 32 along the last dimension, of 8 or 4 bits with exponents in pairs, stand for.",
    explicit=True,
)
def npu_anti_mx_quant(
    x: Any, mxscale: Any, *, axis: Any = -1, dst_type: Any = 15, src_type: Any = 292,
) -> Any:  # fmt: skip
    operator = "npu_anti_mx_quant"
    require(
        axis in (None, -1, x.dim() - 1),
        operator,
        f"axis must be the last one, but it is {axis}",
    )
    dtype = DTYPES[dtype_named(operator, dst_type, ("float16", "bfloat16", "float32"), "bfloat16")]
    return microscaled_product.left(operator, "x", x, src_type, mxscale).to(dtype)


@composite(
    "npu::npu_swiglu_mx_quant(Tensor x, *, Tensor? group_index=None, int activate_dim=-1, bool activate_left=False, int "
    "swiglu_mode=0, float clamp_limit=7.0, float glu_alpha=1.702, float glu_bias=1.0, int group_mode=0, int axis=-1, int "
    'dst_type=296, str round_mode="rint", int scale_alg=0, float max_dtype_value=0) -> (Tensor, Tensor)',
    "One half times silu of the other (the right one unless `activate_left`), or npu_clipped_swiglu's gate (swiglu_mode 1), in blocks "
    "along the last dimension: elements, and the exponents in pairs, as bytes.",
    explicit=True,
    grad=no_gradient("npu_swiglu_mx_quant", "x"),
    samples=[
        S(T(2, 128, grad=False)),
        S(T(2, 128, grad=False), activate_left=True),
        S(T(2, 128, grad=False), swiglu_mode=1),
    ],
)
def npu_swiglu_mx_quant(
    x: Any, *, group_index: Any = None, activate_dim: int = -1, activate_left: bool = False, swiglu_mode: int = 0,
    clamp_limit: float = 7.0, glu_alpha: float = 1.702, glu_bias: float = 1.0, group_mode: int = 0, axis: int = -1,
    dst_type: int = 296, round_mode: str = "rint", scale_alg: int = 0, max_dtype_value: float = 0,
) -> tuple:  # fmt: skip
    operator = "npu_swiglu_mx_quant"
    require_absent(operator, group_index=group_index)
    element = microscaling._element(operator, dst_type, round_mode, scale_alg, max_dtype_value)
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    for name, dim in (("activate_dim", activate_dim), ("axis", axis)):
        require(dim in (-1, x.dim() - 1), operator, f"{name} must be the last one, but it is {dim}")
    require_choice(operator, "swiglu_mode", swiglu_mode, (0, 1))
    require(x.shape[-1] % 4 == 0, operator, f"the last dimension must be a multiple of 4, but it is {x.shape[-1]}")
    y = wide(x)
    if swiglu_mode == 1:
        active, other = y[..., ::2].clamp(max=clamp_limit), y[..., 1::2].clamp(-clamp_limit, clamp_limit)
        y = active * aten.sigmoid(glu_alpha * active) * (other + glu_bias)
    else:
        left, right = aten.chunk(y, 2, -1)
        y = aten.silu(left) * right if activate_left else left * aten.silu(right)
    return microscaling._quantized(y.to(x.dtype), -1, microscaling._BLOCK, element)


@composite(
    "atb::_npu_quantize_per_tensor(Tensor x, Tensor scale, Tensor zero_point, Tensor(a!) y) -> ()",
    "round(x / scale) + zero_point in int8, written to `y`; without a zero point where that is empty.",
    explicit=True,
    devices={
        "scale": "any",
        "zero_point": "any",
    },  # that a tensor has too many dimensions is said before that it lies elsewhere
)
def _npu_quantize_per_tensor(x: Any, scale: Any, zero_point: Any, y: Any) -> None:
    operator = "_npu_quantize_per_tensor"
    for each in (x, scale, zero_point, y):
        require(each.dim() <= 8, operator, f"ATB tensor supports at most 8 dimensions, but got {each.dim()}")
    require_dtype(operator, "y", y, ("int8",))
    made = aten.round(wide(x) / wide(scale))
    made = made + wide(zero_point) if zero_point.numel() else made
    aten.copy_(y, aten.clamp(made, -128, 127))
