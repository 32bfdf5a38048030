"""Pooling functions. A size is an int, or one for each spatial dimension."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable, overridable_as

from .._sizes import _list_with_default, _pair, _single, _triple

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def _stride(stride):
    # The operators take an empty list for "as the kernel".
    return [] if stride is None else stride


@overridable
def max_pool1d_with_indices(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The maximum of each window and where it stands: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.functional.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    (tensor([[3., 7.]]), tensor([[1, 3]]))
    """
    return torch.max_pool1d_with_indices(input, kernel_size, _stride(stride), padding, dilation, ceil_mode)


@overridable_as("max_pool1d")
def _max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return torch.max_pool1d(input, kernel_size, _stride(stride), padding, dilation, ceil_mode)


def max_pool1d(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window, with `return_indices` also where it stands: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[3., 7.]])
    """
    function = max_pool1d_with_indices if return_indices else _max_pool1d
    return function(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overridable
def max_pool2d_with_indices(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The maximum of each window and where it stands: `(N, C, H, W)` or `(C, H, W)`.

    >>> values, places = torch.nn.functional.max_pool2d_with_indices(torch.ones(1, 3, 8, 8), 2)
    >>> values.shape, places.dtype
    (torch.Size([1, 3, 4, 4]), torch.int64)
    """
    return torch._C._nn.max_pool2d_with_indices(input, kernel_size, _stride(stride), padding, dilation, ceil_mode)


@overridable_as("max_pool2d")
def _max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return torch.max_pool2d(input, kernel_size, _stride(stride), padding, dilation, ceil_mode)


