"""The format before zip files: pickles one after the other, then each storage's length and bytes."""

from __future__ import annotations

import io
import pickle
import struct
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _weights_only_unpickler
from mindtorch_v2.serialization import _locations as locations
from mindtorch_v2.serialization._archive import read_some, write_all
from mindtorch_v2.serialization._pickler import Pickler, stored
from mindtorch_v2.serialization._unpickler import StorageType, TrustingUnpickler, length, word

if TYPE_CHECKING:
    from mindtorch_v2.storage import TypedStorage


MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_SYSTEM = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little"}
_TYPE_SIZES = {"short": 2, "int": 4, "long": 4}


def write(obj: object, file: Any, pickle_module: ModuleType, protocol: int) -> None:
    """Write `obj` to an open file."""
    storages: dict[Any, Any] = {}

    def persistent_id(item: Any) -> tuple | None:
        found = stored(item)
        if found is None:
            return None
        untyped, kind, count, dtype = found
        key = str(untyped._cdata)
        # Nothing at all can be viewed as anything.
        if storages.setdefault(key, (untyped, dtype))[1] != dtype and untyped.nbytes():
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return "storage", kind, key, locations.location_tag(untyped), count, None

    stream = io.BytesIO()
    for item in (MAGIC_NUMBER, PROTOCOL_VERSION, {**_SYSTEM, "type_sizes": _TYPE_SIZES}):
        pickle_module.dump(item, stream, protocol=protocol)
    Pickler(stream, protocol, persistent_id).dump(obj)
    keys = sorted(storages)
    pickle_module.dump(keys, stream, protocol=protocol)
    write_all(file, stream.getvalue())
    for key in keys:
        untyped, dtype = storages[key]
        untyped = untyped.cpu()
        write_all(file, struct.pack("<q", untyped.nbytes() // dtype.itemsize))
        if untyped.nbytes():
            write_all(file, memoryview(untyped))


class _Storages:
    """The storages that the pickle names, made at once and filled afterwards."""

    def __init__(
        self, map_location: dict[str, str] | str | torch.device | Callable[..., Any] | None, limit: int
    ) -> None:
        self.restore = locations.restorer(map_location)
        self.limit = limit
        self.waiting: dict[Any, Any] = {}
        self.restored: dict[Any, Any] = {}
        self.views: dict[Any, Any] = {}

    def load(self, pid: Sequence[Any]) -> TypedStorage:
        if not isinstance(pid, tuple) or len(pid) < 2:
            raise pickle.UnpicklingError(f"a persistent id is a tuple, got {pid!r}")
        tag = word(pid[0], "the kind of a persistent id")
        if tag == "module":
            # Old files kept the source of module classes, to warn if it changed.
            return pid[1]
        if tag != "storage" or len(pid) != 6:
            raise RuntimeError(f"Unknown saved id type: {tag}")
        _, kind, key, location, count, view = pid
        key, location = word(key, "a storage's key"), word(location, "a storage's place")
        if not isinstance(kind, StorageType):
            raise pickle.UnpicklingError(f"expected a storage class, got {kind!r}")
        count = length(count)
        dtype = kind.dtype
        if key not in self.waiting:
            # Before any memory is asked for: a damaged file may claim any size.
            if count * dtype.itemsize > self.limit:
                raise RuntimeError(
                    f"a storage of {count} elements of {dtype} is larger than the whole file; corrupt file?"
                )
            self.waiting[key] = (count, dtype)
            self.restored[key] = self.restore(torch.UntypedStorage(count * dtype.itemsize), location)
        memory = self.restored[key]
        if view is not None:
            if not isinstance(view, tuple) or len(view) != 3:
                raise pickle.UnpicklingError(f"a view of a storage is (key, offset, size), got {view!r}")
            view_key, offset, size = word(view[0], "a view's key"), length(view[1]), length(view[2])
            if view_key not in self.views:
                start = offset * dtype.itemsize
                if start + size * dtype.itemsize > memory.nbytes():
                    raise RuntimeError("a view of a storage reaches beyond it; corrupt file?")
                self.views[view_key] = memory[start : start + size * dtype.itemsize]
            memory = self.views[view_key]
        return memory if kind.untyped else torch.storage.TypedStorage(wrap_storage=memory, dtype=dtype, _internal=True)


def read(file: Any, map_location: Any, pickle_module: Any, weights_only: bool, **pickle_load_args: Any) -> Any:
    """The object in an open file. Tensors are made when the pickle names them, their bytes read at the end."""
    start = file.tell()

    def plain(stream: BytesIO | IO[bytes]) -> Any:
        if weights_only:
            return _weights_only_unpickler.load(stream, **pickle_load_args)
        return (pickle_module or pickle).load(stream, **pickle_load_args)

    if plain(file) != MAGIC_NUMBER:
        file.seek(start)
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = plain(file)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    plain(file)  # what machine wrote it

    position = file.tell()
    storages = _Storages(map_location, file.seek(0, io.SEEK_END) or file.tell())
    file.seek(position)

    def unpickle() -> Any:
        if weights_only:
            unpickler: Any = _weights_only_unpickler.Unpickler(file, **pickle_load_args)
            unpickler.persistent_load = storages.load
            return unpickler.load()
        return TrustingUnpickler.over(pickle_module)(file, storages.load, **pickle_load_args).load()

    waiting = torch._utils.collect_waiting()
    try:
        result = unpickle()
        unread = set(storages.waiting)
        for key in _keys(plain(file)):
            _fill(file, storages, key)
            unread.discard(key)
        if unread:
            raise RuntimeError(f"the file names {len(unread)} storages whose data it does not hold; corrupt file?")
        torch._utils.apply_waiting(waiting)
    finally:
        torch._utils.stop_waiting()
    return result


def _keys(found: Any) -> list[str]:
    if not isinstance(found, (list, tuple)):
        raise RuntimeError(f"expected the list of storages, got {type(found).__name__}; corrupt file?")
    return [word(key, "a storage's key") for key in found]


def _fill(file, storages, key) -> None:
    if key not in storages.waiting:
        raise RuntimeError("storage of an unknown key; corrupt file?")
    count, dtype = storages.waiting[key]
    header = file.read(8)
    if len(header) != 8 or struct.unpack("<q", header)[0] != count:
        raise RuntimeError("storage has wrong byte size; corrupt file?")
    size = count * dtype.itemsize
    target = storages.restored[key]
    if target.device.type == "meta":
        file.seek(size, io.SEEK_CUR)
        return
    if not size:
        return
    staged = target if target.device.type == "cpu" else torch.UntypedStorage(size)
    view, done = memoryview(staged), 0
    while done < size:
        count = read_some(file, view[done:])
        if not count:
            raise RuntimeError(f"unexpected EOF, expected {size - done} more bytes. The file might be corrupted.")
        done += count
    if sys.byteorder == "big":
        staged.byteswap(dtype)
    if staged is not target:
        target.copy_(staged)
