"""Streams and events by the module that torch_npu has them in."""

from mindtorch_v2._backends.npu.stream import Event, ExternalStream, Stream

from .switches import ExternalEvent, SyncLaunchStream

__all__ = ["Event", "ExternalEvent", "ExternalStream", "Stream", "SyncLaunchStream"]
