"""Parts that wheels need beside the sources, from Debian's and Ubuntu's archives: headers of each CPython, and an OpenMP
library for old systems.

Packages are downloaded and unpacked into a folder of ours; nothing is installed. Debian has one CPython a release, and
3.12 in none: that one is Ubuntu 24.04's.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

SUITES = {"3.11": "bookworm", "3.12": "noble", "3.13": "trixie", "3.14": "sid"}
"""The release of Debian, or of Ubuntu, that has each CPython."""

_DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
_OPENMP_SUITE = "bullseye"  # its libgomp asks for glibc 2.17, and has every function that GCC 12 and oneDNN call
_DEBIAN_ARCHIVE, _UBUNTU_ARCHIVE = "http://deb.debian.org/debian", "http://archive.ubuntu.com/ubuntu"
_DEBIAN_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_UBUNTU = {"noble"}


def python_headers(python: str, machine: str, folder: Path) -> list[Path]:
    """The folders of the headers of that CPython for that processor."""
    if python not in SUITES:
        raise ValueError(f"no release of Debian has CPython {python}; there are {', '.join(SUITES)}")
    place = folder / f"python{python}-{machine}"
    if SUITES[python] in _UBUNTU and machine != "x86_64":
        # Ubuntu keeps other processors' packages elsewhere. Of the headers only pyconfig.h differs, on systems of 64 bits
        # by which assembler Python itself was built with, which no header asks.
        unpack(f"libpython{python}-dev", SUITES[python], "x86_64", place)
        there = place / "usr" / "include" / f"x86_64-linux-gnu/python{python}" / "pyconfig.h"
        here = place / "usr" / "include" / f"{machine}-linux-gnu/python{python}" / "pyconfig.h"
        here.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(there, here)
    else:
        unpack(f"libpython{python}-dev", SUITES[python], machine, place)
    return [place / "usr" / "include" / f"python{python}", place / "usr" / "include"]


def openmp_library(machine: str, folder: Path) -> Path:
    """libgomp.so.1, as it is."""
    place = folder / f"openmp-{machine}"
    unpack("libgomp1", _OPENMP_SUITE, machine, place)
    return place / "usr" / "lib" / f"{machine}-linux-gnu" / "libgomp.so.1"


def unpack(package: str, suite: str, machine: str, place: Path) -> None:
    """Unpack a package of that release of Debian or Ubuntu, for that processor, into `place`; once."""
    done = place / f".{package}"
    if done.exists():
        return
    if shutil.which("apt-get") is None:
        raise FileNotFoundError(f"apt-get is not there: unpack {package} of {suite} into {place}")
    lists = place.parent / f"apt-{suite}"
    options = []
    if not (lists / "sources.list").exists():
        for part in ("lists/partial", "cache/archives/partial", "downloads"):
            (lists / part).mkdir(parents=True, exist_ok=True)
        (lists / "sources.list").write_text(f"{_source(suite, place.parent)} {suite} main\n")
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
    (file,) = (each for end in (architecture, "all") for each in downloads.glob(f"{package}_*_{end}.deb"))
    place.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "-x", str(file), str(place)], check=True)
    done.touch()


def script(suite: str) -> list[str]:
    """The steps for debootstrap, where it is older than the release: those of the distribution's releases are all the same."""
    place = Path("/usr/share/debootstrap/scripts")
    return [] if (place / suite).exists() else [str(place / ("gutsy" if suite in _UBUNTU else "sid"))]


def archive(suite: str, folder: Path) -> tuple[str, list[str]]:
    """The address of the archive that has that release, and what debootstrap must be told of it."""
    options = [f"--keyring={_keyring(suite, folder)}"]
    if suite in _UBUNTU:  # its main part has no python3-venv
        return _UBUNTU_ARCHIVE, [*options, "--components=main,universe"]
    return _DEBIAN_ARCHIVE, options


def _source(suite: str, folder: Path) -> str:
    """The archive of that release, as a line of apt's."""
    architectures = "amd64" if suite in _UBUNTU else "amd64,arm64"
    signed = f"[signed-by={_keyring(suite, folder)} arch={architectures}]"
    return f"deb {signed} {_UBUNTU_ARCHIVE if suite in _UBUNTU else _DEBIAN_ARCHIVE}"


def _keyring(suite: str, folder: Path) -> Path:
    """The keys that the release is signed with; Ubuntu's are in a package of Debian's."""
    if suite not in _UBUNTU:
        return _DEBIAN_KEYRING
    place = folder / "ubuntu-keyring"
    unpack("ubuntu-keyring", "trixie", "x86_64", place)
    return (place / "usr/share/keyrings/ubuntu-archive-keyring.gpg").resolve()
