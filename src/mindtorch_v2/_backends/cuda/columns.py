"""Windows of images as columns of a matrix, and back: what convolutions and im2col are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from .table import Source, blocks, element, pack

if TYPE_CHECKING:
    from ..._tensor import Tensor

_COLUMNS, _IMAGE = Source("columns.cuh", "columns"), Source("columns.cuh", "image")


def _three(sizes: Sequence[int], one: int) -> list[int]:
    return [one] * (3 - len(sizes)) + [int(size) for size in sizes]


class Geometry(NamedTuple):
    """Sizes of an image and of the results, and the steps of windows: each of up to three dimensions."""

    size: Sequence[int]
    out_size: Sequence[int]
    window: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]

    def _flat(self) -> list[int]:
        ones = (1, 1, 1, 1, 0, 1)
        return [n for sizes, one in zip(self, ones, strict=True) for n in _three(sizes, one)]

    def columns(self, image: Tensor, out: Tensor, row_stride: int, sample_stride: int) -> None:
        """Write windows of an image [samples, channels, ...], contiguous, into a matrix."""
        samples, channels = image.shape[:2]
        self._launch(_COLUMNS, image, out, out.numel(), channels, samples, row_stride, sample_stride)

    def image(self, columns: Tensor, out: Tensor, row_stride: int, sample_stride: int) -> None:
        """Sum the columns into an image [samples, channels, ...], contiguous."""
        samples, channels = out.shape[:2]
        self._launch(_IMAGE, columns, out, out.numel(), channels, samples, row_stride, sample_stride)

    def _launch(
        self, source: Source, given: Tensor, out: Tensor, total: int, channels: int, samples: int, row: int, sample: int
    ) -> None:
        if not total:
            return
        wide = max(total, given.numel()) > 1 << 30
        words = (("IN", element(out.dtype)), ("Index", "int64_t" if wide else "int32_t"))
        arguments = pack(total, channels, samples, given, out, row, sample, self._flat())
        source.launch(out.device.index, words, (blocks(total, 256),), (256,), arguments)
