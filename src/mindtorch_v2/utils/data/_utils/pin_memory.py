"""Pinning of a batch's memory, for copies to a device that run beside the program."""

from __future__ import annotations

import collections.abc
import queue
import threading
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._utils import ExceptionWrapper
from mindtorch_v2.utils.data._utils.collate import _rebuild_mapping, _rebuild_sequence
from mindtorch_v2.utils.data._utils.transport import MP_STATUS_CHECK_INTERVAL

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


def pin_memory(data: Any, device: Device | None = None) -> Any:
    """`data` with every tensor in it pinned; objects with a `pin_memory` method are asked to."""
    if isinstance(data, torch.Tensor):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, collections.abc.Mapping):
        return _rebuild_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(pin_memory(value, device) for value in data))
    if isinstance(data, tuple):
        return [pin_memory(value, device) for value in data]
    if isinstance(data, collections.abc.Sequence):
        return _rebuild_sequence(data, [pin_memory(value, device) for value in data])
    if hasattr(data, "pin_memory"):
        return data.pin_memory()
    return data


def _pin_memory_loop(
    in_queue: Any, out_queue: Any, device_id: int, done_event: threading.Event, device: Device | None
) -> None:
    """Hand (number, batch) from one queue to the other, the batch pinned, until the event is set: the work of a thread of its own."""
    torch.set_num_threads(1)
    if device in ("npu", "cuda"):
        getattr(torch, str(device)).set_device(device_id)
    while not done_event.is_set():
        try:
            number, data = in_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
        except queue.Empty:
            continue
        if not isinstance(data, ExceptionWrapper):
            try:
                data = pin_memory(data, device)
            except Exception:  # noqa: BLE001  (raised again by the thread that takes it)
                data = ExceptionWrapper(where=f"in pin memory thread for device {device_id}")
        while not done_event.is_set():
            try:
                out_queue.put((number, data), timeout=MP_STATUS_CHECK_INTERVAL)
                break
            except queue.Full:
                continue
