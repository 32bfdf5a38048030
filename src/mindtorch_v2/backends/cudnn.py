"""Settings of cuDNN, which is absent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2.backends._settings import Settings, contextual

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor


__all__ = [
    "allow_tf32",
    "benchmark",
    "benchmark_limit",
    "conv",
    "deterministic",
    "enabled",
    "flags",
    "fp32_precision",
    "is_acceptable",
    "is_available",
    "rnn",
    "set_flags",
    "version",
]

enabled = True
benchmark = False
benchmark_limit: int | None = None
deterministic = False
allow_tf32 = True
fp32_precision = "none"
conv = Settings(fp32_precision="tf32")
rnn = Settings(fp32_precision="tf32")


def is_available() -> bool:
    """Whether cuDNN can be used: False."""
    return False


def is_acceptable(tensor: Tensor) -> bool:
    """Whether cuDNN could compute on `tensor`: False."""
    return False


def version() -> None:
    """The version of cuDNN: None."""
    return None


def set_flags(
    _enabled: bool | None = None,
    _benchmark: bool | None = None,
    _benchmark_limit: int | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple:
    """Set the given ones; returns the earlier settings in the order of the parameters."""
    values = globals()
    before = (enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)
    names = ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    given = (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)
    values.update((name, value) for name, value in zip(names, given) if value is not None)
    values["fp32_precision"] = _fp32_precision
    return before


def _set_flags_defaults(
    enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True, fp32_precision="none"
):
    return set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision)


flags = contextual(_set_flags_defaults)
