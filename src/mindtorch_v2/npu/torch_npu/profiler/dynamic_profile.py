"""Profiles that a file turns on while a program runs, which are not there."""

from mindtorch_v2._core.unavailable import unavailable_names

_ABSENT = unavailable_names(
    "torch_npu.profiler.dynamic_profile",
    functions="init set_state start step stop",
    remedy="torch_npu.profiler.profile with a schedule profiles the steps that the program names",
)
globals().update(_ABSENT)
__all__ = sorted(_ABSENT)
