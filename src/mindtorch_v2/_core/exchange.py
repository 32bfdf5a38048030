"""Devices and streams as other libraries ask for them: the core calls these functions for memory that it hands out."""

from __future__ import annotations

from typing import Any

from .above import above

__all__ = [
    "accelerator",
    "check_exportable",
    "cuda_array",
    "current_stream",
    "current_stream_handle",
    "hand_over",
    "stream_handle",
    "stream_of_reader",
]

_CUDA = 2  # DLPack's number of the type
_LEGACY, _PER_THREAD = 1, 2  # streams of CUDA that have numbers instead of addresses


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


def current_stream_handle(kind: str, index: int) -> int:
    """The address of the current stream of a device, "cuda" or "npu" with a number."""
    return stream_handle(above.device_module(kind).current_stream(index))


def hand_over(tensor: Any, stream: int | None) -> None:
    """Let a reader's stream wait for what the current stream still does to a tensor.

    Args:
        stream: what `__dlpack__` was given: for CUDA the reader's stream, None or 1 for the default one; -1 for a reader that
            does not want to wait. Other devices' streams are handles of their own libraries: the host waits, if there is one.

    Raises:
        BufferError: the tensor is on another GPU than the current one, or the stream is CUDA's one of each thread.
        AssertionError: the stream is 0, which CUDA has for two of them.
    """
    module, index = above.device_module(tensor.device.type), tensor.device.index
    if tensor.device.type != "cuda":
        if stream not in (None, -1):
            module.current_stream(index).synchronize()
        return
    if index != module.current_device():
        raise BufferError(
            f"Can't export tensors on a different CUDA device index. Expected: {index}. Current device: {module.current_device()}."
        )
    if stream == -1:
        return
    if stream == _PER_THREAD:
        raise BufferError("per-thread default stream is not supported.")
    if stream == 0:
        raise AssertionError("unsupported stream on CUDA: 0.")
    reader = module.default_stream(index) if stream in (None, _LEGACY) else module.ExternalStream(stream, index)
    if reader != module.current_stream(index):
        reader.wait_stream(module.current_stream(index))


def stream_of_reader(device: tuple[int, int]) -> int | None:
    """The stream on which this thread will read a tensor of another library, for its `__dlpack__`; None for "say nothing".

    Args:
        device: the producer's `__dlpack_device__()`.
    """
    return current_stream_handle("cuda", device[1]) or _LEGACY if device[0] == _CUDA else None


_KINDS = {"float": "f", "bfloat": "V", "complex": "c", "int": "i", "uint": "u", "bool": "b"}


def cuda_array(tensor: Any) -> dict[str, Any]:
    """The dictionary of CUDA's array interface, version 2, over a tensor's memory: strides are bytes, None if it is contiguous.

    TypeError for a dtype that the interface has no text for.
    """
    name, size = str(tensor.dtype).rpartition(".")[2], tensor.element_size()
    kind = _KINDS.get(name.rstrip("0123456789"))
    if kind is None:
        raise TypeError(f"__cuda_array_interface__: there is no typestr for {tensor.dtype}")
    return {
        "typestr": f"{'|' if size == 1 else '<'}{kind}{size}",
        "shape": tuple(tensor.shape),
        "strides": None if tensor.is_contiguous() else tuple(step * size for step in tensor.stride()),
        "data": (tensor.data_ptr() if tensor.numel() else 0, False),
        "version": 2,
    }


def check_exportable(tensor: Any) -> None:
    """Raise BufferError for memory of a device that cannot be handed to another library as it lies."""
    check = getattr(above.device_module(tensor.device.type), "_check_exportable", None)
    if check is not None:
        check(tensor)
