"""Pooling."""

from ..table import aclnn, call, kernel


@kernel("avg_pool2d")
def avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out):
    call(
        "aclnnAvgPool2d",
        self,
        kernel_size,
        stride or kernel_size,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override or 0,
        1,
        out,
    )


@kernel("avg_pool2d_backward")
def avg_pool2d_backward(
    grad_output, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out
):
    call(
        "aclnnAvgPool2dBackward",
        grad_output,
        self,
        kernel_size,
        stride or kernel_size,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override or 0,
        1,
        out,
    )


@kernel("max_pool2d_with_indices")
def max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode, out, indices):
    call(
        "aclnnMaxPool2dWithIndices",
        self,
        kernel_size,
        stride or kernel_size,
        padding,
        dilation,
        ceil_mode,
        out,
        indices,
    )


@kernel("max_pool2d_with_indices_backward")
def max_pool2d_backward(grad_output, self, kernel_size, stride, padding, dilation, ceil_mode, indices, out):
    call(
        "aclnnMaxPool2dWithIndicesBackward",
        grad_output,
        self,
        indices,
        kernel_size,
        stride or kernel_size,
        padding,
        dilation,
        ceil_mode,
        out,
    )


aclnn("adaptive_max_pool2d", "aclnnAdaptiveMaxPool2d")
aclnn("adaptive_max_pool2d_backward", "aclnnAdaptiveMaxPool2dBackward")
aclnn("_adaptive_avg_pool2d", "aclnnAdaptiveAvgPool2d")
aclnn("_adaptive_avg_pool2d_backward", "aclnnAdaptiveAvgPool2dBackward")
