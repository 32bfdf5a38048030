"""Make up schemas and calls of operators, a million if asked, and watch that nothing crashes, hangs or is kept.

    python tools/fuzz_library.py --schemas 1000000 --calls 1000000 --seed 7

The texts and calls are those of tests/library, which make a few thousand of them. Here they go on in rounds; after each the
references to every value that the calls share are counted, and the objects and the memory of the process. A schema that is
accepted has to print as a text that parses to it. The exit status is 1 if a count grows from the second round to the last.
"""

import argparse
import faulthandler
import gc
import random
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "library"))

from test_binding import AnyCalls, hostile_values
from test_schemas import random_schema

import mindtorch_v2 as torch

HANG = 300  # seconds without the end of a round; then every thread's stack is shown and the process ends
PAGE = resource.getpagesize()


def resident() -> int:
    """Megabytes of memory that the process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE >> 20


def schemas(draw: random.Random, count: int) -> int:
    """How many of ``count`` texts are schemas."""
    accepted = 0
    for _ in range(count):
        text = random_schema(draw)
        try:
            schema = torch._C.parse_schema(text)
        except RuntimeError:
            continue
        accepted += 1
        if torch._C.parse_schema(str(schema)) != schema:
            raise AssertionError(f"{text!r} prints as {str(schema)!r}, which is another schema")
    return accepted


def rounds(what: str, total: int, make: Callable[[int], int], values: list) -> bool:
    """Run ``make(count)`` until ``total``; whether the counts of references and objects stayed as they were."""
    each = min(20_000, total)
    seen, good, started = [], 0, time.monotonic()
    for done in range(each, total + 1, each):
        faulthandler.dump_traceback_later(HANG, exit=True)
        good += make(each)
        faulthandler.cancel_dump_traceback_later()
        gc.collect()
        references = sum(sys.getrefcount(value) for value in values)
        seen.append((references, len(gc.get_objects()), resident()))
        if done % (each * 10) == 0 or done == total:
            spent = time.monotonic() - started
            print(
                f"{what}: {done}, {good} of them good, {spent:.0f} s, references {seen[-1][0]}, objects {seen[-1][1]}, "
                f"{seen[-1][2]} MB",
                flush=True,
            )
    if len(seen) < 3:
        return True
    # The number of objects swings a little with the interpreter's own caches.
    return seen[1][0] == seen[-1][0] and seen[-1][1] - seen[1][1] < 200


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemas", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    draw, values = random.Random(chosen.seed), hostile_values()
    flat = rounds("schemas", chosen.schemas, lambda count: schemas(draw, count), [])
    own = [value for value in values.values() if sys.getrefcount(value) < 20]  # not None, 1 and the like
    calls = AnyCalls(draw, values, 400)
    flat &= rounds("calls", chosen.calls, calls.make, own)
    if not flat:
        sys.exit("something is kept: the counts grew")


if __name__ == "__main__":
    main()
