"""Run the examples in PyTorch's docstrings on PyTorch and on this package, and say what differs.

    python -m tests.docstring_examples              run both, and show each example that differs
    python -m tests.docstring_examples --record     write the counts, and the names that differ, into the snapshots

Wants an environment with torch==2.13.0. The examples are read from that wheel and nothing of them is kept. Results lie below
`out/docstring_examples`; an example counts where PyTorch runs it, and it agrees where it prints the same, to 0.2 % in numbers.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = pathlib.Path(__file__).with_name("worker.py")
RECORD = ROOT / "tests" / "snapshots" / "docstring_examples.json"
_NUMBER = re.compile(r"-?(?:\d+\.\d*(?:e[-+]?\d+)?|\d+|inf|nan)")
_CLOSE = 2e-3


def compared(theirs: list[str], ours: list[str] | None) -> str:
    """`same`, `close`, `differs` or `raises`; empty where PyTorch does not run the example."""
    if theirs[0] == "raised":
        return ""
    if ours is None or ours[0] == "raised":
        return "raises"
    first, second = (
        re.sub(r"0x[0-9a-f]+", "0x", text.replace("mindtorch_v2", "torch")) for text in (theirs[1], ours[1])
    )
    return "same" if first == second else "close" if _is_close(first, second) else "differs"


def _is_close(first: str, second: str) -> bool:
    shapes = [" ".join(_NUMBER.sub("#", text).split()) for text in (first, second)]
    pairs = zip(_NUMBER.findall(first), _NUMBER.findall(second), strict=False)
    return shapes[0] == shapes[1] and all(
        a == b or abs(float(a) - float(b)) <= _CLOSE * max(1.0, abs(float(a))) for a, b in pairs
    )


def run(folder: pathlib.Path) -> None:
    """Run the examples on both sides."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MINDTORCH_AS_TORCH": "0"}
    for side, start, more in (("pytorch", [], ["--find"]), ("ours", ["-m", "mindtorch_v2"], [])):
        print(f"{side}:", flush=True)
        command = [sys.executable, *start, str(WORKER), str(folder / "examples"), str(folder / side), *more]
        subprocess.run(command, check=True, env=environment)


def read(path: pathlib.Path) -> dict[str, Any]:
    """A file of lines by name."""
    return {each["name"]: each for each in map(json.loads, path.read_text().splitlines())}


def main() -> None:
    """Run, compare, and show or record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out" / "docstring_examples")
    parser.add_argument("--record", action="store_true", help="of the results that are there")
    options = parser.parse_args()
    if not options.record:
        run(options.out)
    examples, theirs, ours = (read(options.out / name) for name in ("examples", "pytorch", "ours"))
    counts: dict[str, int] = {"same": 0, "close": 0, "differs": 0, "raises": 0}
    names: dict[str, int] = {}
    for name, each in theirs.items():
        results = ours[name]["results"]
        for number, their in enumerate(each["results"]):
            our = results[number] if number < len(results) else None
            found = compared(their, our)
            if found:
                counts[found] += 1
            if found in ("differs", "raises"):
                names[name] = names.get(name, 0) + 1
                print(f"{name}: {found}\n  >>> {examples[name]['examples'][number].strip()[:200]}")
                print(f"  PyTorch: {their[1].strip()[:300]}\n  here:    {(our or ['', 'nothing'])[1].strip()[:300]}")
    print(", ".join(f"{number} {what}" for what, number in counts.items()))
    if options.record:
        RECORD.write_text(json.dumps({"date": str(datetime.date.today()), **counts, "names": names}, indent=1) + "\n")


if __name__ == "__main__":
    main()
