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
from mindtorch_v2.serialization._pickler import Pickler, stored
from mindtorch_v2.serialization._unpickler import StorageType, TrustingUnpickler, text

if TYPE_CHECKING:
    from mindtorch_v2.storage import TypedStorage


MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
_SYSTEM = {"protocol_version": PROTOCOL_VERSION, "little_endian": sys.byteorder == "little"}
_TYPE_SIZES = {"short": 2, "int": 4, "long": 4}


def write(obj: object, file: Any, pickle_module: ModuleType, protocol: int) -> None:
    """Writes `obj` to an open file."""
    storages: dict[Any, Any] = {}

    def persistent_id(item: Any) -> tuple | None:
        found = stored(item)
        if found is None:
            return None
        untyped, kind, count, dtype = found
        key = str(untyped._cdata)
        if storages.setdefault(key, (untyped, dtype))[1] != dtype:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        return "storage", kind, key, locations.location_tag(untyped), count, None

    for item in (MAGIC_NUMBER, PROTOCOL_VERSION, {**_SYSTEM, "type_sizes": _TYPE_SIZES}):
        pickle_module.dump(item, file, protocol=protocol)
    stream = io.BytesIO()
    Pickler(stream, protocol, persistent_id).dump(obj)
    file.write(stream.getvalue())
    keys = sorted(storages)
    pickle_module.dump(keys, file, protocol=protocol)
    for key in keys:
        untyped, dtype = storages[key]
        untyped = untyped.cpu()
        file.write(struct.pack("<q", untyped.nbytes() // dtype.itemsize))
        if untyped.nbytes():
            file.write(memoryview(untyped))


class _Storages:
    """The storages that the pickle names, made at once and filled afterwards."""

    def __init__(self, map_location: dict[str, str] | str | torch.device | Callable[..., Any] | None) -> None:
        self.restore = locations.restorer(map_location)
        self.waiting: dict[Any, Any] = {}
        self.restored: dict[Any, Any] = {}
        self.views: dict[Any, Any] = {}

    def load(self, pid: Sequence[Any]) -> TypedStorage:
        tag = text(pid[0])
        if tag == "module":
            # Old files kept the source of module classes, to warn if it changed.
            return pid[1]
        if tag != "storage" or len(pid) != 6:
            raise RuntimeError(f"Unknown saved id type: {tag}")
        _, kind, key, location, count, view = pid
        key, location = text(key), text(location)
        if not isinstance(kind, StorageType):
            raise pickle.UnpicklingError(f"expected a storage class, got {kind!r}")
        if not isinstance(count, int) or count < 0:
            raise pickle.UnpicklingError(f"a storage's length must be a number, got {count!r}")
        dtype = kind.dtype
        if key not in self.waiting:
            self.waiting[key] = (count, dtype)
            self.restored[key] = self.restore(torch.UntypedStorage(count * dtype.itemsize), location)
        memory = self.restored[key]
        if view is not None:
            view_key, offset, size = view
            if view_key not in self.views:
                start = offset * dtype.itemsize
                self.views[view_key] = memory[start : start + size * dtype.itemsize]
            memory = self.views[view_key]
        return memory if kind.untyped else torch.storage.TypedStorage(wrap_storage=memory, dtype=dtype, _internal=True)


def read(file: Any, map_location: Any, pickle_module: Any, weights_only: bool, **pickle_load_args: Any) -> Any:
    """The object in an open file. Tensors are made when the pickle names them, their bytes read at the end."""
    start = file.tell()

    def plain(stream: BytesIO | IO[bytes]) -> Any:
        if weights_only:
            return _weights_only_unpickler.load(stream, encoding="utf-8")
        return (pickle_module or pickle).load(stream, **pickle_load_args)

    if plain(file) != MAGIC_NUMBER:
        file.seek(start)
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = plain(file)
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    plain(file)  # what machine wrote it

    storages = _Storages(map_location)

    def unpickle() -> Any:
        if weights_only:
            unpickler: Any = _weights_only_unpickler.Unpickler(file, encoding="utf-8")
            unpickler.persistent_load = storages.load
            return unpickler.load()
        return TrustingUnpickler.over(pickle_module)(file, storages.load, **pickle_load_args).load()

    waiting = torch._utils.collect_waiting()
    try:
        result = unpickle()
        for key in plain(file):
            _fill(file, storages, key)
        torch._utils.apply_waiting(waiting)
    finally:
        torch._utils.stop_waiting()
    return result


def _fill(file, storages, key) -> None:
    key = text(key)
    if key not in storages.waiting:
        raise RuntimeError("storage of an unknown key; corrupt file?")
    count, dtype = storages.waiting[key]
    header = file.read(8)
    if len(header) != 8 or struct.unpack("<q", header)[0] != count:
        raise RuntimeError("storage has wrong byte size; corrupt file?")
    size = count * dtype.itemsize
    data = file.read(size)
    if len(data) != size:
        raise RuntimeError(f"unexpected EOF, expected {size - len(data)} more bytes. The file might be corrupted.")
    target = storages.restored[key]
    if target.device.type == "meta" or not size:
        return
    staged = target if target.device.type == "cpu" else torch.UntypedStorage(size)
    memoryview(staged)[:] = data
    if sys.byteorder == "big":
        staged.byteswap(dtype)
    if staged is not target:
        target.copy_(staged)
