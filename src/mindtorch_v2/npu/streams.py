"""Streams and events by the module that torch_npu has them in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mindtorch_v2._backends.npu import state as _state
from mindtorch_v2._backends.npu.stream import Event, ExternalStream, Stream

from .switches import ExternalEvent, SyncLaunchStream

if TYPE_CHECKING:
    from mindtorch_v2 import Tensor

__all__ = ["Event", "ExternalEvent", "ExternalStream", "Stream", "SyncLaunchStream", "erase_stream"]


def erase_stream(tensor: Tensor, stream: Stream) -> None:
    """Take `tensor.record_stream(stream)` back, of which the program knows that the stream's work with the tensor is done.

    RuntimeError for a tensor that is not on the stream's device.
    """
    index = stream.device_index
    if tensor.device.type != "npu" or tensor.device.index != index:
        raise RuntimeError(f"erase_stream(): the stream is on npu:{index}, the tensor is on {tensor.device}")
    memory = _state.get().memory[index]
    block = memory.block_of(tensor.untyped_storage().data_ptr())
    if block is not None:  # memory of others is theirs to keep
        memory.erase_stream(block.address, stream.npu_stream)
