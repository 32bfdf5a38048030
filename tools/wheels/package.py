"""Writing a wheel: the same bytes for the same files, with metadata from pyproject.toml, a list of parts and hashes."""

from __future__ import annotations

import base64
import hashlib
import json
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from pyproject_metadata import StandardMetadata


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
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in [*order, f"{info}/RECORD"]:
            entry = zipfile.ZipInfo(name, _moment()[:6])
            entry.external_attr = (0o100755 if name in executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content[name], compresslevel=9)
    temporary.rename(path)


def sha256(path: Path) -> str:
    """The hash of a file's bytes, in hexadecimal digits."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


_EPOCH = 315532800  # 1 January 1980: archives know no earlier time


def _moment() -> time.struct_time:
    return time.gmtime(_EPOCH)
