"""`torch.autograd.variable`: `Variable`, which tensors were wrapped in to have gradients."""

from __future__ import annotations

import warnings
from typing import Any

from .._core.autograd.engine import Engine
from .._tensor import Tensor

__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_VariableMeta):
    """`Variable(data, requires_grad=False)` is a tensor on the memory of `data`; every tensor is an instance.

    Raises TypeError where `data` is no tensor.

    >>> x = torch.autograd.Variable(torch.ones(2), requires_grad=True)
    >>> isinstance(x, torch.autograd.Variable), x
    (True, tensor([1., 1.], requires_grad=True))
    """

    _execution_engine = Engine()

    def __new__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        if data is None:
            data = Tensor()
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        if volatile:
            if requires_grad:
                raise ValueError("Variable can't be volatile and require_grad at the same time!")
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
        made = data.detach()
        made.requires_grad = requires_grad
        return made
