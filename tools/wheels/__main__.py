"""Make wheels of the checkout's committed files: `python -m tools.wheels [--python 3.11 ...] [--machine x86_64 ...]`.

Writes dist/*.whl, the metadata-only distribution `torch` beside them, and dist/SHA256SUMS.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

from . import package, parts
from .targets import Target, cmake_arguments, glibc_stubs

_ROOT = Path(__file__).parents[2]
_MACHINES = ("x86_64", "aarch64")
_ONEDNN = "onednn-cpu-gomp"
_LARGEST = 20_000_000  # bytes of a wheel


def main() -> int:
    """Make the wheels that are asked for; 0 if all were made."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description=__doc__)
    parser.add_argument("--python", nargs="+", default=sorted(parts.SUITES), choices=sorted(parts.SUITES))
    parser.add_argument("--machine", nargs="+", default=list(_MACHINES), choices=_MACHINES)
    parser.add_argument("--revision", default="HEAD", help="the commit to make them of")
    parser.add_argument("--dist", type=Path, default=_ROOT / "dist")
    parser.add_argument("--work", type=Path, default=_ROOT / "build" / "wheels", help="for what is kept between calls")
    parser.add_argument("--jobs", default=os.environ.get("JOBS", str(os.cpu_count() or 1)))
    chosen = parser.parse_args()
    work, dist = chosen.work.resolve(), chosen.dist.resolve()
    dist.mkdir(parents=True, exist_ok=True)
    source = _checkout(chosen.revision, work)
    for machine in chosen.machine:
        kernels: Path | None = None
        for python in chosen.python:
            target = Target(machine, python)
            stage = _stage(target, source, work, chosen.jobs, kernels)
            kernels = kernels or stage
            path = _wheel(target, source, work, stage, dist)
            size = path.stat().st_size
            print(f"{path}: {size / 1e6:.2f} MB", flush=True)
            if size > _LARGEST:
                raise RuntimeError(f"{path.name} has {size} bytes, more than {_LARGEST}: find out which library grew")
    _stand_in(source, dist)
    wheels = sorted(dist.glob("*.whl"))
    (dist / "SHA256SUMS").write_text("".join(f"{package.sha256(path)}  {path.name}\n" for path in wheels))
    return 0


def _checkout(revision: str, work: Path) -> Path:
    """The committed files, in a folder with the same name each time."""
    source = work / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    archive = work / "source.tar"
    subprocess.run(["git", "archive", "-o", str(archive), revision], cwd=_ROOT, check=True)
    with tarfile.open(archive) as tar:
        tar.extractall(source, filter="data")
    return source


def _stage(target: Target, source: Path, work: Path, jobs: str, kernels: Path | None) -> Path:
    """A folder with the compiled files of that wheel. With `kernels`, the folder of another Python of the same processor, only
    the core is compiled, which knows Python's structures; kernels stand on its stable ABI and are taken from there.
    """
    build, stage = work / f"{target.machine}-{target.abi}", work / f"stage-{target.machine}-{target.abi}"
    headers = parts.python_headers(target.python, target.machine, work)
    arguments = cmake_arguments(target, glibc_stubs(target.machine, work), headers, source)
    subprocess.run(["cmake", "-S", source, "-B", build, "-G", "Ninja", *arguments], check=True)
    names = [] if kernels is None else ["--target", "_C"]
    component = [] if kernels is None else ["--component", "python"]
    subprocess.run(["cmake", "--build", build, "-j", jobs, *names], check=True)
    shutil.rmtree(stage, ignore_errors=True)
    if kernels is not None:
        shutil.copytree(kernels, stage, symlinks=True, ignore=shutil.ignore_patterns("_C.*.so"))
    install = ["cmake", "--install", str(build), "--prefix", str(stage), "--strip", *component]
    subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
    return stage


