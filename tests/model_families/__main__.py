"""`python -m tests.model_families [CLASS...] [--record] [--why] [--failed]`: small models of all families, beside the real PyTorch.

What was run lies in `out/model_families` and is not run again: removing a file, or naming the class, repeats it.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import pathlib
import pickle
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy

from .program import STEPS, model_classes

ROOT = pathlib.Path(__file__).parents[2]
OUT = ROOT / "out" / "model_families"
PAGE = ROOT / "docs" / "model-families.md"
BEGIN, END = "<!-- made by python -m tests.model_families --record: -->", "<!-- end -->"
SNAPSHOT = ROOT / "tests" / "snapshots" / "model_families.json"
# Of the largest number of a result: as far as sums in another order take two libraries apart in so many layers.
TOLERANCE = {"gradient": 2e-3, "training": 1e-3}


def _run(library: str, names: list[str]) -> None:
    """Run the classes of which there is no file, in processes that are started anew where one ended."""
    while left := [name for name in names if not (OUT / f"{name}.{library}.pickle").exists()]:
        for name in [each for each in left if (OUT / f"{each}.{library}.started").exists()]:
            (OUT / f"{name}.{library}.pickle").write_bytes(pickle.dumps({"weights": "the process ended"}))
            left.remove(name)
        if left:
            command = [sys.executable, "-m", "tests.model_families.worker", library, str(OUT), *left]
            with open(OUT / f"{library}.log", "ab") as log:
                subprocess.run(
                    command, cwd=ROOT, check=False, stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"}
                )


def _largest(numbers: Any) -> float:
    """The largest finite number, without its sign."""
    numbers = numpy.asarray(numbers, numpy.float64)
    return float(numpy.abs(numbers[numpy.isfinite(numbers)]).max(initial=0))


def _bfloat16_difference(ours: Any, theirs: Any, exact: Any) -> str | None:
    """None where bfloat16 takes the results no more than three times as far from those in float32 as it takes PyTorch's."""
    if isinstance(ours, str) or len(ours) != len(exact):
        return _difference("bfloat16", ours, theirs)
    for one, other, wanted in zip(ours, theirs, exact, strict=True):
        near, far = (_largest(numpy.asarray(each, float) - wanted) for each in (one, other))
        if not near <= max(3 * far, 0.02 * _largest(wanted)):
            return f"a result is {near:.3g} from that in float32, PyTorch's {far:.3g}"
    return None


def _difference(step: str, ours: Any, theirs: Any) -> str | None:
    """None where a step's numbers agree; else what differs."""
    if isinstance(ours, str) or isinstance(ours, type(None)):
        return ours or "was not reached"
    if len(ours) != len(theirs):
        return f"{len(ours)} results, PyTorch {len(theirs)}"
    # Gradients that are zero but for rounding, as of the biases of keys, are held against the largest of all.
    floor = (
        1e-3 * max((_largest(each[1][0]) for each in theirs if each[1]), default=0) + 1e-7
        if step == "gradient"
        else 1e-6
    )
    for one, other in zip(ours, theirs, strict=True):
        name = "a result"
        if isinstance(other, tuple):
            (name, one), (theirs_name, other) = one, other
            if name != theirs_name:
                return f"{name}, PyTorch {theirs_name}"
            one, other = (one or [0])[0], (other or [0])[0]
        one, other = numpy.asarray(one), numpy.asarray(other)
        if one.shape != other.shape:
            return f"{name} has the shape {one.shape}, PyTorch {other.shape}"
        bound = TOLERANCE.get(step, 1e-4) if other.dtype.kind == "f" else 0
        scale = _largest(other)
        if not numpy.allclose(one, other, rtol=0, atol=bound * max(scale, floor), equal_nan=True):
            return f"{name} differs by up to {numpy.nanmax(numpy.abs(one.astype(float) - other.astype(float))):.3g} of {scale:.3g}"
    return None


def _compared(name: str) -> tuple[list[str], dict[str, str]]:
    """The steps that PyTorch does, and of these what differs here."""
    theirs, ours = (pickle.loads((OUT / f"{name}.{library}.pickle").read_bytes()) for library in ("pytorch", "ours"))
    done = [step for step in STEPS if step in theirs and not isinstance(theirs[step], str)]
    late = ours.get("late")
    found = {step: _difference(step, ours.get(step, late), theirs[step]) for step in done if step != "bfloat16"}
    if "bfloat16" in done:
        found["bfloat16"] = _bfloat16_difference(ours.get("bfloat16", late), theirs["bfloat16"], theirs["forward"])
    return done, {step: text for step, text in found.items() if text is not None}


def _page(text: str, table: dict[str, Any], untried: list[str], done: Counter, wrong: Counter) -> str:
    """The page with the table of this run."""
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    agree = sum(not each["differs"] for each in table.values())
    lines = [f"{BEGIN}", "| Step | classes that do it on PyTorch | agree here | |", "|---|---:|---:|---:|"]
    for step in (each for each in STEPS if done[each]):
        good = done[step] - wrong[step]
        lines.append(f"| {step} | {done[step]} | {good} | {good / done[step]:.1%} |")
    lines.append(f"| **every step** | **{len(table)}** | **{agree}** | **{agree / len(table):.1%}** |")
    lines += ["", f"Run on {datetime.date.today()}. What differs:", ""]
    for name, each in sorted(table.items()):
        lines += [f"- `{name}`, {step}: {' '.join(said.split())[:200]}" for step, said in each["differs"].items()]
    lines += ["", f"Not counted, {len(untried)}: {', '.join(f'`{name}`' for name in untried)}.", END]
    return head + "\n".join(lines) + tail


def main() -> None:
    """Run what is not done, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.model_families", description=__doc__)
    parser.add_argument("names", nargs="*", help="classes, which are run again; without any all that are not done")
    parser.add_argument("--record", action="store_true", help=f"write {SNAPSHOT.relative_to(ROOT)}")
    parser.add_argument("--why", action="store_true", help="say what differs")
    parser.add_argument("--failed", action="store_true", help="run again here what differed")
    arguments = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    families = model_classes()
    names = arguments.names or sorted(set(families.values()))
    again = names if arguments.names else [name for name in names if arguments.failed and _compared(name)[1]]
    for name in again:
        for kind in ("pickle", "started"):
            (OUT / f"{name}.ours.{kind}").unlink(missing_ok=True)
    for library in ("pytorch", "ours"):
        _run(library, names)
    done, wrong, untried = Counter(), Counter(), []
    table: dict[str, Any] = {}
    for name in names:
        steps, differs = _compared(name)
        if "forward" not in steps:
            untried.append(name)
            continue
        table[name] = {"steps": steps, "differs": differs}
        done.update(steps)
        wrong.update(list(differs))
        if differs and arguments.why:
            print(name, *(f"{step}: {text[:300]}" for step, text in differs.items()), sep="\n    ")
    for step in STEPS:
        print(f"{step:10} {done[step] - wrong[step]:4} of {done[step]:4}")
    print(
        f"{len(table)} classes ran on PyTorch, {sum(not each['differs'] for each in table.values())} of them agree in every step;"
    )
    print(f"{len(untried)} did not run on PyTorch either: {' '.join(untried)}")
    if arguments.record:
        PAGE.write_text(_page(PAGE.read_text(), table, untried, done, wrong))
        SNAPSHOT.write_text(json.dumps({"classes": table, "not on PyTorch": untried}, indent=0, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
