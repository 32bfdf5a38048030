"""From CUDA C++ to a function of a device: NVRTC on a GPU, the host's compiler on the emulated one; compiled once and kept on disk."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from ctypes import c_char_p, c_int, c_size_t, c_void_p
from typing import Any

from . import libraries, runtime

HEADERS = pathlib.Path(__file__).parent / "kernels"
_FORMAT = 1  # of what is kept on disk
_MAX_DYNAMIC_SHARED = 8  # CUfunction_attribute
_lock = threading.Lock()
_functions: dict[tuple[int, str, str], int] = {}  # device, digest of the source, entry -> function
_modules: dict[tuple[int, str], int] = {}


def cache_folder() -> pathlib.Path:
    """Where compiled kernels are kept: MINDTORCH_CUDA_CACHE, or a folder of the user's cache."""
    given = os.environ.get("MINDTORCH_CUDA_CACHE")
    if given:
        return pathlib.Path(given)
    root = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(root) / "mindtorch_v2" / "cuda"


def _headers() -> dict[str, str]:
    global _texts
    if _texts is None:
        _texts = {path.name: path.read_text() for path in sorted(HEADERS.glob("*.cuh"))}
        for path in [HEADERS / "on_cpu.h", *sorted(HEADERS.glob("on_cpu/*.h"))]:
            _texts[path.relative_to(HEADERS).as_posix()] = path.read_text()
    return _texts


_texts: dict[str, str] | None = None


def function(
    source: str, entry: str, device: int, what: str, *, target: str | None = None, options: Sequence[str] = ()
) -> int:
    """The function `entry` of a source on a device, compiled if it was not before.

    Args:
        source: CUDA C++ that may include the headers of `kernels/`.
        entry: the name that KERNEL gives.
        device: index of the device.
        what: the operator, for errors.
        target: the architecture, "sm_90"; None is that of the device.
        options: further ones of the compiler.

    Raises:
        RuntimeError: the source does not compile; the compiler's text is in it.
    """
    held = runtime.get()
    target = held.target(device) if target is None or held.emulated else target
    digest = hashlib.sha256(
        "\0".join([str(_FORMAT), target, libraries.compiler_version(), source, *options, *_headers().values()]).encode()
    ).hexdigest()
    key = device, digest, entry
    with _lock:
        found = _functions.get(key)
        if found is None:
            module = _modules.get((device, digest))
            if module is None:
                image = _kept(digest)
                if image is None:
                    image = _compiled(source, target, what, options)
                    _keep(digest, image)
                module = _modules[device, digest] = held.load_module(device, image)
            found = _functions[key] = held.module_function(module, entry)
            names[found] = what.rpartition(":")[2] if entry in what else f"{entry}<{what}>"
        return found


names: dict[int, str] = {}
"""Names of functions in profiles: of kernels, and of those of libraries by their addresses."""


def name_of(function: int) -> str:
    """The name of a kernel in profiles."""
    return names.get(function, "kernel")


def allow_shared(function: int, nbytes: int) -> None:
    """Let a function have more dynamic shared memory than every device gives without asking (48 KiB)."""
    held = runtime.get()
    held.check("cuFuncSetAttribute", held.cuFuncSetAttribute(function, _MAX_DYNAMIC_SHARED, nbytes))


def _trusted(path: pathlib.Path) -> bool:
    """Whether nobody but this user and root can write a file: machine code is loaded from it."""
    told = path.stat()
    return told.st_uid in (os.getuid(), 0) and not told.st_mode & 0o022


def _kept(digest: str) -> bytes | None:
    path = cache_folder() / digest[:2] / digest
    try:
        if not (_trusted(path) and _trusted(path.parent) and _trusted(path.parent.parent)):
            return None
        data = path.read_bytes()
    except OSError:
        return None
    body, sum_ = data[:-32], data[-32:]
    return body if hashlib.sha256(body).digest() == sum_ else None


def _keep(digest: str, image: bytes) -> None:
    folder = cache_folder() / digest[:2]
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, nothing else
        folder.mkdir(parents=True, exist_ok=True, mode=0o755)
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(image + hashlib.sha256(image).digest())
            os.chmod(name, 0o644)
            os.replace(name, folder / digest)
        except BaseException:
            os.unlink(name)
            raise


def _compiled(source: str, target: str, what: str, options: Sequence[str]) -> bytes:
    return _on_host(source, what, options) if target == "host" else nvrtc(source, target, what, options)


# ---- NVRTC ----


def nvrtc(source: str, target: str, what: str, further: Sequence[str] = ()) -> bytes:
    """Machine code of a source for an architecture, "sm_90" say: a cubin."""
    library = libraries.nvrtc()
    names = [name for name in _headers() if name.endswith(".cuh")]
    contents = (c_char_p * len(names))(*(_headers()[name].encode() for name in names))
    included = (c_char_p * len(names))(*(name.encode() for name in names))
    program = c_void_p()
    _check(
        library,
        library.nvrtcCreateProgram(
            ctypes.byref(program), source.encode(), f"{what}.cu".encode(), len(names), contents, included
        ),
    )
    try:
        options = [
            f"--gpu-architecture={target}",
            "--std=c++17",
            "-default-device",
            "--fmad=true",
            "-lineinfo",
            *further,
        ]
        code = library.nvrtcCompileProgram(
            program, len(options), (c_char_p * len(options))(*(o.encode() for o in options))
        )
        if code:
            size = c_size_t()
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise RuntimeError(
                f"{what}: its CUDA kernel does not compile for {target}:\n{log.value.decode()}\n{source}"
            )
        size = c_size_t()
        _check(library, library.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        image = ctypes.create_string_buffer(size.value)
        _check(library, library.nvrtcGetCUBIN(program, image))
        return image.raw
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _check(library: Any, code: int) -> None:
    if code:
        library.nvrtcGetErrorString.restype = c_char_p
        raise RuntimeError(f"NVRTC failed: {library.nvrtcGetErrorString(c_int(code)).decode()} ({code})")


# ---- the host's compiler, for the emulated GPU ----


def _on_host(source: str, what: str, options: Sequence[str]) -> bytes:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise RuntimeError(
            "The emulated GPU compiles kernels with the host's C++ compiler, and none was found. Install g++, or set CXX."
        )
    with tempfile.TemporaryDirectory() as folder:
        file, library = pathlib.Path(folder, "kernel.cpp"), pathlib.Path(folder, "kernel.so")
        file.write_text(source)
        command = [
            *compiler.split(), "-std=c++17", "-O1", "-fPIC", "-shared", "-w", "-fno-math-errno", "-ffp-contract=off",
            "-include", str(HEADERS / "on_cpu.h"), "-I", str(HEADERS),
            *(option for option in options if option.startswith(("-I", "-D"))), "-o", str(library), str(file),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{what}: its kernel does not compile for the emulated GPU:\n{done.stderr}\n{source}")
        return library.read_bytes()
