"""oneDNN, by the name that it had: matrix products and convolutions on the CPU."""

from __future__ import annotations

from mindtorch_v2.backends._settings import Settings, contextual

__all__ = [
    "allow_tf32",
    "conv",
    "deterministic",
    "enabled",
    "flags",
    "fp32_precision",
    "is_available",
    "matmul",
    "rnn",
    "set_flags",
]

enabled = True
deterministic = False
allow_tf32 = False
fp32_precision = "none"
matmul = Settings(fp32_precision="none")
conv = Settings(fp32_precision="none")
rnn = Settings(fp32_precision="none")


def is_available() -> bool:
    """Whether oneDNN computes: True."""
    return True


def set_flags(
    _enabled: bool | None = None,
    _deterministic: bool | None = None,
    _allow_tf32: bool | None = None,
    _fp32_precision: str = "none",
) -> tuple:
    """Set the given ones; returns the earlier settings in the order of the parameters."""
    values = globals()
    before = (enabled, deterministic, allow_tf32, fp32_precision)
    names, given = ("enabled", "deterministic", "allow_tf32"), (_enabled, _deterministic, _allow_tf32)
    values.update((name, value) for name, value in zip(names, given) if value is not None)
    values["fp32_precision"] = _fp32_precision
    return before


def _set_flags_defaults(enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none"):
    return set_flags(enabled, deterministic, allow_tf32, fp32_precision)


flags = contextual(_set_flags_defaults)
