"""Pooling and resampling of volumes: what the operators for images do to height and width, then to depth.

A window of three dimensions is a product of one of each, so that the largest element, or the sum, of each plane's windows comes
first, and that over depth of those; images then are (depth, height * width), whose second dimension stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _three(sizes: Any) -> list[int]:
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    return sizes * 3 if len(sizes) == 1 else sizes


def _planes(x: Any) -> Any:
    """All planes of (..., depth, height, width) as channels of one image."""
    return x.reshape(1, -1, *x.shape[-2:])


def _columns(x: Any, depth: int) -> Any:
    """Images of (depth, height * width) from planes."""
    return x.reshape(1, -1, depth, x.shape[-2] * x.shape[-1])


def _precise(x: Any) -> Any:
    """In float32 where there are two steps to be rounded."""
    return x.to(DTYPES["float32"]) if x.dtype.itemsize == 2 else x


# ---- the largest ----


def _largest(pool: Any, self: Any, out: Any, indices: Any, of_plane: Any, of_depth: Any) -> None:
    """Largest elements and their places, by the pool for images and its arguments for planes and for depth."""
    depth, height, width = self.shape[-3:]
    values, places = pool(_planes(self), *of_plane)
    values, layers = pool(_columns(values, depth), *of_depth)
    places = places.reshape(-1, depth * places.shape[-2] * places.shape[-1])
    layers = layers.reshape(places.shape[0], -1)
    columns = places.shape[1] // depth
    within = aten.gather(places, 1, layers)
    aten.copy_(out, values.reshape(out.shape))
    aten.copy_(indices, (layers // columns * (height * width) + within).reshape(indices.shape))


@kernel("max_pool3d_with_indices")
def max_pool3d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    out: Tensor,
    indices: Tensor,
) -> None:
    windows = [_three(each) for each in (kernel_size, stride or kernel_size, padding, dilation)]
    of_plane = [*(each[1:] for each in windows), ceil_mode]
    of_depth = [*([each[0], other] for each, other in zip(windows, (1, 1, 0, 1), strict=True)), ceil_mode]
    _largest(aten.max_pool2d_with_indices, self, out, indices, of_plane, of_depth)


@kernel("adaptive_max_pool3d")
def adaptive_max_pool3d(self: Tensor, output_size: Sequence[int], out: Tensor, indices: Tensor) -> None:
    depth, height, width = out.shape[-3:]
    _largest(aten.adaptive_max_pool2d, self, out, indices, [[height, width]], [[depth, height * width]])


@kernel("max_pool3d_with_indices_backward", "adaptive_max_pool3d_backward")
def largest_backward(grad_output: Tensor, self: Tensor, *rest: Any) -> None:
    *_, indices, out = rest
    rows = grad_output.shape[:-3].numel()
    zeros = aten.new_zeros(grad_output, [rows, self.shape[-3:].numel()])
    made = aten.scatter_add(zeros, 1, indices.reshape(rows, -1), grad_output.reshape(rows, -1))
    aten.copy_(out, made.reshape(out.shape))


# ---- the mean ----


def _factors(
    sizes: Sequence[int], results: Sequence[int], windows: list[list[int]], with_padding: bool, divisor: int | None, like: Any
) -> Any:  # fmt: skip
    """Factors that make means of the sums over windows: a number, or (depth, height, width) of the results."""
    if divisor:
        return 1 / divisor
    counts = []
    for size, result, kernel_size, stride, padding in zip(sizes, results, *windows, strict=True):
        begins = aten.arange(result, device=like.device) * stride - padding
        ends = aten.clamp_max(begins + kernel_size, size + padding)
        if not with_padding:
            begins, ends = aten.clamp_min(begins, 0), aten.clamp_max(ends, size)
        counts.append((ends - begins).to(like.dtype))
    return 1 / (counts[0].reshape(-1, 1, 1) * counts[1].reshape(-1, 1) * counts[2])


def _sums(windows: list[list[int]], ceil_mode: bool) -> tuple[list[Any], list[Any]]:
    """Arguments of the pool for images that sums: for planes, and for depth."""
    rest = [ceil_mode, True, 1]
    kernel_size, stride, padding = windows
    of_depth = [[kernel_size[0], 1], [stride[0], 1], [padding[0], 0], *rest]
    return [*(each[1:] for each in windows), *rest], of_depth


@kernel("avg_pool3d")
def avg_pool3d(
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor,
) -> None:
    windows = [_three(each) for each in (kernel_size, stride or kernel_size, padding)]
    of_plane, of_depth = _sums(windows, ceil_mode)
    x = _precise(self)
    sums = aten.avg_pool2d(_columns(aten.avg_pool2d(_planes(x), *of_plane), self.shape[-3]), *of_depth)
    factors = _factors(self.shape[-3:], out.shape[-3:], windows, count_include_pad, divisor_override, x)
    aten.copy_(out, sums.reshape(out.shape) * factors)


@kernel("avg_pool3d_backward")
def avg_pool3d_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor,
) -> None:
    windows = [_three(each) for each in (kernel_size, stride or kernel_size, padding)]
    of_plane, of_depth = _sums(windows, ceil_mode)
    grad = _precise(grad_output)
    factors = _factors(self.shape[-3:], grad.shape[-3:], windows, count_include_pad, divisor_override, grad)
    depth, (height, width) = self.shape[-3], grad.shape[-2:]
    columns = _columns(grad * factors, grad.shape[-3])
    between = aten.new_empty(grad, [1, columns.shape[1], depth, height * width])
    through = aten.avg_pool2d_backward(columns, between, *of_depth).reshape(1, -1, height, width)
    planes = aten.avg_pool2d_backward(through, _planes(_precise(self)), *of_plane)
    aten.copy_(out, planes.reshape(out.shape))


@kernel("_adaptive_avg_pool3d")
def adaptive_avg_pool3d(self: Tensor, output_size: Sequence[int], out: Tensor) -> None:
    depth, height, width = out.shape[-3:]
    planes = aten._adaptive_avg_pool2d(_planes(_precise(self)), [height, width])
    made = aten._adaptive_avg_pool2d(_columns(planes, self.shape[-3]), [depth, height * width])
    aten.copy_(out, made.reshape(out.shape))


@kernel("_adaptive_avg_pool3d_backward")
def adaptive_avg_pool3d_backward(grad_output: Tensor, self: Tensor, out: Tensor) -> None:
    grad, x = _precise(grad_output), _planes(_precise(self))
    depth, (height, width) = self.shape[-3], grad.shape[-2:]
    columns = _columns(grad, grad.shape[-3])
    between = aten.new_empty(grad, [1, columns.shape[1], depth, height * width])
    through = aten._adaptive_avg_pool2d_backward(columns, between).reshape(1, -1, height, width)
    aten.copy_(out, aten._adaptive_avg_pool2d_backward(through, x).reshape(out.shape))


# ---- another size ----


def _resampled(name: str, image: str, flags: int) -> None:
    """A way of resampling that goes dimension by dimension, and its gradient."""
    there, back = getattr(aten, image), getattr(aten, f"{image}_backward")

    @kernel(name)
    def forward(self: Tensor, output_size: Sequence[int], *rest: Any) -> None:
        *more, out = rest
        depth, height, width = out.shape[-3:]
        options, (by_depth, *scales) = more[:flags], more[flags:]
        planes = there(_planes(_precise(self)), [height, width], *options, *scales)
        made = there(_columns(planes, self.shape[-3]), [depth, height * width], *options, by_depth, None)
        aten.copy_(out, made.reshape(out.shape))

    @kernel(f"{name}_backward")
    def backward(grad_output: Tensor, output_size: Sequence[int], input_size: Sequence[int], *rest: Any) -> None:
        *more, out = rest
        options, (by_depth, *scales) = more[:flags], more[flags:]
        depth, height, width = grad_output.shape[-3:]
        before, *plane = input_size[-3:]
        columns = _columns(_precise(grad_output), depth)
        sizes = [1, columns.shape[1], before, height * width]
        through = back(columns, [depth, height * width], sizes, *options, by_depth, None).reshape(1, -1, height, width)
        made = back(through, [height, width], [1, through.shape[1], *plane], *options, *scales)
        aten.copy_(out, made.reshape(out.shape))


_resampled("upsample_nearest3d", "upsample_nearest2d", 0)
_resampled("_upsample_nearest_exact3d", "_upsample_nearest_exact2d", 0)
_resampled("upsample_trilinear3d", "upsample_bilinear2d", 1)
