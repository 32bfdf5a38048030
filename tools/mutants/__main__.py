"""Plant faults in the package, one at a time, and run the tests that reach them.

    python -m tools.mutants --seed 7                     200 faults, over all areas
    python -m tools.mutants --areas optim --count 30     in one area
    python -m tools.mutants --only optim/adam.py:112     every fault of a line
    python -m tools.mutants --native --count 20          in the C++ sources: see native.py

The working tree is not touched: a forked process compiles the file with the fault. PyTorch is not asked. What survives is
listed with the change; a survivor that nothing can tell from the original stands in equivalent.jsonl, with the reason, and
counts as no fault. The exit status is 1 if less than nine in ten are caught, 2 if the tests of a fault could not be run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy  # noqa: F401  (imported once, before processes are forked)
import pytest  # noqa: F401  (likewise)

from . import native
from .areas import AREAS, ROOT, SOURCE, TESTS, Area
from .coverage import Coverage, collect
from .judge import Mutant, Outcome, Verdict, is_inside, judge
from .server import serve
from .sites import sites

BAR = 0.9
EQUIVALENT = Path(__file__).with_name("equivalent.jsonl")


def main() -> int:
    """Sample, judge, report."""
    options = _options()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.chdir(ROOT)
    if options.native is not None:
        return native.run(options.seed, options.count, options.native, options.only)
    equivalent = _equivalent()
    mutants = (
        list(_only(options.only)) if options.only else _sample(options.areas, options.count, options.seed, equivalent)
    )
    print(f"{len(mutants)} mutants, seed {options.seed}", flush=True)
    coverage = collect(options.jobs, options.tests or TESTS)
    verdicts = _judged(mutants, coverage, options.jobs)
    return _report(mutants, verdicts, equivalent)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m tools.mutants", description=__doc__.partition("\n")[0] if __doc__ else ""
    )
    parser.add_argument("--seed", type=int, default=0, help="which faults are drawn")
    parser.add_argument("--count", type=int, default=200, help="how many")
    parser.add_argument(
        "--areas", nargs="*", choices=[area.name for area in AREAS], help="where; everywhere by default"
    )
    parser.add_argument("--tests", nargs="*", metavar="PATH", help="only these tests are asked: files or folders")
    parser.add_argument(
        "--native", nargs="*", metavar="PATTERN", help="C++ sources instead, such as csrc/cpu/soft*.cpp; all by default"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument(
        "--only", metavar="FILE:LINE", help="every fault of a line, below src/mindtorch_v2, or of a C++ source"
    )
    return parser.parse_args()


def _equivalent() -> dict[tuple[str, ...], str]:
    """Faults that change nothing: (file, scope, before, after) -> reason."""
    lines = EQUIVALENT.read_text(encoding="utf-8").splitlines() if EQUIVALENT.exists() else []
    found = map(json.loads, lines)
    return {(each["file"], each["scope"], each["before"], each["after"]): each["reason"] for each in found}


def _key(mutant: Mutant) -> tuple[str, ...]:
    return str(mutant.file.relative_to(SOURCE)), *mutant.site.key


def _all(area: Area) -> list[Mutant]:
    return [Mutant(area, file, site) for file in area.files() for site in sites(file.read_text(encoding="utf-8"))]


def _sample(names: list[str] | None, count: int, seed: int, equivalent: dict[tuple[str, ...], str]) -> list[Mutant]:
    """So many mutants, equally many of each area, none of them known to be equivalent."""
    areas = [area for area in AREAS if not names or area.name in names]
    drawn: list[Mutant] = []
    for place, area in enumerate(areas):
        share = count // len(areas) + (place < count % len(areas))
        possible = [mutant for mutant in _all(area) if _key(mutant) not in equivalent]
        drawn += random.Random(f"{seed} {area.name}").sample(possible, min(share, len(possible)))
    return drawn


def _only(place: str) -> Iterator[Mutant]:
    name, _, line = place.rpartition(":")
    for area in AREAS:
        for mutant in _all(area):
            if mutant.file == SOURCE / name and mutant.site.line == int(line):
                yield mutant


def _judged(mutants: list[Mutant], coverage: Coverage, jobs: int) -> dict[int, Verdict]:
    """Verdicts by number: those inside of functions by forks of one process, the others by fresh imports."""
    inside = {number: mutant for number, mutant in enumerate(mutants) if is_inside(mutant, coverage)}
    served = {
        number: _told(mutants[number], verdict)
        for number, verdict in serve(inside, coverage, jobs)
        if verdict is not None
    }
    others = [number for number in range(len(mutants)) if number not in served]
    return served | dict(_imported(mutants, others, coverage, jobs))


def _imported(
    mutants: list[Mutant], numbers: list[int], coverage: Coverage, jobs: int
) -> Iterator[tuple[int, Verdict]]:
    """(number, verdict), as processes come back; each judges every so-manieth mutant."""
    reading, writing = os.pipe()
    workers = []
    for worker in range(jobs):
        child = os.fork()
        if child == 0:
            os.close(reading)
            with tempfile.NamedTemporaryFile(suffix=".log") as log, os.fdopen(writing, "w") as pipe:
                for number in numbers[worker::jobs]:
                    pipe.write(json.dumps([number, judge(mutants[number], coverage, Path(log.name))]) + "\n")
                    pipe.flush()
            os._exit(0)
        workers.append(child)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        for line in pipe:
            number, verdict = json.loads(line)
            yield number, _told(mutants[number], Verdict(*verdict))
    for child in workers:
        os.waitpid(child, 0)


def _told(mutant: Mutant, verdict: Verdict) -> Verdict:
    state = "caught" if verdict.caught else verdict.outcome.upper()
    print(
        f"{state:<8} {mutant} [{mutant.site.kind}] {verdict.how} ({verdict.tests} tests, {verdict.seconds:.1f} s)",
        flush=True,
    )
    return verdict


def _report(mutants: list[Mutant], verdicts: dict[int, Verdict], equivalent: dict[tuple[str, ...], str]) -> int:
    """A table by area and the survivors; 1 where the bar is missed, 2 where a fault could not be judged."""
    total, caught, explained = Counter[str](), Counter[str](), Counter[str]()
    print("\nSurvivors:")
    for number, mutant in enumerate(mutants):
        verdict, reason = verdicts[number], equivalent.get(_key(mutant))
        total[mutant.area.name] += 1
        if verdict.caught:
            caught[mutant.area.name] += 1
        else:
            wrong = verdict.outcome == Outcome.ERROR
            explained[mutant.area.name] += reason is not None and not wrong
            told = f"not judged: {verdict.how}" if wrong else reason or verdict.how
            print(f"\n{mutant} in {mutant.site.scope or mutant.site.row or 'the module'}: {told}")
            print(f"  - {mutant.site.before}\n  + {mutant.site.after}")
    print(f"\n{'area':<16}{'mutants':>8}{'caught':>8}{'equal':>8}{'share':>9}")
    for name in [*total, "all"]:
        among = total.total() if name == "all" else total[name]
        found = caught.total() if name == "all" else caught[name]
        same = explained.total() if name == "all" else explained[name]
        share = found / max(1, among - same)
        print(f"{name:<16}{among:>8}{found:>8}{same:>8}{share:>9.1%}")
    if any(verdict.outcome == Outcome.ERROR for verdict in verdicts.values()):
        return 2
    return int(share < BAR)


if __name__ == "__main__":
    sys.exit(main())
