"""Versions of what is installed."""

from mindtorch_v2.npu.utils import get_cann_version

__all__ = ["get_cann_version"]
