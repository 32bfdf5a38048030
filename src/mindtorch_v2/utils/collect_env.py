"""`python -m torch.utils.collect_env`: what a report of a fault should say about the machine and its software."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import mindtorch_v2 as torch

__all__ = [
    "SystemEnv",
    "get_clang_version",
    "get_cmake_version",
    "get_cpu_info",
    "get_env_info",
    "get_gcc_version",
    "get_libc_version",
    "get_os",
    "get_platform",
    "get_pretty_env_info",
    "get_python_platform",
    "is_xnnpack_available",
    "main",
    "pretty_str",
    "run",
    "run_and_parse_first_match",
    "run_and_read_all",
    "run_and_return_first_line",
]

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


Runner = Callable[[str], tuple[int, str, str]]


def run_and_read_all(run_lambda: Runner, command: str) -> str | None:
    """The output of a command, which `run_lambda` runs; None where it failed.

    >>> from mindtorch_v2.utils.collect_env import run, run_and_read_all
    >>> run_and_read_all(run, "echo one"), run_and_read_all(run, "exit 1")
    ('one', None)
    """
    status, output, _ = run_lambda(command)
    return output if status == 0 else None


def run_and_parse_first_match(run_lambda: Runner, command: str, regex: str) -> str | None:
    """The first group of the first match of a pattern in the output of a command; None where it failed or nothing matches.

    >>> from mindtorch_v2.utils.collect_env import run, run_and_parse_first_match
    >>> run_and_parse_first_match(run, "echo version 1.2", r"version (.*)")
    '1.2'
    """
    match = re.search(regex, run_and_read_all(run_lambda, command) or "")
    return match.group(1) if match else None


def run_and_return_first_line(run_lambda: Runner, command: str) -> str | None:
    """The first line of the output of a command; None where it failed.

    >>> from mindtorch_v2.utils.collect_env import run, run_and_return_first_line
    >>> run_and_return_first_line(run, "echo one; echo two")
    'one'
    """
    output = run_and_read_all(run_lambda, command)
    return None if output is None else output.split("\n")[0]


def get_gcc_version(run_lambda: Runner) -> str | None:
    """The version of gcc, None where there is none.

    >>> torch.utils.collect_env.get_gcc_version(lambda command: (0, "gcc (Debian 12) 12.2.0", ""))
    '(Debian 12) 12.2.0'
    """
    return run_and_parse_first_match(run_lambda, "gcc --version", r"gcc (.*)")


def get_clang_version(run_lambda: Runner) -> str | None:
    """The version of clang, None where there is none.

    >>> torch.utils.collect_env.get_clang_version(lambda command: (0, "clang version 14.0.6", ""))
    '14.0.6'
    """
    return run_and_parse_first_match(run_lambda, "clang --version", r"clang version (.*)")


def get_cmake_version(run_lambda: Runner) -> str | None:
    """The version of CMake, None where there is none.

    >>> torch.utils.collect_env.get_cmake_version(lambda command: (0, "cmake version 3.25.1", ""))
    'version 3.25.1'
    """
    return run_and_parse_first_match(run_lambda, "cmake --version", r"cmake (.*)")


def get_platform() -> str:
    """The kind of system: "linux", "win32", "cygwin", "darwin", or as `sys.platform` has it.

    >>> torch.utils.collect_env.get_platform() == torch.utils.collect_env.get_platform().lower()
    True
    """
    return next(
        (name for name in ("linux", "win32", "cygwin", "darwin") if sys.platform.startswith(name)), sys.platform
    )


def get_os(run_lambda: Runner) -> str:
    """The system and its version, with the kind of processor.

    >>> import platform
    >>> platform.machine() in torch.utils.collect_env.get_os(lambda command: (1, "", ""))
    True
    """
    if get_platform() == "linux":
        named = run_and_parse_first_match(
            run_lambda, "lsb_release -a", r"Description:\t(.*)"
        ) or run_and_parse_first_match(run_lambda, "cat /etc/*-release", r'PRETTY_NAME="(.*)"')
        return f"{named or 'linux'} ({platform.machine()})"
    return f"{platform.system()} {platform.release()} ({platform.machine()})"


def get_libc_version() -> str:
    """The C library with its version, on Linux; "N/A" elsewhere.

    >>> torch.utils.collect_env.get_libc_version().count("-") <= 1
    True
    """
    return "-".join(platform.libc_ver()) if get_platform() == "linux" else "N/A"


def get_python_platform() -> str:
    """The system as Python names it.

    >>> import platform
    >>> torch.utils.collect_env.get_python_platform() == platform.platform()
    True
    """
    return platform.platform()


def get_cpu_info(run_lambda: Runner) -> str:
    """The processors as the system's own program describes them, "" where it failed.

    >>> torch.utils.collect_env.get_cpu_info(lambda command: (0, "x86_64", ""))
    'x86_64'
    """
    command = "lscpu" if get_platform() == "linux" else "sysctl -n machdep.cpu.brand_string"
    return run_and_read_all(run_lambda, command) or ""


def is_xnnpack_available() -> bool:
    """Whether XNNPACK is part of this library; it is not.

    >>> torch.utils.collect_env.is_xnnpack_available()
    False
    """
    return False


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
