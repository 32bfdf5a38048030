"""`torch.profiler.itt`: ranges for Intel's VTune, which are not sent: `is_available()` says so, the rest raises."""

from mindtorch_v2._core.unavailable import unavailable_names

_ABSENT = unavailable_names("torch.profiler.itt", "mark range range_pop range_push")
globals().update(_ABSENT)

__all__ = ["is_available", *sorted(_ABSENT)]


def is_available() -> bool:
    """Whether ranges are sent: False.

    >>> torch.profiler.itt.is_available()
    False
    """
    return False
