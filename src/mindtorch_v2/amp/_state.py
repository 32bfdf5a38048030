"""The functions of the `torch` namespace that read and set autocast's state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2._operators import autocast as _autocast
from mindtorch_v2._operators.autocast import DEVICES as DEVICES

if TYPE_CHECKING:
    from mindtorch_v2._C import dtype


__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "clear_autocast_cache",
    "get_autocast_cpu_dtype",
    "get_autocast_dtype",
    "get_autocast_gpu_dtype",
    "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled",
    "is_autocast_enabled",
    "set_autocast_cache_enabled",
    "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
    "set_autocast_gpu_dtype",
]

autocast_decrement_nesting = _autocast.decrement_nesting
autocast_increment_nesting = _autocast.increment_nesting
clear_autocast_cache = _autocast.clear_cache
is_autocast_cache_enabled = _autocast.is_cache_enabled
set_autocast_cache_enabled = _autocast.set_cache_enabled


def _checked(device_type) -> str:
    if not _autocast.is_supported(device_type):
        raise RuntimeError(f"unsupported scalarType: autocast has no dtype for device type '{device_type}'")
    return device_type


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether autocast is on for the device, in this thread.

    >>> torch.is_autocast_enabled("cpu")
    False
    """
    return _autocast.is_enabled(device_type)


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast on or off: `(device_type, enabled)`, or `(enabled)` for CUDA.

    >>> torch.set_autocast_enabled("cpu", True)
    >>> torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.bfloat16
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _autocast.set_enabled(_checked(device_type), enabled)


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype that autocast casts to on the device.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _autocast.get_dtype(_checked(device_type))


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Set the dtype that autocast casts to on the device.

    >>> torch.set_autocast_dtype("cpu", torch.float16)
    >>> with torch.autocast("cpu"):
    ...     torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.float16
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    _autocast.set_dtype(_checked(device_type), dtype)


def is_autocast_cpu_enabled() -> bool:
    """Old form of `is_autocast_enabled("cpu")`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=DeprecationWarning), torch.autocast("cpu"):
    ...     torch.is_autocast_cpu_enabled()
    True
    """
    return _autocast.is_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Old form of `set_autocast_enabled("cpu", enabled)`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    ...     torch.set_autocast_cpu_enabled(True)
    >>> torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.bfloat16
    >>> torch.set_autocast_enabled("cpu", False)
    """
    _autocast.set_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> dtype:
    """Old form of `get_autocast_dtype("cpu")`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    ...     torch.get_autocast_cpu_dtype()
    torch.bfloat16
    """
    return _autocast.get_dtype("cpu")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Old form of `set_autocast_dtype("cpu", dtype)`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    ...     torch.set_autocast_cpu_dtype(torch.float16)
    >>> torch.get_autocast_dtype("cpu")
    torch.float16
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    _autocast.set_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> dtype:
    """Old form of `get_autocast_dtype("cuda")`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    ...     torch.get_autocast_gpu_dtype()
    torch.float16
    """
    return _autocast.get_dtype("cuda")


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """Old form of `set_autocast_dtype("cuda", dtype)`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    ...     torch.set_autocast_gpu_dtype(torch.float16)
    >>> torch.get_autocast_dtype("cuda")
    torch.float16
    """
    _autocast.set_dtype("cuda", dtype)
