"""Activations, those that gate one half of a tensor by the other first."""

from __future__ import annotations

from typing import Any

from ...._operators.table import S, T, aten, namespace
from .checks import HALF_AND_FLOAT, composite, no_gradient, require, require_choice, require_dtype, wide

npu = namespace("npu")


def halves(operator: Any, x: Any, dim: Any) -> Any:
    """Both halves along a dimension, which must be even."""
    size = x.shape[dim]
    require(size % 2 == 0, operator, f"the size of dimension {dim} must be even, but it is {size}")
    return aten.chunk(x, 2, dim)


@composite(
    "npu::npu_swiglu(Tensor input, int dim=-1) -> Tensor",
    "silu of the first half along `dim`, times the second.",
    explicit=True,
    grad={"input": lambda grad, input, dim: npu.npu_swiglu_backward(grad, input, dim)},
    samples=[S(T(2, 3, 8)), S(T(4, 6), 0)],
)
def npu_swiglu(input: Any, dim: int = -1) -> Any:
    require_dtype("npu_swiglu", "input", input, HALF_AND_FLOAT)
    a, b = halves("npu_swiglu", input, dim)
    return (aten.silu(wide(a)) * wide(b)).to(input.dtype)


@composite(
    "npu::npu_swiglu_backward(Tensor grad_output, Tensor input, int dim=-1) -> Tensor",
    "Gradient of npu_swiglu.",
    samples=[S(T(2, 3, 4), T(2, 3, 8))],
)
def npu_swiglu_backward(grad_output: Any, input: Any, dim: int = -1) -> Any:
    a, b = (wide(half) for half in halves("npu_swiglu_backward", input, dim))
    g, s = wide(grad_output), aten.sigmoid(a)
    return aten.cat([g * b * s * (1 + a * (1 - s)), g * a * s], dim).to(input.dtype)


