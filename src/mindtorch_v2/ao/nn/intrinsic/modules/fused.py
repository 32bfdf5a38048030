"""Modules that stand for several in a row, which are quantized as one."""

from __future__ import annotations

from typing import Any, ClassVar

from mindtorch_v2 import nn
from mindtorch_v2.nn import BatchNorm1d, BatchNorm2d, BatchNorm3d, Conv1d, Conv2d, Conv3d, LeakyReLU, Linear, ReLU, Tanh
from mindtorch_v2.nn.utils.parametrize import type_before_parametrizations

__all__ = [
    "BNReLU2d",
    "BNReLU3d",
    "ConvAdd2d",
    "ConvAddReLU2d",
    "ConvBn1d",
    "ConvBn2d",
    "ConvBn3d",
    "ConvBnReLU1d",
    "ConvBnReLU2d",
    "ConvBnReLU3d",
    "ConvReLU1d",
    "ConvReLU2d",
    "ConvReLU3d",
    "LinearBn1d",
    "LinearLeakyReLU",
    "LinearReLU",
    "LinearTanh",
]


class _FusedModule(nn.Sequential):
    """Modules in a row, of the classes that `_PARTS` says."""

    _PARTS: ClassVar[tuple[type, ...]] = ()

    def _check(self, *modules: nn.Module) -> None:
        classes = [type_before_parametrizations(each) for each in modules]
        if tuple(classes) != self._PARTS:
            *first, last = [each.__name__ for each in classes]
            comma = "," if len(first) > 1 else ""
            raise AssertionError(f"Incorrect types for input modules: {', '.join(first)}{comma} and {last}")


class ConvReLU1d(_FusedModule):
    """A convolution and a ReLU.

    >>> torch.ao.nn.intrinsic.ConvReLU1d(torch.nn.Conv1d(1, 2, 1), torch.nn.ReLU())  # doctest: +ELLIPSIS
    ConvReLU1d(
      (0): Conv1d(...)
    ...
    """

    _PARTS = (Conv1d, ReLU)

    def __init__(self, conv: nn.Module, relu: nn.Module) -> None:
        self._check(conv, relu)
        super().__init__(conv, relu)


class ConvReLU2d(_FusedModule):
    """A convolution and a ReLU.

    >>> torch.ao.nn.intrinsic.ConvReLU2d(torch.nn.Conv2d(1, 2, 1), torch.nn.ReLU())  # doctest: +ELLIPSIS
    ConvReLU2d(
      (0): Conv2d(...)
    ...
    """

    _PARTS = (Conv2d, ReLU)

    def __init__(self, conv: nn.Module, relu: nn.Module) -> None:
        self._check(conv, relu)
        super().__init__(conv, relu)


class ConvReLU3d(_FusedModule):
    """A convolution and a ReLU.

    >>> torch.ao.nn.intrinsic.ConvReLU3d(torch.nn.Conv3d(1, 2, 1), torch.nn.ReLU())  # doctest: +ELLIPSIS
    ConvReLU3d(
      (0): Conv3d(...)
    ...
    """

    _PARTS = (Conv3d, ReLU)

    def __init__(self, conv: nn.Module, relu: nn.Module) -> None:
        self._check(conv, relu)
        super().__init__(conv, relu)


class LinearReLU(_FusedModule):
    """A linear layer and a ReLU.

    >>> torch.ao.nn.intrinsic.LinearReLU(torch.nn.Linear(1, 2), torch.nn.ReLU())  # doctest: +ELLIPSIS
    LinearReLU(
      (0): Linear(...)
    ...
    """

    _PARTS = (Linear, ReLU)

    def __init__(self, linear: nn.Module, relu: nn.Module) -> None:
        self._check(linear, relu)
        super().__init__(linear, relu)


class ConvBn1d(_FusedModule):
    """A convolution and a batch norm.

    >>> torch.ao.nn.intrinsic.ConvBn1d(torch.nn.Conv1d(1, 2, 1), torch.nn.BatchNorm1d(2))  # doctest: +ELLIPSIS
    ConvBn1d(
      (0): Conv1d(...)
    ...
    """

    _PARTS = (Conv1d, BatchNorm1d)

    def __init__(self, conv: nn.Module, bn: nn.Module) -> None:
        self._check(conv, bn)
        super().__init__(conv, bn)


class ConvBn2d(_FusedModule):
    """A convolution and a batch norm.

    >>> torch.ao.nn.intrinsic.ConvBn2d(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2))  # doctest: +ELLIPSIS
    ConvBn2d(
      (0): Conv2d(...)
    ...
    """

    _PARTS = (Conv2d, BatchNorm2d)

    def __init__(self, conv: nn.Module, bn: nn.Module) -> None:
        self._check(conv, bn)
        super().__init__(conv, bn)


class ConvBnReLU1d(_FusedModule):
    """A convolution, a batch norm and a ReLU.

    >>> torch.ao.nn.intrinsic.ConvBnReLU1d(torch.nn.Conv1d(1, 2, 1), torch.nn.BatchNorm1d(2), torch.nn.ReLU())  # doctest: +ELLIPSIS
    ConvBnReLU1d(
      (0): Conv1d(...)
    ...
    """

    _PARTS = (Conv1d, BatchNorm1d, ReLU)

    def __init__(self, conv: nn.Module, bn: nn.Module, relu: nn.Module) -> None:
        self._check(conv, bn, relu)
        super().__init__(conv, bn, relu)


