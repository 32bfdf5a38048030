"""Pooling layers. A kernel size is an int, or one for each spatial dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import functional as F
from .module import Module
from .utils import _pair, _single, _triple

if TYPE_CHECKING:
    from ..._tensor import Tensor


__all__ = [
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
]


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maximum of each window: `(N, C, L)` or `(C, L)`; with `return_indices` also where it stands.

    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[3., 7.]])
    """

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.max_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool2d(_MaxPoolNd):
    """The maximum of each window: `(N, C, H, W)` or `(C, H, W)`; with `return_indices` also where it stands.

    >>> torch.nn.MaxPool2d(3, stride=2, padding=1)(torch.ones(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool3d(_MaxPoolNd):
    """The maximum of each window: `(N, C, D, H, W)` or `(C, D, H, W)`; with `return_indices` also where it stands.

    >>> torch.nn.MaxPool3d(2)(torch.ones(1, 3, 8, 8, 8)).shape
    torch.Size([1, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.max_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class _MaxUnpoolNd(Module):
    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = self._ntuple(kernel_size)
        self.stride = self._ntuple(stride if stride is not None else kernel_size)
        self.padding = self._ntuple(padding)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Put the values back where `MaxPool1d` found them, zero elsewhere: `(N, C, L)` or `(C, L)`.

    >>> values, places = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[1.0, 3.0, 7.0, 5.0]]))
    >>> torch.nn.MaxUnpool1d(2)(values, places)
    tensor([[0., 3., 7., 0.]])
    """

    _ntuple = staticmethod(_single)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpoolNd):
    """Put the values back where `MaxPool2d` found them, zero elsewhere: `(N, C, H, W)` or `(C, H, W)`.

    >>> values, places = torch.nn.MaxPool2d(2, return_indices=True)(torch.ones(1, 3, 8, 8))
    >>> torch.nn.MaxUnpool2d(2)(values, places).shape
    torch.Size([1, 3, 8, 8])
    """

    _ntuple = staticmethod(_pair)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpoolNd):
    """Put the values back where `MaxPool3d` found them, zero elsewhere: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> values, places = torch.nn.MaxPool3d(2, return_indices=True)(torch.ones(1, 3, 8, 8, 8))
    >>> torch.nn.MaxUnpool3d(2)(values, places).shape
    torch.Size([1, 3, 8, 8, 8])
    """

    _ntuple = staticmethod(_triple)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.AvgPool1d(2)(torch.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[2., 6.]])
    """

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override


class AvgPool2d(_AvgPoolWithDivisor):
    """The mean of each window: `(N, C, H, W)` or `(C, H, W)`; `divisor_override` replaces the window's size.

    >>> torch.nn.AvgPool2d(2)(torch.ones(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool3d(_AvgPoolWithDivisor):
    """The mean of each window: `(N, C, D, H, W)` or `(C, D, H, W)`; `divisor_override` replaces the window's size.

    >>> torch.nn.AvgPool3d(2)(torch.ones(1, 3, 8, 8, 8)).shape
    torch.Size([1, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool3d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding", 0)
        self.__dict__.setdefault("ceil_mode", False)
        self.__dict__.setdefault("count_include_pad", True)


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = self._ntuple(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = self._ntuple(output_size) if output_size is not None else None
        self.output_ratio = self._ntuple(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Max pooling over windows of random places (Graham 2014), to an output size or a ratio: `(N, C, H, W)`.

    >>> torch.nn.FractionalMaxPool2d(2, output_size=3)(torch.ones(1, 3, 8, 8)).shape
    torch.Size([1, 3, 3, 3])
    """

    _ntuple = staticmethod(_pair)

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.fractional_max_pool2d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Max pooling over windows of random places (Graham 2014), to an output size or a ratio: `(N, C, D, H, W)`.

    >>> torch.nn.FractionalMaxPool3d(2, output_size=3)(torch.ones(1, 3, 8, 8, 8)).shape
    torch.Size([1, 3, 3, 3, 3])
    """

    _ntuple = staticmethod(_triple)

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.fractional_max_pool3d(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of each window: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window: `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.LPPool2d(2, 2)(torch.ones(1, 3, 8, 8)).shape
    torch.Size([1, 3, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.nn.LPPool3d(2, 2)(torch.ones(1, 3, 8, 8, 8)).shape
    torch.Size([1, 3, 4, 4, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size: int | Sequence[int], return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Max pooling to a given output size: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[3., 7.]])
    """

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Max pooling to a given output size: `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.AdaptiveMaxPool2d((1, 1))(torch.ones(2, 8, 5, 7)).shape
    torch.Size([2, 8, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Max pooling to a given output size: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.nn.AdaptiveMaxPool3d(2)(torch.ones(2, 8, 5, 7, 9)).shape
    torch.Size([2, 8, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]

    def __init__(self, output_size: int | Sequence[int]) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Mean pooling to a given output size: `(N, C, L)` or `(C, L)`.

    >>> torch.nn.AdaptiveAvgPool1d(2)(torch.tensor([[1.0, 3.0, 5.0, 7.0]]))
    tensor([[2., 6.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Mean pooling to a given output size: `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.AdaptiveAvgPool2d((1, 1))(torch.ones(2, 8, 5, 7)).shape
    torch.Size([2, 8, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Mean pooling to a given output size: `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.nn.AdaptiveAvgPool3d(2)(torch.ones(2, 8, 5, 7, 9)).shape
    torch.Size([2, 8, 2, 2, 2])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)
