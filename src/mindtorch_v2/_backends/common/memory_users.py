"""`tensor.record_stream(stream)`: memory that another stream uses too is not given away before that has passed the place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .allocator import Allocator
from .stream import Stream

if TYPE_CHECKING:
    from ..._tensor import Tensor


def record_stream(tensor: Tensor, stream: Any, kind: type[Stream], memory: Sequence[Allocator]) -> None:
    """Note that a stream uses the memory of a tensor.

    Args:
        tensor: on the device; memory that is not the allocator's is its owner's to keep.
        stream: of the class `kind`.
        kind: the class of the back end's streams.
        memory: the allocator of each device.

    Raises:
        TypeError: the stream is another back end's, or none.
        RuntimeError: the stream is on another device than the tensor.
    """
    name, index = tensor.device.type, tensor.device.index
    if not isinstance(stream, kind):
        raise TypeError(
            f"record_stream(): argument 's' must be a Stream of the {name.upper()}, not {type(stream).__name__}"
        )
    if stream.device_index != index:
        raise RuntimeError(
            f"record_stream(): the stream is on {name}:{stream.device_index}, the tensor is on {name}:{index}"
        )
    assert index is not None
    block = memory[index].block_of(tensor.untyped_storage().data_ptr())
    if block is not None:
        memory[index].record_stream(block.address, stream.handle)
