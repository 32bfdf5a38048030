"""Volumes, and images by cubic interpolation, read at the positions of a grid."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ..._core.dtype import DTYPES
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _reflect(x, low, high):
    """Mirrored back into [low, high], both given twice over."""
    if low == high:
        return aten.zeros_like(x)
    low, span = low / 2, (high - low) / 2
    away = (x - low).abs()
    extra = away % span
    even = (away.detach() / span).floor() % 2 == 0
    return aten.where(even, extra + low, span - extra + low)


def _source(x, size, padding_mode, align_corners):
    """Positions in the volume of coordinates in [-1, 1]."""
    x = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
    if padding_mode == 2:
        x = _reflect(x, 0, 2 * (size - 1)) if align_corners else _reflect(x, -1, 2 * size - 1)
    if padding_mode != 0:  # at the border itself the slope is that outside
        x = aten.where((x > 0) & (x < size - 1), x, x.detach().clamp(0, size - 1))
    return x


@composite(
    "grid_sampler_3d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    "A volume read at the positions of a grid.",
    bind="function generated_out",
    autocast="float32",
    dtypes="float",
    samples=[
        S(T(2, 3, 4, 5, 3), T(2, 3, 2, 2, 3), 0, 0, False),
        S(T(2, 3, 4, 5, 3), T(2, 3, 2, 2, 3), 0, 1, True),
        S(T(2, 3, 4, 5, 3), T(2, 3, 2, 2, 3), 0, 2, False),
        S(T(2, 3, 4, 5, 3), T(2, 3, 2, 2, 3, grad=False), 1, 0, False),
    ],
    node="GridSampler3DBackward0",
)
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    if input.dim() and grid.dim() and input.size(0) != grid.size(0):
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.dim() and grid.size(-1) != input.dim() - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.dim() - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    if input.dim() != 5 or grid.dim() != 5:
        raise RuntimeError(
            "grid_sampler(): expected 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if interpolation_mode == 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    batch, channels, *sizes = input.shape
    at = [_source(grid[..., 2 - i], sizes[i], padding_mode, align_corners) for i in range(3)]
    flat = input.reshape(batch, channels, sizes[0] * sizes[1] * sizes[2])
    if interpolation_mode == 1:
        corners = [([x.round() for x in at], None)]
    else:
        floors = [x.detach().floor() for x in at]
        corners = []
        for steps in itertools.product((0, 1), repeat=3):
            weight = None
            for x, floor, step in zip(at, floors, steps, strict=True):
                part = x - floor if step else floor + 1 - x
                weight = part if weight is None else weight * part
            corners.append(([f + s for f, s in zip(floors, steps, strict=True)], weight))
    total: Any = None
    for place, weight in corners:
        inside: Any = None
        index: Any = None
        for x, size in zip(place, sizes, strict=True):
            within = (x >= 0) & (x < size)
            inside = within if inside is None else inside & within
            step = x.detach().clamp(0, size - 1).long()
            index = step if index is None else index * size + step
        count = grid.size(1) * grid.size(2) * grid.size(3)
        found = flat.gather(2, index.reshape(batch, 1, count).expand([batch, channels, count]))
        found = found.reshape([batch, channels, *index.shape[1:]])
        keep = inside.unsqueeze(1).to(input.dtype)
        part = found * keep if weight is None else found * (weight.unsqueeze(1) * keep)
        total = part if total is None else total + part
    if interpolation_mode == 1 and grid.requires_grad:  # it has a gradient: zero
        moved = grid[..., 0]
        total = total + moved.masked_fill(aten.ones_like(moved, dtype=DTYPES["bool"]), 0).unsqueeze(1)
    return total


def _cubic_weights(t):
    """Of the four items around a position `t` after the second: cubic convolution with -0.75."""
    a = -0.75
    near = [((a + 2) * x - (a + 3)) * x * x + 1 for x in (t, 1 - t)]
    far = [((a * x - 5 * a) * x + 8 * a) * x - 4 * a for x in (t + 1, 2 - t)]
    return far[0], near[0], near[1], far[1]


def read_cubic(input: Tensor, grid: Tensor, padding_mode: int, align_corners: bool) -> Tensor:
    """`grid_sampler_2d` by cubic interpolation, of operators that can be differentiated any number of times."""
    batch, channels, *sizes = input.shape
    at = [_source(grid[..., 1 - i], sizes[i], 0, align_corners) for i in range(2)]
    floors = [x.detach().floor() for x in at]
    weights = [_cubic_weights(x - floor) for x, floor in zip(at, floors, strict=True)]
    flat = input.reshape(batch, channels, sizes[0] * sizes[1])
    count = grid.size(1) * grid.size(2)

    def tap(axis: int, step: int) -> Any:
        """Places on an axis, as indices and as whether they are inside."""
        x, size = floors[axis] + step, sizes[axis]
        if padding_mode == 2:
            x = _reflect(x, 0, 2 * (size - 1)) if align_corners else _reflect(x, -1, 2 * size - 1)
        if padding_mode != 0:
            x = x.clamp(0, size - 1)
        return x.clamp(0, size - 1).long(), (x >= 0) & (x < size)

    total: Any = None
    for i, j in itertools.product(range(4), repeat=2):
        (row, row_inside), (column, column_inside) = tap(0, i - 1), tap(1, j - 1)
        index = (row * sizes[1] + column).reshape(batch, 1, count).expand([batch, channels, count])
        found = flat.gather(2, index).reshape([batch, channels, *grid.shape[1:3]])
        weight = weights[0][i] * weights[1][j] * (row_inside & column_inside).to(input.dtype)
        part = found * weight.unsqueeze(1)
        total = part if total is None else total + part
    return total
