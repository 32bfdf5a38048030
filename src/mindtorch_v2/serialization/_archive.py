"""The zip archive of a saved file: stored records, each aligned to 64 bytes so that it can be mapped.

PyTorch's own layout: no compression, all names under one folder, ZIP64 end records, padding in the extra field.
"""

from __future__ import annotations

import errno
import io
import mmap
import struct
import zipfile
import zlib
from typing import Any

ALIGNMENT = 64

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_END = struct.Struct("<4s4H2IH")
_UTF8_NAMES = 0x0800
_LIMIT = 0xFFFFFFFF
_ZEROS = memoryview(bytes(1 << 20))

_CORRUPT = (
    "This is an internal miniz error. If you are seeing this error, there is a high likelihood that your checkpoint "
    "file is corrupted. This can happen if the checkpoint was not saved properly, was transferred incorrectly, or the "
    "file was modified after saving."
)


class ArchiveWriter:
    """Write records one after the other into a file object; `close` writes the directory."""

    def __init__(self, file: Any, folder: str, compute_crc32: bool = True) -> None:
        self._file = file
        self._folder = folder
        self._compute_crc32 = compute_crc32
        self._position = 0
        self._entries: list[Any] = []
        # Folded from all records' checksums: two files with the same id hold the same.
        self._fingerprint = 0

    def _write(self, data) -> int:
        count = write_all(self._file, data)
        self._position += count
        return count

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Add one record; `data` is bytes or a memory of bytes."""
        view = memoryview(data).cast("B")
        self._begin(name, view.nbytes, zlib.crc32(view) if self._compute_crc32 else 0)
        self._write(view)

    def write_blank(self, name: str, size: int) -> None:
        """Add a record of so many zeros, without a checksum: a place for what is written into the file later."""
        self._begin(name, size, 0)
        while size:
            size -= self._write(_ZEROS[:size])

    def _begin(self, name: str, size: int, crc: int) -> None:
        path = f"{self._folder}/{name}".encode()
        self._fingerprint = zlib.crc32(path, zlib.crc32(crc.to_bytes(4, "little"), self._fingerprint))
        start = self._position
        # Sizes that do not fit go into a ZIP64 field; the padding is a field of PyTorch's own, "FB".
        large = struct.pack("<2H2Q", 1, 16, size, size) if size >= _LIMIT else b""
        padding = -(start + _LOCAL.size + len(path) + len(large) + 4) % ALIGNMENT
        extra = large + struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        shown = _LIMIT if large else size
        self._write(
            _LOCAL.pack(
                b"PK\x03\x04", 45 if large else 0, _UTF8_NAMES, 0, 0, 0, crc, shown, shown, len(path), len(extra)
            )
            + path
            + extra
        )
        self._entries.append((path, crc, size, start))

    def close(self) -> None:
        """Write PyTorch's identification record and the directory."""
        self.write(".data/serialization_id", b"%040d" % (self._fingerprint * 10**19 + len(self._entries)))
        directory = self._position
        for path, crc, size, start in self._entries:
            extra = b""
            if size >= _LIMIT:
                extra += struct.pack("<2Q", size, size)
            if start >= _LIMIT:
                extra += struct.pack("<Q", start)
            if extra:
                extra = struct.pack("<2H", 1, len(extra)) + extra
            shown = min(size, _LIMIT)
            self._write(
                _CENTRAL.pack(
                    b"PK\x01\x02",
                    0,
                    45 if extra else 0,
                    _UTF8_NAMES,
                    0,
                    0,
                    0,
                    crc,
                    shown,
                    shown,
                    len(path),
                    len(extra),
                    0,
                    0,
                    0,
                    0,
                    min(start, _LIMIT),
                )
                + path
                + extra
            )
        end = self._position
        count, length = len(self._entries), end - directory
        self._write(_END64.pack(b"PK\x06\x06", 44, 798, 45, 0, 0, count, count, length, directory))
        self._write(_LOCATOR.pack(b"PK\x06\x07", 0, end, 1))
        short = min(count, 0xFFFF)
        self._write(_END.pack(b"PK\x05\x06", 0, 0, short, short, min(length, _LIMIT), min(directory, _LIMIT), 0))


_LARGEST_TEXT = 2**26


