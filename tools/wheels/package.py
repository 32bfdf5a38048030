"""Writing a wheel: the same bytes for the same files, with metadata from pyproject.toml, a list of parts and hashes."""

from __future__ import annotations

import base64
import hashlib
import json
import stat
import struct
import tomllib
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from deflate import deflate_compress
from pyproject_metadata import StandardMetadata

# Of the zip format: how a file is packed, whose modes it has, and 1 January 1980, the first day it knows.
_STORED, _DEFLATED, _MADE_BY_UNIX, _NAME_IS_UTF8, _FIRST_DAY = 0, 8, 3 << 8 | 20, 1 << 11, 1 << 5 | 1


def metadata(root: Path, vendored: tuple[str, ...]) -> tuple[StandardMetadata, str]:
    """The project's metadata, and its text without the requirements of the packages that the wheel brings along."""
    read = StandardMetadata.from_pyproject(tomllib.loads((root / "pyproject.toml").read_text("utf-8")), root)
    read.dependencies = [each for each in read.dependencies if each.name not in vendored]
    return read, str(read.as_rfc822())


def bill_of_materials(name: str, version: str, parts: list[dict[str, Any]]) -> str:
    """A CycloneDX list of the parts: what lies in the wheel and was not made from our sources."""
    components = [{"type": "library", **part} for part in parts]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": components,
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def write(
    path: Path, files: dict[str, bytes | Path], info: str, tags: list[str], texts: dict[str, str], *, pure: bool
) -> None:
    """Write the wheel at `path`: `files` by their name in it, and `texts` into its folder `info`."""
    wheel = ["Wheel-Version: 1.0", "Generator: mindtorch_v2 tools/wheels", f"Root-Is-Purelib: {str(pure).lower()}"]
    wheel += [f"Tag: {tag}" for tag in tags]
    content: dict[str, bytes] = {
        name: value.read_bytes() if isinstance(value, Path) else value for name, value in files.items()
    }
    executable = {name for name, value in files.items() if isinstance(value, Path) and ".so" in value.name}
    content |= {f"{info}/{name}": text.encode() for name, text in texts.items()}
    content[f"{info}/WHEEL"] = ("\n".join(wheel) + "\n").encode()
    record = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in sorted(content.items())]
    # The metadata stands last: so the format recommends.
    order = sorted(content, key=lambda name: (name.startswith(f"{info}/"), name))
    content[f"{info}/RECORD"] = ("\n".join([*record, f"{info}/RECORD,,"]) + "\n").encode()
    temporary = path.with_suffix(".part")
    with temporary.open("wb") as archive:
        write_archive(archive, {name: (content[name], name in executable) for name in [*order, f"{info}/RECORD"]})
    temporary.rename(path)


def write_archive(archive: BinaryIO, files: dict[str, tuple[bytes, bool]]) -> None:
    """Write a zip archive: bytes by name, and whether the file may be executed. Everything has the same date.

    Python's own zipfile compresses by zlib only; libdeflate finds 3 % more, which for a wheel of 20 MB is more than
    half a megabyte.
    """
    directory = []
    for name, (data, executable) in files.items():
        packed, method = deflate_compress(data, 12), _DEFLATED
        if len(packed) >= len(data):
            packed, method = data, _STORED
        raw = name.encode()
        flags = 0 if name.isascii() else _NAME_IS_UTF8
        facts = struct.pack(
            "<5H3L2H", 20, flags, method, 0, _FIRST_DAY, zlib.crc32(data), len(packed), len(data), len(raw), 0
        )
        place = archive.tell()
        archive.write(b"PK\3\4" + facts + raw + packed)
        mode = (stat.S_IFREG | (0o755 if executable else 0o644)) << 16
        directory.append(
            b"PK\1\2" + struct.pack("<H", _MADE_BY_UNIX) + facts + struct.pack("<3H2L", 0, 0, 0, mode, place) + raw
        )
    place = archive.tell()
    table = b"".join(directory)
    archive.write(table + b"PK\5\6" + struct.pack("<4H2LH", 0, 0, len(files), len(files), len(table), place, 0))


def sha256(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
