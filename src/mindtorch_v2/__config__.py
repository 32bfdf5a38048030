"""`torch.__config__`: how the package was built and what it runs with, as text."""

import os
import platform

from . import _C, backends
from .version import __version__

__all__ = ["parallel_info", "show"]


def show() -> str:
    """The parts that the package was built from, and what what it uses here."""
    lines = [
        "PyTorch built with:",
        f"  - mindtorch_v2 in place of PyTorch {__version__}, its native core in C++20",
        f"  - oneDNN for products and convolutions: {'yes' if backends.mkldnn.is_available() else 'no'}",
        f"  - OpenMP: {'yes' if backends.openmp.is_available() else 'no'}",
        "  - LAPACK is enabled (OpenBLAS)",
        f"  - CPU capability usage: {backends.cpu.get_cpu_capability()}",
    ]
    return "\n".join(lines) + "\n"


def _cxx_flags() -> str:
    """The flags that the native core was compiled with, which are not kept: none."""
    return ""


def parallel_info() -> str:
    """The numbers of threads, and the environment variables that set them."""
    lines = [
        "ATen/Parallel:",
        f"\tat::get_num_threads() : {_C.get_num_threads()}",
        f"std::thread::hardware_concurrency() : {os.cpu_count()}",
        f"Machine: {platform.machine()}",
        "Environment variables:",
        *(f"\t{name} : {os.environ.get(name, '[not set]')}" for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")),
        "ATen parallel backend: OpenMP",
    ]
    return "\n".join(lines) + "\n"
