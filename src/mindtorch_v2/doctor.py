"""`python -m mindtorch_v2.doctor`: what of this machine the package has found and really called, and what to mend.

    python -m mindtorch_v2.doctor           a line a finding; under each problem what to do about it
    python -m mindtorch_v2.doctor --json    the same as data

The exit status is 0 where everything that is needed works, 1 where something does not.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2._core.processor import get_cpu_capability

__all__ = ["SWITCHES", "Finding", "examine", "main"]

SWITCHES = {
    "MINDTORCH_AS_TORCH": "`import torch` finds this package",
    "MINDTORCH_AS_TORCH_NPU": "`import torch_npu` finds this package's part of that name",
    "MINDTORCH_TORCH_VERSION": "the version that the metadata of `torch` tells",
    "MINDTORCH_ISA": (
        "the CPU kernels to load: base; x86-64: v3 (AVX2), v4 (AVX-512); ARM: v86 (products of bytes and bfloat16); v82 and sve256 where they "
        "were built"
    ),
    "MINDTORCH_ONEDNN": "0 does without oneDNN",
    "MINDTORCH_KEEP_MEMORY": "0: memory that a tensor frees is not kept for the next one",
    "MINDTORCH_STRICT_SCHEMA": "operators that programs define take what their schema says, and nothing is converted",
    "MINDTORCH_CHECK_MUTATION": "every kernel is watched for writes and aliases that its schema does not declare",
    "MINDTORCH_CHECK_META": "what a Meta kernel of yours says is compared with what the kernel made",
    "MINDTORCH_GRAPH_CHECK": "each lowered graph runs beside the program, and in other orders",
    "MINDTORCH_JOB_TOKEN": "the secret that the processes of a job know each other by",
    "MINDTORCH_NPU_CPU_FALLBACK": "operators that the NPU lacks run on the CPU, and say so",
    "MINDTORCH_NPU_PRECISION": "`report` compares each operator with the CPU in float64",
    "MINDTORCH_ASCENDC_CACHE": "where compiled AscendC kernels are kept",
    "MINDTORCH_CUDA_CACHE": "where compiled CUDA kernels are kept",
    "MINDTORCH_CUDA_LIBRARIES": "where NVIDIA's libraries are looked for first",
    "MINDTORCH_CUDA_EMULATOR": "1 takes the emulated GPU",
    "MINDTORCH_CUDA_EMULATED_DEVICES": "how many emulated GPUs there are",
    "MINDTORCH_CUDA_EMULATED_MEMORY": "how much memory each of them has",
    "MINDTORCH_CUDA_HOSTILE": "work of different streams is delayed at random, from this seed",
    "MINDTORCH_CUDA_FAULTS": "which calls of which functions fail",
    "MINDTORCH_CUDA_NOOP": "1: launches and copies return at once and do nothing",
    "MINDTORCH_CUDA_REPORT": "a file, or `stderr`, where the counts of what is alive at the end are written",
    "MINDTORCH_NO_PRECOMPILED_HEADER": "extensions are built without a precompiled header",
    "OMP_NUM_THREADS": "the number of threads of an operator",
    "TORCH_LOGS": "what is logged",
    "TORCH_EXTENSIONS_DIR": "where built extensions are kept",
    "ASCEND_HOME_PATH": "the installation of CANN",
}
"""Environment variables that change what the package does, and what each does: docs/environment.md says the same and more."""


class Finding(NamedTuple):
    """One thing that was looked at: `state` is "ok", "note" (nothing is wrong) or "problem"; `remedy` says what to do."""

    subject: str
    state: str
    text: str
    remedy: str = ""


def examine() -> Iterator[Finding]:
    """Look at everything, one finding after the other; what fails in a way that nobody foresaw is a finding too."""
    for look in _LOOKS:
        try:
            yield from look()
        except Exception as error:  # noqa: BLE001  (the doctor says what it saw, whatever it is)
            yield Finding(
                look.__name__.strip("_"), "problem", f"{type(error).__name__}: {error}", "report this, with its text"
            )


def main(arguments: list[str] | None = None) -> int:
    """Print the findings; the exit status is 1 if one of them is a problem."""
    parser = argparse.ArgumentParser(prog="python -m mindtorch_v2.doctor", description=__doc__.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="print the findings as data")
    chosen = parser.parse_args(arguments)
    findings = []
    for finding in examine():
        findings.append(finding)
        if not chosen.json:
            mark = {"ok": "ok      ", "note": "note    ", "problem": "PROBLEM "}[finding.state]
            print(f"{mark}{finding.subject}: {finding.text}", flush=True)
            if finding.remedy:
                print(f"          -> {finding.remedy}", flush=True)
    problems = sum(finding.state == "problem" for finding in findings)
    if chosen.json:
        print(json.dumps({"problems": problems, "findings": [finding._asdict() for finding in findings]}, indent=1))
    else:
        print(f"\n{problems or 'No'} problem{'' if problems == 1 else 's'}.")
    return 1 if problems else 0


# ---- what is looked at ----


def _versions() -> Iterator[Finding]:
    version = _installed("mindtorch_v2") or "not installed: run from its sources"
    place = os.path.dirname(torch.__file__)
    yield Finding("package", "ok", f"mindtorch_v2 {version}, as PyTorch {torch.__version__}, in {place}")
    yield Finding("python", "ok", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}")
    yield Finding("system", "ok", f"{platform.platform()}, C library {' '.join(platform.libc_ver()) or 'unknown'}")


def _processor() -> Iterator[Finding]:
    chosen, best = get_cpu_capability(), _kernels_there()
    yield Finding("processor", "ok", f"{_processor_name()}; kernels: {chosen}; built: {', '.join(best)}")
    forced = os.environ.get("MINDTORCH_ISA")
    if forced:
        yield Finding("processor", "note", f"MINDTORCH_ISA={forced} chose the kernels", "unset it for the best ones")


def _kernels_there() -> list[str]:
    folder = os.path.join(os.path.dirname(torch.__file__), "_lib")
    start, end = "libmindtorch_cpu_", ".so"
    return sorted(name[len(start) : -len(end)] for name in os.listdir(folder) if name.startswith(start))


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            lines = dict(line.split(":", 1) for line in file if ":" in line)
    except OSError:
        return platform.processor() or platform.machine()
    return next((value.strip() for key, value in lines.items() if key.startswith("model name")), platform.machine())


def _libraries() -> Iterator[Finding]:
    """Products and decompositions are called: a library that is there may still not load."""
    yield _called("products", lambda: torch.ones(64, 64) @ torch.ones(64, 64), "onednn-cpu-gomp", "libdnnl")
    small = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64)
    yield _called("linear algebra", lambda: torch.linalg.inv(small), "scipy-openblas32", "scipy_openblas32")


REQUIRED = {"numpy": "1.24", "packaging": "22", "safetensors": "0.4.3", "typing_extensions": "4.10"}
"""The modules of other packages that are needed, and the oldest version of each."""


def _requirements() -> Iterator[Finding]:
    """Each is imported: one that is there may be too old, broken, or hidden by a file of that name."""
    for name, oldest in REQUIRED.items():
        package = name.replace("_", "-")
        remedy = f"pip install --upgrade '{package}>={oldest}'"
        try:
            module = importlib.import_module(name)
            version = getattr(module, "__version__", None) or _installed(package) or "0"
            if name == "numpy" and not (torch.from_numpy(torch.ones(2).numpy()) == 1).all():
                raise RuntimeError("an array has other numbers than the tensor that it was made of")
        except Exception as error:  # noqa: BLE001  (whatever it is, it is what a program would get)
            place = getattr(sys.modules.get(name), "__file__", None) or _place(name)
            yield Finding(name, "problem", f"{type(error).__name__}: {error} (in {place})", remedy)
            continue
        if _numbers(version) < _numbers(oldest):
            yield Finding(name, "problem", f"{version} in {module.__file__} is too old", remedy)
        else:
            yield Finding(name, "ok", version)


def _place(name: str) -> str:
    found = importlib.util.find_spec(name)
    return "no folder" if found is None else str(found.origin)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.split("+")[0])[:3]))


def _called(subject: str, call: Callable[[], Any], package: str, library: str) -> Finding:
    try:
        call()
    except Exception as error:  # noqa: BLE001  (whatever it is, it is what a program would get)
        return Finding(subject, "problem", f"{error}", f"pip install {package}")
    loaded = _loaded(library)
    if loaded is None:
        reason = "MINDTORCH_ONEDNN=0" if os.environ.get("MINDTORCH_ONEDNN") == "0" else "this build has no oneDNN"
        return Finding(subject, "note", f"work, without {package} ({reason})")
    return Finding(subject, "ok", f"work, by {loaded}")


def _loaded(library: str) -> str | None:
    """The file of a shared library of this process."""
    try:
        with open("/proc/self/maps", encoding="utf-8") as file:
            names = {line.split(None, 5)[5].strip() for line in file if library in line}
    except OSError:
        return None
    return min(names, default=None)


def _threads() -> Iterator[Finding]:
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    allowed = _processors_of_the_group()
    used = torch.get_num_threads()
    text = f"{used} for an operator, {there} processors for this process"
    limit = min(there, allowed) if allowed else there
    if used > limit:
        share = f", of which its group may use {allowed:g}" if allowed and allowed < there else ""
        yield Finding(
            "threads", "note", text + share, f"OMP_NUM_THREADS={max(1, int(limit))}: more threads wait for each other"
        )
    else:
        yield Finding("threads", "ok", text)


def _processors_of_the_group() -> float | None:
    """The share of processors that the container allows, where it says."""
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="utf-8") as file:
            quota, period = file.read().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else int(quota) / int(period)


def _memory() -> Iterator[Finding]:
    numbers = {}
    try:
        with open("/proc/meminfo", encoding="utf-8") as file:
            numbers = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
    except OSError:
        yield Finding("memory", "note", "unknown")
    if numbers:
        free, total = numbers.get("MemAvailable", 0), numbers.get("MemTotal", 0)
        yield Finding("memory", "ok", f"{free / 2**30:.1f} of {total / 2**30:.1f} GiB are free")
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY:
        yield Finding("memory", "note", f"this process may map {limit / 2**30:.1f} GiB", "ulimit -v unlimited")
    if os.path.isdir("/dev/shm"):
        free = shutil.disk_usage("/dev/shm").free
        state, remedy = "ok", ""
        if free < 1 << 28:
            state, remedy = "note", "workers of DataLoaders need more: docker run --shm-size=2g, or num_workers=0"
        yield Finding("shared memory", state, f"{free / 2**30:.1f} GiB in /dev/shm", remedy)


def _name_torch() -> Iterator[Finding]:
    loaded = sys.modules.get("torch")
    if loaded is torch:
        yield Finding("torch", "ok", "`import torch` finds this package: the switch is on")
        return
    found = importlib.util.find_spec("torch")
    version = _installed("torch")
    if found is not None and found.origin is not None:
        yield Finding(
            "torch",
            "note",
            f"`import torch` finds a PyTorch, {version or 'of unknown version'}, in {os.path.dirname(found.origin)}",
            "python -m mindtorch_v2 program.py, or MINDTORCH_AS_TORCH=1, runs a program on this package instead",
        )
    elif version:
        yield Finding("torch", "ok", f"pip finds torch {version}, the metadata of this package; the switch is off")
    else:
        yield Finding("torch", "ok", "no PyTorch is installed; the switch is off")


def _switches() -> Iterator[Finding]:
    known = [f"{name}={os.environ[name]} ({SWITCHES[name]})" for name in SWITCHES if name in os.environ]
    yield Finding("switches", "ok", "; ".join(known) or "none is set")
    for name in sorted(os.environ):
        if name.startswith("MINDTORCH_") and name not in SWITCHES:
            yield Finding(
                "switches", "problem", f"{name} is set, and nothing reads it", f"one of {', '.join(SWITCHES)}?"
            )


def _npu() -> Iterator[Finding]:
    home = os.environ.get("ASCEND_HOME_PATH")
    if home is None and not os.path.exists("/dev/davinci_manager"):
        yield Finding("npu", "ok", "no Ascend driver and no CANN here")
        return
    if torch.npu.is_available():
        names = [torch.npu.get_device_name(index) for index in range(torch.npu.device_count())]
        yield Finding("npu", "ok", f"{len(names)} devices: {', '.join(dict.fromkeys(names))}; CANN in {home}")
        return
    remedy = "python -m mindtorch_v2.npu doctor says what is missing; source CANN's set_env.sh first"
    yield Finding("npu", "problem", f"no device answers; ASCEND_HOME_PATH={home or 'is not set'}", remedy)


def _others() -> Iterator[Finding]:
    mpi = _installed("mpi4py")
    yield Finding(
        "mpi", "ok", f"mpi4py {mpi}" if mpi else "mpi4py is not installed: processes exchange tensors over TCP"
    )
    compiler = shutil.which(os.environ.get("CXX", "g++")) or shutil.which("clang++")
    ninja = shutil.which("ninja")
    if compiler and ninja and _installed("pybind11"):
        yield Finding(
            "extensions", "ok", f"{_first_line(compiler, '--version')}; ninja; pybind11 {_installed('pybind11')}"
        )
    else:
        lacking = [
            name
            for name, there in (("a C++ compiler", compiler), ("ninja", ninja), ("pybind11", _installed("pybind11")))
            if not there
        ]
        remedy = "apt-get install g++ (or dnf install gcc-c++); pip install mindtorch_v2[cpp]"
        yield Finding("extensions", "note", f"operators in C++ cannot be built: {', '.join(lacking)} missing", remedy)
    version = _installed("transformers")
    if version:
        yield Finding("transformers", "ok", version)


def _first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout.splitlines() or [command[0]])[0]


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


_LOOKS = (_versions, _processor, _requirements, _libraries, _threads, _memory, _name_torch, _switches, _npu, _others)

if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
