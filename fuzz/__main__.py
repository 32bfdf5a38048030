"""Runs one target for some time, and writes down how far it came.

    python -m fuzz TARGET [--seconds 60] [--runs 1000000] [--input FILE]

A native target is a program of the build in `build-fuzzer-sanitizer` (`scripts/fuzz` makes it); one through Python runs in
atheris. What the search finds worth keeping is kept in `build-fuzz/TARGET`; `fuzz/corpus/TARGET` and the target's own seeds are
where it begins. A report is a line of JSON in `build-fuzz/reports.jsonl`: executions, coverage, and since which execution
nothing new was found. What ends a target lies in `build-fuzz/TARGET.found`, and is shown.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from fuzz.targets import PYTHON_TARGETS

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build-fuzzer-sanitizer"
WORK = ROOT / "build-fuzz"
NATIVE_TARGETS = tuple(sorted(path.stem for path in (ROOT / "fuzz/native").glob("*.cpp") if path.stem != "driver"))
LONGEST = 4096  # bytes of an input
MEMORY = 3000  # megabytes
SECONDS_PER_INPUT = 20

_PROGRESS = re.compile(r"^#(\d+)\s+(\w+)\s+cov: (\d+) ft: (\d+) corp: (\d+)")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("target", choices=(*NATIVE_TARGETS, *PYTHON_TARGETS))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=-1, help="executions after which to end; no limit unless said")
    parser.add_argument("--input", help="one input to run, instead of a search")
    parser.add_argument("--python", default=sys.executable, help="the Python whose packages native targets see")
    chosen = parser.parse_args()
    sys.exit(run(chosen.target, chosen.seconds, chosen.runs, chosen.input, chosen.python))


def run(target: str, seconds: int, runs: int, single: str | None, python: str) -> int:
    """Run a target; the status of its process."""
    folder, found = WORK / target, WORK / f"{target}.found"
    for each in (folder, found):
        each.mkdir(parents=True, exist_ok=True)
    command, environment = _command(target, python)
    if single is not None:
        return subprocess.run([*command, single], env=environment, check=False).returncode
    committed = ROOT / "fuzz/corpus" / target
    if target in PYTHON_TARGETS:
        _write_seeds(target, folder)
    arguments = [
        f"-max_total_time={seconds}", f"-runs={runs}", f"-max_len={LONGEST}", f"-rss_limit_mb={MEMORY}",
        f"-timeout={SECONDS_PER_INPUT}", f"-artifact_prefix={found}/", "-print_final_stats=1", "-use_value_profile=1",
        str(folder),
    ]  # fmt: skip
    if committed.is_dir():
        arguments.append(str(committed))
    started = time.time()
    process = subprocess.Popen(
        [*command, *arguments], env=environment, stderr=subprocess.PIPE, text=True, errors="replace"
    )
    last: tuple[int, ...] = (0, 0, 0, 0)
    newest = (0, 0)  # the execution at which the coverage grew last, and what it was then
    tail: list[str] = []
    assert process.stderr is not None
    for line in process.stderr:
        match = _PROGRESS.match(line)
        if match:
            last = (int(match[1]), *map(int, match.groups()[2:]))
            if last[1] > newest[1]:
                newest = last[0], last[1]
        elif "stat::number_of_executed_units" in line:
            last = (int(line.split(":")[-1]), *last[1:])
        tail = [*tail[-60:], line]
    status = process.wait()
    report = {
        "target": target, "executions": last[0], "coverage": last[1], "features": last[2], "corpus": last[3],
        "coverage_grew_last_at": newest[0], "seconds": round(time.time() - started), "status": status,
    }  # fmt: skip
    with (WORK / "reports.jsonl").open("a") as reports:
        reports.write(json.dumps(report) + "\n")
    print(json.dumps(report))
    if status:
        print("".join(tail), file=sys.stderr)
    return status


def _command(target: str, python: str) -> tuple[list[str], dict[str, str]]:
    environment = dict(os.environ, MINDTORCH_FUZZ_PYTHON=python, PYTHONHASHSEED="0", OMP_NUM_THREADS="1")
    environment["ASAN_OPTIONS"] = (
        "detect_leaks=0:detect_odr_violation=0:allocator_may_return_null=1:max_allocation_size_mb=256:handle_abort=1"
    )
    environment["UBSAN_OPTIONS"] = "print_stacktrace=1:halt_on_error=1"
    if target in NATIVE_TARGETS:
        environment["PYTHONPATH"] = str(BUILD / "site")
        environment["PYTHONMALLOC"] = "malloc"
        return [str(BUILD / "targets" / f"fuzz_{target}")], environment
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", str(ROOT / "src"))])
    return [python, "-m", "fuzz.python_target", target], environment


def _write_seeds(target: str, folder: Path) -> None:
    for number, data in enumerate(importlib.import_module(f"fuzz.targets.{target}").seeds()):
        (folder / f"seed-{number}").write_bytes(data)


if __name__ == "__main__":
    main()
