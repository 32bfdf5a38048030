"""The command line."""

from __future__ import annotations

import argparse
import sys
import time

import fuzz.stateful
from fuzz.stateful import machine
from fuzz.stateful.machine import LAST, counts, findings, run

PORTION = 100
"""Programs of one run of hypothesis, which has a seed of its own."""


def main() -> None:
    """Reads it, and runs the programs."""
    parser = argparse.ArgumentParser(
        prog="python -m fuzz.stateful", description=fuzz.stateful.__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="begin no further 100 programs after so long")
    parser.add_argument(
        "--survey", action="store_true", help="show all differences, each by a short program, instead of the first"
    )
    chosen = parser.parse_args()
    machine.survey = chosen.survey
    print(f"the program that runs lies in {LAST}", file=sys.stderr)
    started = time.monotonic()
    try:
        for number in range(0, chosen.programs, PORTION):
            if chosen.seconds and time.monotonic() - started > chosen.seconds:
                break
            run(min(PORTION, chosen.programs - number), chosen.steps, chosen.seed * 1_000_003 + number)
    finally:
        print(
            f"{counts['programs']} programs, {counts['steps']} steps, {counts['errors']} of them errors on a side, {time.monotonic() - started:.0f} s"
        )
        for key in sorted(findings):
            print("\n    ".join([key, *findings[key]]))
        sys.stdout.flush()


if __name__ == "__main__":
    main()