@composite(
    "npu::npu_clipped_swiglu(Tensor x, *, Tensor? group_index=None, int dim=-1, float alpha=1.702, float limit=7.0, "
    "float bias=1.0, bool interleaved=True) -> Tensor",
    "A * sigmoid(alpha A) * (B + bias) with A at most `limit` and B within it; rows beyond the groups are zero.",
    explicit=True,
    grad=no_gradient("npu_clipped_swiglu", "x"),
    samples=[S(T(3, 8)), S(T(3, 8), interleaved=False)],
)
def npu_clipped_swiglu(
    x: Any, *, group_index: Any = None, dim: int = -1, alpha: float = 1.702, limit: float = 7.0, bias: float = 1.0,
    interleaved: bool = True,
) -> Any:  # fmt: skip
    operator = "npu_clipped_swiglu"
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    if interleaved:
        require(x.shape[dim] % 2 == 0, operator, f"the size of dimension {dim} must be even, but it is {x.shape[dim]}")
        a, b = aten.unbind(aten.unflatten(x, dim, [x.shape[dim] // 2, 2]), dim if dim < 0 else dim + 1)
    else:
        a, b = halves(operator, x, dim)
    a, b = aten.clamp(wide(a), max=limit), aten.clamp(wide(b), -limit, limit)
    y = (a * aten.sigmoid(alpha * a) * (b + bias)).to(x.dtype)
    if group_index is not None:
        kept = aten.arange(y.shape[0], device=y.device) < group_index.sum()
        y = aten.where(kept.reshape(-1, *[1] * (y.dim() - 1)), y, 0)
    return y


_APPROXIMATIONS = {0: "none", 1: "tanh"}


@composite(
    "npu::npu_geglu(Tensor input, int dim=-1, int approximate=1, bool activate_left=False) -> (Tensor, Tensor)",
    "One half along `dim` times gelu of the other (the right one unless `activate_left`), and that gelu.",
    samples=[S(T(2, 3, 8)), S(T(2, 8), -1, 0, True)],
)
def npu_geglu(input: Any, dim: int = -1, approximate: int = 1, activate_left: bool = False) -> tuple:
    require_choice("npu_geglu", "approximate", approximate, (0, 1))
    left, right = halves("npu_geglu", input, dim)
    gated, active = (right, left) if activate_left else (left, right)
    gelu = aten.gelu(wide(active), approximate=_APPROXIMATIONS[approximate])
    return (wide(gated) * gelu).to(input.dtype), gelu.to(input.dtype)


@composite(
    "npu::npu_gelu(Tensor input, *, str approximate='none') -> Tensor",
    "x times the normal distribution's probability below x, or the tanh formula.",
    samples=[S(T(2, 5)), S(T(2, 5), approximate="tanh")],
)
def npu_gelu(input: Any, *, approximate: str = "none") -> Any:
    return aten.gelu(input, approximate=approximate)


@composite(
    "npu::npu_gelu_mul(Tensor input, *, str approximate='none') -> Tensor",
    "gelu of the first half of the last dimension, times the second.",
    samples=[S(T(2, 8)), S(T(2, 3, 6), approximate="tanh")],
)
def npu_gelu_mul(input: Any, *, approximate: str = "none") -> Any:
    operator = "npu_gelu_mul"
    require_dtype(operator, "input", input, HALF_AND_FLOAT)
    require_choice(operator, "approximate", approximate, ("none", "tanh"))
    a, b = halves(operator, input, -1)
    return (aten.gelu(wide(a), approximate=approximate) * wide(b)).to(input.dtype)


@composite(
    "npu::npu_fast_gelu(Tensor input) -> Tensor",
    "x / (1 + exp(-1.702 x)).",
    samples=[S(T(2, 5))],
)
def npu_fast_gelu(input: Any) -> Any:
    x = wide(input)
    return (x * aten.sigmoid(x * 1.702)).to(input.dtype)


@composite("npu::fast_gelu(Tensor input) -> Tensor", "npu_fast_gelu by its older name.", samples=[S(T(2, 5))])
def fast_gelu(input: Any) -> Any:
    return npu.npu_fast_gelu(input)


@composite("npu::npu_silu(Tensor input) -> Tensor", "x sigmoid(x).", samples=[S(T(2, 5))])
def npu_silu(input: Any) -> Any:
    return aten.silu(input)


@composite(
    "npu::npu_silu_(Tensor(a!) input) -> Tensor(a!)",
    "npu_silu in place.",
    samples=[S(T(2, 5))],
)
def npu_silu_(input: Any) -> Any:
    return aten.silu_(input)


@composite(
    "npu::npu_mish(Tensor input) -> Tensor",
    "x tanh(softplus(x)).",
    samples=[S(T(2, 5))],
)
def npu_mish(input: Any) -> Any:
    return aten.mish(input)


_MASKED = -10000.0


@composite(
    "npu::npu_scaled_masked_softmax(Tensor x, Tensor mask, Scalar scale=1, bool fixed_triu_mask=False) -> Tensor",
    "Softmax over the last dimension of x * scale, where the mask is True of -10000.",
    explicit=True,
    grad={
        "x": lambda grad, mask, scale, fixed_triu_mask, result: npu.npu_scaled_masked_softmax_backward(
            grad, result, mask, scale, fixed_triu_mask
        )
    },
    samples=[S(T(2, 2, 32, 32), T(2, 1, 32, 32, dtype="bool"), 0.5)],
)
def npu_scaled_masked_softmax(x: Any, mask: Any, scale: float = 1, fixed_triu_mask: bool = False) -> Any:
    operator = "npu_scaled_masked_softmax"
    require_dtype(operator, "x", x, HALF_AND_FLOAT)
    require(x.dim() == 4, operator, f"x must have 4 dimensions (B, N, S, T), but it has {x.dim()}")
    for size in x.shape[2:]:
        require(
            size % 32 == 0 and 32 <= size <= 4096,
            operator,
            f"the last two sizes of x must be multiples of 32 from 32 to 4096, but they are {list(x.shape[2:])}",
        )
    if fixed_triu_mask:
        mask = aten.triu(aten.ones(x.shape[2:], dtype=mask.dtype, device=x.device), 1)
    scores = aten.masked_fill(wide(x) * scale, mask, _MASKED)
    return aten.softmax(scores, -1).to(x.dtype)


@composite(
    "npu::npu_scaled_masked_softmax_backward(Tensor y_grad, Tensor y, Tensor mask, Scalar scale, bool fixed_triu_mask) "
    "-> Tensor",
    "Gradient of npu_scaled_masked_softmax.",
    samples=[S(T(2, 2, 4, 4), T(2, 2, 4, 4), T(2, 1, 4, 4, dtype="bool"), 0.5, False)],
)
def npu_scaled_masked_softmax_backward(y_grad: Any, y: Any, mask: Any, scale: float, fixed_triu_mask: bool) -> Any:
    g, p = wide(y_grad), wide(y)
    if fixed_triu_mask:
        mask = aten.triu(aten.ones(y.shape[2:], dtype=mask.dtype, device=y.device), 1)
    dx = (g - (g * p).sum([-1], True)) * p * scale
    return aten.masked_fill(dx, mask, 0).to(y.dtype)


@composite(
    "npu::npu_softmax_cross_entropy_with_logits(Tensor input, Tensor labels) -> Tensor",
    "-sum(labels * log softmax(input)) over the last dimension.",
    samples=[S(T(3, 5), T(3, 5, grad=False, low=0.0, high=1.0))],
)
def npu_softmax_cross_entropy_with_logits(input: Any, labels: Any) -> Any:
    return -(wide(labels) * aten.log_softmax(wide(input), -1)).sum([-1]).to(input.dtype)


@composite(
    "npu::npu_fast_gelu_backward(Tensor grad, Tensor input) -> Tensor",
    "Gradient of npu_fast_gelu.",
    samples=[S(T(2, 5), T(2, 5))],
)
def npu_fast_gelu_backward(grad: Any, input: Any) -> Any:
    x = wide(input)
    s = aten.sigmoid(x * 1.702)
    return (wide(grad) * s * (1 + 1.702 * x * (1 - s))).to(input.dtype)


@composite(
    "npu::npu_gelu_backward(Tensor grad_output, Tensor input, *, str approximate='none') -> Tensor",
    "Gradient of npu_gelu.",
    samples=[S(T(2, 5), T(2, 5)), S(T(2, 5), T(2, 5), approximate="tanh")],
)
def npu_gelu_backward(grad_output: Any, input: Any, *, approximate: str = "none") -> Any:
    return aten.gelu_backward(grad_output, input, approximate=approximate)


@composite(
    "npu::npu_mish_backward(Tensor grad, Tensor input) -> Tensor",
    "Gradient of npu_mish.",
    samples=[S(T(2, 5), T(2, 5))],
)
def npu_mish_backward(grad: Any, input: Any) -> Any:
    x = wide(input)
    t = aten.tanh(aten.softplus(x))
    return (wide(grad) * (t + x * (1 - t * t) * aten.sigmoid(x))).to(input.dtype)


@composite(
    "npu::npu_silu_backward(Tensor grad_output, Tensor x0, Tensor x1) -> Tensor",
    "Gradient of npu_silu, from its argument; its result `x1` is not needed.",
    samples=[S(T(2, 5), T(2, 5), T(2, 5, grad=False))],
)
def npu_silu_backward(grad_output: Any, x0: Any, x1: Any) -> Any:
    x = wide(x0)
    s = aten.sigmoid(x)
    return (wide(grad_output) * s * (1 + x * (1 - s))).to(x0.dtype)
