"""`ascendc_load`: kernels written in AscendC, compiled when the program runs.

With CANN its own build does the work (`ascendc_library` of `ascendc.cmake`). On the emulator an ordinary C++ compiler does,
with the package's own `kernel_operator.h`, and the kernels run block by block on the host, every access checked.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any

from . import libraries, state
from .custom_kernel import KernelLauncher

_CMAKE_FOLDERS = (
    "tools/tikcpp/ascendc_kernel_cmake",
    "compiler/tikcpp/ascendc_kernel_cmake",
    "ascendc_devkit/tikcpp/samples/cmake",
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
_KERNEL = re.compile(r"__global__\s+(?:__\w+__\s+)*void\s+([A-Za-z_]\w*)\s*\(([^()]*)\)\s*\{")


class AscendCExtension(KernelLauncher):
    """The kernels of one `ascendc_load`: `launch` by name, or `extension.kernel_name(block_dim, *arguments, stream=None)`.

    Attributes: `name`, `kernels` (their names), `library_path`, `soc_version`.
    """

    def __init__(self, name: str, library_path: str, kernels: tuple[str, ...], soc_version: str) -> None:
        super().__init__(library_path)
        self.name, self.kernels, self.soc_version = name, kernels, soc_version

    def __getattr__(self, kernel: str) -> Any:
        if kernel.startswith("_") or kernel not in self.kernels:
            raise AttributeError(
                f"{type(self).__name__} has no attribute or kernel '{kernel}'; its kernels: {self.kernels}"
            )

        def launched(block_dim: int, *arguments: Any, stream: Any = None) -> None:
            self.launch(kernel, block_dim, arguments, stream)

        return launched

    def __repr__(self) -> str:
        return f"<AscendCExtension {self.name}: {', '.join(self.kernels)} for {self.soc_version}>"


def cache_directory() -> pathlib.Path:
    """Where compiled kernels are kept: MINDTORCH_ASCENDC_CACHE, or a folder below XDG_CACHE_HOME or ~/.cache."""
    named = os.environ.get("MINDTORCH_ASCENDC_CACHE")
    if named:
        return pathlib.Path(named)
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mindtorch_v2" / "ascendc"


def ascendc_load(
    name: str,
    sources: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    extra_cflags: Iterable[str] = (),
    extra_include_paths: Iterable[str | os.PathLike[str]] = (),
    soc_version: str | None = None,
    build_directory: str | os.PathLike[str] | None = None,
    verbose: bool = False,
) -> AscendCExtension:
    """Compile kernels and load them; what was compiled before from the same contents is loaded as it is.

    Args:
        name: of the library; an identifier.
        sources: the files, one or several, each with `extern "C" __global__ __aicore__ void kernel(...)`.
        extra_cflags, extra_include_paths: for the compiler.
        soc_version: "Ascend910B1"; the SoC of the current device without.
        build_directory: where the compiled library is kept; `cache_directory()` without.
        verbose: print the commands.

    Raises FileNotFoundError for a source that is not there, ValueError for a name that is none or sources without a kernel,
    RuntimeError if there is no compiler or it fails, with what it said.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"ascendc_load: name has to be an identifier, got {name!r}")
    listed = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    paths = [pathlib.Path(source).absolute() for source in listed]
    for path in paths:
        if not path.is_file():
            raise FileNotFoundError(f"ascendc_load: no source {path}")
    if not paths:
        raise ValueError("ascendc_load: no sources were given")
    include_paths = [pathlib.Path(path).absolute() for path in extra_include_paths]
    kernels = {path: _kernels_of(path.read_text()) for path in paths}
    names = tuple(kernel for found in kernels.values() for kernel, _ in found)
    if not names:
        raise ValueError(
            'ascendc_load: no kernel in the sources; one is written extern "C" __global__ __aicore__ void name(...) { ... }'
        )
    if len(set(names)) != len(names):
        raise ValueError(f"ascendc_load: a kernel's name stands twice in the sources: {', '.join(names)}")
    runtime = state.get().runtime
    soc = soc_version or runtime.soc_name().partition("-")[0]
    flags = list(extra_cflags)
    emulated = runtime.libraries.emulated
    build = _EmulatorBuild(name, soc, flags, include_paths) if emulated else _CannBuild(name, soc, flags, include_paths)
    key = _digest([build.identity(), *(_contents(path, include_paths) for path in paths)])
    root = pathlib.Path(build_directory) if build_directory is not None else cache_directory()
    folder = root / f"{name}-{key}"
    library = folder / f"lib{name}.so"
    if not library.exists():
        root.mkdir(parents=True, exist_ok=True)
        work = pathlib.Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root))
        try:
            build.run(work, kernels, verbose)
            if not (work / library.name).exists():
                raise RuntimeError(f"ascendc_load: the build of {name} made no {library.name} in {work}")
            try:
                work.rename(folder)
            except OSError:
                if not library.exists():  # otherwise another process was faster
                    raise
        finally:
            shutil.rmtree(work, ignore_errors=True)
    return AscendCExtension(name, str(library), names, soc)


