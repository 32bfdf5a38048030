"""Versions of what is installed."""

from mindtorch_v2._backends.npu import runtime as _runtime

__all__ = ["get_cann_version"]


def get_cann_version() -> str:
    """The version of the runtime that CANN brings, "1.15.0" say; RuntimeError without CANN."""
    return ".".join(map(str, _runtime.get().version()))
