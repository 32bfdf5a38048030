"""Convolutions that read at places of their own."""

from __future__ import annotations

import math

import mindtorch_v2 as torch
from mindtorch_v2 import Tensor, nn

__all__ = ["DCNv2", "ModulatedDeformConv"]


class ModulatedDeformConv(nn.Module):
    """A convolution whose places and factors a second one finds (`pack`), or come with the input as (x, offset, mask).

    Offsets are rows and columns in turn, twice `deformable_groups` times the kernel's size of them; factors are half as many.
    At first the places are the plain ones, and all factors a half.

    Shape:
        (n, in_channels, height, width), or a triple of it; (n, out_channels, ...) as a convolution.
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int | tuple[int, int], stride: int = 1, padding: int = 0,
        dilation: int = 1, groups: int = 1, deformable_groups: int = 1, bias: bool = True, pack: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
        self.stride, self.padding, self.dilation = stride, padding, dilation
        self.groups, self.deformable_groups, self.pack = groups, deformable_groups, pack
        places = deformable_groups * math.prod(self.kernel_size)
        self.split_num = 2 * places
        self.weight = nn.Parameter(torch.empty(out_channels, in_channels // groups, *self.kernel_size))
        self.bias = nn.Parameter(torch.empty(out_channels)) if bias else None
        if pack:
            self.conv_offset = nn.Conv2d(in_channels, 3 * places, self.kernel_size, stride, padding)
        self.init_param()

    def init_param(self) -> None:
        """Weights uniform by the inputs' number, everything else zero."""
        bound = 1 / math.sqrt(self.weight.shape[1] * self.groups * math.prod(self.kernel_size))
        nn.init.uniform_(self.weight, -bound, bound)
        zero = [self.bias] if self.bias is not None else []
        for parameter in [*zero, *(self.conv_offset.parameters() if self.pack else ())]:
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor | tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """The convolution at the places that were found."""
        if isinstance(x, Tensor):
            found = self.conv_offset(x)
            offset, mask = found[:, : self.split_num], torch.sigmoid(found[:, self.split_num :])
        else:
            x, offset, mask = x
        places = torch.cat([offset[:, 1::2], offset[:, ::2], mask], 1)  # the operator takes columns, then rows
        made, _ = torch.ops.npu.npu_deformable_conv2d(
            x, self.weight, places, self.bias, list(self.kernel_size), [1, 1, self.stride, self.stride],
            [self.padding] * 4, [1, 1, self.dilation, self.dilation], self.groups, self.deformable_groups, True,
        )  # fmt: skip
        return made


DCNv2 = ModulatedDeformConv
