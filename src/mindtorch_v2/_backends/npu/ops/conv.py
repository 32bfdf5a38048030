"""Convolution."""

from ..table import aclnn, call, kernel


@kernel("convolution_backward")
def convolution_backward(
    grad_output,
    input,
    weight,
    bias_sizes,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
    grad_input,
    grad_weight,
    grad_bias,
):
    call(
        "aclnnConvolutionBackward",
        grad_output,
        input,
        weight,
        bias_sizes,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        output_mask,
        1,
        grad_input,
        grad_weight,
        grad_bias,
    )


aclnn(
    "convolution",
    "aclnnConvolution",
    "input weight bias stride padding dilation transposed output_padding groups out cube",
)
