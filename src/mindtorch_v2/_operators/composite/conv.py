"""conv1d to conv3d and their transposes: unbatched input, padding by name; all end in `convolution`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..._core.warn_once import warn_once
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _batched(input, spatial, name) -> tuple:
    """The input with a batch dimension, and whether one was added."""
    if input.dim() == spatial + 2:
        return input, False
    if input.dim() == spatial + 1:
        return input.unsqueeze(0), True
    raise RuntimeError(
        f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {name}, "
        f"but got input of size: {list(input.shape)}"
    )


def _convolve(
    input, weight, bias, stride, padding, dilation, groups, spatial, name, transposed=False, output_padding=(0,)
):
    input, unbatched = _batched(input, spatial, name)
    result = aten.convolution(
        input,
        weight,
        bias,
        list(stride),
        list(padding),
        list(dilation),
        transposed,
        list(output_padding) * (spatial if len(output_padding) == 1 else 1),
        groups,
    )
    return result.squeeze(0) if unbatched else result


def _convolve_named(input, weight, bias, stride, padding, dilation, groups, spatial, name):
    """Padding "valid" (none) or "same" (as many outputs as inputs; an odd one goes to the end)."""
    if padding == "valid":
        return _convolve(input, weight, bias, stride, [0] * spatial, dilation, groups, spatial, name)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    input, unbatched = _batched(input, spatial, name)
    if weight.dim() != input.dim():
        raise RuntimeError(
            f"Expected {weight.dim()}-dimensional input for {weight.dim()}-dimensional weight{list(weight.shape)}, but got "
            f"{input.dim()}-dimensional input of size {list(input.shape)} instead"
        )
    spread = list(dilation) * (spatial if len(dilation) == 1 else 1)
    total = [d * (k - 1) for d, k in zip(spread, weight.shape[2:], strict=True)]
    if any(t % 2 for t in total):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created"
        )
    before = [t // 2 for t in total]
    if any(t % 2 for t in total):
        after = [n for t in reversed(total) for n in (0, t % 2)]
        input = aten.constant_pad_nd(input, after, 0)
    result = _convolve(input, weight, bias, stride, before, dilation, groups, spatial, name)
    return result.squeeze(0) if unbatched else result


@composite(
    "_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, "
    "bool allow_tf32) -> Tensor",
    "convolution with the settings of other libraries, which are ignored.",
    bind="function generated_out",
)
def _convolution(
    input,
    weight,
    bias,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    benchmark,
    deterministic,
    cudnn_enabled,
    allow_tf32,
):
    return aten.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@composite(
    "conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, "
    "SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
    "Convolution over one spatial dimension.",
    bind="function",
    functional="conv1d",
    autocast="lower",
    samples=[S(T(2, 3, 8), T(4, 3, 3), T(4), stride=2, padding=1), S(T(3, 8), T(4, 3, 3))],
)
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups, 1, "conv1d")


@composite(
    "conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str padding='valid', "
    "SymInt[1] dilation=1, SymInt groups=1) -> Tensor",
    "conv1d with padding 'valid' or 'same'.",
    bind="function",
    autocast="lower",
    samples=[S(T(2, 3, 8), T(4, 3, 4), None, 1, "same")],
)
def conv1d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: str = "valid",
    dilation: Sequence[int] = (1,),
    groups: int = 1,
) -> Tensor:
    return _convolve_named(input, weight, bias, stride, padding, dilation, groups, 1, "conv1d")


@composite(
    "conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, "
    "SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    "Convolution over two spatial dimensions.",
    bind="function",
    functional="conv2d",
    autocast="lower",
    samples=[
        S(T(2, 3, 8, 7), T(4, 3, 3, 3), T(4), stride=2, padding=1),
        S(T(2, 4, 8, 7), T(4, 1, 3, 3), T(4), groups=4, padding=(1, 2)),
        S(T(3, 8, 7), T(4, 3, 3, 2), dilation=2),
    ],
)
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups, 2, "conv2d")


@composite(
    "conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding='valid', "
    "SymInt[2] dilation=1, SymInt groups=1) -> Tensor",
    "conv2d with padding 'valid' or 'same'.",
    bind="function",
    autocast="lower",
    samples=[S(T(2, 3, 8, 7), T(4, 3, 4, 3), T(4), 1, "same"), S(T(2, 3, 8, 7), T(4, 3, 4, 3), T(4), 2, "valid")],
)
def conv2d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: str = "valid",
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Tensor:
    return _convolve_named(input, weight, bias, stride, padding, dilation, groups, 2, "conv2d")


@composite(
    "thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=1, "
    "SymInt[2] padding=0) -> Tensor",
    "`conv2d` that is told the sizes of its kernel.",
    bind="nn out",
    samples=[S(T(2, 3, 8, 7), T(4, 3, 3, 2), [3, 2], T(4), stride=2, padding=1)],
)
def thnn_conv2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Sequence[int],
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
) -> Tensor:
    for name, given in (("kernel_size", kernel_size), ("stride", stride), ("padding", padding)):
        if len(given) != 2:
            raise RuntimeError(f"2D {name} expected")
    if self.dim() != 4:
        raise RuntimeError(f"Expected 4D input tensor, but got: {list(self.shape)}")
    if list(weight.shape[2:]) != list(kernel_size):
        raise RuntimeError(f"thnn_conv2d: kernel_size is {list(kernel_size)}, but the weight is {list(weight.shape)}")
    return _convolve(self, weight, bias, stride, padding, (1, 1), 1, 2, "thnn_conv2d")


@composite(
    "conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, "
    "SymInt[3] dilation=1, SymInt groups=1) -> Tensor",
    "Convolution over three spatial dimensions.",
    bind="function",
    functional="conv3d",
    autocast="lower",
    samples=[S(T(1, 2, 5, 6, 7), T(3, 2, 2, 3, 3), T(3), padding=1)],
)
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1, 1),
    padding: Sequence[int] = (0, 0, 0),
    dilation: Sequence[int] = (1, 1, 1),
    groups: int = 1,
) -> Tensor:
    return _convolve(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


@composite(
    "conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str padding='valid', "
    "SymInt[3] dilation=1, SymInt groups=1) -> Tensor",
    "conv3d with padding 'valid' or 'same'.",
    bind="function",
    autocast="lower",
    samples=[S(T(1, 2, 5, 6, 7), T(3, 2, 2, 3, 3), T(3), 1, "same")],
)
def conv3d_padding(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1, 1),
    padding: str = "valid",
    dilation: Sequence[int] = (1, 1, 1),
    groups: int = 1,
) -> Tensor:
    return _convolve_named(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


@composite(
    "conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor",
    "conv1d of (time, batch, channels) with weights (kernel, in, out).",
    bind="function generated_out",
    functional="conv_tbc",
    autocast="lower",
    samples=[S(T(6, 2, 3), T(3, 3, 4), T(4), 1)],
    dtypes="float",
)
def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    steps = self.size(0) + 2 * pad - weight.size(0) + 1
    if self.dim() == 3 and steps <= 0:
        return self.new_zeros([0, self.size(1), weight.size(2)])
    result = aten.conv1d(self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, [1], [pad])
    return result.permute(2, 0, 1)


@composite(
    "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, "
    "SymInt[1] output_padding=0, SymInt groups=1, SymInt[1] dilation=1) -> Tensor",
    "Transposed convolution over one spatial dimension.",
    bind="function",
    functional="conv_transpose1d",
    autocast="lower",
    samples=[S(T(2, 4, 5), T(4, 3, 3), T(3), stride=2, padding=1, output_padding=1)],
)
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1,),
    padding: Sequence[int] = (0,),
    output_padding: Sequence[int] = (0,),
    groups: int = 1,
    dilation: Sequence[int] = (1,),
) -> Tensor:
    return _convolve(
        input, weight, bias, stride, padding, dilation, groups, 1, "conv_transpose1d", True, output_padding
    )


@composite(
    "conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, "
    "SymInt[2] output_padding=0, SymInt groups=1, SymInt[2] dilation=1) -> Tensor",
    "Transposed convolution over two spatial dimensions.",
    bind="function",
    functional="conv_transpose2d",
    autocast="lower",
    samples=[S(T(2, 4, 5, 4), T(4, 3, 3, 3), T(6), stride=2, padding=1, output_padding=1, groups=2)],
)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    output_padding: Sequence[int] = (0, 0),
    groups: int = 1,
    dilation: Sequence[int] = (1, 1),
) -> Tensor:
    return _convolve(
        input, weight, bias, stride, padding, dilation, groups, 2, "conv_transpose2d", True, output_padding
    )


@composite(
    "conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, "
    "SymInt[3] output_padding=0, SymInt groups=1, SymInt[3] dilation=1) -> Tensor",
    "Transposed convolution over three spatial dimensions.",
    bind="function",
    functional="conv_transpose3d",
    autocast="lower",
    samples=[S(T(1, 2, 3, 4, 3), T(2, 3, 2, 3, 3), T(3), stride=2)],
)
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1, 1),
    padding: Sequence[int] = (0, 0, 0),
    output_padding: Sequence[int] = (0, 0, 0),
    groups: int = 1,
    dilation: Sequence[int] = (1, 1, 1),
) -> Tensor:
    return _convolve(
        input, weight, bias, stride, padding, dilation, groups, 3, "conv_transpose3d", True, output_padding
    )
