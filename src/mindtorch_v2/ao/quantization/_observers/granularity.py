"""How large the parts of a tensor are that share a scale, and the base of observers that take it for an argument."""

from __future__ import annotations

import abc
import enum
from dataclasses import dataclass
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization._observers.base import _with_args

__all__ = [
    "AffineQuantizedObserverBase",
    "Granularity",
    "MappingType",
    "PerAxis",
    "PerBlock",
    "PerGroup",
    "PerRow",
    "PerTensor",
    "PerToken",
    "TorchAODType",
    "ZeroPointDomain",
    "get_block_size",
]


class MappingType(enum.Enum):
    """Whether the numbers on both sides of 0 share a range.

    >>> torch.ao.quantization.observer.MappingType.SYMMETRIC.name
    'SYMMETRIC'
    """

    SYMMETRIC = enum.auto()
    SYMMETRIC_NO_CLIPPING_ERR = enum.auto()
    ASYMMETRIC = enum.auto()


class ZeroPointDomain(enum.Enum):
    """Of which numbers a zero point is one.

    >>> torch.ao.quantization.observer.ZeroPointDomain.INT.name
    'INT'
    """

    INT = enum.auto()
    FLOAT = enum.auto()
    NONE = enum.auto()


class TorchAODType(enum.Enum):
    """Whole numbers of less than eight bits.

    >>> torch.ao.quantization.observer.TorchAODType.INT4.value
    4
    """

    INT1 = enum.auto()
    INT2 = enum.auto()
    INT3 = enum.auto()
    INT4 = enum.auto()
    INT5 = enum.auto()
    INT6 = enum.auto()
    INT7 = enum.auto()


@dataclass(frozen=True)
class Granularity:
    """The base of what says which elements share a scale.

    >>> isinstance(torch.ao.quantization.PerTensor(), torch.ao.quantization.Granularity)
    True
    """


@dataclass(frozen=True)
class PerBlock(Granularity):
    """A scale for each block of given sizes.

    >>> torch.ao.quantization.PerBlock((2, 4)).block_size
    (2, 4)
    """

    block_size: tuple[int, ...]


@dataclass(frozen=True)
class PerTensor(Granularity):
    """One scale for all.

    >>> torch.ao.quantization.get_block_size((2, 3), torch.ao.quantization.PerTensor())
    (2, 3)
    """


@dataclass(frozen=True)
class PerAxis(Granularity):
    """A scale for each index of a dimension.

    >>> torch.ao.quantization.get_block_size((2, 3), torch.ao.quantization.PerAxis(0))
    (1, 3)
    """

    axis: int


@dataclass(frozen=True)
class PerGroup(Granularity):
    """A scale for so many elements of a row of a matrix.

    >>> torch.ao.quantization.get_block_size((2, 64), torch.ao.quantization.PerGroup(32))
    (1, 32)
    """

    group_size: int


class PerRow(Granularity):
    """A scale for each row.

    >>> torch.ao.quantization.get_block_size((2, 3, 4), torch.ao.quantization.PerRow())
    (1, 1, 4)
    """


class PerToken(Granularity):
    """A scale for each index of all dimensions but the last.

    >>> torch.ao.quantization.get_block_size((2, 3, 4), torch.ao.quantization.PerToken())
    (1, 1, 4)
    """


def get_block_size(input_shape: tuple[int, ...], granularity: Granularity) -> tuple[int, ...]:
    """The sizes of the parts of a tensor that share a scale.

    >>> torch.ao.quantization.get_block_size((8, 3), torch.ao.quantization.PerAxis(1))
    (8, 1)
    """
    if not isinstance(granularity, Granularity):
        raise AssertionError("Please provide an instance of Granularity, not subclass of it")
    if isinstance(granularity, PerTensor):
        return input_shape
    if isinstance(granularity, PerAxis):
        sizes = list(input_shape)
        sizes[granularity.axis] = 1
        return tuple(sizes)
    if isinstance(granularity, PerRow | PerToken):
        return (1,) * (len(input_shape) - 1) + (input_shape[-1],)
    if isinstance(granularity, PerGroup):
        if len(input_shape) != 2:
            raise AssertionError(
                f"Expecting input shape dim to be 2 for per group quantization, gotinput shape: {input_shape}"
            )
        return (1, granularity.group_size)
    raise ValueError(f"Unsupported Granularity: {granularity}")


class AffineQuantizedObserverBase(abc.ABC, nn.Module):
    """The base of observers for quantization by blocks.

    >>> class Fixed(torch.ao.quantization.AffineQuantizedObserverBase):
    ...     def forward(self, input):
    ...         return input
    ...     def calculate_qparams(self):
    ...         return torch.tensor(0.5), torch.tensor(0)
    >>> of = torch.ao.quantization.observer
    >>> Fixed(of.MappingType.SYMMETRIC, torch.int8, of.PerTensor()).calculate_qparams()
    (tensor(0.5000), tensor(0))
    """

    with_args = classmethod(_with_args)

    def __init__(
        self,
        mapping_type: MappingType,
        target_dtype: torch.dtype,
        granularity: Granularity,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float | None = None,
        scale_dtype: torch.dtype | None = None,
        zero_point_dtype: torch.dtype | None = None,
        preserve_zero: bool = True,
        zero_point_domain: ZeroPointDomain = ZeroPointDomain.INT,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if granularity is None:
            raise AssertionError("granularity is None")
        self.mapping_type = mapping_type
        self.target_dtype = target_dtype
        self.granularity = granularity
        self.quant_min, self.quant_max = quant_min, quant_max
        self.eps = eps
        self.scale_dtype, self.zero_point_dtype = scale_dtype, zero_point_dtype
        self.preserve_zero = preserve_zero
        self.zero_point_domain = zero_point_domain
        self.block_size: tuple[int, ...] | None = None  # known when a tensor was seen
        self.original_dtype: torch.dtype | None = None

    @abc.abstractmethod
    def forward(self, input: torch.Tensor) -> torch.Tensor:
        """See a tensor, and give it back."""

    @abc.abstractmethod
    def calculate_qparams(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The scales and the zero points."""

    def convert(self, model: Any, observer_node: Any) -> None:
        """NotImplementedError: its operators of `torch.ops.pt2e_quant` came with PyTorch's export quantization, now torchao's."""
        raise NotImplementedError("AffineQuantizedObserverBase.convert: torch.ops.pt2e_quant is torchao's")
