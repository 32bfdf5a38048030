"""Every operator against the installed PyTorch, slowest first: what to mend next.

    python benchmarks/sweep.py                                           float32 and bfloat16, forward, 1 thread
    python benchmarks/sweep.py --layouts contiguous transposed --backward
    python benchmarks/sweep.py --match pool --dtypes f64 --threads 2 --clock wall

Short blocks and few rounds: a ratio is good to some 10%. What it finds is measured again by a case of its own.
Cases that one of the two libraries refuses (not implemented for a dtype) are left out.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from cases.operators import DTYPES, GROUP
from cases.registry import CASES
from report import geometric_mean
from tqdm import tqdm
from workers import CaseFailedError, CaseRaisedError, Times, Worker, measure

_BLOCK_SECONDS, _ROUNDS = 0.005, 5


def main() -> int:
    """Measure what the command line asks for and print a line for each case, the lowest speed first."""
    options = _options()
    wanted = [
        name
        for name, case in CASES.items()
        if case.group == GROUP
        and (not options.match or any(word in name for word in options.match))
        and _kind(name, options)
    ]
    times = _measure(wanted, options)
    for name, time in sorted(times.items(), key=lambda item: item[1].speed):
        print(f"{time.speed:6.2f}  {time.reference * 1e6:10.1f} {time.ours * 1e6:10.1f} us  {name}")
    if times:
        print(f"{geometric_mean([time.speed for time in times.values()]):6.2f}  geometric mean of {len(times)}")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--match", nargs="+", help="only cases whose name contains one of these")
    parser.add_argument("--dtypes", nargs="+", choices=list(DTYPES), default=["f32", "bf16"])
    parser.add_argument("--layouts", nargs="+", default=["contiguous"], help="contiguous transposed broadcast small")
    parser.add_argument("--backward", action="store_true", help="forward and backward together, instead of forward")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=["wall", "cpu"], default="cpu", help="default: cpu, for busy machines")
    return parser.parse_args()


def _kind(name: str, options: argparse.Namespace) -> bool:
    _, dtype, layout, *backward = name.split(", ")
    return dtype in options.dtypes and layout in options.layouts and bool(backward) == options.backward


def _measure(names: list[str], options: argparse.Namespace) -> dict[str, Times]:
    times, waiting = {}, list(names)
    with tqdm(total=len(names), leave=False, disable=None) as bar:
        while waiting:
            workers = (Worker(library, options.threads, options.clock) for library in ("torch", "mindtorch_v2"))
            with next(workers) as reference, next(workers) as ours:
                while waiting:
                    name = waiting.pop(0)
                    bar.update()
                    try:
                        times[name] = measure(reference, ours, name, _ROUNDS, _BLOCK_SECONDS)
                    except CaseRaisedError as error:
                        print(f"        {name}: {error}", file=sys.stderr)
                    except CaseFailedError as error:
                        print(f"        {name}: {error}", file=sys.stderr)
                        break
    return times


if __name__ == "__main__":
    sys.exit(main())
