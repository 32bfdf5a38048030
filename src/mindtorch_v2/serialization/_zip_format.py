"""Saving to and loading from the zip format: the pickle, one record for each storage, and a few that describe."""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _weights_only_unpickler
from mindtorch_v2.serialization import _locations as locations
from mindtorch_v2.serialization._pickler import Pickler, stored
from mindtorch_v2.serialization._records import VERSION
from mindtorch_v2.serialization._unpickler import StorageType, TrustingUnpickler, length, word

if TYPE_CHECKING:
    from mindtorch_v2.serialization._archive import ArchiveReader, ArchiveWriter
    from mindtorch_v2.storage import TypedStorage


_MAX_VERSION = 10


class DamagedFileError(RuntimeError, ValueError):
    """A file that says what cannot be; a ValueError too, as PyTorch raises."""


def pickled(
    obj: object, protocol: int, make: Callable[[io.BytesIO, int, Callable[[Any], tuple | None]], Any] = Pickler
) -> tuple[bytes, dict[str, Any]]:
    """The pickle of `obj`, by the pickler that `make` gives, and the storages that it names by their keys."""
    storages: dict[str, Any] = {}
    keys: dict[Any, Any] = {}
    dtypes: dict[Any, Any] = {}

    def persistent_id(item: Any) -> tuple | None:
        found = stored(item)
        if found is None:
            return None
        untyped, kind, count, dtype = found
        if untyped.data_ptr():
            if dtypes.setdefault(untyped.data_ptr(), dtype) != dtype:
                raise RuntimeError(
                    "Cannot save multiple tensors or storages that view the same data as different types"
                )
        key = keys.setdefault(untyped._cdata, str(len(keys)))
        storages[key] = untyped
        place = torch._utils.skipping.places.get(untyped._cdata) or locations.location_tag(untyped)
        return "storage", kind, key, place, count

    stream = io.BytesIO()
    make(stream, protocol, persistent_id).dump(obj)
    return stream.getvalue(), storages


def write_storages(archive: ArchiveWriter, storages: dict[str, Any]) -> None:
    """Write each storage into a record of its own; within `torch.serialization.skip_data` zeros instead."""
    for key, storage in storages.items():
        if torch._utils.skipping.skip_data:
            archive.write_blank(f"data/{key}", storage.nbytes())
            continue
        if storage.device.type != "cpu":
            storage = storage.cpu()
        archive.write(f"data/{key}", memoryview(storage) if storage.nbytes() else b"")


def write(
    obj: object, archive: ArchiveWriter, pickle_module: ModuleType, protocol: int, byteorder_record: bool = True
) -> None:
    """Write `obj` into an open `ArchiveWriter`."""
    make: Any = Pickler
    if pickle_module is not pickle:
        base: Any = pickle_module.Pickler

        def make(stream: io.BytesIO, protocol: int, persistent_id: Callable[[Any], tuple | None]) -> Any:
            class ForeignPickler(base):
                def persistent_id(self, item: Any) -> Any:
                    return persistent_id(item)

            return ForeignPickler(stream, protocol=protocol)

    data, storages = pickled(obj, protocol, make)
    archive.write("data.pkl", data)
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", b"64")
    if byteorder_record:
        archive.write("byteorder", sys.byteorder.encode())
    write_storages(archive, storages)
    archive.write("version", VERSION)
    archive.close()


def check_version(archive: ArchiveReader) -> None:
    """Raise RuntimeError for an archive of a version that is not known."""
    if not archive.has("version"):
        raise RuntimeError('Expected hasRecord("version") to be true, but got false.')
    try:
        version = int(archive.read("version"))
    except ValueError:
        raise RuntimeError("Attempted to read a PyTorch file whose version is not a number") from None
    if version > _MAX_VERSION:
        raise RuntimeError(
            f"Attempted to read a PyTorch file with version {version}, but the maximum supported version for reading "
            f"is {_MAX_VERSION}. The version of your PyTorch installation may be too old, please upgrade PyTorch to "
            "latest version to mitigate this issue."
        )


