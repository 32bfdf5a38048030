"""Pooling. A stride that is not given is the size of the window."""

from ..table import aclnn, call, kernel

_CUBE = 1


@kernel("avg_pool2d")
def avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, out) -> None:
    window = kernel_size, stride or kernel_size, padding, ceil_mode, count_include_pad, divisor or 0
    call("aclnnAvgPool2d", self, *window, _CUBE, out)


@kernel("avg_pool2d_backward")
def avg_pool2d_backward(
    grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor, out
) -> None:
    window = kernel_size, stride or kernel_size, padding, ceil_mode, count_include_pad, divisor or 0
    call("aclnnAvgPool2dBackward", grad_output, self, *window, _CUBE, out)


@kernel("max_pool2d_with_indices")
def max_pool2d(self, kernel_size, stride, *rest) -> None:
    call("aclnnMaxPool2dWithIndices", self, kernel_size, stride or kernel_size, *rest)


@kernel("max_pool2d_with_indices_backward")
def max_pool2d_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices, out) -> None:
    window = kernel_size, stride or kernel_size, padding, dilation, ceil_mode
    call("aclnnMaxPool2dWithIndicesBackward", grad_output, self, indices, *window, out)


aclnn("_adaptive_avg_pool2d", "aclnnAdaptiveAvgPool2d")
aclnn("_adaptive_avg_pool2d_backward", "aclnnAdaptiveAvgPool2dBackward")
aclnn("adaptive_max_pool2d", "aclnnAdaptiveMaxPool2d")
aclnn("adaptive_max_pool2d_backward", "aclnnAdaptiveMaxPool2dBackward")
