"""Products of 8-bit numbers with what follows them: gelu, a sum over the batch, or the rounding before."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from . import operations
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_absent, require_choice, require_dtype, wide
from .product import _whole_numbers
from .quantization import _stored, quantized_by_row
from .quantized_product import _exact


@composite(
    "npu::npu_quant_matmul_gelu(Tensor x1, Tensor x2, Tensor x1_scale, Tensor x2_scale, *, Tensor? bias=None, str? "
    "approximate='gelu_erf') -> Tensor",
    "gelu of npu_quant_matmul, 'gelu_erf' or 'gelu_tanh'; in bfloat16 beside a scale or a bias of that, else in float16.",
    explicit=True,
    flops=operations.of_factors,
)
def npu_quant_matmul_gelu(
    x1: Any, x2: Any, x1_scale: Any, x2_scale: Any, *, bias: Any = None, approximate: Any = "gelu_erf",
) -> Any:  # fmt: skip
    operator = "npu_quant_matmul_gelu"
    require_choice(operator, "approximate", approximate, (None, "gelu_erf", "gelu_tanh"))
    for name, x in (("x1", x1), ("x2", x2)):
        require_dtype(operator, name, x, ("int8", "int32"))
    require(x1.dtype == x2.dtype, operator, f"x1 and x2 must have one dtype, but they are {x1.dtype} and {x2.dtype}")
    left, right = _whole_numbers(x1), _whole_numbers(x2)
    require(
        left.shape[-1] == right.shape[-2],
        operator,
        f"x1 has {left.shape[-1]} columns, x2 {right.shape[-2]} rows: they must be as many",
    )
    total = aten.matmul(left.to(DTYPES["float64"]), right.to(DTYPES["float64"]))  # sums of int32, exactly
    short = DTYPES["bfloat16"]
    dtype = short if x2_scale.dtype == short or (bias is not None and bias.dtype == short) else DTYPES["float16"]
    if bias is not None and bias.dtype == DTYPES["int32"]:
        total, bias = total + bias, None
    y = total.to(DTYPES["float32"]) * wide(x2_scale) * wide(x1_scale).unsqueeze(-1)
    y = y if bias is None else y + wide(bias)
    return aten.gelu(y, approximate="tanh" if approximate == "gelu_tanh" else "none").to(dtype)


@composite(
    "npu::npu_quant_matmul_reduce_sum(Tensor x1, Tensor x2, *, Tensor? x1_scale=None, Tensor? x2_scale=None) -> Tensor",
    "The sum over the batch of products of int8 matrices, (batch, M, K) and (batch, K, N), times a scale a row and one a column, in "
    "bfloat16.",
    explicit=True,
    flops=operations.of_factors,
)
def npu_quant_matmul_reduce_sum(x1: Any, x2: Any, *, x1_scale: Any = None, x2_scale: Any = None) -> Any:
    operator = "npu_quant_matmul_reduce_sum"
    for name, x, scale in (("x1", x1, x1_scale), ("x2", x2, x2_scale)):
        require_dtype(operator, name, x, ("int8",))
        require(x.dim() == 3, operator, f"{name} must have 3 dimensions, but it has {x.dim()}")
        require(scale is not None, operator, f"{name}_scale is needed")
    require(
        x1.shape[0] == x2.shape[0] and x1.shape[2] == x2.shape[1],
        operator,
        f"x1 (batch, M, K) and x2 (batch, K, N) must fit, but their sizes are {list(x1.shape)} and {list(x2.shape)}",
    )
    y = _exact(x1, x2) * wide(x1_scale).unsqueeze(-1) * wide(x2_scale)
    return y.sum([0]).to(DTYPES["bfloat16"])


@composite(
    "npu::npu_quant_matmul_dequant(Tensor x, Tensor quantized_weight, Tensor weight_scale, *, Tensor? bias=None, Tensor? "
    "x_scale=None, Tensor? x_offset=None, Tensor? smooth_scale=None, str? quant_mode='pertoken') -> Tensor",
    "Rows, rounded to int8 by row or tensor, by an 8-bit matrix (N, K), times both scales.",
    explicit=True,
    grad=no_gradient("npu_quant_matmul_dequant", "x"),
)
def npu_quant_matmul_dequant(
    x: Any, quantized_weight: Any, weight_scale: Any, *, bias: Any = None, x_scale: Any = None, x_offset: Any = None,
    smooth_scale: Any = None, quant_mode: Any = "pertoken",
) -> Any:  # fmt: skip
    operator = "npu_quant_matmul_dequant"
    require_absent(operator, bias=bias, x_offset=x_offset)
    require_choice(operator, "quant_mode", quant_mode, ("pertoken", "pertensor"))
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    require_dtype(operator, "quantized_weight", quantized_weight, ("int8",))
    require(
        quantized_weight.dim() == 2 and quantized_weight.shape[1] == x.shape[-1],
        operator,
        f"quantized_weight must be (N, K) with K as in x, {x.shape[-1]}, but its sizes are {list(quantized_weight.shape)}",
    )
    y = wide(x) if smooth_scale is None else wide(x) * wide(smooth_scale)
    if x_scale is not None:
        scale = wide(x_scale).reshape(-1, 1) if x_scale.numel() > 1 else wide(x_scale).reshape([])
        rows = _stored(y / scale, "int8")
    else:
        require(quant_mode == "pertoken", operator, "quant_mode 'pertensor' takes x_scale")
        rows, scale = quantized_by_row(operator, y)
        scale = scale.unsqueeze(-1)
    return (_exact(rows, quantized_weight.transpose(0, 1)) * wide(weight_scale) * scale).to(x.dtype)
