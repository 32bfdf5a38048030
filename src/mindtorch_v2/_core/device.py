"""Default devices, `@torch.device(...)` on a function, and the module of a kind of device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _C
from . import absent_devices
from .above import above


def _load(device_type: str) -> None:
    """Load the back end of a device type: the core asks when the device is first mentioned in a call."""
    loaded = above.load_backend(device_type)
    if not loaded and device_type in absent_devices.TENSORS:
        raise absent_devices.TENSORS[device_type].raised()


_C._set_device_loader(_load)


def set_default_device(device: Any) -> None:
    """Where tensors are made when nothing says otherwise (this thread).

    >>> torch.set_default_device("cpu")
    >>> torch.ones(1).device
    device(type='cpu')
    """
    _C._set_default_device(device)


def get_default_device() -> Any:
    """The device on which ``torch.empty(...)`` without ``device=`` makes tensors.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return _C._get_default_device()


def get_device_module(device: Any = None) -> Any:
    """The module of a device's kind, `torch.cpu` or `torch.npu`; without `device` that of the accelerator, or of the CPU.

    Raises RuntimeError for a device without a module, and for what is neither a device, a string nor None.

    >>> torch.get_device_module("cpu").__name__
    'mindtorch_v2.cpu'
    """
    if device is None:
        kind = next((k for k in ("npu", "cuda") if above.device_module(k).is_available()), "cpu")
    elif isinstance(device, (_C.device, str)):
        kind = _C.device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    module = above.device_module(kind)
    if module is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return module


def decorate(device: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` run with ``device`` as the default device."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with device:
            return function(*args, **kwargs)

    return run
