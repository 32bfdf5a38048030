"""The device that new tensors are made on within a function or a block."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import mindtorch_v2 as torch

__all__ = ["DeviceContext", "set_device"]


class DeviceContext:
    """A block in which new tensors are made on a device, as ``with torch.device(...)``."""

    def __init__(self, device: Any) -> None:
        self.device = torch.device(device)

    def __enter__(self) -> Self:
        self.device.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.device.__exit__(kind, value, trace)


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of functions in which new tensors are made on a device; ``with torch.device(...)`` is the block.

    >>> from mindtorch_v2.utils._device import set_device
    >>> set_device("meta")(lambda: torch.ones(2))().device
    device(type='meta')
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        if isinstance(function, type):
            raise RuntimeError(
                f"Cannot decorate the class {function.__name__} with a device: its methods and instances would not know. "
                "Decorate the methods, or use a block"
            )

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with torch.device(device):
                return function(*args, **kwargs)

        return call

    return decorate