class ConvBnReLU2d(_FusedModule):
    """A convolution, a batch norm and a ReLU.

    >>> torch.ao.nn.intrinsic.ConvBnReLU2d(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2), torch.nn.ReLU())  # doctest: +ELLIPSIS
    ConvBnReLU2d(
      (0): Conv2d(...)
    ...
    """

    _PARTS = (Conv2d, BatchNorm2d, ReLU)

    def __init__(self, conv: nn.Module, bn: nn.Module, relu: nn.Module) -> None:
        self._check(conv, bn, relu)
        super().__init__(conv, bn, relu)


class ConvBn3d(_FusedModule):
    """A convolution and a batch norm.

    >>> torch.ao.nn.intrinsic.ConvBn3d(torch.nn.Conv3d(1, 2, 1), torch.nn.BatchNorm3d(2))  # doctest: +ELLIPSIS
    ConvBn3d(
      (0): Conv3d(...)
    ...
    """

    _PARTS = (Conv3d, BatchNorm3d)

    def __init__(self, conv: nn.Module, bn: nn.Module) -> None:
        self._check(conv, bn)
        super().__init__(conv, bn)


class ConvBnReLU3d(_FusedModule):
    """A convolution, a batch norm and a ReLU.

    >>> torch.ao.nn.intrinsic.ConvBnReLU3d(torch.nn.Conv3d(1, 2, 1), torch.nn.BatchNorm3d(2), torch.nn.ReLU())  # doctest: +ELLIPSIS
    ConvBnReLU3d(
      (0): Conv3d(...)
    ...
    """

    _PARTS = (Conv3d, BatchNorm3d, ReLU)

    def __init__(self, conv: nn.Module, bn: nn.Module, relu: nn.Module) -> None:
        self._check(conv, bn, relu)
        super().__init__(conv, bn, relu)


class BNReLU2d(_FusedModule):
    """A batch norm and a ReLU.

    >>> torch.ao.nn.intrinsic.BNReLU2d(torch.nn.BatchNorm2d(2), torch.nn.ReLU())  # doctest: +ELLIPSIS
    BNReLU2d(
      (0): BatchNorm2d(...)
    ...
    """

    _PARTS = (BatchNorm2d, ReLU)

    def __init__(self, batch_norm: nn.Module, relu: nn.Module) -> None:
        self._check(batch_norm, relu)
        super().__init__(batch_norm, relu)


class BNReLU3d(_FusedModule):
    """A batch norm and a ReLU.

    >>> torch.ao.nn.intrinsic.BNReLU3d(torch.nn.BatchNorm3d(2), torch.nn.ReLU())  # doctest: +ELLIPSIS
    BNReLU3d(
      (0): BatchNorm3d(...)
    ...
    """

    _PARTS = (BatchNorm3d, ReLU)

    def __init__(self, batch_norm: nn.Module, relu: nn.Module) -> None:
        self._check(batch_norm, relu)
        super().__init__(batch_norm, relu)


class LinearBn1d(_FusedModule):
    """A linear layer and a batch norm.

    >>> torch.ao.nn.intrinsic.LinearBn1d(torch.nn.Linear(1, 2), torch.nn.BatchNorm1d(2))  # doctest: +ELLIPSIS
    LinearBn1d(
      (0): Linear(...)
    ...
    """

    _PARTS = (Linear, BatchNorm1d)

    def __init__(self, linear: nn.Module, bn: nn.Module) -> None:
        self._check(linear, bn)
        super().__init__(linear, bn)


class LinearLeakyReLU(_FusedModule):
    """A linear layer and a leaky ReLU.

    >>> torch.ao.nn.intrinsic.LinearLeakyReLU(torch.nn.Linear(1, 2), torch.nn.LeakyReLU())  # doctest: +ELLIPSIS
    LinearLeakyReLU(
      (0): Linear(...)
    ...
    """

    _PARTS = (Linear, LeakyReLU)

    def __init__(self, linear: nn.Module, leaky_relu: nn.Module) -> None:
        self._check(linear, leaky_relu)
        super().__init__(linear, leaky_relu)


class LinearTanh(_FusedModule):
    """A linear layer and a tanh.

    >>> torch.ao.nn.intrinsic.LinearTanh(torch.nn.Linear(1, 2), torch.nn.Tanh())  # doctest: +ELLIPSIS
    LinearTanh(
      (0): Linear(...)
    ...
    """

    _PARTS = (Linear, Tanh)

    def __init__(self, linear: nn.Module, tanh: nn.Module) -> None:
        self._check(linear, tanh)
        super().__init__(linear, tanh)


class ConvAdd2d(_FusedModule):
    """A convolution, to whose result another argument is added.

    >>> import operator
    >>> conv = torch.nn.Conv2d(1, 1, 1)
    >>> torch.ao.nn.intrinsic.ConvAdd2d(conv, operator.add)(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """

    def __init__(self, conv: nn.Module, add: Any) -> None:
        super().__init__(conv)
        self.add = add

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]  # (of two arguments)
        """The sum."""
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(_FusedModule):
    """A convolution, to whose result another argument is added, and a ReLU.

    >>> import operator
    >>> conv = torch.nn.Conv2d(1, 1, 1)
    >>> both = torch.ao.nn.intrinsic.ConvAddReLU2d(conv, operator.add, torch.nn.ReLU())
    >>> both(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """

    def __init__(self, conv: nn.Module, add: Any, relu: Any) -> None:
        super().__init__(conv)
        self.add = add
        self.relu = relu

    def forward(self, x1: Any, x2: Any) -> Any:  # type: ignore[override]  # (of two arguments)
        """The result of the ReLU."""
        return self.relu(self.add(self[0](x1), x2))
