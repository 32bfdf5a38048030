"""The profiler before `torch.autograd.profiler.profile`, by its name."""

from __future__ import annotations

from typing import Any

from typing_extensions import deprecated

from . import profiler

__all__ = ["profile"]


@deprecated(
    "`torch.autograd.profiler_legacy.profile` is deprecated and will be removed in a future release. Please use "
    "`torch.profiler` instead.",
    category=None,
)
class profile(profiler.profile):
    """`torch.autograd.profiler.profile`, which takes its place.

    >>> import warnings
    >>> import mindtorch_v2.autograd.profiler_legacy
    >>> with warnings.catch_warnings(action="ignore"):
    ...     with torch.autograd.profiler_legacy.profile() as profile:
    ...         _ = torch.ones(2) + 1
    >>> "aten::add" in [event.name for event in profile.function_events]
    True
    """

    def __init__(self, enabled: bool = True, **arguments: Any) -> None:
        super().__init__(enabled, **arguments)
