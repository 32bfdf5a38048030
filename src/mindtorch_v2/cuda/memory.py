"""Memory of CUDA devices; without any, nothing is in use."""

from __future__ import annotations

import warnings
from typing import Any

from mindtorch_v2._core.absent_devices import functions as _functions
from mindtorch_v2.cuda._handed import handing_on as _handing_on

_ABSENT = {name: _handing_on(function) for name, function in _functions("cuda.memory").items()}
globals().update(_ABSENT)
__all__ = sorted(
    [*_ABSENT, "max_memory_cached", "memory_cached", "reset_max_memory_allocated", "reset_max_memory_cached"]
)


def memory_cached(device: Any = None) -> int:
    """`memory_reserved` under its old name.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.cuda.memory_cached()
    0
    """
    _warn("`torch.cuda.memory_cached` has been renamed to `torch.cuda.memory_reserved`")
    return _ABSENT["memory_reserved"](device)


def max_memory_cached(device: Any = None) -> int:
    """`max_memory_reserved` under its old name.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.cuda.max_memory_cached()
    0
    """
    _warn("`torch.cuda.max_memory_cached` has been renamed to `torch.cuda.max_memory_reserved`")
    return _ABSENT["max_memory_reserved"](device)


def reset_max_memory_allocated(device: Any = None) -> None:
    """`reset_peak_memory_stats` under an old name."""
    _reset("allocated", device)


def reset_max_memory_cached(device: Any = None) -> None:
    """`reset_peak_memory_stats` under an old name."""
    _reset("cached", device)


def _reset(kind, device) -> None:
    _warn(
        f"torch.cuda.reset_max_memory_{kind} now calls torch.cuda.reset_peak_memory_stats, which resets /all/ peak memory "
        "stats.",
        1,
    )
    _ABSENT["reset_peak_memory_stats"](device)


def _warn(text, further=0) -> None:
    warnings.warn(text, FutureWarning, stacklevel=3 + further)
