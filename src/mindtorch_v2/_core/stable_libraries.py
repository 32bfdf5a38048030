"""Libraries with the names of PyTorch's, for compiled libraries that were made for its stable ABI.

Such a library names libtorch_cpu.so and others, and the dynamic linker takes what is loaded under these names. Ours are
loaded when the first library asks for them, and never where a real PyTorch has loaded its own.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

__all__ = ["libraries_needed", "make_visible", "prepare_for"]

_FOLDER = Path(__file__).parent.parent / "_lib" / "stable"
# In the order in which they need each other.
_NAMES = (
    "libc10.so",
    "libtorch_cpu.so",
    "libtorch.so",
    "libtorch_python.so",
    "libc10_cuda.so",
    "libtorch_cuda.so",
    "libcudart.so.13",
    "libnvrtc.so.13",
)
# Others may have loaded these: they are no sign of a PyTorch.
_NOT_PYTORCHS = ("libcudart.so.13", "libnvrtc.so.13")
_loaded: list[ctypes.CDLL] = []

_DYNAMIC, _LOAD = 2, 1  # types of program headers
_NEEDED, _STRTAB, _STRSZ = 1, 5, 10  # tags of the dynamic section


def libraries_needed(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """The libraries that a 64-bit ELF file names (DT_NEEDED); none for another file."""
    try:
        with open(path, "rb") as file:
            head = file.read(64)
            if head[:6] != b"\x7fELF\x02\x01":
                return ()
            table, size, count = (*struct.unpack_from("<Q", head, 32), *struct.unpack_from("<HH", head, 54))
            file.seek(table)
            headers = [file.read(size) for _ in range(count)]
            # type; offset in the file, address, bytes in the file
            parts = [(struct.unpack_from("<I", h)[0], *struct.unpack_from("<QQ8xQ", h, 8)) for h in headers]
            dynamic = next((part for part in parts if part[0] == _DYNAMIC), None)
            if dynamic is None:
                return ()
            file.seek(dynamic[1])
            entries = list(struct.iter_unpack("<QQ", file.read(dynamic[3] // 16 * 16)))
            known = dict(entries)
            strings = known.get(_STRTAB, 0)
            place = next((p for p in parts if p[0] == _LOAD and p[2] <= strings < p[2] + p[3]), None)
            if place is None:
                return ()
            file.seek(strings - place[2] + place[1])
            text = file.read(known.get(_STRSZ, 0))
    except (OSError, struct.error):
        return ()
    offsets = [value for tag, value in entries if tag == _NEEDED]
    return tuple(text[at : text.index(b"\0", at)].decode() for at in offsets if at < len(text))


def _is_loaded(name: str) -> bool:
    try:
        ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


def make_visible(asking: str | os.PathLike[str]) -> None:
    """Load ours, once; RuntimeError where a real PyTorch is loaded."""
    if _loaded:
        return
    if any(_is_loaded(name) for name in _NAMES if name not in _NOT_PYTORCHS):
        raise RuntimeError(
            f"{asking} was made for PyTorch, and a real PyTorch is loaded in this process, to which it would belong. "
            "Load it in a process that has not imported PyTorch"
        )
    missing = [name for name in _NAMES if not (_FOLDER / name).exists()]
    if missing:
        raise RuntimeError(
            f"{asking} was made for PyTorch; {_FOLDER} lacks {', '.join(missing)}: reinstall mindtorch_v2"
        )
    _loaded.extend(ctypes.CDLL(str(_FOLDER / name)) for name in _NAMES)


def prepare_for(path: str | os.PathLike[str]) -> None:
    """Make ours visible where the library at `path` names PyTorch's."""
    if not _loaded and any(name in _NAMES for name in libraries_needed(path)):
        make_visible(path)