def max_pool2d(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window, with `return_indices` also where it stands: `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.functional.max_pool2d(torch.ones(1, 3, 8, 8), 3, stride=2, padding=1).shape
    torch.Size([1, 3, 4, 4])
    """
    function = max_pool2d_with_indices if return_indices else _max_pool2d
    return function(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


@overridable
def max_pool3d_with_indices(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The maximum of each window and where it stands: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> values, places = torch.nn.functional.max_pool3d_with_indices(torch.ones(1, 3, 8, 8, 8), 2)
    >>> values.shape, places.dtype
    (torch.Size([1, 3, 4, 4, 4]), torch.int64)
    """
    return torch._C._nn.max_pool3d_with_indices(input, kernel_size, _stride(stride), padding, dilation, ceil_mode)


@overridable_as("max_pool3d")
def _max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return torch.max_pool3d(input, kernel_size, _stride(stride), padding, dilation, ceil_mode)


def max_pool3d(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The maximum of each window, with `return_indices` also where it stands: `(N, C, D, H, W)`.

    >>> torch.nn.functional.max_pool3d(torch.ones(1, 3, 8, 8, 8), 2).shape
    torch.Size([1, 3, 4, 4, 4])
    """
    function = max_pool3d_with_indices if return_indices else _max_pool3d
    return function(input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _check_unpool_output_size(output_size, dim) -> None:
    if len(output_size) != dim:
        raise ValueError(
            f"output_size should be a sequence containing {dim} or {dim + 2} elements, "
            f"but it has a length of '{len(output_size)}'"
        )


def _unpool_output_size(input, kernel_size, stride, padding, output_size) -> list[int]:
    """The spatial size that unpooling gives; a given one must be less than a stride away from the default."""
    spatial = input.size()[-len(kernel_size) :]
    default_size = [(size - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d, size in enumerate(spatial)]
    if output_size is None:
        return default_size
    if len(output_size) == len(kernel_size) + 2:
        output_size = output_size[2:]
    _check_unpool_output_size(output_size, len(kernel_size))
    for d, size in enumerate(output_size):
        low, high = default_size[d] - stride[d], default_size[d] + stride[d]
        if not low < size < high:
            raise ValueError(f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})')
    return output_size


@overridable
def max_unpool1d(
    input: torch.Tensor,
    indices: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int] | None = None,
) -> torch.Tensor:
    """Put values back where `max_pool1d` found them: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.functional.max_unpool1d(torch.tensor([[3.0, 7.0]]), torch.tensor([[1, 2]]), 2)
    tensor([[0., 3., 7., 0.]])
    """
    kernel_size = _single(kernel_size)
    stride = _single(stride) if stride is not None else kernel_size
    padding = _single(padding)
    output_size = _unpool_output_size(input, kernel_size, stride, padding, output_size)
    # A second dimension of one element lets the 2-d operator do it.
    output_size = [*output_size, 1]
    return torch._C._nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), output_size).squeeze(-1)


@overridable
def max_unpool2d(
    input: torch.Tensor,
    indices: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int] | None = None,
) -> torch.Tensor:
    """Put values back where `max_pool2d` found them: `(N, C, H, W)` or `(C, H, W)`.

    >>> values, places = torch.nn.functional.max_pool2d_with_indices(torch.ones(1, 3, 8, 8), 2)
    >>> torch.nn.functional.max_unpool2d(values, places, 2).shape
    torch.Size([1, 3, 8, 8])
    """
    kernel_size = _pair(kernel_size)
    stride = _pair(stride) if stride is not None else kernel_size
    padding = _pair(padding)
    output_size = _unpool_output_size(input, kernel_size, stride, padding, output_size)
    return torch._C._nn.max_unpool2d(input, indices, output_size)


@overridable
def max_unpool3d(
    input: torch.Tensor,
    indices: torch.Tensor,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    padding: int | Sequence[int] = 0,
    output_size: int | Sequence[int] | None = None,
) -> torch.Tensor:
    """Put values back where `max_pool3d` found them: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> values, places = torch.nn.functional.max_pool3d_with_indices(torch.ones(1, 3, 8, 8, 8), 2)
    >>> torch.nn.functional.max_unpool3d(values, places, 2).shape
    torch.Size([1, 3, 8, 8, 8])
    """
    kernel_size = _triple(kernel_size)
    stride = _triple(stride) if stride is not None else kernel_size
    padding = _triple(padding)
    output_size = _unpool_output_size(input, kernel_size, stride, padding, output_size)
    return torch._C._nn.max_unpool3d(input, indices, output_size, stride, padding)


def _lp_pool(avg_pool, input, norm_type, kernel_size, window, stride, ceil_mode) -> torch.Tensor:
    """The p-norm of each window, from the mean of the p-th powers."""
    out = avg_pool(input.pow(norm_type), kernel_size, _stride(stride), 0, ceil_mode)
    return (torch.sign(out) * torch.relu(torch.abs(out))).mul(window).pow(1.0 / norm_type)


@overridable
def lp_pool1d(
    input: torch.Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> torch.Tensor:
    """The p-norm of each window: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.functional.lp_pool1d(torch.tensor([[3.0, 4.0]]), 2.0, 2)
    tensor([[5.]])
    """
    window = _single(kernel_size)[0]
    return _lp_pool(torch.avg_pool1d, input, norm_type, kernel_size, window, stride, ceil_mode)


@overridable
def lp_pool2d(
    input: torch.Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> torch.Tensor:
    """The p-norm of each window: `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.functional.lp_pool2d(torch.ones(1, 3, 8, 8), 2.0, 2).shape
    torch.Size([1, 3, 4, 4])
    """
    window = math.prod(_pair(kernel_size))
    return _lp_pool(torch._C._nn.avg_pool2d, input, norm_type, kernel_size, window, stride, ceil_mode)


@overridable
def lp_pool3d(
    input: torch.Tensor,
    norm_type: float,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] | None = None,
    ceil_mode: bool = False,
) -> torch.Tensor:
    """The p-norm of each window: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.nn.functional.lp_pool3d(torch.ones(1, 3, 8, 8, 8), 2.0, 2).shape
    torch.Size([1, 3, 4, 4, 4])
    """
    window = math.prod(_triple(kernel_size))
    return _lp_pool(torch._C._nn.avg_pool3d, input, norm_type, kernel_size, window, stride, ceil_mode)


@overridable
def adaptive_max_pool1d_with_indices(
    input: torch.Tensor, output_size: int | Sequence[int], return_indices: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Max pooling to a given output size, and where the maxima stand: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.functional.adaptive_max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    (tensor([[3., 7.]]), tensor([[1, 3]]))
    """
    return torch.adaptive_max_pool1d(input, output_size)


@overridable_as("adaptive_max_pool1d")
def _adaptive_max_pool1d(input, output_size, return_indices=False):
    return adaptive_max_pool1d_with_indices(input, output_size)[0]


def adaptive_max_pool1d(input: torch.Tensor, output_size: int | Sequence[int], return_indices: bool = False) -> Any:
    """Max pooling to a given output size: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.functional.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 5.0, 7.0]]), 2)
    tensor([[3., 7.]])
    """
    function = adaptive_max_pool1d_with_indices if return_indices else _adaptive_max_pool1d
    return function(input, output_size, return_indices)


@overridable
def adaptive_max_pool2d_with_indices(
    input: torch.Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Max pooling to a given output size, and where the maxima stand: `(N, C, H, W)` or `(C, H, W)`.

    >>> values, places = torch.nn.functional.adaptive_max_pool2d_with_indices(torch.ones(1, 8, 5, 7), 1)
    >>> values.shape, places.dtype
    (torch.Size([1, 8, 1, 1]), torch.int64)
    """
    return torch._C._nn.adaptive_max_pool2d(input, _list_with_default(output_size, input.size()))


@overridable_as("adaptive_max_pool2d")
def _adaptive_max_pool2d(input, output_size, return_indices=False):
    return adaptive_max_pool2d_with_indices(input, output_size)[0]


def adaptive_max_pool2d(
    input: torch.Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """Max pooling to a given output size (None: as the input): `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.functional.adaptive_max_pool2d(torch.ones(2, 8, 5, 7), 1).shape
    torch.Size([2, 8, 1, 1])
    """
    function = adaptive_max_pool2d_with_indices if return_indices else _adaptive_max_pool2d
    return function(input, output_size, return_indices)


@overridable
def adaptive_max_pool3d_with_indices(
    input: torch.Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Max pooling to a given output size, and where the maxima stand: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> values, places = torch.nn.functional.adaptive_max_pool3d_with_indices(torch.ones(1, 8, 5, 7, 9), 2)
    >>> values.shape, places.dtype
    (torch.Size([1, 8, 2, 2, 2]), torch.int64)
    """
    return torch._C._nn.adaptive_max_pool3d(input, _list_with_default(output_size, input.size()))


@overridable_as("adaptive_max_pool3d")
def _adaptive_max_pool3d(input, output_size, return_indices=False):
    return adaptive_max_pool3d_with_indices(input, output_size)[0]


def adaptive_max_pool3d(
    input: torch.Tensor, output_size: int | Sequence[int | None] | None, return_indices: bool = False
) -> Any:
    """Max pooling to a given output size (None: as the input): `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.nn.functional.adaptive_max_pool3d(torch.ones(2, 8, 5, 7, 9), 2).shape
    torch.Size([2, 8, 2, 2, 2])
    """
    function = adaptive_max_pool3d_with_indices if return_indices else _adaptive_max_pool3d
    return function(input, output_size, return_indices)


@overridable
def adaptive_avg_pool2d(input: torch.Tensor, output_size: int | Sequence[int | None] | None) -> torch.Tensor:
    """Mean pooling to a given output size (None: as the input): `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.functional.adaptive_avg_pool2d(torch.ones(2, 8, 5, 7), 1).shape
    torch.Size([2, 8, 1, 1])
    """
    return torch._C._nn.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


@overridable
def adaptive_avg_pool3d(input: torch.Tensor, output_size: int | Sequence[int | None] | None) -> torch.Tensor:
    """Mean pooling to a given output size (None: as the input): `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.nn.functional.adaptive_avg_pool3d(torch.ones(2, 8, 5, 7, 9), 2).shape
    torch.Size([2, 8, 2, 2, 2])
    """
    return torch._C._nn.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


def _fractional(
    dims, name, ntuple, input, kernel_size, output_size, output_ratio, random_samples
) -> tuple[torch.Tensor, torch.Tensor]:
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratio = ntuple(output_ratio)
        output_size = [int(input.size(i - dims) * r) for i, r in enumerate(ratio)]
    if random_samples is None:
        n_batch = 1 if input.dim() == dims + 1 else input.size(0)
        random_samples = torch.rand(n_batch, input.size(-dims - 1), dims, dtype=input.dtype, device=input.device)
    operator = getattr(torch._C._nn, name)
    return operator(input, kernel_size, output_size, random_samples)


@overridable
def fractional_max_pool2d_with_indices(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Max pooling over windows of random places, and where the maxima stand: `(N, C, H, W)` or `(C, H, W)`.

    >>> x = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> samples = torch.full((1, 1, 2), 0.5)
    >>> torch.nn.functional.fractional_max_pool2d_with_indices(x, 2, output_size=2, _random_samples=samples)
    (tensor([[[[ 5.,  7.],
              [13., 15.]]]]), tensor([[[[ 5,  7],
              [13, 15]]]]))
    """
    return _fractional(
        2, "fractional_max_pool2d", _pair, input, kernel_size, output_size, output_ratio, _random_samples
    )


@overridable_as("fractional_max_pool2d")
def _fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    return fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


def fractional_max_pool2d(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
) -> Any:
    """Max pooling over windows of random places, to a size or a ratio of it: `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.functional.fractional_max_pool2d(torch.ones(1, 3, 8, 8), 2, output_size=3).shape
    torch.Size([1, 3, 3, 3])
    """
    function = fractional_max_pool2d_with_indices if return_indices else _fractional_max_pool2d
    return function(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)


@overridable
def fractional_max_pool3d_with_indices(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Max pooling over windows of random places, and where the maxima stand: `(N, C, D, H, W)`.

    >>> x = torch.arange(27.0).reshape(1, 1, 3, 3, 3)
    >>> samples = torch.full((1, 1, 3), 0.5)
    >>> torch.nn.functional.fractional_max_pool3d_with_indices(x, 2, output_size=1, _random_samples=samples)
    (tensor([[[[[26.]]]]]), tensor([[[[[26]]]]]))
    """
    return _fractional(
        3, "fractional_max_pool3d", _triple, input, kernel_size, output_size, output_ratio, _random_samples
    )


@overridable_as("fractional_max_pool3d")
def _fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    return fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )[0]


def fractional_max_pool3d(
    input: torch.Tensor,
    kernel_size: int | Sequence[int],
    output_size: int | Sequence[int] | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: torch.Tensor | None = None,
) -> Any:
    """Max pooling over windows of random places, to a size or a ratio of it: `(N, C, D, H, W)`.

    >>> torch.nn.functional.fractional_max_pool3d(torch.ones(1, 3, 8, 8, 8), 2, output_size=3).shape
    torch.Size([1, 3, 3, 3, 3])
    """
    function = fractional_max_pool3d_with_indices if return_indices else _fractional_max_pool3d
    return function(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
