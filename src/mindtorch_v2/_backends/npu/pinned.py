"""Host memory that the device reads and writes by itself (`aclrtMallocHost`): copies from and to it can run beside the program."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

from ... import _C
from .runtime import Runtime


class PinnedMemory:
    """The pinned blocks of the process. A block lives as long as a storage on it."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.blocks: dict[int, int] = {}  # address -> bytes
        runtime.finalizers.append(self.close)

    def holds(self, tensor: Any) -> bool:
        """Whether a tensor's storage is pinned."""
        return tensor is not None and tensor.untyped_storage().data_ptr() in self.blocks

    def copy_of(self, tensor: Any) -> Any:
        """A tensor of the host as one in pinned memory, with the same sizes and strides; itself if it is pinned."""
        if not tensor.is_cpu:
            raise RuntimeError(f"cannot pin a tensor on {tensor.device}: only dense CPU tensors can be pinned")
        if self.holds(tensor):
            return tensor
        reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
        nbytes = (reach + 1) * tensor.element_size() if tensor.numel() else 0
        if not nbytes:
            return tensor
        flat = _C.frombuffer(self._block(nbytes), dtype=tensor.dtype)
        made = flat.as_strided(tuple(tensor.shape), tensor.stride())
        made.copy_(tensor.detach())
        return made

    def _block(self, nbytes: int) -> Any:
        address = ctypes.c_void_p()
        code = self.runtime.aclrtMallocHost(ctypes.byref(address), nbytes)
        self.runtime.check("aclrtMallocHost", code)
        assert address.value is not None
        self.blocks[address.value] = nbytes
        buffer = (ctypes.c_ubyte * nbytes).from_address(address.value)
        weakref.finalize(buffer, self._release, address.value).atexit = False
        return buffer

    def _release(self, address: int) -> None:
        if self.blocks.pop(address, None) is not None and not self.runtime.closed:
            self.runtime.check("aclrtFreeHost", self.runtime.aclrtFreeHost(address))

    def close(self) -> None:
        """Give everything back: the process ends."""
        for address in list(self.blocks):
            self._release(address)
