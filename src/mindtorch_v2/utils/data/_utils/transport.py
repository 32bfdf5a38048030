"""Moving a batch from a worker process to its reader.

The batch is pickled with its large buffers (tensors', NumPy arrays') left out. Buffers of together at least
`SHARED_BYTES` are written into one file in shared memory, which the reader maps and unlinks: one copy in the worker,
none in the reader. Smaller ones travel inside the message. When shared memory is full, large ones do too.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import io
import mmap
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Callable
from io import BytesIO
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.utils.data._utils.worker import _IterableDatasetStopIteration


# How long either side waits on a queue before it looks whether the other is still alive, in seconds.
MP_STATUS_CHECK_INTERVAL = 5.0

# Below this a pipe is faster than creating, mapping and unlinking a file.
SHARED_BYTES = 1 << 17

_ALIGNMENT = 64
_SHARED_ROOT = "/dev/shm"
_PREFIX = "mindtorch_loader_"
# A directory that was changed so lately may have an owner who has not locked it yet.
_NEW_SECONDS = 10.0


class Directory:
    """A new directory for the files of one loader, in shared memory where the system has it.

    Its lock is held by this process and those forked from it. Directories whose lock nobody holds, left by programs
    that were killed together with their workers, are removed when the next one is made.
    """

    def __init__(self) -> None:
        root = _SHARED_ROOT if os.access(_SHARED_ROOT, os.W_OK) else tempfile.gettempdir()
        _remove_abandoned(root)
        self.path = tempfile.mkdtemp(prefix=_PREFIX, dir=root)
        self._lock = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        with contextlib.suppress(OSError):
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def remove(self) -> None:
        """Remove it with all files in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def remove_directory(path: str) -> None:
    """Remove a loader's directory even while another worker is writing into it."""
    for _ in range(1000):
        shutil.rmtree(path, ignore_errors=True)
        if not os.path.exists(path):
            return


def _remove_abandoned(root: str) -> None:
    for name in os.listdir(root):
        if not name.startswith(_PREFIX):
            continue
        path = os.path.join(root, name)
        # Another program may remove it, or have made it a moment ago and not locked it yet.
        with contextlib.suppress(OSError):
            if os.stat(path).st_uid != os.getuid() or time.time() - os.stat(path).st_mtime < _NEW_SECONDS:
                continue
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_directory(path)
            finally:
                os.close(handle)


def _rebuild_tensor(buffer, dtype, shape, requires_grad) -> torch.Tensor:
    if len(memoryview(buffer)) == 0:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        tensor = torch.frombuffer(buffer, dtype=dtype).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _rebuild_parameter(data, requires_grad):
    return torch.nn.Parameter(data, requires_grad)


def _bytes_of(tensor):
    """The memory of a contiguous CPU tensor as a writable view of bytes, without a copy."""
    size = tensor.numel() * tensor.element_size()
    start = tensor.storage_offset() * tensor.element_size()
    return memoryview(tensor.untyped_storage())[start : start + size]


class _Pickler(ForkingPickler):
    """Pickle plain CPU tensors as buffers out of band; everything else as `multiprocessing` does."""

    def __init__(self, file: BytesIO, buffer_callback: Callable[..., Any]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        # ForkingPickler takes no buffer_callback: the pickler underneath is set up a second time, with one.
        pickle.Pickler.__init__(self, file, pickle.HIGHEST_PROTOCOL, buffer_callback=buffer_callback)

    def reducer_override(self, obj: Any) -> Any:
        if type(obj) is torch.nn.Parameter:
            return _rebuild_parameter, (obj.detach(), obj.requires_grad)
        if type(obj) is not torch.Tensor or obj.device.type != "cpu" or obj.layout != torch.strided:
            return NotImplemented
        if obj.requires_grad and not obj.is_leaf:
            raise RuntimeError(
                "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support "
                "crossing process boundaries.  If you just want to transfer the data, call detach() on the tensor "
                "before serializing (e.g., putting it on the queue)."
            )
        tensor = obj.detach().resolve_conj().resolve_neg().contiguous()
        buffer = pickle.PickleBuffer(_bytes_of(tensor)) if tensor.numel() else b""
        return _rebuild_tensor, (buffer, tensor.dtype, tuple(tensor.shape), obj.requires_grad)


def pack(data: Any, directory: str) -> tuple:
    """`data` as a message: `(pickle, path or None, [(offset, size), ...] or [bytes, ...])`."""
    buffers = []
    stream = io.BytesIO()
    pickler = _Pickler(stream, lambda buffer: buffers.append(buffer.raw()))
    pickler.dump(data)
    payload = stream.getvalue()
    if sum(view.nbytes for view in buffers) >= SHARED_BYTES:
        try:
            return payload, *_write_shared(buffers, directory)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.ENOMEM):
                raise
    return payload, None, [bytes(view) for view in buffers]


def _write_shared(buffers, directory) -> tuple:
    handle, path = tempfile.mkstemp(dir=directory)
    extents = []
    try:
        with os.fdopen(handle, "wb", buffering=0) as file:
            position = 0
            for view in buffers:
                extents.append((position, view.nbytes))
                _write_all(file, view)
                position += view.nbytes
                padding = -position % _ALIGNMENT
                if padding:
                    _write_all(file, memoryview(bytes(padding)))
                    position += padding
    except BaseException:
        os.unlink(path)
        raise
    return path, extents


def _write_all(file, view) -> None:
    """Write the whole of `view`; one call may write less (2 GiB at most on Linux)."""
    while view.nbytes:
        view = view[file.write(view) :]


def unpack(
    message: tuple[bytes, str | None, list[bytes | tuple[int, int]]],
) -> list[Any] | str | torch.Tensor | _IterableDatasetStopIteration:
    """The data of a message from `pack`. Tensors of a shared file keep its mapping alive."""
    payload, path, parts = message
    if path is None:
        # bytearray: tensors must be able to write to their memory.
        return pickle.loads(payload, buffers=[bytearray(part) for part in parts])
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    with open(path, "r+b") as file:
        mapping = memoryview(mmap.mmap(file.fileno(), 0, flags=flags))
    os.unlink(path)
    return pickle.loads(payload, buffers=[mapping[offset : offset + size] for offset, size in parts])


def discard(message: tuple[bytes, None, list[bytes]] | None) -> None:
    """Free what a message that nobody will read holds."""
    if message is not None and message[1] is not None and os.path.exists(message[1]):
        os.unlink(message[1])
