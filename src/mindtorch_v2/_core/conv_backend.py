"""The names of PyTorch's ways of computing a convolution, and its rule for which of them a call takes."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mindtorch_v2 import _C
from mindtorch_v2._core.above import above
from mindtorch_v2._core.dtype import DTYPES
from mindtorch_v2._core.processor import get_cpu_capability

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor

__all__ = ["ConvBackend", "select_conv_backend"]

_MANY = 20480  # elements of the first four dimensions from which oneDNN takes a single picture


class ConvBackend(enum.Enum):
    """PyTorch's ways of computing a convolution, with its numbers."""

    CudaDepthwise2d = 0
    CudaDepthwise3d = 1
    Cudnn = 2
    CudnnTranspose = 3
    Empty = 4
    Miopen = 5
    MiopenDepthwise = 6
    MiopenTranspose = 7
    Mkldnn = 8
    MkldnnTranspose = 9
    MkldnnEmpty = 10
    NnpackSpatial = 11
    Overrideable = 12
    Slow2d = 13
    Slow3d = 14
    SlowDilated2d = 15
    SlowDilated3d = 16
    SlowTranspose2d = 17
    SlowTranspose3d = 18
    Winograd3x3Depthwise = 19
    Xnnpack2d = 20
    Mps = 21


def select_conv_backend(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    bias_sizes: Sequence[int] | None = None,
) -> ConvBackend:
    """The backend that PyTorch's rule names for a convolution on the CPU, in a build without NNPACK.

    The kernels of this package are its own and do not follow the name. Arguments that no convolution takes raise what
    `torch.convolution` raises; NotImplementedError for tensors of other devices and layouts.
    """
    onednn = input.layout is _C._mkldnn
    if onednn:
        input = input.to_dense()
    if not input.is_cpu or input.layout is not _C.strided:
        raise NotImplementedError(
            f"_select_conv_backend(): expected a strided CPU tensor, got one on {input.device} of layout {input.layout}"
        )
    _C._find_operator("aten::convolution", "")(
        input.to("meta"), weight.to("meta"), None, stride, padding, dilation, transposed, output_padding, groups
    )
    if 0 in input.shape[:2]:
        return ConvBackend.MkldnnEmpty if onednn else ConvBackend.Empty
    if onednn:
        return ConvBackend.MkldnnTranspose if transposed else ConvBackend.Mkldnn
    picture, kernel = list(input.shape), list(weight.shape)
    if len(picture) == 3:  # one dimension is computed as two, of which the first has size 1
        picture, kernel = [*picture[:2], 1, picture[2]], [*kernel[:2], 1, kernel[2]]
    if _goes_to_onednn(input.dtype, picture, kernel, stride, transposed, output_padding, groups):
        return ConvBackend.MkldnnTranspose if transposed else ConvBackend.Mkldnn
    dims = len(picture) - 2
    if transposed:
        return ConvBackend.SlowTranspose2d if dims == 2 else ConvBackend.SlowTranspose3d
    if any(step != 1 for step in dilation):
        return ConvBackend.SlowDilated2d if dims == 2 else ConvBackend.SlowDilated3d
    return ConvBackend.Slow2d if dims == 2 else ConvBackend.Slow3d


def _goes_to_onednn(
    dtype: object,
    picture: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> bool:
    if not above.is_onednn_enabled():
        return False
    if transposed and any(more >= step for more, step in zip(output_padding, stride, strict=True)):
        return False
    if dtype is DTYPES["bfloat16"]:
        return get_cpu_capability() == "AVX512"
    if dtype is not DTYPES["float32"]:
        return False
    if all(size == 1 for size in kernel[2:]) and _C.get_num_threads() == 1:
        return False
    return groups > 1 or min(kernel[-2:]) > 3 or picture[0] > 1 or math.prod(picture[:4]) > _MANY
