"""Memory of tensors, and who uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import state
from ..stream import Stream
from ..table import kernel

if TYPE_CHECKING:
    from ...._core.stream import Stream as _Stream
    from ...._tensor import Tensor


@kernel("record_stream")
def record_stream(self: Tensor, s: int | _Stream) -> None:
    if not isinstance(s, Stream):
        raise TypeError(f"record_stream(): argument 's' must be a Stream of the NPU, not {type(s).__name__}")
    index = self.device.index
    if s.device_index != index:
        raise RuntimeError(f"record_stream(): the stream is on npu:{s.device_index}, the tensor is on npu:{index}")
    memory = state.get().memory[index]
    block = memory.block_of(self.untyped_storage().data_ptr())
    if block is not None:  # memory of others is theirs to keep
        memory.record_stream(block.address, s.npu_stream)
