"""`python -m torch.utils.collect_env`: what a report of a fault should say about the machine and its software."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import subprocess
import sys
from typing import NamedTuple

import mindtorch_v2 as torch

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main", "pretty_str", "run"]

_PACKAGES = re.compile(
    r"^(torch|numpy|mypy|flake8|triton|optree|onnx|mindtorch)|transformers|safetensors|onednn|openblas"
)
_MISSING = "Could not collect"


class SystemEnv(NamedTuple):
    """The findings, field by field; None where there is nothing to find.

    >>> torch.utils.collect_env.SystemEnv._fields[0]
    'torch_version'
    """

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    gcc_version: str | None
    clang_version: str | None
    cmake_version: str | None
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    is_npu_available: str
    pip_packages: str
    cpu_info: str | None


def run(command: list[str] | str) -> tuple[int, str, str]:
    """The exit status and the output of a program, 127 where it does not exist.

    >>> import sys
    >>> torch.utils.collect_env.run([sys.executable, "-c", "print(6 * 7)"])
    (0, '42', '')
    """
    try:
        done = subprocess.run(command, shell=isinstance(command, str), capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        return 127, "", str(error)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def _version_of(*command: str) -> str | None:
    status, output, _ = run(list(command))
    return output.splitlines()[0] if status == 0 and output else None


def _packages() -> str:
    found = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions() if d.metadata["Name"]}
    return "\n".join(f"{name}=={version}" for name, version in sorted(found.items()) if _PACKAGES.search(name))


def get_env_info() -> SystemEnv:
    """Look at the machine and its software."""
    return SystemEnv(
        torch_version=f"{torch.__version__} (mindtorch_v2)",
        is_debug_build=str(torch.version.debug),
        cuda_compiled_version="None",
        gcc_version=_version_of("gcc", "--version"),
        clang_version=_version_of("clang", "--version"),
        cmake_version=_version_of("cmake", "--version"),
        os=f"{platform.freedesktop_os_release().get('PRETTY_NAME', platform.system())} ({platform.machine()})",
        libc_version="-".join(platform.libc_ver()),
        python_version=f"{sys.version} ({sys.maxsize.bit_length() + 1}-bit runtime)".replace("\n", " "),
        python_platform=platform.platform(),
        is_cuda_available=str(torch.cuda.is_available()),
        is_npu_available=str(torch.npu.is_available()),
        pip_packages=_packages(),
        cpu_info=_lscpu(),
    )


def _lscpu() -> str | None:
    status, output, _ = run(["lscpu"])
    return output if status == 0 else None


def pretty_str(envinfo: SystemEnv) -> str:
    """The text of a report.

    >>> from mindtorch_v2.utils.collect_env import SystemEnv, pretty_str
    >>> known = dict.fromkeys(SystemEnv._fields) | {"torch_version": "2.13.0"}
    >>> "2.13.0" in pretty_str(SystemEnv(**known))
    True
    """
    shown = {name: _MISSING if value is None else value for name, value in envinfo._asdict().items()}
    packages = "\n".join(f"[pip3] {line}" for line in shown["pip_packages"].splitlines()) or _MISSING
    return f"""\
PyTorch version: {shown["torch_version"]}
Is debug build: {shown["is_debug_build"]}
CUDA used to build PyTorch: {shown["cuda_compiled_version"]}

OS: {shown["os"]}
GCC version: {shown["gcc_version"]}
Clang version: {shown["clang_version"]}
CMake version: {shown["cmake_version"]}
Libc version: {shown["libc_version"]}

Python version: {shown["python_version"]}
Python platform: {shown["python_platform"]}
Is CUDA available: {shown["is_cuda_available"]}
Is NPU available: {shown["is_npu_available"]}

CPU:
{shown["cpu_info"]}

Versions of relevant libraries:
{packages}"""


def get_pretty_env_info() -> str:
    """The text of a report on this machine."""
    return pretty_str(get_env_info())


def main() -> None:
    """The command line."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
