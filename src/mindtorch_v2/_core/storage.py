"""UntypedStorage: the bytes under tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from .. import _C
from .above import above

# By type of device, what makes a deep copy where storages have more than their bytes: the order that elements lie in.
copies: dict[str, Callable[[UntypedStorage], UntypedStorage]] = {}
# What files keep of such an order: named bits of a tensor, and what puts a tensor that was read into the order they say.
orders: dict[str, tuple[Callable[[Any], dict[str, bool]], Callable[[Any, dict[str, bool]], None]]] = {}
PROGRAMS_OWN = "privateuseone"  # the device that a program makes, under whatever name it gave it


class UntypedStorage(_C.StorageBase):
    """Raw bytes with a device, shared by all views of a tensor.

    Supports the buffer protocol (``memoryview(storage)``), slicing without a copy, ``from_file`` and ``from_buffer``.

    >>> x = torch.tensor([1, 2], dtype=torch.uint8)
    >>> storage = x.untyped_storage()
    >>> storage[0] = 7
    >>> storage.nbytes(), x
    (2, tensor([7, 2], dtype=torch.uint8))
    """

    from_file: Any

    _new_shared_fd_cpu: Any

    is_hpu = False
    is_sparse = False
    is_sparse_csr = False

    @property
    def _size(self) -> int:
        return self.nbytes()

    @property
    def _device(self) -> Any:
        return self.device

    def untyped(self) -> UntypedStorage:
        return self

    def __iter__(self) -> Iterator[int]:
        return (self[place] for place in range(len(self)))

    def __reversed__(self) -> Iterator[int]:
        return (self[place] for place in reversed(range(len(self))))

    def tolist(self) -> list[int]:
        if self.device.type == "meta":
            raise NotImplementedError("Not available for 'meta' device type")
        return list(memoryview(self.cpu()))

    def clone(self) -> UntypedStorage:
        return UntypedStorage(self.nbytes(), device=self.device).copy_(self)

    def cpu(self) -> UntypedStorage:
        return self if self.device.type == "cpu" else UntypedStorage(self.nbytes()).copy_(self)

    def to(self, *, device: Any, non_blocking: bool = False) -> UntypedStorage:
        device = _C.device(device)
        if device.type in ("cpu", "meta"):
            device = _C.device(device.type)
        elif device.index is None:
            module = above.device_module(device.type)
            device = _C.device(device.type, 0 if module is None else module.current_device())
        if device == self.device:
            return self
        if self.device.type == "meta":
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
        made = UntypedStorage(self.nbytes(), device=device)
        if device.type == "meta":
            return made
        source = self.cpu() if device.type != "cpu" else self  # devices do not copy from each other
        return made.copy_(source, non_blocking)

    def npu(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        return self._on("npu", device, non_blocking)

    def cuda(self, device: Any = None, non_blocking: bool = False) -> UntypedStorage:
        return self._on("cuda", device, non_blocking)

    def _on(self, kind: str, device: Any, non_blocking: bool) -> UntypedStorage:
        """The storage on a device of a kind: a number of its, the current one for None, or any device."""
        if isinstance(device, int):
            device = _C.device(kind, device)
        return self.to(device=kind if device is None else device, non_blocking=non_blocking)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a GPU's."""
        return str(self.device.type) == "cuda"

    def fill_(self, value: int) -> UntypedStorage:
        if self.nbytes():
            self[:] = value
        return self

    def new(self) -> UntypedStorage:
        return UntypedStorage(0, device=self.device)

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked."""
        return above.is_pinned(self)

    def share_memory_(self) -> UntypedStorage:
        """Move the bytes to memory that other processes can map; processes started after that write to the same bytes."""
        if self.device.type in ("cpu", "meta"):  # of the latter it says that it cannot
            self._share_fd_cpu_()
        return self

    def _share_filename_cpu_(self) -> Any:
        if self.device.type != "cpu":
            raise RuntimeError("_share_filename_: only available on CPU")
        raise NotImplementedError("storages are shared by descriptors, not by names: use share_memory_()")

    def _write_file(self, f: Any, is_real_file: Any, save_size: Any, element_size: int) -> None:
        """Write the bytes to an open file, after the number of elements as 8 bytes where `save_size` asks for it."""
        content = bytes(memoryview(self.cpu()))
        if save_size:
            f.write((len(content) // element_size).to_bytes(8, sys.byteorder))
        f.write(content)

    def get_device(self) -> int:
        return -1 if self.device.index is None else self.device.index

    @property
    def filename(self) -> str | None:
        return None

    def __copy__(self) -> UntypedStorage:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        known = memo.get(self._cdata)
        if known is None:
            known = memo[self._cdata] = copies.get(self.device.type, UntypedStorage.clone)(self)
        return known

    def __reduce__(self) -> Any:
        return (_rebuild, (bytes(memoryview(self)),))

    def __repr__(self) -> str:
        shown = " " + "\n ".join(map(str, self.tolist())) if self.device.type == "cpu" else "..."
        return f"{shown}\n[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"


def _rebuild(data: bytes) -> UntypedStorage:
    return UntypedStorage(data)


_C._set_storage_type(UntypedStorage)
