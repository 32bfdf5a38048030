"""Regions of feature maps, read as small maps of one size."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten, namespace
from .checks import composite, require, wide

npu = namespace("npu")
_AT_ONCE = 1 << 24  # numbers of the maps that regions read together


def _shares(start: Any, length: Any, cells: int, samples: int, size: int) -> Any:
    """How much of each row (column) of a map a cell of a region is: (regions, cells, size), samples averaged."""
    steps = (aten.arange(cells * samples, device=start.device) + 0.5) / (cells * samples)
    at = start.unsqueeze(1) + length.unsqueeze(1) * steps
    inside = ((at >= -1) & (at <= size)).to(at.dtype)
    at = at.clamp(0, size - 1)
    places = aten.arange(size, device=start.device)
    share = (1 - (at.unsqueeze(2) - places).abs()).clamp(0) * inside.unsqueeze(2)
    return share.reshape(-1, cells, samples, size).mean([2])


@composite(
    "npu::npu_roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, int pooled_width, int sample_num, int "
    "roi_end_mode) -> Tensor",
    "Regions (image, x1, y1, x2, y2) of maps read as pooled_height x pooled_width means of sample_num x sample_num points each, between "
    "pixels; with roi_end_mode 3 half a pixel earlier, with 0 at least one pixel large.",
)
def npu_roi_align(
    input: Any,
    rois: Any,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sample_num: int,
    roi_end_mode: int,
) -> Any:
    operator = "npu_roi_align"
    require(roi_end_mode in (0, 3), operator, f"roi_end_mode must be 0 or 3, but it is {roi_end_mode}")
    require(sample_num > 0, operator, f"sample_num must be positive, but it is {sample_num}")
    require(
        rois.dim() == 2 and rois.shape[1] == 5,
        operator,
        f"rois must have the sizes (n, 5), but they have {list(rois.shape)}",
    )
    image, *corners = aten.unbind(wide(rois.detach()), 1)
    x1, y1, x2, y2 = (each * spatial_scale - (0.5 if roi_end_mode == 3 else 0.0) for each in corners)
    width, height = x2 - x1, y2 - y1
    if roi_end_mode == 0:
        width, height = width.clamp_min(1), height.clamp_min(1)
    maps, image = wide(input), image.to(DTYPES["int64"])
    down = _shares(y1, height, pooled_height, sample_num, input.shape[2]).to(maps.dtype)
    across = _shares(x1, width, pooled_width, sample_num, input.shape[3]).to(maps.dtype)
    step = max(1, _AT_ONCE // max(1, maps[0].numel()))
    found = []
    for first in range(0, max(1, rois.shape[0]), step):
        part = slice(first, first + step)
        read = aten.index_select(maps, 0, image[part])
        rows = aten.matmul(down[part].unsqueeze(1), read)
        found.append(aten.matmul(rows, across[part].unsqueeze(1).transpose(-2, -1)))
    return aten.cat(found, 0).to(input.dtype)


def _cells(low: Any, high: Any, spatial_scale: float, cells: int, size: int) -> Any:
    """Which rows (columns) of a map each cell of a region is the mean of, as their weights: (regions, cells, size)."""
    start = aten.floor(low + 0.5) * spatial_scale
    length = ((aten.floor(high + 0.5) + 1) * spatial_scale - start).clamp_min(0.1) / cells
    steps = aten.arange(cells, device=low.device)
    first = aten.floor(start.unsqueeze(1) + length.unsqueeze(1) * steps).clamp(0, size).unsqueeze(2)
    last = aten.ceil(start.unsqueeze(1) + length.unsqueeze(1) * (steps + 1)).clamp(0, size).unsqueeze(2)
    places = aten.arange(size, device=low.device)
    inside = ((places >= first) & (places < last)).to(low.dtype)
    return inside / (last - first).clamp_min(1)


@composite(
    "npu::npu_ps_roi_pooling(Tensor input, Tensor rois, float spatial_scale, int group_size, int output_dim) -> Tensor",
    "Means over group_size x group_size cells of regions (n, 5, k), each cell (i, j) of result c from the map "
    "(c * group_size + i) * group_size + j of the region's image: (n * k, output_dim, group_size, group_size).",
)
def npu_ps_roi_pooling(input: Any, rois: Any, spatial_scale: float, group_size: int, output_dim: int) -> Any:
    operator, g = "npu_ps_roi_pooling", group_size
    require(
        input.dim() == 4 and input.shape[1] == output_dim * g * g,
        operator,
        f"input must have the sizes (n, output_dim * group_size**2 = {output_dim * g * g}, h, w), but they are {list(input.shape)}",
    )
    require(
        rois.dim() == 3 and rois.shape[1] == 5,
        operator,
        f"rois must have the sizes (n, 5, k), but they are {list(rois.shape)}",
    )
    image, x1, y1, x2, y2 = (aten.flatten(each) for each in aten.unbind(wide(rois.detach()), 1))
    maps = wide(input).unflatten(1, (output_dim, g, g))
    down = _cells(y1, y2, spatial_scale, g, input.shape[2]).to(maps.dtype)
    across = _cells(x1, x2, spatial_scale, g, input.shape[3]).to(maps.dtype)
    found = maps.new_zeros((image.shape[0], output_dim, g, g))
    for index, each in enumerate(aten.unbind(maps)):
        own = down * (image == index).to(maps.dtype).reshape(-1, 1, 1)
        columns = [aten.matmul(each[:, :, j], across[:, j].t()) for j in range(g)]  # (output_dim, g, height, regions)
        means = [(part * own.permute(1, 2, 0)).sum([2]) for part in columns]  # (output_dim, g, regions)
        found = found + aten.stack(means).permute(3, 1, 2, 0)
    return found.to(input.dtype)
