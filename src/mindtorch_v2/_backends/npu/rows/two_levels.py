"""Numbers of four bits under two scales: a float32 for 512 of them, and an exponent for 32."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from . import microscaled_product, microscaling
from .checks import composite, no_gradient, require, require_absent, require_dtype
from .quantization import dtype_named

_RUN = 512
_FLOAT32 = DTYPES["float32"]


@composite(
    'npu::npu_dynamic_dual_level_mx_quant(Tensor input, *, Tensor? smooth_scale=None, str round_mode="rint") -> (Tensor, Tensor, '
    "Tensor)",
    "Runs of 512 along the last dimension by their largest element, then blocks of 32 in 4 bits: elements (two in a byte), the "
    "scales of the runs, and the exponents of the blocks in pairs, as bytes.",
    explicit=True,
    grad=no_gradient("npu_dynamic_dual_level_mx_quant", "input"),
)
def npu_dynamic_dual_level_mx_quant(input: Any, *, smooth_scale: Any = None, round_mode: str = "rint") -> tuple:
    operator = "npu_dynamic_dual_level_mx_quant"
    require_absent(operator, smooth_scale=smooth_scale)
    require_dtype(operator, "input", input, ("float16", "bfloat16"))
    element = microscaling._element(operator, 296, round_mode, 0, 0.0)
    microscaling._input(operator, input, element, 1)
    cut = microscaling._blocks(input.to(_FLOAT32), -1, _RUN)
    scale = cut.abs().amax([-1]) / element.largest
    # What the first scale leaves is in the input's dtype.
    rest = aten.flatten((cut / aten.where(scale == 0, 1, scale).unsqueeze(-1)).to(input.dtype), -2)[
        ..., : input.shape[-1]
    ]
    elements, exponents = microscaling._quantized(rest, -1, microscaling._BLOCK, element)
    return elements, scale, exponents


def _under_both(operator, name, x, by_run, exponents) -> Any:
    """The matrix (rows, K) that elements and both scales stand for, in float32."""
    values = microscaled_product.left(operator, name, x, 296, exponents)
    runs = -(-values.shape[-1] // _RUN)
    require(
        list(by_run.shape) == [values.shape[0], runs],
        operator,
        f"the scales of the runs of {name} must have the sizes {[values.shape[0], runs]}, but they have {list(by_run.shape)}",
    )
    return values, by_run.to(_FLOAT32)


@composite(
    "npu::npu_dual_level_quant_matmul(Tensor x1, Tensor x2, Tensor x1_level0_scale, Tensor x2_level0_scale, Tensor "
    "x1_level1_scale, Tensor x2_level1_scale, *, Tensor? bias=None, int output_dtype=15) -> Tensor",
    "The product of matrices (M, K) and (N, K) of 4 bits under two scales; those of the second's runs are (K / 512, N).",
    explicit=True,
    grad=no_gradient("npu_dual_level_quant_matmul", "x1_level0_scale", "x2_level0_scale"),
)
def npu_dual_level_quant_matmul(
    x1: Any, x2: Any, x1_level0_scale: Any, x2_level0_scale: Any, x1_level1_scale: Any, x2_level1_scale: Any, *,
    bias: Any = None, output_dtype: int = 15,
) -> Any:  # fmt: skip
    operator = "npu_dual_level_quant_matmul"
    dtype = DTYPES[dtype_named(operator, output_dtype, ("float16", "bfloat16"))]
    for name, x in (("x1", x1), ("x2", x2)):
        require(x.dim() == 2, operator, f"{name} must have 2 dimensions, but it has {x.dim()}")
    left, left_runs = _under_both(operator, "x1", _bytes(x1), x1_level0_scale, x1_level1_scale)
    right, right_runs = _under_both(operator, "x2", _bytes(x2), x2_level0_scale.transpose(0, 1), x2_level1_scale)
    require(
        left.shape[-1] == right.shape[-1],
        operator,
        f"both matrices must have as many columns, but they have {left.shape[-1]} and {right.shape[-1]}",
    )
    y = aten.zeros([left.shape[0], right.shape[0]], dtype=_FLOAT32, device=x1.device)
    for run in range(left_runs.shape[1]):
        of = slice(run * _RUN, (run + 1) * _RUN)
        part = aten.matmul(left[:, of], right[:, of].transpose(0, 1))
        y = y + part * left_runs[:, run : run + 1] * right_runs[:, run].unsqueeze(0)
    return (y if bias is None else y + bias.to(_FLOAT32)).to(dtype)


def _bytes(x) -> Any:
    return x.view(DTYPES["uint8"]) if x.dtype == DTYPES["int8"] else x
