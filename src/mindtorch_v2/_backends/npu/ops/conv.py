"""Convolution."""

from ..table import aclnn

_GEOMETRY = "stride padding dilation transposed output_padding groups"

aclnn("convolution", "aclnnConvolution", f"input weight bias {_GEOMETRY} out conv_cube")
aclnn(
    "convolution_backward",
    "aclnnConvolutionBackward",
    f"grad_output input weight bias_sizes {_GEOMETRY} output_mask conv_cube out0 out1 out2",
)