class ArchiveReader:
    """Read records by name from a seekable file object. RuntimeError, in PyTorch's words, for a damaged file."""

    def __init__(self, file: Any) -> None:
        self._file = file
        try:
            self._zip = zipfile.ZipFile(file)
        except (
            zipfile.BadZipFile,
            struct.error,
            UnicodeDecodeError,
            ValueError,
            NotImplementedError,
            OverflowError,
            EOFError,
        ) as error:
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: failed finding central directory. {_CORRUPT}"
            ) from error
        names = self._zip.namelist()
        if not names or "/" not in names[0]:
            raise RuntimeError(
                f"PytorchStreamReader failed reading zip archive: file in archive is not in a subdirectory: {names[:1]}"
            )
        self.folder = names[0].split("/", maxsplit=1)[0]
        self._info = {}
        for info in self._zip.infolist():
            folder, _, name = info.filename.partition("/")
            if folder == self.folder:
                self._info[name] = info

    def has(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return name in self._info

    def names(self) -> list:
        """All records' names."""
        return list(self._info)

    def _found(self, name):
        info = self._info.get(name)
        if info is None:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found. {_CORRUPT}")
        if info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: compressed records are not supported")
        return info

    def size(self, name: str) -> int:
        """A record's bytes."""
        return self._found(name).file_size

    def offset(self, name: str) -> int:
        """Where a record's bytes begin in the file."""
        info = self._found(name)
        if (
            not 0 <= info.header_offset < self._length()
        ):  # zipfile moves offsets where something stands before the archive
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: invalid header. {_CORRUPT}")
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL.size)
        if len(header) != _LOCAL.size or header[:4] != b"PK\x03\x04":
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: invalid header. {_CORRUPT}")
        name_length, extra_length = _LOCAL.unpack(header)[-2:]
        return info.header_offset + _LOCAL.size + name_length + extra_length

    def read_into(self, name: str, memory: bytearray | memoryview) -> None:
        """Fill a writable memory with a record of its size, and check the record's checksum."""
        info = self._found(name)
        view = memoryview(memory).cast("B")
        self._file.seek(self.offset(name))
        done = 0
        while done < view.nbytes:
            count = read_some(self._file, view[done:])
            if not count:
                raise RuntimeError(f"PytorchStreamReader failed reading file {name}: file read failed. {_CORRUPT}")
            done += count
        # Zero stands for a checksum that was not computed (`set_crc32_options(False)`).
        if info.CRC and zlib.crc32(view) != info.CRC:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: CRC-32 check failed. {_CORRUPT}")

    def read(self, name: str) -> Any:
        """A record's bytes."""
        size = self.size(name)
        if size > self._length():
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: file read failed. {_CORRUPT}")
        data = bytearray(size)
        self.read_into(name, data)
        return bytes(data)

    def read_text(self, name: str) -> str:
        """A record of text, which may be compressed. RuntimeError beyond 64 MiB, or if it is no text."""
        info = self._info[name]
        if info.file_size > _LARGEST_TEXT:
            raise RuntimeError(f"{name}: {info.file_size} bytes of text, at most {_LARGEST_TEXT} are read")
        try:
            with self._zip.open(info) as record:
                return record.read(_LARGEST_TEXT).decode("utf-8")
        except (zipfile.BadZipFile, zlib.error, UnicodeDecodeError, EOFError, NotImplementedError, OSError) as error:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}. {_CORRUPT}") from error

    def _length(self) -> int:
        self._file.seek(0, io.SEEK_END)
        return self._file.tell()

    def check_extent(self, name: str) -> int:
        """Raise RuntimeError unless the whole record lies in the file; return where it begins."""
        start = self.offset(name)
        if start + self.size(name) > self._length():
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: file read failed. {_CORRUPT}")
        return start


def write_all(file: Any, data: bytes | memoryview) -> int:
    """Write all of `data` and return its bytes; a raw file object may take less at a time than it is given.

    An object whose `write` returns None says nothing of how much it took: that is all.
    """
    view = memoryview(data).cast("B")
    done = file.write(data)
    while done is not None and done < view.nbytes:
        more = file.write(view[done:])
        if not more:
            raise OSError(errno.EIO, f"the file object took {done} of {view.nbytes} bytes and no more")
        done += more
    return view.nbytes


def read_some(file: Any, view: memoryview) -> int:
    """Fill some of a memory from a file object; how many bytes, 0 at its end."""
    if hasattr(file, "readinto"):
        return file.readinto(view)
    data = file.read(view.nbytes)
    view[: len(data)] = data
    return len(data)


def map_file(path: str, shared: bool = False) -> Any:
    """The whole file as writable memory; writes reach the file only if `shared`."""
    with open(path, "r+b" if shared else "rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY)
