"""Normalisations, alone and with what programs put before and after them."""

from __future__ import annotations

import math
from typing import Any

from .... import _C
from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_dtype, wide
from .quantization import quantized, quantized_by_row

npu = namespace("npu")


def _dims(operator, x, gamma) -> list:
    """The dimensions that a gain of these sizes normalises."""
    count = gamma.dim()
    require(
        0 < count <= x.dim() and tuple(x.shape[x.dim() - count :]) == tuple(gamma.shape),
        operator,
        f"gamma must have the sizes of the last dimensions of the input, but they are {list(gamma.shape)} and "
        f"{list(x.shape)}",
    )
    return list(range(x.dim() - count, x.dim()))


def normalized(operator: str, x: Any, gamma: Any, epsilon: float, shift: float = 0.0) -> tuple:
    """x / rms(x) * (gamma + shift) in the wide type, and the reciprocal of the root."""
    dims = _dims(operator, x, gamma)
    require_dtype(operator, "gamma", gamma, HALF_AND_FLOAT)
    gain = wide(gamma).to(x.dtype)
    gain = gain + shift if shift else gain
    if x.device.type == "cpu":  # elsewhere that is the operator that this defines
        return aten._fused_rms_norm(x, list(gamma.shape), gain, epsilon)
    rstd = aten.rsqrt((x * x).mean(dims, True) + epsilon)
    return x * rstd * gain, rstd.detach()


@composite(
    "npu::npu_rms_norm(Tensor input, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)",
    "x / sqrt(mean(x^2) + epsilon) * gamma over the dimensions of gamma, and the reciprocal of the root in float32.",
    explicit=True,
    grad={
        ("input", "gamma"): lambda grad, input, gamma, result1: npu.npu_rms_norm_backward(grad, input, gamma, result1)
    },
    nondiff=(1,),
    samples=[S(T(2, 3, 8), T(8)), S(T(4, 6), T(6), 1e-5), S(T(2, 3, 4), T(3, 4))],
)
def npu_rms_norm(input: Any, gamma: Any, epsilon: float = 1e-06) -> tuple:
    require_dtype("npu_rms_norm", "input", input, HALF_AND_FLOAT)
    y, rstd = normalized("npu_rms_norm", wide(input), gamma, epsilon)
    return y.to(input.dtype), rstd


@composite(
    "npu::npu_rms_norm_backward(Tensor dy, Tensor input, Tensor gamma, Tensor rstd) -> (Tensor, Tensor)",
    "Gradients of npu_rms_norm by its input and its gain; that of the gain is float32.",
    samples=[S(T(2, 3, 8), T(2, 3, 8), T(8), T(2, 3, 1, low=0.5, high=2.0))],
)
def npu_rms_norm_backward(dy: Any, input: Any, gamma: Any, rstd: Any) -> tuple:
    dims = _dims("npu_rms_norm_backward", input, gamma)
    x, g, gain = wide(input), wide(dy), wide(gamma)
    # A gradient of the gradient is that of this formula.
    recorded = _C.is_grad_enabled() and any(each.requires_grad for each in (x, g, gain, rstd))
    if x.device.type == "cpu" and x.dtype == g.dtype == gain.dtype == rstd.dtype and not recorded:
        dx, dgamma = aten._fused_rms_norm_backward(g, x, list(gamma.shape), rstd, gain, [True, True])
        return dx.to(input.dtype), dgamma
    x, scaled = x * rstd, g * gain
    dx = rstd * (scaled - x * (scaled * x).mean(dims, True))
    rows = list(range(input.dim() - gamma.dim()))
    dgamma = (g * x).sum(rows) if rows else g * x
    return dx.to(input.dtype), dgamma


@composite(
    "npu::npu_gemma_rms_norm(Tensor input, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor)",
    "npu_rms_norm with 1 + gamma for its gain.",
    samples=[S(T(2, 3, 8), T(8))],
)
def npu_gemma_rms_norm(input: Any, gamma: Any, epsilon: float = 1e-06) -> tuple:
    require_dtype("npu_gemma_rms_norm", "input", input, HALF_AND_FLOAT)
    y, rstd = normalized("npu_gemma_rms_norm", wide(input), gamma, epsilon, shift=1.0)
    return y.to(input.dtype), rstd


def _add_norm(operator, x1, x2, gamma, epsilon) -> tuple:
    """Norm of the sum, in the wide type; the reciprocal root; the sum as the caller gets it."""
    require(
        x1.shape == x2.shape and x1.dtype == x2.dtype,
        operator,
        f"x1 and x2 must have the same sizes and dtype, but they are {list(x1.shape)} {x1.dtype} and "
        f"{list(x2.shape)} {x2.dtype}",
    )
    total = wide(x1) + wide(x2)
    y, rstd = normalized(operator, total, gamma, epsilon)
    return y, rstd, total.to(x1.dtype)


