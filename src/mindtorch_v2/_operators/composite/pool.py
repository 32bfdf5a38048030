"""Pooling built from the native kernels: one spatial dimension, results without indices, unpooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import _C
from ..._core.autograd import batched
from ..._core.dtype import DTYPES
from ..table import S, T, aten, class_name, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _check_dims(self, name) -> None:
    if self.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {self.dim()}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )


def _check_one_size(name, output_size) -> None:
    """RuntimeError unless there is one size."""
    if len(output_size) != 1:
        raise RuntimeError(f"{name}() argument 'output_size' should contain one int (got {len(output_size)})")


@composite(
    "adaptive_avg_pool1d(Tensor self, int[1] output_size) -> Tensor",
    "Mean over windows that split the last dimension evenly.",
    bind="function generated_out",
    functional="adaptive_avg_pool1d",
    tags="core",
    samples=[S(T(2, 3, 7), [3])],
)
def adaptive_avg_pool1d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    _check_dims(self, "adaptive_avg_pool1d")
    _check_one_size("adaptive_avg_pool1d", output_size)
    return aten._adaptive_avg_pool2d(self.unsqueeze(-2), [1, output_size[0]]).squeeze(-2)


@composite(
    "adaptive_avg_pool2d(Tensor self, SymInt[2] output_size) -> Tensor",
    "Mean over windows that split the last two dimensions evenly.",
    bind="nn out",
    out_dtype="expected dtype {result_cpp} for `output` but got dtype {out_cpp}",
    samples=[S(T(2, 3, 6, 7), [2, 3]), S(T(2, 3, 6, 7), [1, 1])],
)
def adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    if self.dim() not in (3, 4) and list(output_size) == [1, 1]:  # a mean, of whatever stands before
        return aten.mean(self, [-1, -2], True)
    return aten._adaptive_avg_pool2d(self, output_size)


@composite(
    "adaptive_avg_pool3d(Tensor self, SymInt[3] output_size) -> Tensor",
    "Mean over windows that split the last three dimensions evenly.",
    bind="nn out",
    out_dtype="expected dtype {result_cpp} for `output` but got dtype {out_cpp}",
    autocast="float32",
    samples=[S(T(2, 2, 4, 5, 6), [2, 1, 3])],
)
def adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    if self.dim() not in (4, 5) and list(output_size) == [1, 1, 1]:
        return aten.mean(self, [-1, -2, -3], True)
    return aten._adaptive_avg_pool3d(self, output_size)


@composite(
    "adaptive_max_pool1d(Tensor self, int[1] output_size) -> (Tensor, Tensor)",
    "Maximum over windows that split the last dimension evenly, and its index.",
    bind="function",
    samples=[S(T(2, 3, 7), [3])],
)
def adaptive_max_pool1d(self: Tensor, output_size: Sequence[int]) -> tuple:
    _check_dims(self, "adaptive_max_pool1d")
    _check_one_size("adaptive_max_pool1d", output_size)
    for i in range(1, self.dim()):
        if self.size(i) == 0:
            raise RuntimeError(
                "adaptive_max_pool1d(): Expected input to have non-zero size for non-batch dimensions, but input has "
                f"sizes {list(self.shape)} with dimension {i} being empty"
            )
    values, indices = aten.adaptive_max_pool2d(self.unsqueeze(-2), [1, output_size[0]])
    return values.squeeze(-2), indices.squeeze(-2)


@composite(
    "avg_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, "
    "bool count_include_pad=True) -> Tensor",
    "Mean over windows of the last dimension.",
    bind="function generated_out",
    functional="avg_pool1d",
    tags="core",
    samples=[S(T(2, 3, 7), 3, 2, 1)],
)
def avg_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    _check_dims(self, "avg_pool1d")
    step = stride or kernel_size
    return aten.avg_pool2d(
        self.unsqueeze(-2), [1, kernel_size[0]], [1, step[0]], [0, padding[0]], ceil_mode, count_include_pad
    ).squeeze(-2)


def _check_pooled_line(x: Tensor) -> None:
    if x.dim() not in (2, 3) or 0 in x.shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got:{list(x.shape)}"
        )


def _check_pool1d(size: int, kernel: int, step: int, padding: int, dilation: int, ceil_mode: bool) -> None:
    for name, value in (("kernel_size", kernel), ("stride", step), ("dilation", dilation)):
        if value <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {value}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            f"max_pool1d() padding should be at most half of kernel size, but got padding={padding} and kernel_size={kernel}"
        )
    room = size + 2 * padding - dilation * (kernel - 1) - 1
    made = (room + (step - 1 if ceil_mode else 0)) // step + 1
    if ceil_mode and (made - 1) * step >= size + padding:
        made -= 1
    if made <= 0:
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {made}")


@composite(
    "max_pool1d(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
    "bool ceil_mode=False) -> Tensor",
    "Maximum over windows of the last dimension.",
    bind="function",
    samples=[S(T(2, 3, 7), 3, 2, 1)],
)
def max_pool1d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Tensor:
    _check_pooled_line(self)
    _check_pool1d(self.size(-1), kernel_size[0], (stride or kernel_size)[0], padding[0], dilation[0], ceil_mode)
    return aten.max_pool1d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


@composite(
    "max_pool1d_with_indices(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
    "bool ceil_mode=False) -> (Tensor, Tensor)",
    "Maximum over windows of the last dimension, and its index.",
    bind="function",
    samples=[S(T(2, 3, 7), 3, 2, 1)],
)
def max_pool1d_with_indices(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> tuple:
    if self.dim() not in (2, 3):
        _check_pooled_line(self)
    step = stride or kernel_size
    values, indices = aten.max_pool2d_with_indices(
        self.unsqueeze(-2), [1, kernel_size[0]], [1, step[0]], [0, padding[0]], [1, dilation[0]], ceil_mode
    )
    return values.squeeze(-2), indices.squeeze(-2)


@composite(
    "max_pool2d(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
    "bool ceil_mode=False) -> Tensor",
    "Maximum over windows of the last two dimensions.",
    bind="function",
    samples=[S(T(2, 3, 6, 7), 3, 2, 1)],
)
def max_pool2d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    ceil_mode: bool = False,
) -> Tensor:
    return aten.max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


@composite(
    "max_pool3d(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, "
    "bool ceil_mode=False) -> Tensor",
    "Maximum over windows of the last three dimensions.",
    bind="function",
    autocast="float32",
    samples=[S(T(2, 2, 4, 5, 6), 2, 2, 1)],
)
def max_pool3d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0, 0, 0),
    dilation: Sequence[int] = (1, 1, 1),
    ceil_mode: bool = False,
) -> Tensor:
    return aten.max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode)[0]


def _check_unpool(self, indices, output_size, spatial) -> None:
    count, names = ("two", "height, width") if spatial == 2 else ("three", "depth, height, width")
    if indices.dtype != DTYPES["int64"]:
        came = f" but got: {class_name(indices.dtype)}" if spatial == 2 else ""
        raise RuntimeError(f"elements in indices should be type int64{came}")
    if self.dim() not in (spatial + 1, spatial + 2):
        raise RuntimeError(
            f"Input to max_unpooling{spatial}d should be a {spatial + 1}d or {spatial + 2}d Tensor, "
            f"but got a tensor with {self.dim()} dimensions."
        )
    if len(output_size) != spatial:
        raise RuntimeError(
            f"There should be exactly {count} elements ({names}) in output_size, but got {len(output_size)} elements."
        )
    for place in range(1, self.dim()):
        if self.size(place) == 0:
            raise RuntimeError(
                f"max_unpooling{spatial}d_forward_out_cpu(): Expected input to have non-zero size for non-batch dimensions, "
                f"but got {list(self.shape)} with dimension {place} being empty."
            )


def _unpool(self, indices, output_size, spatial):
    _check_unpool(self, indices, output_size, spatial)
    _C._alert_not_deterministic(f"max_unpooling{spatial}d_forward_out")  # where positions are named twice
    if self.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(self.shape)}) "
            f"but got indices tensor with shape: {list(indices.shape)}"
        )
    lead = list(self.shape[: self.dim() - spatial])
    area = 1
    for size in output_size:
        area *= size
    if _C._may_be_lazy(indices) and indices.numel():  # numbers of its own, which nobody else watches
        for index in (indices.min().item(), indices.max().item()):
            if not 0 <= index < area:
                volumes = "x".join(map(str, output_size))
                raise RuntimeError(f"Found an invalid max index: {index} (output volumes are of size {volumes})")
    flat = self.new_zeros(lead + [area])
    result = flat.scatter(-1, indices.flatten(-spatial), self.flatten(-spatial)).reshape(lead + list(output_size))
    last = self.dim() == 4 and not batched.levels_of(self) and self.is_contiguous(memory_format=_C.channels_last)
    if last and not self.is_contiguous():
        return result.contiguous(memory_format=_C.channels_last)
    return result


@composite(
    "max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
    "Puts each value back where maximum pooling took it from; zeros elsewhere.",
    bind="nn out",
    out_dtype="expected scalar type {result} but found {out}",
    autocast="float32",
    node="MaxUnpool2DBackward0",
)
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Tensor:
    return _unpool(self, indices, output_size, 2)


@composite(
    "max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
    "Puts each value back where maximum pooling took it from; zeros elsewhere.",
    bind="nn out",
    out_dtype="expected scalar type {result} but found {out}",
    autocast="float32",
    node="MaxUnpool3DBackward0",
)
def max_unpool3d(
    self: Tensor, indices: Tensor, output_size: Sequence[int], stride: Sequence[int], padding: Sequence[int]
) -> Tensor:
    _check_unpool(self, indices, output_size, 3)
    if len(stride) != 3:
        raise RuntimeError(
            f"There should be exactly three elements (depth, height, width) in stride, but got: {len(stride)} elements."
        )
    if len(padding) != 3:
        raise RuntimeError(
            "There should be exactly three elements (depth, height, width) in padding, "
            f"but got: {len(padding)} elements."
        )
    if min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    return _unpool(self, indices, output_size, 3)
