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
    "precompiled_header_flags",
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


# Headers that are mostly alike, and heavy. Where setup scripts build, torch/torch.h brings pybind11 as torch/extension.h does.
_WITH_PYTHON = ("torch/extension.h", "torch/torch.h")
_WITHOUT = ("torch/script.h", "torch/all.h", "torch/types.h")


def _text(path):
    """A source or header without its comments; empty if it cannot be read."""
    try:
        return re.sub(r"/\*.*?\*/|//[^\n]*", "", Path(path).read_text(errors="replace"), flags=re.S)
    except OSError:
        return ""


def _includes(path, found):
    """Add to `found` what a source, and the headers beside it that it names in quotes, include."""
    path = os.path.normpath(path)
    if path in found:
        return found
    found.add(path)
    for sign, name in re.findall(r"^\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", _text(path), flags=re.M):
        if sign == '"':
            _includes(os.path.join(os.path.dirname(path), name), found)
        found.add(name)
    return found


def _header_to_precompile(sources):
    """The header that most of these sources' compilation is, and whether it is to be included ahead of them.

    It is ahead of all of them or of none: those that would not read it anyway, C among them, are left alone, and so is one
    source alone, which would be compiled once while the header is made.
    """
    if any(re.match(r"\s*#\s*include\s*<torch/extension\.h>", _text(source)) for source in sources):
        return "torch/extension.h", False
    included = [_includes(source, set()) for source in sources]
    if len(included) < 2 or any(names.isdisjoint(_WITH_PYTHON + _WITHOUT) for names in included):
        return None, False
    without_python = all(names.isdisjoint(_WITH_PYTHON) for names in included)
    return "torch/all.h" if without_python else "torch/extension.h", True


def precompiled_header_flags(flags: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Flags with which a precompiled header serves that is there, or will be; [] where none would.

    Most of what a small extension takes to compile is reading the headers. GCC takes a precompiled one that comes before
    anything else: `torch/extension.h` is found in front of its own folder; where all sources begin otherwise, with
    `#include <Python.h>` for one, it is included ahead of them.
    Making it takes longer than reading it, so the first build does without: it is made beside that.
    """
    header, ahead = _header_to_precompile(sources)
    if header is None:
        return []
    words = compiler()
    version = subprocess.run([*_without_cache(words), "-v"], capture_output=True, text=True).stderr
    if "gcc version" not in version or os.environ.get("MINDTORCH_NO_PRECOMPILED_HEADER"):
        return []
    flags = [flag for flag in flags if not flag.startswith("-DTORCH_EXTENSION_NAME=")]  # one for all extensions
    key = hashlib.sha256("\0".join([version, header, str(ahead), *flags, *system_folders()]).encode())
    for path in sorted((_cpp_headers.installed_include_path() / "mindtorch").rglob("*.h")):
        key.update(path.read_bytes())
    folder = _cpp_headers.cache_path() / f"precompiled-{key.hexdigest()[:16]}"
    made = folder / f"{header}.gch"
    # What GCC reads where the precompiled one does not serve: before it is made, or included a second time.
    stand_in = made.with_suffix("")
    use = ["-include", str(stand_in)] if ahead else [f"-I{folder}"]
    if made.exists():
        os.utime(folder)
        return use
    made.parent.mkdir(parents=True, exist_ok=True)
    _forget_old_ones(folder)
    original = _cpp_headers.generated_include_path() / header
    if not stand_in.exists():  # written again, it would be newer than what was built with it
        stand_in.write_text(f"#pragma once\n#{'include' if ahead else 'include_next'} <{header}>\n")
    includes = [word for path in system_folders() for word in ("-isystem", path)]
    command = [*_without_cache(words), *flags, *includes, "-x", "c++-header", str(original)]
    program = Path(__file__).with_name("_precompile.py")
    subprocess.run(
        [sys.executable, "-I", "-S", str(program), str(folder.parent / "precompiling"), str(made), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return use


def _forget_old_ones(folder):
    """Delete precompiled headers but for `folder` and those used last: each takes 440 MB, and every flag makes another.

    A build that was to read one of them reads the header itself. One that is not made yet stays: another build may wait for it.
    """
    found = []
    for other in {path.parent.parent for path in folder.parent.glob("precompiled-*/*/*.gch")}:
        with contextlib.suppress(OSError):  # another process was faster
            found.append((other.stat().st_mtime, other))
    for _, other in sorted(entry for entry in found if entry[1] != folder)[: -(_KEPT - 1)]:
        shutil.rmtree(other, ignore_errors=True)


def _without_cache(words):
    return [word for word in words if word not in ("ccache", "sccache")]


def _compile_rules(name, flags, user_includes, sources, objects):
    precompiled = precompiled_header_flags(flags, sources)
    includes = [f"-I{folder}" for folder in user_includes]
    includes += [word for folder in system_folders() for word in ("-isystem", folder)]
    # With the precompiled header ccache would have to be told to trust it; the header is most of what it saves.
    words = _without_cache(compiler()) if precompiled else compiler()
    includes = [*precompiled, *includes]
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
