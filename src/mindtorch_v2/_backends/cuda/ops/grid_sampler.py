"""Images read at given positions. The gradient of an image is a sum over the positions in their order, the same at each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_SAMPLE, _SLOPES = Source("grid_sampler.cuh", "grid_sample"), Source("grid_sampler.cuh", "grid_slopes")
_TAPS = (2, 1, 4)  # bilinear, nearest, bicubic


def _words(image: Tensor, mode: int, outside: int, corners: bool) -> tuple[tuple[str, str], ...]:
    if mode not in (0, 1, 2):
        raise RuntimeError(
            f"grid_sampler(): interpolation_mode must be 0 (bilinear), 1 (nearest) or 2 (bicubic), but got {mode}"
        )
    if outside not in (0, 1, 2):
        raise RuntimeError(
            f"grid_sampler(): padding_mode must be 0 (zeros), 1 (border) or 2 (reflection), but got {outside}"
        )
    return (
        ("ELEMENT", element(image.dtype)), ("TAPS", str(_TAPS[mode])), ("OUTSIDE", str(outside)), ("CORNERS", str(int(corners))),
    )  # fmt: skip


@kernel("grid_sampler_2d", flags=CONTIGUOUS)
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, out: Tensor
) -> None:
    words = _words(input, interpolation_mode, padding_mode, align_corners)
    if not out.numel():
        return
    sizes = (*input.shape, grid.shape[1] * grid.shape[2])
    arguments = pack(*sizes, input.contiguous(), grid.contiguous(), None, out, None, None)
    _SAMPLE.launch(out.device.index, words, (blocks(out.numel(), 256),), (256,), arguments)


@kernel("grid_sampler_2d_backward", flags=CONTIGUOUS)
def grid_sampler_2d_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
    grad_input: Tensor | None,
    grad_grid: Tensor | None,
) -> None:
    words = _words(input, interpolation_mode, padding_mode, align_corners)
    batch, channels, height, width = input.shape
    positions, taps = grid.shape[1] * grid.shape[2], _TAPS[interpolation_mode] ** 2
    work = DTYPES["float64" if input.dtype == DTYPES["float64"] else "float32"]
    place = weight = None
    if grad_input is not None:
        place = aten.empty([batch, 1, taps, positions], dtype=DTYPES["int64"], device=input.device)
        weight = aten.empty([batch, 1, taps, positions], dtype=work, device=input.device)
    grad = grad_output.contiguous()
    if batch * positions:
        sizes = (batch, channels, height, width, positions)
        arguments = pack(*sizes, input.contiguous(), grid.contiguous(), grad, grad_grid, place, weight)
        _SLOPES.launch(input.device.index, words, (blocks(batch * positions, 256),), (256,), arguments)
    if place is not None and weight is not None:
        parts = (grad.view(batch, channels, 1, positions).to(work) * weight).flatten(2)
        plane = aten.zeros([batch, channels, height * width], dtype=work, device=input.device)
        plane.scatter_add_(2, place.flatten(2).expand(parts.shape), parts)
        aten.copy_(grad_input, plane.view(input.shape))
