"""Marks of where a model becomes quantized, and floating again."""

from __future__ import annotations

from typing import Any

from mindtorch_v2 import nn

__all__ = ["DeQuantStub", "QuantStub", "QuantWrapper"]


class QuantStub(nn.Module):
    """Where a model's input is observed, and after `convert` quantized; until then it gives it back as it is.

    >>> torch.ao.quantization.QuantStub()(torch.tensor([0.5]))
    tensor([0.5000])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """The input as it is."""
        return x


class DeQuantStub(nn.Module):
    """Where a model's output becomes floating again after `convert`; until then it gives it back as it is.

    >>> torch.ao.quantization.DeQuantStub()(torch.tensor([0.5]))
    tensor([0.5000])
    """

    def __init__(self, qconfig: Any = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Any) -> Any:
        """The input as it is."""
        return x


class QuantWrapper(nn.Module):
    """A module between a `QuantStub` and a `DeQuantStub`.

    >>> [name for name, _ in torch.ao.quantization.QuantWrapper(torch.nn.ReLU()).named_children()]
    ['quant', 'dequant', 'module']
    """

    quant: QuantStub
    dequant: DeQuantStub
    module: nn.Module

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Any) -> Any:
        """The result of the module."""
        return self.dequant(self.module(self.quant(X)))
