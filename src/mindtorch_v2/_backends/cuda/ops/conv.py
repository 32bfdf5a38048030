"""Convolution as a product of matrices: windows of the images are columns, the weights are rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...._operators.table import aten
from .. import copies
from ..columns import Geometry
from ..table import CONTIGUOUS, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor

_MOST = 1 << 28  # elements of columns at a time


class _Convolution:
    """One convolution. The large side are images of [samples, groups * channels, ...] that windows lie on, the small side
    [samples, groups * rows, ...] has a place a window: results, or of transposed convolutions inputs."""

    def __init__(
        self,
        weight: Tensor,
        groups: int,
        large: Sequence[int],
        small: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
    ) -> None:
        dims = weight.dim() - 2

        def every(sizes: Sequence[int]) -> list[int]:
            return list(sizes) * dims if len(sizes) == 1 else list(sizes)

        window = list(weight.shape[2:])
        self.windows = Geometry(large, small, window, every(stride), every(padding), every(dilation))
        self.groups, self.places, taps = groups, 1, 1
        for size in small:
            self.places *= size
        for size in window:
            taps *= size
        self.rows, self.height = weight.shape[0] // groups, weight.shape[1] * taps
        self.weight = aten.contiguous(weight).view(groups, self.rows, self.height)

    def parts(self, samples: int) -> Iterator[tuple[int, int]]:
        """(first sample, how many) whose columns fit into memory at once."""
        step = max(1, _MOST // max(1, self.groups * self.height * self.places))
        for first in range(0, samples, step):
            yield first, min(step, samples - first)

    def columns(self, large: Tensor) -> Tensor:
        """[groups, height, samples * places]"""
        wide = large.shape[0] * self.places
        out = aten.empty([self.groups, self.height, wide], dtype=large.dtype, device=large.device)
        self.windows.columns(aten.contiguous(large), out, wide, self.places)
        return out

    def into_image(self, columns: Tensor, large: Tensor) -> None:
        """Sum columns into images."""
        self.windows.image(aten.contiguous(columns), large, large.shape[0] * self.places, self.places)

    def as_matrix(self, small: Tensor) -> Tensor:
        """[groups, rows, samples * places]"""
        samples = small.shape[0]
        parts = aten.contiguous(small).view(samples, self.groups, self.rows, self.places).permute(1, 2, 0, 3)
        return aten.contiguous(parts).view(self.groups, self.rows, samples * self.places)

    def write(self, matrix: Tensor, small: Tensor, bias: Tensor | None) -> None:
        """A matrix as images of the small side."""
        samples = small.shape[0]
        parts = matrix.view(self.groups, self.rows, samples, self.places).permute(2, 0, 1, 3)
        if bias is not None:
            parts = parts + bias.view(1, self.groups, self.rows, 1)
        copies.copy(small.view(samples, self.groups, self.rows, self.places), parts)


def _convolve(c: _Convolution, large: Tensor, small: Tensor, bias: Tensor | None) -> None:
    """From the large side to the small one."""
    for first, count in c.parts(large.shape[0]):
        matrix = aten.bmm(c.weight, c.columns(large.narrow(0, first, count)))
        c.write(matrix, small.narrow(0, first, count), bias)


def _spread(c: _Convolution, small: Tensor, large: Tensor) -> None:
    """From the small side to the large one."""
    turned = c.weight.transpose(1, 2)
    for first, count in c.parts(small.shape[0]):
        c.into_image(aten.bmm(turned, c.as_matrix(small.narrow(0, first, count))), large.narrow(0, first, count))


def _weights(c: _Convolution, small: Tensor, large: Tensor, out: Tensor) -> None:
    """The gradient of the weights."""
    total = None
    for first, count in c.parts(small.shape[0]):
        columns = c.columns(large.narrow(0, first, count)).transpose(1, 2)
        part = aten.bmm(c.as_matrix(small.narrow(0, first, count)), columns)
        total = part if total is None else total + part
    if total is None:
        copies.fill(out, 0)
    else:
        copies.copy(out, total.view(out.shape))


def _batch(t: Tensor, dims: int) -> Tensor:
    return t if t.dim() == dims + 2 else t.unsqueeze(0)


@kernel("convolution", flags=CONTIGUOUS)
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    out: Tensor,
) -> None:
    if not out.numel():
        return
    dims = weight.dim() - 2
    x, y = _batch(input, dims), _batch(out, dims)
    large, small = (y, x) if transposed else (x, y)
    c = _Convolution(weight, groups, large.shape[2:], small.shape[2:], stride, padding, dilation)
    if not transposed:
        _convolve(c, x, y, bias)
        return
    _spread(c, x, y)
    if bias is not None:
        aten.add_(y, bias.view(1, -1, *[1] * dims))


@kernel("convolution_backward", flags=CONTIGUOUS)
def convolution_backward(
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
    by_input: Tensor | None,
    by_weight: Tensor | None,
    by_bias: Tensor | None,
) -> None:
    dims = weight.dim() - 2
    x, g = _batch(input, dims), _batch(grad_output, dims)
    large, small = (g, x) if transposed else (x, g)
    c = _Convolution(weight, groups, large.shape[2:], small.shape[2:], stride, padding, dilation)
    if by_bias is not None:
        copies.copy(by_bias, g.sum([d for d in range(g.dim()) if d != 1]))
    if by_input is not None and by_input.numel():
        into = _batch(by_input, dims)
        if transposed:
            _convolve(c, g, into, None)
        else:
            _spread(c, g, into)
    if by_weight is not None and by_weight.numel():
        _weights(c, small, large, by_weight)
