"""Default devices, `@torch.device(...)` on a function, and the module of a kind of device."""

from __future__ import annotations

import functools
import sys
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
_C._set_own_generator_maker(lambda index: above.own_device().new_generator(index))


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
        own, named = _C._own_device_name()
        kinds = (own, "cuda") if named else ("npu", "cuda")
        kind = next((k for k in kinds if (m := above.device_module(k)) is not None and m.is_available()), "cpu")
    elif isinstance(device, (_C.device, str)):
        kind = _C.device(device).type
    else:
        raise RuntimeError(f"Invalid value of device '{device}', expect torch.device, str, or None")
    module = above.device_module(kind)
    if module is None:
        raise RuntimeError(f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'.")
    return module


def _register_device_module(device_type: str, module: Any) -> None:
    """Make a module `torch.<device_type>`, for a device that has none; RuntimeError if there is one."""
    kind = _C.device(device_type).type
    package = sys.modules[__name__.partition(".")[0]]
    if above.device_module(kind) is not None:
        found = above.device_module(kind)
        raise RuntimeError(f"The runtime module of '{kind}' has already been registered with '{found}'")
    setattr(package, kind, module)
    for name in {package.__name__, "torch"}:
        if sys.modules.get(name) is package:
            sys.modules[f"{name}.{kind}"] = module


def decorate(device: Any, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` run with ``device`` as the default device."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with device:
            return function(*args, **kwargs)

    return run
