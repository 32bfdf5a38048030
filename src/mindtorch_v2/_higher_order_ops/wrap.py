"""Operators that call one function as it is, so that it stays a graph of its own in a captured program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2._ops import HigherOrderOperator

__all__ = ["Wrap", "wrap"]


class Wrap(HigherOrderOperator):
    """`wrap(function, *args, **kwargs)` is `function(*args, **kwargs)`; `torch.compile` keeps the function as a graph.

    >>> from mindtorch_v2._higher_order_ops.wrap import wrap
    >>> wrap(lambda x, k: x * k, torch.ones(2), k=3)
    tensor([3., 3.])
    """

    def __init__(self) -> None:
        super().__init__("wrap")

    def __call__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)


wrap = Wrap()
