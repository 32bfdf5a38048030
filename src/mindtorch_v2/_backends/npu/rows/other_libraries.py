"""Operators that programs call of torch_npu, which has them in some of its builds only.

MindSpeed documents those of it (its own `mindspeed.ops` compiles them as functions, and registers nothing): a step of AdamW with a mean
of the weights, sums of gradients in float32, rotary embeddings.
"""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten, namespace
from .. import casts
from . import operations
from .checks import composite, no_gradient, require, require_choice, require_dtype, wide
from .quantization import dtype_named, unpacked_int4

npu = namespace("npu")
_MODES = ("half", "interleave")  # mode 0 and 1


@composite(
    "npu::npu_anti_quant(Tensor x, Tensor scale, *, Tensor? offset=None, int? dst_dtype=None, int? src_dtype=None) -> Tensor",
    "(x + offset) * scale in float16 or bfloat16, of 8-bit numbers, or of eight 4-bit ones to each int32.",
    explicit=True,
    grad=no_gradient("npu_anti_quant", "scale"),
)
def npu_anti_quant(
    x: Any, scale: Any, *, offset: Any = None, dst_dtype: Any = None, src_dtype: Any = None
) -> Any:  # fmt: skip
    operator = "npu_anti_quant"
    require_dtype(operator, "x", x, ("int8", "int32"))
    require_dtype(operator, "scale", scale, ("float32", "bfloat16"))
    name = dtype_named(operator, dst_dtype, ("float16", "bfloat16"), "float16")
    values = unpacked_int4(x) if x.dtype == DTYPES["int32"] else x
    require(
        scale.dim() == 1 and scale.shape[0] in (1, values.shape[-1]),
        operator,
        f"scale must have 1 or {values.shape[-1]} elements, but its sizes are {list(scale.shape)}",
    )
    require(
        offset is None or (offset.shape == scale.shape and offset.dtype == scale.dtype),
        operator,
        "offset must have the sizes and the dtype of scale",
    )
    shifted = wide(values) if offset is None else wide(values) + wide(offset)
    return (shifted * wide(scale)).to(DTYPES[name])


@composite(
    "npu::npu_apply_fused_ema_adamw(Tensor grad, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v, Tensor(d!) s, Tensor step, "
    "float lr=1e-3, float ema_decay=0.9999, float beta1=0.9, float beta2=0.999, float eps=1e-8, int mode=1, "
    "bool bias_correction=True, float weight_decay=0.0) -> (Tensor(a!), Tensor(b!), Tensor(c!), Tensor(d!))",
    "One step of AdamW (mode 1) or Adam (mode 0) on var and its moments m and v, and of the mean s that follows var, in place.",
    explicit=True,
)
def npu_apply_fused_ema_adamw(
    grad: Any, var: Any, m: Any, v: Any, s: Any, step: Any, lr: float = 1e-3, ema_decay: float = 0.9999,
    beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8, mode: int = 1, bias_correction: bool = True,
    weight_decay: float = 0.0,
) -> tuple:  # fmt: skip
    operator = "npu_apply_fused_ema_adamw"
    require_choice(operator, "mode", mode, (0, 1))
    for name, x in (("grad", grad), ("m", m), ("v", v), ("s", s)):
        require(
            x.shape == var.shape,
            operator,
            f"{name} must have the sizes of var, {list(var.shape)}, but it has {list(x.shape)}",
        )
    g = grad if mode else grad + weight_decay * var
    aten.add_(aten.mul_(m, beta1), g, alpha=1 - beta1)
    aten.addcmul_(aten.mul_(v, beta2), g, g, value=1 - beta2)
    first, second = m, v
    if bias_correction:
        count = step.to(var.dtype)
        first, second = m / (1 - aten.pow(beta1, count)), v / (1 - aten.pow(beta2, count))
    moved = first / (aten.sqrt(second) + eps)
    if mode:
        moved = moved + weight_decay * var
    aten.add_(var, moved, alpha=-lr)
    aten.add_(aten.mul_(s, ema_decay), var, alpha=1 - ema_decay)
    return var, m, v, s


