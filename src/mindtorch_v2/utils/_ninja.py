"""Building operator libraries with ninja and the system's C++ compiler."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mindtorch_v2.utils import _cpp_headers
from mindtorch_v2.utils._compiler_errors import errors_first

__all__ = [
    "Lock",
    "build_shared_library",
    "compile_objects",
    "compiler",
    "core_library_folders",
    "include_folders",
    "system_folders",
]

_KEPT = 3  # precompiled headers


def compiler() -> list[str]:
    """The C++ compiler as a list of words: $CXX, else c++; behind ccache where that is installed."""
    words = shlex.split(os.environ.get("CXX", "c++"))
    if not os.environ.get("TORCH_NO_COMPILER_WRAPPER"):
        for wrapper in ("ccache", "sccache"):
            if shutil.which(wrapper) and Path(words[0]).name not in (wrapper,):
                return [wrapper, *words]
    return words


def include_folders() -> list[str]:
    """Folders of headers: those written by hand, the generated ones, and pybind11's, which PyTorch has among its own."""
    folders = [str(_cpp_headers.installed_include_path()), str(_cpp_headers.generated_include_path())]
    try:
        import pybind11  # only programs that compile need it
    except ImportError:
        return folders
    return [*folders, pybind11.get_include()]


def system_folders() -> list[str]:
    """Folders of headers that are not the user's: those above, and Python's."""
    return [*include_folders(), sysconfig.get_paths()["include"]]


def core_library_folders() -> list[str]:
    """Where libmindtorch_core lies, and the names of PyTorch's libraries that stand for ours."""
    return [str(_cpp_headers.link_names_path()), str(_cpp_headers.library_path())]


class Lock:
    """A file that one process at a time holds. The kernel gives it up when that process ends, however it ends."""

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        self._file = open(self.path, "w")
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *exception: Any) -> None:
        self._file.close()


def _escape(path):
    return str(path).replace("$", "$$").replace(" ", "$ ").replace(":", "$:")


def _ninja(folder, text, verbose, what):
    path = folder / "build.ninja"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
    if shutil.which("ninja") is None:
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")
    command = ["ninja", "-v"]
    if os.environ.get("MAX_JOBS", "").isdigit():
        command += ["-j", os.environ["MAX_JOBS"]]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if verbose:
        print(done.stdout, end="", flush=True)
    if done.returncode:
        raise RuntimeError(f"Error building extension '{what}': {errors_first(done.stdout, folder, system_folders())}")


def _first_include(path):
    """The first header that a source includes, if nothing but comments stands before it."""
    try:
        text = Path(path).read_text(errors="replace")
    except OSError:
        return None
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S).lstrip()
    found = re.match(r"#\s*include\s*<([^>]+)>", text)
    return found.group(1) if found else None


