"""Run the tests of a library beside transformers on this package and on the real PyTorch, and say what differs.

    python -m tests.neighbour_suite accelerate --tests ~/accelerate/tests --most 25 --why

The folder is the library's own, of the version that is installed, or near it; nothing of it is kept. Of each file a sample runs, which
the ids choose. Results are written below `out/neighbour_suite` as they come: what was interrupted goes on.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

from tests.pytorch_suite import results

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
RECORD = ROOT / "tests" / "snapshots" / "neighbour_suite.json"
PAGE = ROOT / "docs" / "transformers-tests.md"
BEGIN = "<!-- made by python -m tests.neighbour_suite --record: -->"
RESTARTS = 20  # of a run, whose tests may end the process


def _settle(log: pathlib.Path) -> bool:
    """Whether a log has come to its end; a test that was begun and has no outcome ended the process."""
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()] if log.exists() else []
    if not lines:
        return False
    if "begun" in lines[-1]:
        ended = {"id": lines[-1]["begun"], "status": "crash", "cause": "the process ended, or had to be ended"}
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(ended) + "\n")
    return any(line.get("id") == "" for line in lines)


def _run(side: str, options: argparse.Namespace) -> None:
    log = results.log_of(options.out, side, options.library)
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "HF_HUB_OFFLINE": "1",
        "MINDTORCH_AS_TORCH": "0",
        "SUITE_LOG": str(log),
        "SUITE_MOST": str(options.most),
        "SUITE_TIMEOUT": str(options.timeout),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")])),
    }
    if side == "ours":
        environment["SUITE_WANTED"] = str(results.log_of(options.out, "pytorch", options.library))
    command = [sys.executable, *(["-m", "mindtorch_v2"] if side == "ours" else [])]
    command += [
        "-m",
        "pytest",
        "-p",
        "plugin",
        "-p",
        "no:cacheprovider",
        "-q",
        "-W",
        "ignore",
        "--continue-on-collection-errors",
        *options.files,
    ]
    for _ in range(RESTARTS):
        if _settle(log):
            break
        with (log.parent / f"{options.library}.txt").open("w") as output:
            subprocess.run(
                command, cwd=options.tests.parent, env=environment, stdout=output, stderr=output, check=False
            )


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.neighbour_suite", description=str(__doc__).partition("\n")[0]
    )
    parser.add_argument("library", help="the name that its results have")
    parser.add_argument(
        "files", nargs="*", default=["tests"], help="below the folder's parent; all where none is given"
    )
    parser.add_argument("--tests", type=pathlib.Path, required=True, help="the library's folder of tests")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / "neighbour_suite")
    parser.add_argument("--most", type=int, default=25, help="tests of one file")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    parser.add_argument("--failed", action="store_true", help="run on this package again what did not pass")
    parser.add_argument("--why", action="store_true", help="list the causes")
    parser.add_argument("--record", action="store_true", help="write the share into the snapshots and the page")
    options = parser.parse_args()
    options.tests = options.tests.resolve()
    if options.failed:
        results.forget_what_did_not_pass(results.log_of(options.out, "ours", options.library))
    for side in () if options.record else ("pytorch", "ours"):
        _run(side, options)
    if options.why:
        for count, name, cause in results.causes(options.out, options.library):
            print(f"{count:5} {name}\n      {cause[-700:]}")
    share = results.share(options.out, options.library)
    print(f"{options.library}: {share.passed} of {share.expected} tests that pass on PyTorch pass here")
    if options.record:
        _record(options.library, share)
    return 0


def _record(library: str, share: results.Share) -> None:
    found = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    found[f"{library} {importlib.metadata.version(library)}"] = [share.expected, share.passed, share.day]
    RECORD.write_text(json.dumps(dict(sorted(found.items())), indent=0) + "\n", "utf-8")
    lines = ["| Library | passes on PyTorch | passes here | | seen last |", "|---|---:|---:|---:|---|"]
    for name, (expected, passed, day) in sorted(found.items()):
        lines.append(f"| {name} | {expected} | {passed} | {passed / max(expected, 1):.1%} | {day} |")
    PAGE.write_text(results.with_part(PAGE.read_text("utf-8"), BEGIN, "\n".join(lines)), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
