"""Streams and events by the module that torch_npu has them in."""

from mindtorch_v2._backends.npu.stream import Event, Stream

from .switches import ExternalEvent, SyncLaunchStream

__all__ = ["Event", "ExternalEvent", "Stream", "SyncLaunchStream"]