def _wheel(target: Target, source: Path, work: Path, stage: Path, dist: Path) -> Path:
    library = stage / "mindtorch_v2" / "_lib"
    _check_symbols(library)
    bill = [_bring_openmp(target.machine, work, library)]
    vendored: tuple[str, ...] = ()
    if target.machine == "x86_64":
        bill.append(_bring_onednn(library))
        vendored = (_ONEDNN,)
    files: dict[str, bytes | Path] = {}
    for path in sorted(stage.rglob("*")):
        if path.is_file():
            files[str(path.relative_to(stage))] = path
    for path in sorted((source / "src" / "mindtorch_v2").rglob("*")):
        if path.is_file() and path.suffix != ".cpp":
            files[str(path.relative_to(source / "src"))] = path
    read, text = package.metadata(source, vendored)
    tag = f"{target.abi}-{target.abi}-{target.platform}"
    info = f"{read.name}-{read.version}.dist-info"
    texts = {
        "METADATA": text,
        "entry_points.txt": _entry_points(read.scripts),
        "licenses/LICENSE": (source / "LICENSE").read_text("utf-8"),
        "sboms/parts.cdx.json": package.bill_of_materials(read.name, str(read.version), bill),
    }
    path = dist / f"{read.name}-{read.version}-{tag}.whl"
    package.write(path, files, info, [tag], {k: v for k, v in texts.items() if v}, pure=False)
    return path


def _check_symbols(library: Path) -> None:
    """Raise RuntimeError if a vector function is asked for that no library of the wheel defines: such a wheel does not load."""
    for path in sorted(library.glob("*.so")):
        done = subprocess.run(["nm", "-D", "--undefined-only", str(path)], capture_output=True, text=True, check=True)
        missing = sorted({line.split()[-1] for line in done.stdout.splitlines() if "_ZGV" in line})
        if missing:
            raise RuntimeError(f"{path.name} asks for {', '.join(missing)}: csrc/portable/vector_math.cpp lacks them")


def _entry_points(scripts: dict[str, str]) -> str:
    lines = [f"{name} = {target}" for name, target in sorted(scripts.items())]
    return "\n".join(["[console_scripts]", *lines, ""]) if lines else ""


def _bring_openmp(machine: str, work: Path, library: Path) -> dict[str, Any]:
    """Copy libgomp beside the core, which finds it there: one OpenMP library in the process, oneDNN's as well."""
    found = parts.openmp_library(machine, work)
    shutil.copy(found.resolve(), library / "libgomp.so.1")
    version = found.resolve().parents[3].name
    return {
        "name": "libgomp",
        "version": "10.2.1",
        "description": f"GNU OpenMP run-time library, as Debian 11 has it ({version})",
        "hashes": [{"alg": "SHA-256", "content": package.sha256(library / "libgomp.so.1")}],
        "licenses": [{"expression": "GPL-3.0-or-later WITH GCC-exception-3.1"}],
        "purl": "pkg:deb/debian/libgomp1@10.2.1-6",
    }


def _bring_onednn(library: Path) -> dict[str, Any]:
    """Copy oneDNN's library once, without its table of names; its own package has it three times."""
    distribution = importlib.metadata.distribution(_ONEDNN)
    (found,) = (file for file in distribution.files or () if file.name == "libdnnl.so.3")
    target = library / "libdnnl.so.3"
    shutil.copy(Path(str(found.locate())).resolve(), target)
    subprocess.run(["strip", "--strip-unneeded", str(target)], check=True)
    return {
        "name": "oneDNN",
        "version": distribution.version,
        "hashes": [{"alg": "SHA-256", "content": package.sha256(target)}],
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "purl": f"pkg:pypi/{_ONEDNN}@{distribution.version}",
    }


def _stand_in(source: Path, dist: Path) -> None:
    """A distribution `torch` without modules, for libraries that ask pip for it: `pip uninstall torch` removes it."""
    # The package itself is not built for this Python; what writes the wheel stands on nothing of it.
    code = f"""
import sys, types
parent = sys.modules["mindtorch_v2"] = types.ModuleType("mindtorch_v2")
parent.__path__ = [{str(source / "src" / "mindtorch_v2")!r}]
from mindtorch_v2._as_torch.distribution import write_wheel
print(write_wheel({str(dist)!r}))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    sys.exit(main())
