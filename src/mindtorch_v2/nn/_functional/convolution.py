"""Convolutions, linear maps and what they are made of: blocks, padding, shuffles."""

from __future__ import annotations

from collections.abc import Sequence

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

from .._sizes import _pair

__all__ = [
    "fold",
    "pad",
    "unfold",
]


@overridable
def pad(input: torch.Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> torch.Tensor:
    """Pad the last dimensions by `pad`, pairs of (before, after), last dimension first.

    `mode` is "constant" (with `value`, default 0), "reflect", "replicate" or "circular"; negative pads cut.

    >>> torch.nn.functional.pad(torch.tensor([[1.0, 2.0]]), (1, 0), value=9.0)
    tensor([[9., 1., 2.]])
    """
    return torch._C._nn.pad(input, pad, mode, value)


@overridable
def unfold(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> torch.Tensor:
    """Extract sliding blocks: `(N, C, H, W)` or `(C, H, W)` to `(N, C * prod(kernel_size), L)`.

    >>> torch.nn.functional.unfold(torch.ones(1, 3, 4, 4), kernel_size=2).shape
    torch.Size([1, 12, 9])
    """
    return torch._C._nn.im2col(input, _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride))


@overridable
def fold(
    input: torch.Tensor,
    output_size: int | Sequence[int],
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
) -> torch.Tensor:
    """Sum sliding blocks: `(N, C * prod(kernel_size), L)` or unbatched, to `(N, C, *output_size)`.

    >>> torch.nn.functional.fold(torch.ones(1, 12, 4), output_size=(4, 4), kernel_size=2, stride=2).shape
    torch.Size([1, 3, 4, 4])
    """
    return torch._C._nn.col2im(
        input, _pair(output_size), _pair(kernel_size), _pair(dilation), _pair(padding), _pair(stride)
    )