@composite(
    "npu::npu_add_rms_norm(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)",
    "npu_rms_norm of x1 + x2: the norm, the reciprocal root, the sum.",
    explicit=True,
    grad=no_gradient("npu_add_rms_norm", "x1", "x2", "gamma"),
    samples=[S(T(2, 3, 8), T(2, 3, 8), T(8))],
)
def npu_add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-06) -> tuple:
    y, rstd, total = _add_norm("npu_add_rms_norm", x1, x2, gamma, epsilon)
    return y.to(x1.dtype), rstd, total


@composite(
    "npu::npu_add_rms_norm_v2(Tensor(a!) x1, Tensor(b!) x2, Tensor gamma, float epsilon=1e-06) -> Tensor",
    "npu_add_rms_norm in place: x1 becomes the norm and x2 the sum; returns the reciprocal root.",
    explicit=True,
    samples=[S(T(2, 3, 8), T(2, 3, 8), T(8))],
)
def npu_add_rms_norm_v2(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-06) -> Any:
    y, rstd, total = _add_norm("npu_add_rms_norm_v2", x1, x2, gamma, epsilon)
    aten.copy_(x1, y)
    aten.copy_(x2, total)
    return rstd


@composite(
    "npu::npu_add_rms_norm_v2_functional(Tensor x1, Tensor x2, Tensor gamma, float epsilon=1e-06) -> (Tensor, Tensor, Tensor)",
    "npu_add_rms_norm_v2 without writing: the reciprocal root, the norm and the sum.",
    explicit=True,
    grad=no_gradient("npu_add_rms_norm_v2_functional", "x1", "x2", "gamma"),
    samples=[S(T(2, 3, 8), T(2, 3, 8), T(8))],
)
def npu_add_rms_norm_v2_functional(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-06) -> tuple:
    y, rstd, total = _add_norm("npu_add_rms_norm_v2_functional", x1, x2, gamma, epsilon)
    return rstd, y, total


