"""Devices and streams as other libraries ask for them: the core calls these functions for memory that it hands out."""

from __future__ import annotations

from typing import Any

from .above import above

__all__ = ["accelerator", "check_exportable", "current_stream", "current_stream_handle", "stream_handle", "wait_for"]


def accelerator() -> Any:
    """The module `torch.accelerator`; RuntimeError where there is no accelerator."""
    module = above.device_module("accelerator")
    if not module.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return module


def current_stream(index: int) -> Any:
    """The current stream of the accelerator with this number."""
    return accelerator().current_stream(index)


def stream_handle(stream: Any) -> int:
    """The address of the device's own stream."""
    return int(getattr(stream, f"{stream.device.type}_stream"))


def current_stream_handle(index: int) -> int:
    """The address of the current stream of the accelerator with this number."""
    return stream_handle(current_stream(index))


def wait_for(index: int) -> None:
    """Let the host wait for the work of the current stream."""
    current_stream(index).synchronize()


def check_exportable(tensor: Any) -> None:
    """Raise BufferError for memory of a device that cannot be handed to another library as it lies."""
    above.device_module(tensor.device.type)._check_exportable(tensor)
