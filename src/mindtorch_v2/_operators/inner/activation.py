"""Gradients of activations, and the forward and second derivatives of some."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, Scalar lower, Scalar upper, bool training,"
    " bool self_is_result) -> Tensor",
    "The gradient of `rrelu_with_noise`, whose slopes are `noise` in training.",
    bind="generated_out",
    samples=[
        S(T(3, 4), T(3, 4), T(3, 4, grad=False), 0.1, 0.3, True, False),
        S(T(3, 4), T(3, 4), T(3, 4, grad=False), 0.1, 0.3, False, True),
    ],
)
def rrelu_with_noise_backward(
    grad_output: Tensor,
    self: Tensor,
    noise: Tensor,
    lower: Number,
    upper: Number,
    training: bool,
    self_is_result: bool,
) -> Tensor:
    if training:
        return grad_output * noise
    return aten.leaky_relu_backward(grad_output, self, (lower + upper) / 2, self_is_result)


@composite(
    "glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor",
    "How `glu` of `x`, which is `glu`, changes along `dx`.",
    bind="generated_out",
    explicit=True,
    samples=[S(T(3, 2, grad=False), T(3, 4, grad=False), T(3, 4, grad=False), 1)],
)
def glu_jvp(glu: Tensor, x: Tensor, dx: Tensor, dim: int) -> Tensor:
    gate = x.chunk(2, dim)[1].sigmoid()
    change, gate_change = dx.chunk(2, dim)
    return change * gate + glu * (1 - gate) * gate_change


@composite(
    "glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim) -> Tensor",
    "How `glu_backward`, which gave `grad_x`, changes along `dgrad_glu` and `dx`.",
    bind="generated_out",
    explicit=True,
    samples=[
        S(
            T(3, 4, grad=False),
            T(3, 2, grad=False),
            T(3, 4, grad=False),
            T(3, 2, grad=False),
            T(3, 4, grad=False),
            1,
        )
    ],
)
def glu_backward_jvp(grad_x: Tensor, grad_glu: Tensor, x: Tensor, dgrad_glu: Tensor, dx: Tensor, dim: int) -> Tensor:
    value, gate = x.chunk(2, dim)
    value_change, gate_change = dx.chunk(2, dim)
    to_value = grad_x.chunk(2, dim)[0]
    s = gate.sigmoid()
    rest = 1 - s
    of_value = dgrad_glu * s + to_value * rest * gate_change
    # The gradient of the gate is that of the value times `value * rest`.
    of_gate = of_value * value * rest + to_value * rest * (value_change - value * s * gate_change)
    return aten.cat([of_value, of_gate], dim)


@composite(
    "infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor",
    "The gradient of `gelu` from operators that have gradients themselves, however often.",
    samples=[S(T(3, 4), T(3, 4))],
)
def infinitely_differentiable_gelu_backward(grad: Tensor, self: Tensor) -> Tensor:
    share = (1 + (self * math.sqrt(0.5)).erf()) / 2
    density = (self * self * -0.5).exp() / math.sqrt(2 * math.pi)
    return grad * (share + self * density)
