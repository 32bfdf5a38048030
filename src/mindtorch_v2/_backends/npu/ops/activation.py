"""Activations and their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..table import aclnn, call, kernel, pointwise

if TYPE_CHECKING:
    from ...._tensor import Tensor


_GELU = {"none": 0, "tanh": 1}


# aclnnGelu computes the tanh formula; the second version has PyTorch's two.
@kernel("gelu")
def gelu(self: Tensor, approximate: str, out: Tensor) -> None:
    call("aclnnGeluV2", self, _GELU[approximate], out)


pointwise("elu", "aclnnElu")
pointwise("elu_backward", "aclnnEluBackward")
pointwise("gelu_backward", "aclnnGeluBackwardV2")
pointwise("hardshrink", "aclnnHardshrink")
pointwise("hardshrink_backward", "aclnnHardshrinkBackward")
pointwise("hardsigmoid", "aclnnHardsigmoid")
pointwise("hardsigmoid_backward", "aclnnHardsigmoidBackward")
pointwise("hardswish", "aclnnHardswish")
pointwise("hardswish_backward", "aclnnHardswishBackward")
pointwise("hardtanh", "aclnnHardtanh")
pointwise("hardtanh_backward", "aclnnHardtanhBackward")
pointwise("leaky_relu", "aclnnLeakyRelu")
pointwise("leaky_relu_backward", "aclnnLeakyReluBackward")
pointwise("log_sigmoid_backward", "aclnnLogSigmoidBackward")
aclnn("log_sigmoid_forward", "aclnnLogSigmoidForward")
pointwise("mish", "aclnnMish")
pointwise("mish_backward", "aclnnMishBackward")
pointwise("relu", "aclnnRelu")
pointwise("sigmoid_backward", "aclnnSigmoidBackward")
pointwise("silu", "aclnnSilu")
pointwise("silu_backward", "aclnnSiluBackward")
pointwise("softshrink", "aclnnSoftshrink")
pointwise("softshrink_backward", "aclnnSoftshrinkBackward")
pointwise("softplus", "aclnnSoftplus")
pointwise("softplus_backward", "aclnnSoftplusBackward")
pointwise("tanh_backward", "aclnnTanhBackward")
pointwise("threshold", "aclnnThreshold")
pointwise("threshold_backward", "aclnnThresholdBackward")


@kernel("glu")
def glu(self: Tensor, dim: int, out: Tensor) -> None:
    value, gate = self.chunk(2, dim)
    call("aclnnMul", value, gate.sigmoid(), out)


@kernel("glu_backward")
def glu_backward(grad_output: Tensor, self: Tensor, dim: int, out: Tensor) -> None:
    (value, gate), (grad_value, grad_gate) = self.chunk(2, dim), out.chunk(2, dim)
    s = gate.sigmoid()
    call("aclnnMul", grad_output, s, grad_value)
    call("aclnnMul", grad_output, s * (1 - s) * value, grad_gate)


@kernel("_prelu_kernel", alias=True)
def prelu(self: Tensor, weight: Tensor, out: Tensor) -> None:
    call("aclnnSWhere", self > 0, self, weight * self, out)


@kernel("_prelu_kernel_backward")
def prelu_backward(grad_output: Tensor, self: Tensor, weight: Tensor, grad_self: Tensor, grad_weight: Tensor) -> None:
    positive = self > 0
    call("aclnnSWhere", positive, grad_output, weight * grad_output, grad_self)
    call("aclnnInplaceCopy", grad_weight, (self * grad_output).masked_fill(positive, 0))