def _precompiled(flags, sources):
    """A folder where `torch/extension.h` is, or will be, precompiled for these flags; None where it would not be used.

    Most of what a small extension takes to compile is reading that header. GCC finds it by the name it is included
    under, as long as that include comes first. Making it takes longer than reading it, so the first build does without:
    it is made beside that.
    """
    if not any(_first_include(source) == "torch/extension.h" for source in sources):
        return None
    words = compiler()
    version = subprocess.run([*_without_cache(words), "-v"], capture_output=True, text=True).stderr
    if "gcc version" not in version or os.environ.get("MINDTORCH_NO_PRECOMPILED_HEADER"):
        return None
    key = hashlib.sha256("\0".join([version, *flags, *system_folders()]).encode())
    for header in sorted((_cpp_headers.installed_include_path() / "mindtorch").rglob("*.h")):
        key.update(header.read_bytes())
    folder = _cpp_headers.cache_path() / f"precompiled-{key.hexdigest()[:16]}"
    made = folder / "torch" / "extension.h.gch"
    if made.exists():
        os.utime(folder)
        return folder
    made.parent.mkdir(parents=True, exist_ok=True)
    _forget_old_ones(folder)
    # What GCC reads where the precompiled one does not serve: before it is made, or included a second time.
    stand_in = made.with_suffix("")
    if not stand_in.exists():  # written again, it would be newer than what was built with it
        stand_in.write_text("#pragma once\n#include_next <torch/extension.h>\n")
    header = _cpp_headers.generated_include_path() / "torch" / "extension.h"
    includes = [word for path in system_folders() for word in ("-isystem", path)]
    command = [*_without_cache(words), *flags, *includes, "-x", "c++-header", str(header)]
    program = Path(__file__).with_name("_precompile.py")
    subprocess.run(
        [sys.executable, "-I", "-S", str(program), str(folder / "lock"), str(made), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return folder


def _forget_old_ones(folder):
    """Delete precompiled headers but for `folder` and those used last: each takes 440 MB, and every flag makes another.

    A build that was to read one of them reads the header itself.
    """
    found = []
    for other in folder.parent.glob("precompiled-*"):
        with contextlib.suppress(OSError):  # another process was faster
            found.append((other.stat().st_mtime, other))
    for _, other in sorted(entry for entry in found if entry[1] != folder)[: -(_KEPT - 1)]:
        shutil.rmtree(other, ignore_errors=True)


def _without_cache(words):
    return [word for word in words if word not in ("ccache", "sccache")]


def _compile_rules(name, flags, user_includes, sources, objects):
    precompiled = _precompiled(flags, sources)
    includes = [f"-I{folder}" for folder in user_includes]
    includes += [word for folder in system_folders() for word in ("-isystem", folder)]
    # With the precompiled header ccache would have to be told to trust it; the header is most of what it saves.
    words = _without_cache(compiler()) if precompiled else compiler()
    if precompiled:
        includes.insert(0, f"-I{precompiled}")
    command = shlex.join(
        [*words, f"-DTORCH_EXTENSION_NAME={name}", "-DTORCH_API_INCLUDE_EXTENSION_H", *includes, *flags]
    )
    lines = [
        "ninja_required_version = 1.3",
        "rule compile",
        f"  command = {command.replace('$', '$$')} -MMD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "rule link",
        "  command = $linker $in -o $out $flags",
    ]
    for source, made in zip(sources, objects):
        lines.append(f"build {_escape(made)}: compile {_escape(os.path.abspath(source))}")
    return lines


def compile_objects(
    name: str,
    folder: str | Path,
    sources: Sequence[str],
    objects: list[str],
    flags: list[str],
    user_includes: Sequence[str],
    verbose: bool = False,
) -> None:
    """Compile sources to objects, those that changed."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    lines = _compile_rules(name, flags, user_includes, sources, [os.path.abspath(o) for o in objects])
    _ninja(folder, "\n".join(lines) + "\n", verbose, name)


def build_shared_library(
    name: str,
    folder: str | Path,
    sources: Sequence[str],
    flags: list[str],
    link_flags: Sequence[str],
    user_includes: Sequence[str],
    verbose: bool = False,
    standalone: bool = False,
) -> str:
    """Compile and link; the path of the library, or of the program if `standalone`."""
    folder = Path(folder)
    flags = ["-fPIC", *([] if any(f.startswith("-std=") for f in flags) else ["-std=c++20"]), *flags]
    stems = [re.sub(r"\W", "_", Path(s).stem) for s in sources]
    objects = [f"{stem}{'' if stems.count(stem) == 1 else i}.o" for i, stem in enumerate(stems)]
    result = folder / (name if standalone else f"{name}.so")
    lines = _compile_rules(name, flags, user_includes, sources, objects)
    link = [] if standalone else ["-shared"]
    for library_folder in core_library_folders():
        link += [f"-L{library_folder}", *([f"-Wl,-rpath,{library_folder}"] if standalone else [])]
    link += ["-ltorch", *link_flags]
    linker = _without_cache(compiler())
    lines += [
        f"linker = {shlex.join(linker)}",
        f"flags = {shlex.join(link).replace('$', '$$')}",
        f"build {_escape(result.name)}: link {' '.join(map(_escape, objects))}",
        f"default {_escape(result.name)}",
    ]
    _ninja(folder, "\n".join(lines) + "\n", verbose, name)
    return str(result)
