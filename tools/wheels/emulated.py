"""Run tests on the ARM wheel under qemu: `python -m tools.wheels.emulated [--cpu=NAME] [test paths]`, called by `make test-aarch64`.

They run once on each of two processors, one with none of the instructions that kernels are chosen for and one with all.

Debian's Python for ARM, with NumPy and the other requirements from PyPI's ARM wheels, is unpacked into `build/wheels/aarch64-root`;
nothing is installed on this system. Needs qemu-user-static, apt-get and pip.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import parts

_ROOT = Path(__file__).parents[2]
_REQUIREMENTS = ["numpy", "scipy-openblas32", "safetensors", "packaging", "typing-extensions", "pytest"]
_SYSTEM = (
    "libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libssl3 libffi8 libbz2-1.0 liblzma5 libsqlite3-0 libcrypt1 libuuid1 "
    "libgomp1 libreadline8 libtinfo6 libnsl2 libtirpc3 libdb5.3 "
    "libpython3.11-minimal libpython3.11-stdlib python3.11-minimal"
).split()
# qemu's names. Without SME: OpenBLAS's kernels for it gave wrong float64 products under qemu 7.2. Vectors of 256 bits: so
# that the kernels for these are the ones that are loaded.
_PROCESSORS = ("cortex-a72", "max,sme=off,sve-max-vq=2")
# Tests that fit an emulator, some fifty times as slow as the processor: the operators' numbers, autograd, layers.
_DEFAULT = [
    "tests/core/test_overflow.py",
    "tests/core/test_bool_bytes.py",
    "tests/test_random_state.py",
    "tests/ops/test_exactness.py",
    "tests/ops/test_packed.py",
    "tests/ops/test_matmul.py",
]


def main() -> int:
    """Unpack, install, test; the exit status is 0 where all tests passed on each processor."""
    emulator = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if emulator is None:
        print("qemu-aarch64 is not there: apt-get install qemu-user-static", file=sys.stderr)
        return 2
    work = _ROOT / "build" / "wheels" if len(sys.argv) < 2 or not sys.argv[1].startswith("--work=") else None
    arguments = sys.argv[1:]
    if work is None:
        work = Path(arguments.pop(0).removeprefix("--work="))
    chosen = [word.removeprefix("--cpu=") for word in arguments if word.startswith("--cpu=")]
    arguments = [word for word in arguments if not word.startswith("--cpu=")]
    dist = work.parent / "dist" if (work.parent / "dist").exists() else _ROOT / "dist"
    wheels = sorted(dist.glob("mindtorch_v2-*-cp311-*aarch64.whl"))
    if not wheels:
        print(f"no ARM wheel in {dist}: make wheels WHEELS_ARGS='--python 3.11 --machine aarch64'", file=sys.stderr)
        return 2
    root = work / "aarch64-root"
    for package in _SYSTEM:
        parts.unpack(package, "bookworm", "aarch64", root)
    site = work / "aarch64-site"
    shutil.rmtree(site, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", str(site)]
    pip += ["--only-binary=:all:", "--python-version", "3.11", "--implementation", "cp", "--no-deps"]
    pip += [
        word
        for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
        for word in ("--platform", f"{tag}_aarch64")
    ]
    subprocess.run([*pip, *_REQUIREMENTS, "iniconfig", "pluggy", "pygments", str(wheels[-1])], check=True)
    environment = {
        **os.environ,
        "PYTHONPATH": str(site),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHOME": str(root / "usr"),
    }
    environment |= {"QEMU_LD_PREFIX": str(root), "OMP_NUM_THREADS": "1"}
    environment["LD_LIBRARY_PATH"] = ""
    python = [emulator, "-L", str(root), str(root / "usr" / "bin" / "python3.11")]
    command = [*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *(arguments or _DEFAULT)]
    status = 0
    for processor in chosen or _PROCESSORS:
        print(f"as {processor}", flush=True)
        environment["QEMU_CPU"] = processor
        subprocess.run([*python, "-m", "mindtorch_v2.doctor"], env=environment, check=False)
        status = subprocess.run(command, cwd=_ROOT, env=environment, check=False).returncode or status
    return status


if __name__ == "__main__":
    sys.exit(main())
