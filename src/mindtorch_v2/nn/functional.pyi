# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Sequence as _Sequence
from typing import Any, overload
from .._C import Generator as _Generator, device as _device, dtype as _dtype, layout as _layout
from .._C import memory_format as _memory_format
from .._core.storage import UntypedStorage as _UntypedStorage
from .._core.stream import Stream as _Stream
from .. import return_types
from .._tensor import Tensor as Tensor
from mindtorch_v2._operators import functional as _from_rows
from . import _reduction as _Reduction
from . import grad as grad
from ._functional.activation import *
from ._functional.activation import _get_softmax_dim as _get_softmax_dim, _threshold as _threshold
from ._functional.attention import *
from ._functional.attention import _canonical_mask as _canonical_mask, _check_key_padding_mask as _check_key_padding_mask, _in_projection as _in_projection, _in_projection_packed as _in_projection_packed, _mha_shape_check as _mha_shape_check, _none_or_dtype as _none_or_dtype
from ._functional.convolution import *
from ._functional.dropout import *
from ._functional.embedding import *
from ._functional.embedding import _no_grad_embedding_renorm_ as _no_grad_embedding_renorm_
from ._functional.loss import *
from ._functional.matmul import *
from ._functional.normalization import *
from ._functional.normalization import _verify_batch_size as _verify_batch_size, _verify_spatial_size as _verify_spatial_size
from ._functional.pooling import *
from ._functional.pooling import _adaptive_max_pool1d as _adaptive_max_pool1d, _adaptive_max_pool2d as _adaptive_max_pool2d, _adaptive_max_pool3d as _adaptive_max_pool3d, _check_unpool_output_size as _check_unpool_output_size, _fractional_max_pool2d as _fractional_max_pool2d, _fractional_max_pool3d as _fractional_max_pool3d, _max_pool1d as _max_pool1d, _max_pool2d as _max_pool2d, _max_pool3d as _max_pool3d, _unpool_output_size as _unpool_output_size
from ._functional.vision import *
from ._sizes import _list_with_default as _list_with_default, _pair as _pair, _single as _single, _triple as _triple

_Number = _int | _float | _bool | _complex

def avg_pool2d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Mean over windows."""
def avg_pool3d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Mean over windows."""
def elu_(input: Tensor, alpha: _Number = ..., scale: _Number = ..., input_scale: _Number = ...) -> Tensor:
    """`scale * self` where positive, `scale * alpha * (exp(input_scale * self) - 1)` elsewhere."""
def gelu(input: Tensor, *, approximate: str = ..., out: Tensor | None = ...) -> Tensor:
    """Gaussian error linear unit; `approximate="tanh"` for the tanh formula."""
def hardtanh_(input: Tensor, min_val: _Number = ..., max_val: _Number = ...) -> Tensor:
    """`self` moved into [min_val, max_val]."""
def leaky_relu_(input: Tensor, negative_slope: _Number = ...) -> Tensor:
    """`self` where positive, `negative_slope * self` elsewhere."""
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`input @ weight.T + bias`."""
def logsigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`log(1 / (1 + exp(-self)))`."""
def one_hot(input: Tensor, num_classes: _int = ...) -> Tensor:
    """Ones at the positions that the elements name."""
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., *, scale: _float | None = ..., enable_gqa: _bool = ...) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value."""
def softplus(input: Tensor, beta: _Number = ..., threshold: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """Smooth ReLU, linear above `threshold`."""
def softshrink(input: Tensor, lambd: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """`self` moved toward 0 by `lambd`."""
def adaptive_avg_pool1d(input: Tensor, output_size: _Sequence[_int] | _int) -> Tensor:
    """Mean over windows that split the last dimension evenly."""
def avg_pool1d(input: Tensor, kernel_size: _Sequence[_int] | _int, stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """Mean over windows of the last dimension."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor:
    """`input1 @ weight[k] @ input2` for each output feature k."""
def celu_(input: Tensor, alpha: _Number = ...) -> Tensor:
    """`celu` in place."""
def channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Takes channels from the groups in turn."""
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """Convolution over one spatial dimension."""
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """conv1d with padding 'valid' or 'same'."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """Convolution over two spatial dimensions."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """conv2d with padding 'valid' or 'same'."""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """Convolution over three spatial dimensions."""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: str = ..., dilation: _Sequence[_int] | _int = ..., groups: _int = ...) -> Tensor:
    """conv3d with padding 'valid' or 'same'."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = ...) -> Tensor:
    """conv1d of (time, batch, channels) with weights (kernel, in, out)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> Tensor:
    """Transposed convolution over one spatial dimension."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> Tensor:
    """Transposed convolution over two spatial dimensions."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Sequence[_int] | _int = ..., padding: _Sequence[_int] | _int = ..., output_padding: _Sequence[_int] | _int = ..., groups: _int = ..., dilation: _Sequence[_int] | _int = ...) -> Tensor:
    """Transposed convolution over three spatial dimensions."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float = ...) -> Tensor:
    """Cosine of the angle between vectors along `dim`."""
def hardshrink(input: Tensor, lambd: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """0 within [-lambd, lambd], `self` elsewhere."""
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor:
    """Takes channels from the groups in turn."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ...) -> Tensor:
    """p-norm of the differences along the last dimension."""
def pdist(input: Tensor, p: _float = ...) -> Tensor:
    """p-norm distances between every two rows."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor:
    """Channels become pixels: (..., C r r, H, W) to (..., C, H r, W r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor:
    """Pixels become channels: (..., C, H r, W r) to (..., C r r, H, W)."""
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`self` where positive, `weight * self` elsewhere; one weight, or one for each channel."""
def relu_(input: Tensor) -> Tensor:
    """`self` where positive, 0 elsewhere."""
def rrelu_(input: Tensor, lower: _Number = ..., upper: _Number = ..., training: _bool = ..., generator: _Generator | None = ...) -> Tensor:
    """`rrelu` in place."""
def selu_(input: Tensor) -> Tensor:
    """`selu` in place."""
def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """`self` where above `threshold`, `value` elsewhere."""
def celu(input: Tensor, alpha: _Number = ..., inplace: _bool = ...) -> Tensor:
    """`max(0, self) + min(0, alpha * (exp(self / alpha) - 1))`."""
def elu(input: Tensor, alpha: _Number = ..., inplace: _bool = ...) -> Tensor:
    """`scale * self` where positive, `scale * alpha * (exp(input_scale * self) - 1)` elsewhere."""
def hardsigmoid(input: Tensor, inplace: _bool = ...) -> Tensor:
    """`relu6(self + 3) / 6`."""
def hardswish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """`self * relu6(self + 3) / 6`."""
def layer_norm(input: Tensor, normalized_shape: _Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Layer norm over the trailing dimensions."""
def leaky_relu(input: Tensor, negative_slope: _Number = ..., inplace: _bool = ...) -> Tensor:
    """`self` where positive, `negative_slope * self` elsewhere."""
def mish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """`self * tanh(softplus(self))`."""
def relu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """`self` where positive, 0 elsewhere."""
def relu6(input: Tensor, inplace: _bool = ...) -> Tensor:
    """`self` moved into [0, 6]."""
def rms_norm(input: Tensor, normalized_shape: _Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """Divides by the root mean square over the trailing dimensions."""
def rrelu(input: Tensor, lower: _Number = ..., upper: _Number = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor:
    """Leaky ReLU whose slope is drawn from [lower, upper] in training and is their mean otherwise."""
def selu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """Scaled ELU: keeps mean 0 and variance 1."""
def silu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """`self * sigmoid(self)`."""
