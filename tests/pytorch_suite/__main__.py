"""Run PyTorch's own test files on this package and on the real PyTorch, and say what differs.

    PYTORCH_TESTS=~/pytorch/test python -m tests.pytorch_suite                    all files, what is not done yet
    PYTORCH_TESTS=~/pytorch/test python -m tests.pytorch_suite test_torch --why   one file, with the causes
    python -m tests.pytorch_suite --record                                        write the shares into the snapshots and the page

The folder is PyTorch's `test/`, of any version near 2.13; nothing of it is kept. Where the source it is from lies around it,
names that the tests import and the wheel's `torch.testing._internal` no longer has are read from there. Wants an environment with torch==2.13.0 and
expecttest (`make pytorch-suite` makes one). Results are written below `out/pytorch_suite` as they come: what was interrupted
goes on, and `--again` begins anew.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
from typing import Any

from tests.pytorch_suite import results

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(__file__).with_name("worker.py")
RECORD = ROOT / "tests" / "snapshots" / "pytorch_suite.json"
PAGE = ROOT / "docs" / "pytorch-test-files.md"
RESTARTS = 40  # of one file, whose tests may end the process
START = 120  # seconds for a process to import what it tests, on a machine with other work


def _is_done(log: pathlib.Path) -> bool:
    return results.read(log).get("", results.Outcome("", "")).status != ""


def run(
    side: str,
    tests: pathlib.Path,
    file: str,
    folder: pathlib.Path,
    timeout: int,
    most: int | None = None,
    source: pathlib.Path | None = None,
) -> str:
    """Run a file to its end, in as many processes as that takes; a line that says how it went."""
    log = results.log_of(folder, side, file)
    log.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(WORKER), side, str(tests / f"{file}.py"), str(log), str(timeout)]
    if side == "ours":
        command += ["--wanted", str(results.log_of(folder, "pytorch", file))]
    elif most is not None:
        command += ["--most", str(most)]
    if source is not None:
        command += ["--source", str(source)]
        if file in results.AS_THEY_WERE:
            command += ["--as-they-were", *results.AS_THEY_WERE[file]]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MINDTORCH_AS_TORCH": "0"}
    for _ in range(RESTARTS):
        if _is_done(log):
            break
        before = len(results.read(log))
        worker = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        patience = START + 2 * timeout
        while True:
            try:
                worker.wait(patience)
                break
            except subprocess.TimeoutExpired:
                after, patience = len(results.read(log)), 2 * timeout
                if after == before:  # beyond signals: it has to be ended, and the test is a crash
                    os.killpg(worker.pid, 9)
                before = after
    outcomes = [outcome.status for name, outcome in results.read(log).items() if name]
    return f"{side:8}{file:36}{outcomes.count('pass'):6} of {len(outcomes)} passed"


def _run_both(*arguments: Any) -> str:
    """Run a file on the real PyTorch, then on this package what passed there; two lines that say how it went."""
    return "\n".join(run(side, *arguments) for side in ("pytorch", "ours"))


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.pytorch_suite", description=str(__doc__).partition("\n")[0])
    parser.add_argument("files", nargs="*", help="names below the folder, without .py; all where none is given")
    parser.add_argument("--tests", type=pathlib.Path, default=os.environ.get("PYTORCH_TESTS"), help="PyTorch's test/")
    parser.add_argument(
        "--source", type=pathlib.Path, help="PyTorch's source of the tests' version; else around the tests"
    )
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / "pytorch_suite")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=60, help="seconds for one test")
    parser.add_argument("--most", type=int, help="tests of one file, of which a sample is taken; all where not given")
    parser.add_argument("--again", action="store_true", help="run on this package again what has run")
    parser.add_argument("--failed", action="store_true", help="run on this package again what did not pass")
    parser.add_argument("--why", action="store_true", help="list the causes")
    parser.add_argument("--record", action="store_true", help="write the shares into the snapshots and the page")
    options = parser.parse_args()
    files = options.files or [file for names in results.FILES.values() for file in names.split()]
    if not options.record:
        if options.tests is None:
            parser.error("where is PyTorch's test folder? Give --tests or set PYTORCH_TESTS")
        missing = [file for file in files if not (pathlib.Path(options.tests) / f"{file}.py").exists()]
        for file in missing:
            print(f"{file}: not in {options.tests}", file=sys.stderr)
        files = [file for file in files if file not in missing]
        if options.again:
            for file in files:
                results.log_of(options.out, "ours", file).unlink(missing_ok=True)
        if options.failed:
            for file in files:
                results.forget_what_did_not_pass(results.log_of(options.out, "ours", file))
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            tests = pathlib.Path(options.tests).resolve()
            around = (options.source or tests.parent).resolve()
            source = around if (around / "torch" / "testing" / "_internal").is_dir() else None
            work = [
                pool.submit(_run_both, tests, file, options.out, options.timeout, options.most, source)
                for file in files
            ]
            for each in concurrent.futures.as_completed(work):
                print(each.result(), flush=True)
    if options.why:
        for file in files:
            for count, name, cause in results.causes(options.out, file):
                print(f"{count:5} {name}\n      {cause[:400]}")
    shares = results.record(options.out, json.loads(RECORD.read_text("utf-8")) if options.record else None)
    print(results.table(shares))
    if options.record:
        RECORD.write_text(json.dumps(shares, indent=1) + "\n", "utf-8")
        PAGE.write_text(results.with_table(PAGE.read_text("utf-8"), shares), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
