"""Targets of a wheel, and the compiler's arguments for it: a processor, a CPython and the oldest glibc.

The compiler is GCC, Debian's own or its cross compiler. It links against the list of symbols of an older glibc, which
`zig cc` (PyPI: ziglang) makes for any version; libstdc++ goes into the libraries. So nothing newer can be asked for: a
symbol that the old glibc lacks is an error of the link.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

GLIBC = "2.28"
_LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libld.so.2")


class Target(NamedTuple):
    """A processor as Python calls it (x86_64, aarch64) and a version of CPython ("3.13")."""

    machine: str
    python: str

    @property
    def abi(self) -> str:
        """The tag of its Python: cp313."""
        return "cp" + self.python.replace(".", "")

    @property
    def soabi(self) -> str:
        """Name of that Python for its binaries."""
        return f"cpython-{self.abi[2:]}-{self.machine}-linux-gnu"

    @property
    def platform(self) -> str:
        """The wheel's platform tag."""
        return f"manylinux_{GLIBC.replace('.', '_')}_{self.machine}"

    @property
    def compiler(self) -> str:
        """The compiler's name; raises FileNotFoundError saying what to install if it is not there."""
        native = os.uname().machine == self.machine
        name = "g++" if native else f"{self.machine}-linux-gnu-g++"
        if shutil.which(name) is None:
            package = "g++" if native else f"g++-{self.machine.replace('_', '-')}-linux-gnu"
            raise FileNotFoundError(f"{name} is not there: apt-get install {package}")
        return name


def glibc_stubs(machine: str, folder: Path) -> Path:
    """A folder to link against: the symbols of glibc `GLIBC` for that processor, made once."""
    place = folder / f"glibc-{GLIBC}-{machine}"
    if (place / "libc.so").exists():
        return place
    work = folder / "zig"
    work.mkdir(parents=True, exist_ok=True)
    source = work / "empty.c"
    source.write_text("int main(void) { return 0; }\n")
    command = [sys.executable, "-m", "ziglang", "cc", "-target", f"{machine}-linux-gnu.{GLIBC}", str(source)]
    command += ["-o", str(work / f"empty-{machine}"), "-lm", "-lpthread", "-ldl", "-lrt", "-v"]
    environment = {
        **os.environ,
        "ZIG_LOCAL_CACHE_DIR": str(work / "local"),
        "ZIG_GLOBAL_CACHE_DIR": str(work / "global"),
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"zig could not make glibc's symbols:\n{done.stderr}")
    # The last of the links is the program's; those before it, the first time, are of the libraries.
    words = [line for line in done.stderr.splitlines() if line.startswith("ld.lld")][-1].split()
    found = {Path(word).name: Path(word) for word in words if ".so." in word or word.endswith("libc_nonshared.a")}
    place.mkdir(parents=True, exist_ok=True)
    for name in (*_LIBRARIES, "libc_nonshared.a"):
        shutil.copy(found[name], place / name)
    for name in ("libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"):
        link = place / (name.partition(".so")[0] + ".so")
        link.unlink(missing_ok=True)
        link.symlink_to(name)
    parts = " ".join(str(place / name) for name in ("libc.so.6", "libc_nonshared.a"))
    others = " ".join(str(place / name) for name in ("libpthread.so.0", "libdl.so.2", "libld.so.2"))
    (place / "libc.so").write_text(f"GROUP ( {parts} AS_NEEDED ( {others} ) )\n")
    return place


def cmake_arguments(target: Target, stubs: Path, headers: list[Path], source: Path) -> list[str]:
    """Arguments of CMake for this target; `headers` are the folders of that Python's headers."""
    link = f"-L{stubs} -Wl,--exclude-libs,ALL -Wl,--build-id=none -Wl,--gc-sections"
    compile_flags = f"-ffile-prefix-map={source}=. -ffunction-sections -fdata-sections"
    arguments = [
        f"-DCMAKE_CXX_COMPILER={target.compiler}",
        f"-DCMAKE_CXX_FLAGS={compile_flags}",
        f"-DCMAKE_SHARED_LINKER_FLAGS={link}",
        f"-DCMAKE_MODULE_LINKER_FLAGS={link}",
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DMT_PYTHON_INCLUDE={';'.join(map(str, headers))}",
        f"-DMT_PYTHON_SOABI={target.soabi}",
        "-DMT_OLD_GLIBC=ON",
        "-DASCEND_EMULATOR_OPTIMIZATION=-Os",
    ]
    if os.uname().machine != target.machine:
        arguments += ["-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={target.machine}"]
    return arguments
