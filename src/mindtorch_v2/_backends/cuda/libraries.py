"""Where CUDA's libraries are: the driver of the system or of the emulated GPU, the others from NVIDIA's wheels or the system."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import pathlib
import re
import sys
from typing import Any

EMULATOR = pathlib.Path(__file__).parent / "emulator" / "lib64"
EMULATED = "MINDTORCH_CUDA_EMULATOR"
# Library -> the folder of its wheel below `nvidia/`, the names to look for (newest first), the wheel, and a function that it has:
# libraries of its name without any (_lib/stable) may be loaded, for those of others that only want the name.
_WHEELS = {
    "nvrtc": ("cuda_nvrtc", ("libnvrtc.so.13", "libnvrtc.so.12"), "nvidia-cuda-nvrtc", "nvrtcVersion"),
    "cublas": ("cublas", ("libcublas.so.13", "libcublas.so.12"), "nvidia-cublas", "cublasCreate_v2"),
    "cublasLt": ("cublas", ("libcublasLt.so.13", "libcublasLt.so.12"), "nvidia-cublas", "cublasLtMatmul"),
    "nccl": ("nccl", ("libnccl.so.2",), "nvidia-nccl-cu13", "ncclGetVersion"),
}


def emulated() -> bool:
    """Whether the emulated GPU was asked for. ValueError for a value that is neither 0 nor 1."""
    value = os.environ.get(EMULATED, "0")
    if value not in ("", "0", "1"):
        raise ValueError(f"{EMULATED} is {value!r}; it is 1 for the emulated GPU, or 0")
    return value == "1"


def driver_path() -> str:
    """The driver's library: a path of the emulator's, or the name by which the system finds its own."""
    return str(EMULATOR / "libcuda.so.1") if emulated() else "libcuda.so.1"


@functools.cache
def has_driver() -> bool:
    """Whether there is a driver. It is not started."""
    try:
        ctypes.CDLL(driver_path())
    except OSError:
        return False
    return True


def _folders(wheel: str) -> list[pathlib.Path]:
    """Folders of NVIDIA's wheels: `nvidia/<library>/lib` as those for CUDA 12 have it, `nvidia/cu13/lib` as those for 13."""
    roots = [pathlib.Path(p) for p in os.environ.get("MINDTORCH_CUDA_LIBRARIES", "").split(os.pathsep) if p]
    spec = importlib.util.find_spec("nvidia") if "nvidia" not in sys.modules else sys.modules["nvidia"].__spec__
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        roots += [pathlib.Path(place, wheel, "lib"), pathlib.Path(place, "cu13", "lib")]
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    roots += [pathlib.Path(home, "lib64")] if home else []
    return roots


@functools.cache
def find(library: str) -> str:
    """Path or name of a library: "nvrtc", "cublas", "cublasLt", "nccl". OSError, which names the wheel to install, if there is none."""
    wheel, names, package, probe = _WHEELS[library]
    if emulated():
        return str(EMULATOR / names[0])
    folders = _folders(wheel)
    for name in names:
        for folder in folders:
            if (folder / name).exists():
                return str(folder / name)
    for name in names:
        try:
            found = ctypes.CDLL(name)
        except OSError:
            continue
        if hasattr(found, probe):
            return name
    raise OSError(
        f"{names[0]} was not found, which CUDA needs for this. Install it with `pip install {package}` (or "
        f"{package.removesuffix('-cu13')}-cu12 for a driver of CUDA 12), or name its folder in MINDTORCH_CUDA_LIBRARIES."
    )


@functools.cache
def nvrtc() -> Any:
    """NVIDIA's run-time compiler."""
    path = find("nvrtc") if not emulated() else _nvrtc_beside_emulator()
    return ctypes.CDLL(path)


def _nvrtc_beside_emulator() -> str:
    for folder in _folders("cuda_nvrtc"):
        for name in _WHEELS["nvrtc"][1]:
            if (folder / name).exists():
                return str(folder / name)
    raise OSError(
        "libnvrtc.so was not found; `pip install nvidia-cuda-nvrtc-cu12` installs it, on hosts without a GPU too"
    )


@functools.cache
def compiler_version() -> str:
    """The compiler that makes machine code, for the key of what is kept: NVRTC with its version, or the host."""
    if emulated():
        return "host"
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"nvrtc {major.value}.{minor.value}"


def version_of(number: int) -> str:
    """CUDA's version from its number: 12.8 from 12080."""
    return re.sub(r"\.0*$", ".0", f"{number // 1000}.{number % 1000 // 10}")
