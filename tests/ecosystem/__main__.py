"""Run the programs on both sides, in an environment that has the libraries, and compare: `make ecosystem`.

    python -m tests.ecosystem [PROGRAM ...] [--out FOLDER] [--seconds 240] [--again] [--record]

Without names all programs run. What is in FOLDER stays and is not run again, unless it is told by name or with --again: a run that was
broken off goes on. With --record the table is written as data, tests/snapshots/ecosystem.json, and on its page, docs/ecosystem.md.
"""

from __future__ import annotations

import argparse
import ast
import collections
import datetime
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

from tests.ecosystem import results

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
PAGE, DATA = ROOT / "docs" / "ecosystem.md", ROOT / "tests" / "snapshots" / "ecosystem.json"

# PyPI's builds of torchvision and torchaudio want PyTorch's libraries for CUDA. Beside a PyTorch without it these functions,
# which no program here calls, let them load.
_CUDA_NAMES = (
    "aoti_torch_get_current_cuda_stream torch_c10_cuda_check_msg torch_c10_cuda_free_error_msg torch_cuda_stream_synchronize "
    "torch_get_cuda_stream_from_pool torch_set_current_cuda_stream".split()
)


def programs() -> list[str]:
    """The names of all programs: "vision.timm"."""
    found = []
    for path in sorted((HERE / "programs").glob("*.py")):
        if path.stem in ("__init__", "steps"):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                found.append(f"{path.stem}.{node.name}")
    return found


def stand_ins(folder: pathlib.Path) -> pathlib.Path:
    """A folder with libraries of the names of PyTorch's for CUDA."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "stand_ins.c"
    functions = "".join(f"int {name}(void) {{ abort(); }}\n" for name in _CUDA_NAMES)
    source.write_text("#include <stdlib.h>\nint aoti_torch_device_type_cuda(void) { return 1; }\n" + functions)
    for name in ("c10_cuda", "torch_cuda"):
        subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / f"lib{name}.so", source], check=True)
    return folder


def run(side: str, names: list[str], folder: pathlib.Path, seconds: int) -> None:
    """Run programs on one side, "ours" or "pytorch"; their values are files below `folder`."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT / "src") if side == "ours" else ""}
    if side == "pytorch":
        environment["LD_LIBRARY_PATH"] = str(stand_ins(folder / "lib"))
    launcher = ["-m", "mindtorch_v2"] if side == "ours" else []
    command = [sys.executable, *launcher, str(HERE / "worker.py"), str(folder / side), str(seconds), *names]
    subprocess.run(command, env=environment, check=True)


def versions() -> dict[str, str]:
    """The libraries of the environment, by their distributions' names in lower case with underscores."""
    return {
        each.metadata["Name"].lower().replace("-", "_"): each.version for each in importlib.metadata.distributions()
    }


def library(program: str, installed: dict[str, str]) -> str:
    """The distribution of a program's library with its version, or ""."""
    short = program.partition(".")[2]
    names = [short, f"{short}_pytorch", f"{short}_torch", f"{short}_ppl", f"pytorch_{short}", short.split("_")[0]]
    found = next((name for name in names if name in installed), None)
    return f"{found.replace('_', '-')} {installed[found]}" if found else ""


def main() -> int:
    """Run, compare, print the table's counts; the status is 1 where a program of PyTorch's fails or differs here."""
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / "ecosystem")
    parser.add_argument("--seconds", type=int, default=240)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    known = programs()
    unknown = [name for name in options.programs if name not in known]
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)}; they are {', '.join(known)}")
    for side in ("pytorch", "ours"):
        wanted = options.programs or known
        again = options.again or options.programs
        left = [name for name in wanted if again or not (options.out / side / f"{name}.json").exists()]
        if left:
            run(side, left, options.out, options.seconds)
    rows = {
        name: results.compare(
            results.read(options.out / "ours" / f"{name}.json"), results.read(options.out / "pytorch" / f"{name}.json")
        )
        for name in (known if options.record else options.programs or known)
    }
    for name, row in rows.items():
        print(f"{row.status:8} {name} {row.why[:300]}")
    print(dict(collections.Counter(row.status for row in rows.values())))
    if options.record:
        record(rows)
    return int(any(row.status in ("fails", "differs") for row in rows.values()))


def record(rows: dict[str, results.Row]) -> None:
    """Write the table as data and on its page."""
    installed = versions()
    libraries = {name: library(name, installed) for name in rows}
    day = datetime.date.today().isoformat()
    entries = {name: {"library": libraries[name], **row._asdict()} for name, row in sorted(rows.items())}
    lines = [f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in entries.items()]
    DATA.write_text("{\n" + f'"date": "{day}",\n' + ",\n".join(lines) + "\n}\n")
    head, _, rest = PAGE.read_text().partition(results.BEGIN)
    tail = rest.partition(results.END)[2]
    PAGE.write_text(f"{head}{results.BEGIN}\n{results.table(rows, libraries)}\n{results.END}{tail}")


if __name__ == "__main__":
    sys.exit(main())
