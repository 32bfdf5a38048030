"""Windows of images as columns, and sampling of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...._operators.table import aten
from .. import copies
from ..columns import Geometry
from ..table import CONTIGUOUS, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _geometry(
    size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Geometry:
    steps = zip(size, kernel_size, dilation, padding, stride, strict=True)
    out_size = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in steps]
    return Geometry(size, out_size, kernel_size, stride, padding, dilation)


@kernel("im2col", flags=CONTIGUOUS)
def im2col(
    self: Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
    out: Tensor,
) -> None:
    image = aten.contiguous(self)
    if image.dim() == 3:
        image = image.unsqueeze(0)
    windows = _geometry(image.shape[2:], kernel_size, dilation, padding, stride)
    places, rows = out.shape[-1], out.shape[-2]
    windows.columns(image, out, places, rows * places)


@kernel("col2im", flags=CONTIGUOUS)
def col2im(
    self: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
    out: Tensor,
) -> None:
    columns = aten.contiguous(self)
    image = out if out.dim() == 4 else out.unsqueeze(0)
    if not columns.numel():
        copies.fill(out, 0)
        return
    windows = _geometry(output_size, kernel_size, dilation, padding, stride)
    places, rows = columns.shape[-1], columns.shape[-2]
    windows.image(columns, image, places, rows * places)
