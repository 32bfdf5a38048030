"""`python -m mindtorch_v2.profiler stacks.txt flame.svg`: a flame graph of what `profile.export_stacks` wrote."""

from __future__ import annotations

import argparse
import pathlib
import sys

from ._flame import flame_graph


def main(arguments: list[str]) -> int:
    """Draw; 0 if the picture was written, 1 if not, with the reason."""
    parser = argparse.ArgumentParser(prog="python -m mindtorch_v2.profiler", description=__doc__)
    parser.add_argument("stacks", type=pathlib.Path, help="a file of export_stacks")
    parser.add_argument("picture", type=pathlib.Path, help="the SVG file to write")
    parser.add_argument("--title", default="Flame graph")
    chosen = parser.parse_args(arguments)
    try:
        picture = flame_graph(chosen.stacks.read_text("utf-8").splitlines(), chosen.title)
        chosen.picture.write_text(picture, "utf-8")
    except (OSError, ValueError) as error:
        print(f"{chosen.stacks}: {error}", file=sys.stderr)
        return 1
    print(chosen.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