def byte_order(archive: ArchiveReader) -> str:
    """ "little" or "big": as the file says, or the default for files that do not."""
    if archive.has("byteorder"):
        order = archive.read("byteorder")
        if order not in (b"little", b"big"):
            raise DamagedFileError(f"Unknown endianness type: {order.decode(errors='replace')}")
        return order.decode()
    default = torch.serialization.get_default_load_endianness()
    if default in (None, torch.serialization.LoadEndianness.LITTLE):
        return "little"
    return "big" if default == torch.serialization.LoadEndianness.BIG else sys.byteorder


class _Storages:
    """Read each storage of an archive once; the same key gives the same memory."""

    def __init__(
        self,
        archive: ArchiveReader,
        map_location: Any,
        mapping: memoryview | None,
        record: str,
    ) -> None:
        self.archive, self.record = archive, record
        self.restore = locations.restorer(map_location)
        self.skip = locations.is_meta(map_location)
        self.mapping = mapping
        self.swap = byte_order(archive) != sys.byteorder
        self.loaded: dict[Any, Any] = {}

    def load(self, kind: Any, key: str, location: str, count: int) -> TypedStorage:
        dtype = torch.uint8 if kind is torch.UntypedStorage else kind.dtype
        untyped = kind is torch.UntypedStorage or getattr(kind, "untyped", False)
        if key not in self.loaded:
            self.loaded[key] = self.restore(self._read(self.record.format(key), dtype, length(count)), location)
        storage = self.loaded[key]
        if untyped:
            return storage
        return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)

    def _read(self, name, dtype, count):
        size = count * dtype.itemsize
        stored = self.archive.size(name)
        if stored != size:
            raise RuntimeError(
                f"record size ({stored} bytes) does not match expected size ({size} bytes = {count} elements * "
                f"{dtype.itemsize} bytes/element) for storage {name}"
            )
        # Before any memory is asked for: a damaged directory may claim any size.
        start = self.archive.check_extent(name)
        if self.skip:
            return torch.UntypedStorage(size, device="meta")
        if self.mapping is not None and size:
            kind: Any = torch.UntypedStorage
            storage = kind.from_buffer(self.mapping[start : start + size])
        else:
            storage = torch.UntypedStorage(size)
            if size:
                self.archive.read_into(name, memoryview(storage))
        if self.swap:
            storage.byteswap(dtype)
        return storage


def storage_loader(
    archive: ArchiveReader, map_location: Any, mapping: memoryview | None = None, record: str = "data/{}"
) -> Callable[[Any], TypedStorage]:
    """The function that gives the storage of a persistent id, whose record is named by `record`."""
    storages = _Storages(archive, map_location, mapping, record)

    def persistent_load(pid: Sequence[Any]) -> TypedStorage:
        if not isinstance(pid, tuple):
            raise pickle.UnpicklingError(f"persistent_load id must be a tuple, got {type(pid)}")
        tag = word(pid[0], "the kind of a persistent id") if pid else None
        if tag != "storage" or len(pid) != 5:
            raise RuntimeError(f"Unknown typename for persistent_load, expected 'storage' but got '{tag}'")
        _, kind, key, location, count = pid
        if not isinstance(kind, StorageType) and kind is not torch.UntypedStorage:
            raise pickle.UnpicklingError(f"expected a storage class, got {kind!r}")
        return storages.load(kind, word(key, "a storage's key"), word(location, "a storage's place"), count)

    return persistent_load


def read(
    archive: ArchiveReader,
    map_location: Any,
    pickle_module: Any,
    weights_only: bool,
    mapping: memoryview | None = None,
    **pickle_load_args: Any,
) -> Any:
    """The object of an open `ArchiveReader`; storages lie in `mapping`, the mapped file, if it is given."""
    check_version(archive)
    persistent_load = storage_loader(archive, map_location, mapping)
    stream = io.BytesIO(archive.read("data.pkl"))
    if weights_only:
        unpickler: Any = _weights_only_unpickler.Unpickler(stream, **pickle_load_args)
        unpickler.persistent_load = persistent_load
        return unpickler.load()
    return TrustingUnpickler.over(pickle_module)(stream, persistent_load, **pickle_load_args).load()
