"""Padding, its gradients, sliding windows and resampling by nearest neighbours, in terms of indexing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__: list[str] = []


def _spaced(places: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Indices of the last dimensions that together name a grid."""
    return [each.reshape([-1] + [1] * (len(places) - 1 - i)) for i, each in enumerate(places)]


def _taken(self: torch.Tensor, places: Sequence[torch.Tensor]) -> torch.Tensor:
    leading: list[torch.Tensor | None] = [None] * (self.dim() - len(places))
    return aten.index.Tensor(self, leading + _spaced(places))


def _reflected(length: int, before: int, after: int, device: Any) -> torch.Tensor:
    places = torch.arange(-before, length + after, device=device)
    return (length - 1) - torch.abs((length - 1) - torch.abs(places))


@register_decomposition(
    [
        aten.reflection_pad1d_backward.default,
        aten.reflection_pad2d_backward.default,
        aten.reflection_pad3d_backward.default,
    ]
)
def reflection_pad_backward(grad_output: torch.Tensor, self: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
    count = len(padding) // 2
    places = [
        _reflected(
            self.shape[dim], padding[2 * (self.dim() - 1 - dim)], padding[2 * (self.dim() - 1 - dim) + 1], self.device
        )
        for dim in range(self.dim() - count, self.dim())
    ]
    leading: list[torch.Tensor | None] = [None] * (self.dim() - count)
    return aten.index_put.default(torch.zeros_like(self), leading + _spaced(places), grad_output, True)


@register_decomposition(aten.replication_pad1d.default)
def replication_pad1d(self: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
    places = torch.arange(-padding[0], self.shape[-1] + padding[1], device=self.device)
    return _taken(self, [torch.clamp(places, 0, self.shape[-1] - 1)])


@register_decomposition(aten.im2col.default)
def im2col(
    self: torch.Tensor,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> torch.Tensor:
    batched = self.dim() == 4
    images = self if batched else self.unsqueeze(0)
    images = aten.constant_pad_nd.default(images, [padding[1], padding[1], padding[0], padding[0]], 0)
    places = []
    for i in range(2):
        count = (images.shape[2 + i] - dilation[i] * (kernel_size[i] - 1) - 1) // stride[i] + 1
        starts = torch.arange(count, device=self.device) * stride[i]
        steps = torch.arange(kernel_size[i], device=self.device) * dilation[i]
        places.append(steps.unsqueeze(-1) + starts)
    rows, columns = places
    taken = aten.index.Tensor(images, [None, None, rows.unsqueeze(-1).unsqueeze(-1), columns])
    taken = torch.permute(taken, [0, 1, 2, 4, 3, 5])
    taken = taken.reshape(images.shape[0], images.shape[1] * kernel_size[0] * kernel_size[1], -1)
    return taken if batched else taken.squeeze(0)


def _nearest(self: torch.Tensor, output_size: Sequence[int], scales: Sequence[float | None], middle: float) -> Any:
    count = len(output_size)
    places = []
    for size, length, scale in zip(output_size, self.shape[-count:], scales, strict=True):
        step = length / size if scale is None or scale <= 0 else 1 / scale
        at = torch.floor((torch.arange(size, dtype=torch.float32, device=self.device) + middle) * step)
        places.append(torch.clamp(at.to(torch.int64), max=length - 1))
    return _taken(self, places).contiguous(memory_format=torch._prims_common.suggest_memory_format(self))


@register_decomposition(
    [aten.upsample_nearest1d.default, aten.upsample_nearest2d.default, aten.upsample_nearest3d.default]
)
def upsample_nearest(self: torch.Tensor, output_size: Sequence[int], *scales: float | None) -> torch.Tensor:
    return _nearest(self, output_size, scales or [None] * len(output_size), 0.0)


@register_decomposition(
    [
        aten._upsample_nearest_exact1d.default,
        aten._upsample_nearest_exact2d.default,
        aten._upsample_nearest_exact3d.default,
    ]
)
def upsample_nearest_exact(self: torch.Tensor, output_size: Sequence[int], *scales: float | None) -> torch.Tensor:
    return _nearest(self, output_size, scales or [None] * len(output_size), 0.5)


@register_decomposition(aten.upsample_linear1d.default)
def upsample_linear1d(
    self: torch.Tensor, output_size: Sequence[int], align_corners: bool, scales: float | None = None
) -> torch.Tensor:
    (size,), length = output_size, self.shape[-1]
    x = self.float() if self.dtype in (torch.float16, torch.bfloat16) else self
    counted = torch.arange(size, dtype=x.dtype, device=self.device)
    if align_corners:
        at = counted * ((length - 1) / (size - 1) if size > 1 else 0.0)
    else:
        step = length / size if scales is None or scales <= 0 else 1 / scales
        at = torch.clamp((counted + 0.5) * step - 0.5, min=0)
    low = torch.clamp(torch.floor(at).to(torch.int64), max=length - 1)
    high = torch.clamp(low + 1, max=length - 1)
    share = torch.clamp(at - low, 0, 1)
    return (_taken(x, [low]) * (1 - share) + _taken(x, [high]) * share).to(self.dtype)
