"""Run PyTorch's operator database on this package beside the real PyTorch, and say what differs.

    python -m tests.operator_database                     all entries and columns, what is not done yet
    python -m tests.operator_database add --why           some entries, with what differs
    python -m tests.operator_database --column vmap --again --why
    python -m tests.operator_database --device cuda       values and gradients on the emulated GPU
    python -m tests.operator_database --record            write the shares into the snapshots and the page

Wants an environment with torch==2.13.0 (`make test-opdb` makes one). What PyTorch answers, and what came of it here, is written
below `out/operator_database` as it comes: what was interrupted goes on, `--again` runs this package anew.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
from collections.abc import Sequence

from tests.operator_database import report
from tests.operator_database.columns import ON_DEVICE

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(__file__).with_name("worker.py")
SHARE = 40  # entries a process takes
RESTARTS = 40  # of a process whose entries may end it


def names_of_entries() -> list[str]:
    """The names of the database, from the real PyTorch."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); "
        "from tests.operator_database.databases import entries; print(*entries(), sep='\\n')"
    )
    command = [sys.executable, "-c", program, str(ROOT)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def run(
    side: str, device: str, folder: pathlib.Path, names: Sequence[str], most: int, columns: str, seconds: int
) -> str:
    """Run entries to their end, in as many processes as that takes."""
    command = [sys.executable, str(WORKER), side, device, str(folder), str(most), columns, *names]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MINDTORCH_AS_TORCH": "0"}
    if device == "cuda":
        environment.setdefault("MINDTORCH_CUDA_EMULATOR", "1")
    for _ in range(RESTARTS):
        worker = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            _, said = worker.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:  # beyond signals: the column counts as one that ended the process
            os.killpg(worker.pid, 9)
            _, said = worker.communicate()
        if worker.returncode == 0:
            return f"{side:8}{names[0]} to {names[-1]}"
        if "SystemExit" in said or "ImportError" in said:
            return said[-2000:]
    return f"{side:8}{names[0]} to {names[-1]}: not done after {RESTARTS} processes: {said[-500:]}"


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.operator_database", description=str(__doc__).partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", help="entries by full name; all where none is given")
    parser.add_argument("--column", action="append", default=[], help="only these columns on this package")
    parser.add_argument("--most", type=int, default=0, help="samples of a dtype and column; all where not given")
    parser.add_argument(
        "--device", choices=ON_DEVICE, default="cpu", help="where this package runs; PyTorch is the CPU's"
    )
    parser.add_argument("--out", type=pathlib.Path, help="out/operator_database, or out/operator_database_cuda")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=int, default=3000, help="for one process of so many entries")
    parser.add_argument("--again", action="store_true", help="run on this package again what has run")
    parser.add_argument("--failed", action="store_true", help="run on this package again what differed")
    parser.add_argument("--why", action="store_true", help="list what differs")
    parser.add_argument("--record", action="store_true", help="write the shares into the snapshots and the page")
    options = parser.parse_args()
    if options.out is None:
        options.out = ROOT / "out" / ("operator_database" + ("" if options.device == "cpu" else f"_{options.device}"))
    names = options.names or names_of_entries()
    if not options.record:
        if options.again or options.failed:
            report.forget(options.out, names, options.column, options.failed)
        parts = [names[place : place + SHARE] for place in range(0, len(names), SHARE)]
        columns = ",".join(options.column)

        def both(part: list[str]) -> str:
            return "\n".join(
                run(side, options.device, options.out, part, options.most, columns, options.seconds)
                for side in ("pytorch", "ours")
            )

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for said in pool.map(both, parts):
                print(said, flush=True)
    found = report.read(options.out, names)
    if options.why:
        for name, columns_ in found.items():
            for column, outcome in columns_.items():
                if outcome.agree < outcome.count and (not options.column or column in options.column):
                    print(f"{name} [{column}] {outcome.agree} of {outcome.count}")
                    for problem in outcome.problems[:3]:
                        print(f"      {problem[:240]}")
    print(report.table(report.shares(found)))
    if options.record:
        report.record(report.shares(found), report.rest(found), options.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
