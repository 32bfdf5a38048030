"""Parts that wheels need beside the sources, from Debian's archive: headers of each CPython, and an OpenMP library for old systems.

Packages are downloaded and unpacked into a folder of ours; nothing is installed. Debian has one CPython a release, and
3.12 in none; the CI file (tools/wheels/ci/github.yml) makes that wheel with the interpreters of the manylinux images.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SUITES = {"3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
"""The release of Debian that has each CPython."""

_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
_OPENMP_SUITE = "bullseye"  # its libgomp asks for glibc 2.17, and has every function that GCC 12 and oneDNN call
_SOURCE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg arch=amd64,arm64] http://deb.debian.org/debian"


def python_headers(python: str, machine: str, folder: Path) -> list[Path]:
    """The folders of the headers of that CPython for that processor."""
    if python not in SUITES:
        raise ValueError(f"no release of Debian has CPython {python}; there are {', '.join(SUITES)}")
    place = folder / f"python{python}-{machine}"
    unpack(f"libpython{python}-dev", SUITES[python], machine, place)
    return [place / "usr" / "include" / f"python{python}", place / "usr" / "include"]


def openmp_library(machine: str, folder: Path) -> Path:
    """libgomp.so.1, as it is."""
    place = folder / f"openmp-{machine}"
    unpack("libgomp1", _OPENMP_SUITE, machine, place)
    return place / "usr" / "lib" / f"{machine}-linux-gnu" / "libgomp.so.1"


def unpack(package: str, suite: str, machine: str, place: Path) -> None:
    """Unpack a package of that release of Debian, for that processor, into `place`; once."""
    done = place / f".{package}"
    if done.exists():
        return
    if shutil.which("apt-get") is None:
        raise FileNotFoundError(f"apt-get is not there: unpack Debian's {package} ({suite}) into {place}")
    lists = place.parent / f"apt-{suite}"
    options = []
    if not (lists / "sources.list").exists():
        for part in ("lists/partial", "cache/archives/partial", "downloads"):
            (lists / part).mkdir(parents=True, exist_ok=True)
        (lists / "sources.list").write_text(f"{_SOURCE} {suite} main\n")
    for key, value in (
        ("Dir::State::lists", lists / "lists"),
        ("Dir::State::status", "/dev/null"),  # what is installed here is not of that release
        ("Dir::Cache", lists / "cache"),
        ("Dir::Etc::sourcelist", lists / "sources.list"),
        ("Dir::Etc::sourceparts", "-"),
        ("APT::Architectures::", "amd64"),
        ("APT::Architectures::", "arm64"),
    ):
        options += ["-o", f"{key}={value}"]
    downloads = lists / "downloads"
    if not any((lists / "lists").glob("*_Packages*")):
        subprocess.run(["apt-get", *options, "update", "-qq"], check=True)
    architecture = _DEBIAN[machine]
    subprocess.run(["apt-get", *options, "download", "-q", f"{package}:{architecture}"], cwd=downloads, check=True)
    (file,) = downloads.glob(f"{package}_*_{architecture}.deb")
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "-x", str(file), str(place)], check=True)
    done.touch()