def _kernels_of(text: str) -> list[tuple[str, str]]:
    """(name, parameters) of the kernels that a source defines; templates are left out, for they have no C name."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)
    found = []
    for match in _KERNEL.finditer(text):
        before = text[max(0, match.start() - 200) : match.start()].rstrip()
        if not before.endswith(">"):
            found.append((match[1], " ".join(match[2].split())))
    return found


def _contents(path: pathlib.Path, include_paths: list[pathlib.Path], seen: set[pathlib.Path] | None = None) -> str:
    """A digest of a source and of the files that it includes by name, as far as they are found."""
    seen = set() if seen is None else seen
    seen.add(path)
    text = path.read_text()
    parts = [text]
    for included in _INCLUDE.findall(text):
        for folder in (path.parent, *include_paths):
            candidate = folder / included
            if candidate.is_file() and candidate not in seen:
                parts.append(included + _contents(candidate, include_paths, seen))
                break
    return _digest(parts)


def _digest(parts: Iterable[str]) -> str:
    made = hashlib.sha256()
    for part in parts:
        made.update(f"{len(part)}:".encode() + part.encode())
    return made.hexdigest()[:20]


def _run(command: list[str], verbose: bool, what: str) -> str:
    if verbose:
        print(shlex.join(command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(
            f"ascendc_load: {what} failed (status {done.returncode}):\n{shlex.join(command)}\n{done.stdout}{done.stderr}"
        )
    if verbose and (done.stdout or done.stderr):
        print(done.stdout + done.stderr, flush=True)
    return done.stdout


class _Build:
    def __init__(self, name: str, soc: str, flags: list[str], include_paths: list[pathlib.Path]) -> None:
        self.name, self.soc, self.flags, self.include_paths = name, soc, flags, include_paths

    def identity(self) -> str:
        """The things that a compiled library depends on beside the sources."""
        raise NotImplementedError

    def run(self, work: pathlib.Path, kernels: dict[pathlib.Path, list[tuple[str, str]]], verbose: bool) -> None:
        """Make lib<name>.so in a folder."""
        raise NotImplementedError


class _EmulatorBuild(_Build):
    headers = libraries.EMULATOR / "ascendc" / "include"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        named = os.environ.get("CXX")
        self.compiler = next(
            (found for c in ((named,) if named else ("g++", "clang++", "c++")) if (found := shutil.which(c))), ""
        )
        if not self.compiler:
            raise RuntimeError(
                f"ascendc_load: no C++ compiler ({'CXX=' + named if named else 'g++, clang++, c++'}) was found; the emulator "
                "compiles kernels with one that knows C++20"
            )

    def identity(self) -> str:
        version = _run([self.compiler, "--version"], False, "the compiler")
        headers = [path.name + path.read_text() for path in sorted(self.headers.rglob("*.h"))]
        return _digest(["emulator", self.soc, version, *self.flags, *map(str, self.include_paths), *headers])

    def run(self, work: pathlib.Path, kernels: dict[pathlib.Path, list[tuple[str, str]]], verbose: bool) -> None:
        units = []
        for number, (path, found) in enumerate(kernels.items()):
            unit = work / f"unit{number}.cpp"
            unit.write_text(self._unit(path, found))
            units.append(str(unit))
        command = [self.compiler, "-std=c++20", "-O2", "-ffp-contract=off", "-fno-math-errno", "-fPIC", "-shared"]
        command += ["-fvisibility=hidden", "-DASCENDC_CPU_DEBUG", f'-DEMULATED_SOC="{self.soc}"', f"-I{self.headers}"]
        command += [f"-I{path}" for path in (*dict.fromkeys(path.parent for path in kernels), *self.include_paths)]
        _run([*command, *self.flags, *units, "-o", str(work / f"lib{self.name}.so")], verbose, "the compiler")

    def _unit(self, path: pathlib.Path, found: list[tuple[str, str]]) -> str:
        """A source, and behind it the functions by which the host launches its kernels."""
        lines = [f'#include "{path}"', '#include "emulated/stub.h"']
        shown = '__attribute__((visibility("default")))'
        for kernel, parameters in found:
            types, names = [], []
            for number, parameter in enumerate(p for p in parameters.split(",") if p.strip() not in ("", "void")):
                declared = (
                    re.sub(r"\w+\s*$", "", parameter.strip())
                    if re.search(r"[\s*&]\w+\s*$", parameter.strip())
                    else parameter
                )
                types.append(declared.strip())
                names.append(f"a{number}")
            passed = "".join(f", emulated::HostType<{t}> {n}" for t, n in zip(types, names, strict=True))
            of = f"emulated::Kernel<{', '.join(types)}>"
            lines += [
                f'extern "C" {shown} uint32_t aclrtlaunch_{kernel}(uint32_t blocks, void* stream{passed}) {{',
                f'    return {of}::launch("{kernel}", {kernel}, blocks, stream{"".join(", " + n for n in names)});',
                "}",
                f'extern "C" {shown} const char* emulator_signature_{kernel}() {{ return {of}::signature(); }}',
            ]
        return "\n".join(lines) + "\n"


class _CannBuild(_Build):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        tried = [pathlib.Path(root) / folder for root in libraries.roots() for folder in _CMAKE_FOLDERS]
        self.folder = next((path for path in tried if (path / "ascendc.cmake").is_file()), None)
        if self.folder is None:
            raise RuntimeError(
                "ascendc_load: CANN's ascendc.cmake was not found; it comes with the toolkit's development package. Tried:\n  "
                + "\n  ".join(map(str, tried))
            )
        self.root = next(root for root in libraries.roots() if str(self.folder).startswith(root))
        if not shutil.which("cmake"):
            raise RuntimeError("ascendc_load: CANN builds kernels with cmake, which was not found")

    def identity(self) -> str:
        versions = [path.read_text() for path in sorted(pathlib.Path(self.root).glob("*.cfg")) if path.is_file()]
        return _digest(["cann", self.root, self.soc, *versions, *self.flags, *map(str, self.include_paths)])

    def run(self, work: pathlib.Path, kernels: dict[pathlib.Path, list[tuple[str, str]]], verbose: bool) -> None:
        project, made = work / "project", work / "build"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(self._project(list(kernels)))
        configure = ["cmake", "-S", str(project), "-B", str(made), f"-DSOC_VERSION={self.soc}", "-DRUN_MODE=npu"]
        configure += [f"-DASCEND_CANN_PACKAGE_PATH={self.root}", "-DCMAKE_BUILD_TYPE=Release"]
        _run([*configure, f"-DCMAKE_INSTALL_PREFIX={work / 'out'}"], verbose, "cmake")
        _run(["cmake", "--build", str(made)], verbose, "the build")
        library = next(iter(sorted(made.rglob(f"lib{self.name}.so"))), None)
        if library is None:
            raise RuntimeError(f"ascendc_load: CANN's build made no lib{self.name}.so below {made}")
        shutil.copy(library, work / library.name)
        for header in made.rglob("aclrtlaunch_*.h"):
            shutil.copy(header, work / header.name)
        shutil.rmtree(made)

    def _project(self, sources: list[pathlib.Path]) -> str:
        lines = [
            "cmake_minimum_required(VERSION 3.16)",
            f"project({self.name} LANGUAGES CXX)",
            f'include("{self.folder}/ascendc.cmake")',
            f"ascendc_library({self.name} SHARED {' '.join(chr(34) + str(path) + chr(34) for path in sources)})",
        ]
        if self.include_paths:
            lines.append(f"ascendc_include_directories({self.name} PRIVATE {' '.join(map(str, self.include_paths))})")
        if self.flags:
            lines.append(f"ascendc_compile_options({self.name} PRIVATE {' '.join(self.flags)})")
        return "\n".join(lines) + "\n"