@composite(
    "npu::npu_groupmatmul_add_fp32(Tensor x, Tensor dy, Tensor grouplist, Tensor(a!) grad) -> ()",
    "Adds the products over runs of rows, x[rows].T @ dy[rows], to `grad` in float32; `grouplist` has the ends of the runs.",
    explicit=True,
)
def npu_groupmatmul_add_fp32(x: Any, dy: Any, grouplist: Any, grad: Any) -> None:
    operator = "npu_groupmatmul_add_fp32"
    groups, inner, columns = grouplist.shape[0], x.shape[1], dy.shape[1]
    require(grad.dtype == DTYPES["float32"], operator, f"grad must be float32, but it is {grad.dtype}")
    require(
        x.shape[0] == dy.shape[0] and grad.numel() == groups * inner * columns,
        operator,
        f"grad must have {groups} x {inner} x {columns} elements for {list(x.shape)} and {list(dy.shape)}, but its sizes "
        f"are {list(grad.shape)}",
    )
    npu.npu_grouped_matmul_add_(grad.view([groups, inner, columns]), x, dy, grouplist)


@composite(
    "npu::npu_matmul_add_fp32(Tensor x, Tensor weight, Tensor(a!) C) -> ()",
    "Adds x.T @ weight, summed in float32, to `C`.",
    explicit=True,
    flops=operations.of_product,
)
def npu_matmul_add_fp32(x: Any, weight: Any, C: Any) -> None:
    add_product("npu_matmul_add_fp32", x, weight, C)


def add_product(operator: str, x: Any, weight: Any, C: Any) -> None:
    """C += x.T @ weight, in float32."""
    require(C.dtype == DTYPES["float32"], operator, f"C must be float32, but it is {C.dtype}")
    require(
        x.shape[0] == weight.shape[0] and tuple(C.shape) == (x.shape[1], weight.shape[1]),
        operator,
        f"C must be ({x.shape[1]}, {weight.shape[1]}) for operands of {list(x.shape)} and {list(weight.shape)}, but its "
        f"sizes are {list(C.shape)}",
    )
    aten.add_(C, aten.matmul(x.to(C.dtype).transpose(0, 1), weight.to(C.dtype)))


@composite(
    "npu::npu_prefetch(Tensor input, Tensor? dependency, int max_size, int offset=0) -> ()",
    "Nothing: a hint that the bytes of a weight are wanted soon.",
    explicit=True,
    samples=[S(T(2, 3), None, 8)],
)
def npu_prefetch(input: Any, dependency: Any, max_size: int, offset: int = 0) -> None:
    operator = "npu_prefetch"
    require(max_size > 0, operator, f"max_size should be greater than zero, but got {max_size}")
    require(offset >= 0, operator, f"offset should not be smaller than zero, but got {offset}")
    size = input.numel() * input.element_size()  # of rows; blocks take more
    require(
        offset < size or not casts.is_in_rows(input),
        operator,
        f"offset out of range of tensor size, tensor size: {size}, offset: {offset}",
    )


@composite(
    "npu::npu_rotary_position_embedding(Tensor x, Tensor cos, Tensor sin, int mode=0) -> Tensor",
    "npu_rotary_mul by the name that MindSpeed calls: halves for mode 0, neighbours for 1.",
    samples=[S(T(2, 3, 4, 8), T(1, 3, 1, 8), T(1, 3, 1, 8)), S(T(2, 3, 4, 8), T(2, 3, 1, 8), T(2, 3, 1, 8), 1)],
)
def npu_rotary_position_embedding(x: Any, cos: Any, sin: Any, mode: int = 0) -> Any:
    require_choice("npu_rotary_position_embedding", "mode", mode, (0, 1))
    return npu.npu_rotary_mul(x, cos, sin, _MODES[mode])
