"""Ours against the installed PyTorch, interleaved, on this machine.

    python benchmarks/run.py                          everything, with 1 and with 2 threads
    python benchmarks/run.py --only overhead,models   some groups
    python benchmarks/run.py --only inference,steps   whole models, eager and compiled: PyTorch's compiler takes minutes
    python benchmarks/run.py --match gelu --threads 1 some cases
    python benchmarks/run.py --clock cpu --threads 1  processor time: what another program takes away is not counted

Writes table.md, results.json and speed.png below --out. Needs PyTorch, transformers and matplotlib beside the package.
"""

import argparse
import os
import platform
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import footprint
from cases.inference import GROUP as INFERENCE
from cases.inference import STEPS
from cases.operators import GROUP as SWEEP
from cases.registry import CASES, GEOMETRIC_BARS, Case
from report import Row, geometric_mean, save, table
from tqdm import tqdm
from workers import ROUNDS, SLOW_ROUNDS, CaseFailedError, Worker, measure

REFERENCE, OURS = "torch", "mindtorch_v2"
_IMPORT_BAR = 1 / 0.25
_CLOCKS = {"wall": "wall clock", "cpu": "processor time, all threads of a process together"}


def main() -> int:
    """Measure what the command line asks for; the status is 0 whatever the bars say."""
    options = _options()
    import cases  # noqa: F401  (fills CASES; its models import transformers, which the options need not wait for)

    chosen = [
        case
        for case in CASES.values()
        if (case.group in options.only if options.only else case.group not in (SWEEP, INFERENCE, STEPS))
        and (not options.match or options.match in case.name)
    ]
    rows = []
    for threads in options.threads:
        measured = _measure_all(chosen, threads, options.clock)
        rows += measured + _geometric_means(chosen, measured, threads)
    if not options.match and (not options.only or "footprint" in options.only):
        rows += _footprint_rows(max(options.threads))
    machine = _machine() | {"time": _CLOCKS[options.clock]}
    save(rows, machine, options.out)
    print(f"Time: {_CLOCKS[options.clock]}.\n\n{table(rows)}")
    print(f"written to {options.out}: table.md, results.json, speed.png")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=lambda text: text.split(","), help="groups, separated by commas")
    parser.add_argument("--match", help="only cases whose name contains this")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default: 1 2")
    parser.add_argument(
        "--clock",
        choices=list(_CLOCKS),
        default="wall",
        help="wall: by the clock on the wall (default). cpu: processor time of the whole process, over all its threads;"
        " with --threads 1 it gives usable ratios on a machine that has other work. Footprint is not affected",
    )
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="default: out/bench")
    return parser.parse_args()


def _measure_all(chosen: list[Case], threads: int, clock: str) -> list[Row]:
    """One row a case; a case that ends a worker becomes a row with its error, and both workers start again."""
    rows, waiting = [], list(chosen)
    with tqdm(
        total=len(chosen), desc=f"{threads} thread{'s' if threads > 1 else ''}", leave=False, disable=None
    ) as bar:
        while waiting:
            with Worker(REFERENCE, threads, clock) as reference, Worker(OURS, threads, clock) as ours:
                while waiting:
                    case = waiting.pop(0)
                    row = Row(case.group, case.name, threads)
                    row.bar = case.bar.speed if case.bar and case.bar.threads == threads else None
                    rows.append(row)
                    bar.set_postfix_str(case.name)
                    bar.update()
                    try:
                        times = measure(reference, ours, case.name, SLOW_ROUNDS if case.slow else ROUNDS)
                    except CaseFailedError as error:
                        row.error = str(error)
                        break
                    row.reference, row.ours = times.reference, times.ours
    return rows


def _geometric_means(chosen: list[Case], rows: list[Row], threads: int) -> list[Row]:
    means = []
    for name, bar in GEOMETRIC_BARS.items():
        members = [row for case, row in zip(chosen, rows, strict=True) if case.geometric == name]
        speeds = [row.speed for row in members if row.speed]
        if speeds:
            mean = geometric_mean(speeds)
            complete = "" if len(speeds) == len(members) else f" ({len(members) - len(speeds)} failed)"
            title = f"{name}, geometric mean of {len(speeds)}{complete}"
            means.append(
                Row("geometric means", title, threads, mean, 1.0, "", bar.speed if bar.threads == threads else None)
            )
    return means


def _footprint_rows(threads: int) -> list[Row]:
    imports = footprint.import_seconds((REFERENCE, OURS))
    rows = [Row("footprint", "import", 1, imports[REFERENCE], imports[OURS], "s", _IMPORT_BAR)]
    peak = Row("footprint", "peak memory of BERT-base training steps", threads, unit="B", bar=1.0)
    try:
        peak.reference = footprint.peak_bytes(REFERENCE, "base", threads)
        peak.ours = footprint.peak_bytes(OURS, "base", threads)
    except CaseFailedError as error:
        peak.error = str(error)
    size = Row("footprint", "installed size", 1, unit="B")
    size.reference, size.ours = footprint.installed_bytes("torch"), footprint.installed_bytes("mindtorch_v2")
    rows += [peak, size]
    wheel = footprint.wheel_bytes(Path("dist"))
    return rows + ([Row("footprint", "wheel size", 1, None, wheel, unit="B")] if wheel else [])


def _machine() -> dict[str, str]:
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return {"processor": f"{cpu}, {os.cpu_count()} cores", "Python": platform.python_version()}


if __name__ == "__main__":
    sys.exit(main())
