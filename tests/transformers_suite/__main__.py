"""Run transformers' own tests of its families of models on this package and on the real PyTorch, and say what differs.

    TRANSFORMERS_TESTS=~/transformers python -m tests.transformers_suite                    all families, what is not done yet
    TRANSFORMERS_TESTS=~/transformers python -m tests.transformers_suite bert llama --why   some families, with the causes
    python -m tests.transformers_suite --record                                             the shares, as data and on the page

The folder is transformers' source of the version that is installed, or near it; nothing of it is kept. Of each file of models a sample
of the tests runs, which their names choose. Results are written below `out/transformers_suite` as they come: what was interrupted goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping, Sequence

from tests.pytorch_suite import results

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(__file__).with_name("worker.py")
RECORD = ROOT / "tests" / "snapshots" / "transformers_suite.json"
PAGE = ROOT / "docs" / "transformers-tests.md"
BEGIN = "<!-- made by python -m tests.transformers_suite --record: -->"
PORTION = 24  # files of one process that forks


def _files(root: pathlib.Path, families: Sequence[str]) -> list[str]:
    """The files of models of some families, or of all, named from the folder without ".py"."""
    found = sorted(root.glob("tests/models/*/test_modeling_*.py"))
    kept = [path for path in found if not families or path.parent.name in families]
    return [path.relative_to(root).with_suffix("").as_posix() for path in kept]


def _run(side: str, root: pathlib.Path, files: Sequence[str], options: argparse.Namespace) -> None:
    """Run what is not done of some files on one side, and say so file by file."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MINDTORCH_AS_TORCH": "0", "HF_HUB_OFFLINE": "1"}
    left = [file for file in files if "" not in results.read(results.log_of(options.out, side, file))]
    for start in range(0, len(left), PORTION):
        portion = left[start : start + PORTION]
        command = [sys.executable, str(WORKER), side, str(root), str(options.out), str(options.timeout)]
        done = subprocess.run(
            [*command, str(options.most), *portion], env=environment, stderr=subprocess.PIPE, check=False, text=True
        )
        if done.returncode:
            print(f"{side}: the process that forks ended: {done.stderr[-600:]}", file=sys.stderr)


def _table(shares: Mapping[str, Sequence[object]]) -> str:
    """The sum, and the families that differ, in Markdown."""
    found = {name: results.Share(*each) for name, each in shares.items()}  # type: ignore[arg-type]
    expected, passed = (sum(each[i] for each in found.values()) for i in (0, 1))
    whole = sum(each.passed == each.expected for each in found.values())
    lines = [
        f"{passed} of {expected} tests that pass on PyTorch pass here ({passed / max(expected, 1):.2%}); "
        f"{whole} of {len(found)} families whole. The others:",
        "",
        "| Family | passes on PyTorch | passes here | seen last |",
        "|---|---:|---:|---|",
    ]
    for name, each in sorted(found.items()):
        if each.passed < each.expected:
            lines.append(f"| {name} | {each.expected} | {each.passed} | {each.day} |")
    return "\n".join(lines)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.transformers_suite", description=str(__doc__).partition("\n")[0]
    )
    parser.add_argument("families", nargs="*", help="folders below tests/models; all where none is given")
    parser.add_argument("--tests", type=pathlib.Path, default=os.environ.get("TRANSFORMERS_TESTS"), help="the source")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / "transformers_suite")
    parser.add_argument("--most", type=int, default=25, help="tests of one file")
    parser.add_argument("--timeout", type=int, default=120, help="seconds for one test")
    parser.add_argument("--failed", action="store_true", help="run on this package again what did not pass")
    parser.add_argument("--why", action="store_true", help="list the causes")
    parser.add_argument("--record", action="store_true", help="write the shares into the snapshots and the page")
    options = parser.parse_args()
    if options.tests is None:
        parser.error("where is transformers' source? Give --tests or set TRANSFORMERS_TESTS")
    root = pathlib.Path(options.tests).resolve()
    files = _files(root, options.families)
    if not files and not options.record:
        parser.error(f"no tests/models/*/test_modeling_*.py of {options.families or 'any family'} in {root}")
    if not options.record:
        for file in files if options.failed else ():
            results.forget_what_did_not_pass(results.log_of(options.out, "ours", file))
        for start in range(0, len(files), PORTION):
            for side in ("pytorch", "ours"):
                _run(side, root, files[start : start + PORTION], options)
    shares = json.loads(RECORD.read_text("utf-8")) if options.record and RECORD.exists() else {}
    for file in files:
        if options.why:
            for count, name, cause in results.causes(options.out, file):
                print(f"{count:5} {name}\n      {cause[:500]}")
        if all("" in results.read(results.log_of(options.out, side, file)) for side in ("pytorch", "ours")):
            each = results.share(options.out, file)
            if each.expected:
                shares[file.removeprefix("tests/models/").replace("/test_modeling_", "/")] = list(each)
    print(_table(shares))
    if options.record:
        RECORD.write_text(json.dumps(dict(sorted(shares.items())), indent=0) + "\n", "utf-8")
        PAGE.write_text(results.with_part(PAGE.read_text("utf-8"), BEGIN, _table(shares)), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
