"""Host memory that a device reads and writes by itself (page-locked): copies from and to it can run beside the program."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

from ... import _C
from .runtime import Runtime


def _rounded(nbytes: int) -> int:
    """The size of the block for so many bytes: a power of two, as in PyTorch, so that blocks serve again."""
    return 1 << (nbytes - 1).bit_length()


class PinnedMemory:
    """The pinned blocks of the process. A block is used as long as a storage on it lives, and is kept for the next one."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.blocks: dict[int, int] = {}  # address -> bytes, of those that are used
        self.kept: dict[int, list[int]] = {}  # size -> addresses of those that are not
        self.nbytes = self.peak_blocks = self.peak_nbytes = 0
        self.made = self.made_nbytes = 0  # since the last reset_counts
        self.gone = self.gone_nbytes = 0
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
        address = self._taken(_rounded(nbytes))
        self.blocks[address] = nbytes
        self.nbytes += nbytes
        self.made, self.made_nbytes = self.made + 1, self.made_nbytes + nbytes
        self.peak_blocks, self.peak_nbytes = max(self.peak_blocks, len(self.blocks)), max(self.peak_nbytes, self.nbytes)
        buffer = (ctypes.c_ubyte * nbytes).from_address(address)
        weakref.finalize(buffer, self._release, address).atexit = False
        return buffer

    def _taken(self, size: int) -> int:
        try:
            return self.kept[size].pop()
        except (KeyError, IndexError):
            pass
        address, code = self.runtime.malloc_host(size)
        if code and any(self.kept.values()):
            self.empty_cache()
            address, code = self.runtime.malloc_host(size)
        self.runtime.check_malloc_host(code)
        return address

    def _release(self, address: int) -> None:
        nbytes = self.blocks.pop(address, None)
        if nbytes is None:
            return
        self.nbytes -= nbytes
        self.gone, self.gone_nbytes = self.gone + 1, self.gone_nbytes + nbytes
        self.kept.setdefault(_rounded(nbytes), []).append(address)

    def empty_cache(self) -> None:
        """Give back the blocks that are not used."""
        while self.kept:
            _, addresses = self.kept.popitem()
            while addresses and not self.runtime.closed:
                self.runtime.free_host(addresses.pop())

    def statistics(self) -> dict[str, int]:
        """Counts under PyTorch's names."""
        return {
            "allocations.current": len(self.blocks),
            "allocations.peak": self.peak_blocks,
            "allocations.allocated": self.made,
            "allocations.freed": self.gone,
            "allocated_bytes.current": self.nbytes,
            "allocated_bytes.peak": self.peak_nbytes,
            "allocated_bytes.allocated": self.made_nbytes,
            "allocated_bytes.freed": self.gone_nbytes,
        }

    def reset_peaks(self) -> None:
        """Let the peaks start from the present numbers."""
        self.peak_blocks, self.peak_nbytes = len(self.blocks), self.nbytes

    def reset_counts(self) -> None:
        """Count what comes and goes from here on."""
        self.made = self.made_nbytes = self.gone = self.gone_nbytes = 0

    def close(self) -> None:
        """Give everything back: the process ends."""
        for address in list(self.blocks):
            self._release(address)
        self.empty_cache()
