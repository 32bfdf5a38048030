"""How tensors go through the queues and arguments of processes: their memory is shared, and its descriptor travels.

Sending a tensor on the CPU moves its storage to shared memory, in place; the receiver maps the same memory. The sender
must live until the receiver has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from multiprocessing.reduction import DupFd, ForkingPickler
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2._core.storage import UntypedStorage


__all__ = [
    "StorageWeakRef",
    "init_reductions",
    "rebuild_storage_fd",
    "rebuild_tensor",
    "rebuild_typed_storage",
    "reduce_storage",
    "reduce_tensor",
    "reduce_typed_storage",
]


class StorageWeakRef:
    """A storage by its address, without keeping it alive: equal where it is the same storage."""

    __slots__ = ["cdata"]

    def __init__(self, storage: Any) -> None:
        self.cdata = storage._cdata

    def __hash__(self) -> int:
        return self.cdata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StorageWeakRef) and self.cdata == other.cdata


def rebuild_storage_fd(descriptor: Any, size: int) -> UntypedStorage:
    """The storage over the shared memory that a sent descriptor names."""
    return torch.UntypedStorage._new_shared_fd_cpu(descriptor.detach(), size)


def reduce_storage(storage: Any) -> tuple:
    """The message for an untyped storage on the CPU; one elsewhere is copied."""
    if storage.device.type != "cpu":
        return storage.__reduce__()
    descriptor, size = storage._share_fd_cpu_()
    return rebuild_storage_fd, (DupFd(descriptor), size)


def rebuild_typed_storage(storage: Any, dtype: torch.dtype) -> Any:
    """The typed storage over a received one."""
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def reduce_typed_storage(storage: Any) -> tuple:
    """The message for a typed storage: its untyped one, and its dtype."""
    return rebuild_typed_storage, (storage._untyped_storage, storage.dtype)


def rebuild_tensor(
    cls: type[torch.Tensor],
    storage: Any,
    dtype: torch.dtype,
    offset: int,
    size: Sequence[int],
    stride: Sequence[int],
    requires_grad: bool,
) -> torch.Tensor:
    """A tensor of class `cls`, or the Parameter, over a received storage."""
    tensor = torch.empty(0, dtype=dtype).set_(storage, offset, size, stride)
    if cls is torch.nn.Parameter:
        return cls(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def reduce_tensor(tensor: torch.Tensor) -> tuple:
    """The message for a tensor; RuntimeError for one that autograd has made."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
            "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
            "(e.g., putting it on the queue)."
        )
    torch.utils.hooks.warn_if_has_hooks(tensor)
    if tensor.device.type != "cpu" or tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
        return tensor.__reduce_ex__(2)
    size, stride = tuple(tensor.size()), tensor.stride()
    storage = tensor.untyped_storage()
    return rebuild_tensor, (
        type(tensor), storage, tensor.dtype, tensor.storage_offset(), size, stride, tensor.requires_grad
    )  # fmt: skip


def init_reductions() -> None:
    """Let Python's `multiprocessing` send tensors this way."""
    ForkingPickler.register(torch.UntypedStorage, reduce_storage)
    for typed in torch._storage_classes - {torch.UntypedStorage}:
        ForkingPickler.register(typed, reduce_typed_storage)
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(torch.nn.Parameter, reduce_tensor)
