"""The older profiler of torch_npu."""

from mindtorch_v2._core.unavailable import unavailable_names

_ABSENT = unavailable_names(
    "torch_npu.utils.profiler", classes="Profile", remedy="torch_npu.profiler.profile is the one that is kept"
)
globals().update(_ABSENT)
__all__ = sorted(_ABSENT)
