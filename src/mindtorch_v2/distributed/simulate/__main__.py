"""The command: a recorded step on more and more ranks of a cluster.

    python -m mindtorch_v2.distributed.simulate step.json --cluster cluster.toml --ranks 8,64,1024 --plot scaling.svg

cluster.toml describes it (bytes a second, seconds):

    ranks_per_node = 8
    [inside]
    bandwidth = 150e9
    latency = 5e-6
    [between]
    bandwidth = 25e9
    latency = 20e-6
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from mindtorch_v2.distributed.simulate.cluster import Cluster
from mindtorch_v2.distributed.simulate.plot import drawing
from mindtorch_v2.distributed.simulate.replay import Prediction, predict
from mindtorch_v2.distributed.simulate.schedule import Schedule

_MOST = 1024  # ranks, where the command does not say


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of predictions; the status is 2 for a file that is none of the kind, or numbers of ranks that cannot be."""
    chosen = _options(arguments)
    try:
        schedule, cluster = Schedule.load(chosen.schedule), Cluster.load(chosen.cluster)
        found = [
            predict(schedule, cluster, ranks, chosen.grow) for ranks in _numbers(chosen.ranks, len(schedule.ranks))
        ]
    except (OSError, ValueError) as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 2
    for kind, (count, nbytes) in schedule.kinds().items():
        print(f"{count} x {kind}, {nbytes / 1e6:.3f} MB in a step of a rank")
    print(table(found))
    first = next((each.ranks for each in found if each.bound_by == "communication"), None)
    print(f"bound by communication from {first} ranks on" if first else "bound by computing throughout")
    if chosen.plot:
        with open(chosen.plot, "w") as file:
            file.write(drawing(found))
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mindtorch_v2.distributed.simulate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("schedule", help="a file that simulate.record wrote")
    parser.add_argument("--cluster", required=True, help="a TOML file")
    parser.add_argument("--ranks", help=f"numbers with commas; by default the recorded number doubled up to {_MOST}")
    parser.add_argument("--grow", action="append", default=[], help="a group that grows besides the default one")
    parser.add_argument("--plot", help="a file for the drawing, SVG")
    return parser.parse_args(arguments)


def _numbers(text: str | None, recorded: int) -> list[int]:
    if text is not None:
        return [int(each) for each in text.split(",")]
    found = [recorded]
    while found[-1] * 2 <= _MOST:
        found.append(found[-1] * 2)
    return found


def table(found: Sequence[Prediction]) -> str:
    """Predictions as lines of text."""
    lines = [" ranks   step ms  compute ms  communication ms  exposed ms  efficiency  bound by"]
    for each in found:
        times = (1e3 * seconds for seconds in (each.step, each.compute, each.communication, each.exposed))
        step, compute, communication, exposed = times
        lines.append(
            f"{each.ranks:6} {step:9.2f} {compute:11.2f} {communication:17.2f} {exposed:11.2f} {each.efficiency:10.1%}   {each.bound_by}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