@composite(
    "npu::npu_add_rms_norm_quant(Tensor x1, Tensor x2, Tensor gamma, Tensor scales1, Tensor? zero_points1, "
    "Tensor? beta=None, Tensor? scales2=None, Tensor? zero_points2=None, *, int axis=-1, float epsilon=1e-06, "
    "bool div_mode=True, int? dst_type=None) -> (Tensor, Tensor, Tensor)",
    "npu_add_rms_norm whose norm is rounded to int8 by one or two scales: the quantised norms and the sum.",
    explicit=True,
    grad=no_gradient("npu_add_rms_norm_quant", "x1", "x2", "gamma"),
)
def npu_add_rms_norm_quant(
    x1: Any, x2: Any, gamma: Any, scales1: Any, zero_points1: Any, beta: Any = None, scales2: Any = None,
    zero_points2: Any = None, *, axis: int = -1, epsilon: float = 1e-06, div_mode: bool = True, dst_type: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_add_rms_norm_quant"
    require(axis == -1, operator, f"axis must be -1, but it is {axis}")
    y, _, total = _add_norm(operator, x1, x2, gamma, epsilon)
    if beta is not None:
        y = y + wide(beta)
    first = quantized(operator, y, scales1, zero_points1, div_mode, dst_type)
    if scales2 is None:
        return first, aten.zeros_like(first), total
    second = quantized(operator, y, scales2, zero_points2, div_mode, dst_type)
    return first, second, total


@composite(
    "npu::npu_add_rms_norm_dynamic_quant(Tensor x1, Tensor x2, Tensor gamma, *, Tensor? smooth_scale1=None, "
    "Tensor? smooth_scale2=None, Tensor? beta=None, float epsilon=1e-6, bool[2]? output_mask=None, int? y_dtype=None) "
    "-> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "npu_add_rms_norm whose norm is rounded row by row: the one or two quantised norms (one zero for a masked one), the sum, "
    "and their scales.",
    explicit=True,
    grad=no_gradient("npu_add_rms_norm_dynamic_quant", "x1", "x2", "gamma"),
)
def npu_add_rms_norm_dynamic_quant(
    x1: Any, x2: Any, gamma: Any, *, smooth_scale1: Any = None, smooth_scale2: Any = None, beta: Any = None,
    epsilon: float = 1e-6, output_mask: Any = None, y_dtype: Any = None,
) -> tuple:  # fmt: skip
    operator = "npu_add_rms_norm_dynamic_quant"
    y, _, total = _add_norm(operator, x1, x2, gamma, epsilon)
    if beta is not None:
        y = y + wide(beta)
    first, second = output_mask or (True, smooth_scale2 is not None)
    one = aten.zeros([1], dtype=DTYPES["int8"], device=y.device), aten.zeros([1], dtype=wide(y).dtype, device=y.device)
    y1, scale1 = quantized_by_row(operator, y, smooth_scale1, y_dtype) if first else one
    y2, scale2 = quantized_by_row(operator, y, smooth_scale2, y_dtype) if second else one
    return y1, y2, total, scale1, scale2


def _layer_norm(operator, x, gamma, beta, epsilon) -> tuple:
    """LayerNorm in the wide type: result, mean, reciprocal deviation."""
    _dims(operator, x, gamma)
    gain, shift = (wide(each).to(x.dtype) for each in (gamma, beta))
    return aten.native_layer_norm(x, list(gamma.shape), gain, shift, epsilon)


@composite(
    "npu::npu_add_layer_norm(Tensor x1, Tensor x2, Tensor gamma, Tensor beta, float epsilon=1e-05, "
    "bool additional_output=False) -> (Tensor, Tensor, Tensor, Tensor)",
    "Layer norm of x1 + x2: the norm, mean, reciprocal deviation, and the sum where it is asked for.",
    samples=[S(T(2, 3, 8), T(2, 3, 8), T(8), T(8))],
)
def npu_add_layer_norm(
    x1: Any, x2: Any, gamma: Any, beta: Any, epsilon: float = 1e-05, additional_output: bool = False,
) -> tuple:  # fmt: skip
    total = wide(x1) + wide(x2)
    y, mean, rstd = _layer_norm("npu_add_layer_norm", total, gamma, beta, epsilon)
    dtype = _C.promote_types(x1.dtype, x2.dtype)  # float32 beside a shorter one
    summed = total.to(dtype) if additional_output else aten.empty([0], dtype=dtype, device=x1.device)
    return y.to(dtype), mean, rstd, summed


@composite(
    "npu::npu_deep_norm(Tensor x, Tensor gx, Tensor beta, Tensor gamma, float alpha=0.3, float epsilon=1e-06) "
    "-> (Tensor, Tensor, Tensor)",
    "Layer norm of alpha * x + gx: mean, reciprocal deviation, the norm.",
    samples=[S(T(2, 3, 8), T(2, 3, 8), T(8), T(8))],
)
def npu_deep_norm(x: Any, gx: Any, beta: Any, gamma: Any, alpha: float = 0.3, epsilon: float = 1e-06) -> tuple:
    y, mean, rstd = _layer_norm("npu_deep_norm", wide(x) * alpha + wide(gx), gamma, beta, epsilon)
    return mean, rstd, y.to(x.dtype)


@composite(
    "npu::npu_group_norm_silu(Tensor input, Tensor? weight, Tensor? bias, int group, float eps=0.00001) "
    "-> (Tensor, Tensor, Tensor)",
    "silu(group norm): the result, mean and reciprocal deviation of each group.",
    explicit=True,
    grad=no_gradient("npu_group_norm_silu", "input", "weight", "bias"),
    samples=[S(T(2, 6, 3, 3), T(6), T(6), 2)],
)
def npu_group_norm_silu(input: Any, weight: Any, bias: Any, group: int, eps: float = 0.00001) -> tuple:
    n, c = input.shape[0], input.shape[1]
    require(c % group == 0, "npu_group_norm_silu", f"group must divide the {c} channels, but it is {group}")
    y, mean, rstd = aten.native_group_norm(input, weight, bias, n, c, math.prod(input.shape[2:]), group, eps)
    return aten.silu(y), mean, rstd


@composite(
    "npu::npu_group_norm_swish(Tensor input, int num_groups, Tensor weight, Tensor bias, float? eps=1e-5, float? "
    "swish_scale=1.0) -> (Tensor, Tensor, Tensor)",
    "y sigmoid(swish_scale y) of the group norm y; its mean and reciprocal deviation of each group.",
    samples=[S(T(2, 6, 3, 3), 2, T(6), T(6)), S(T(2, 4, 5), 4, T(4), T(4), 1e-5, 0.5)],
)
def npu_group_norm_swish(
    input: Any, num_groups: int, weight: Any, bias: Any, eps: Any = 1e-5, swish_scale: Any = 1.0,
) -> tuple:  # fmt: skip
    operator = "npu_group_norm_swish"
    require_dtype(operator, "input", input, HALF_AND_FLOAT)
    require(input.dim() >= 2, operator, f"input must have at least 2 dimensions, but it has {input.dim()}")
    n, c = input.shape[0], input.shape[1]
    require(
        num_groups > 0 and c % num_groups == 0,
        operator,
        f"num_groups must divide the {c} channels, but it is {num_groups}",
    )
    y, mean, rstd = aten.native_group_norm(
        input, weight, bias, n, c, math.prod(input.shape[2:]), num_groups, 1e-5 if eps is None else eps
    )
    return y * aten.sigmoid((1.0 if swish_scale is None else swish_scale) * y), mean, rstd


@composite(
    "npu::npu_layer_norm_eval(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05) -> "
    "Tensor",
    "The layer norm, without what its gradient would need.",
    samples=[S(T(2, 3, 4), [4], T(4), T(4)), S(T(2, 4), [4])],
)
def npu_layer_norm_eval(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Any:
    return aten.layer_norm(input, normalized_shape, weight, bias, eps)
