"""`python -m mindtorch_v2.graph script.py --svg out.svg [arguments of the script]`: draws the graphs that a script makes."""

import argparse
import pathlib
import runpy
import sys

from mindtorch_v2._as_torch import as_torch
from mindtorch_v2.fx import GraphModule
from mindtorch_v2.graph import svg


def main() -> None:
    """Run the script as `torch`'s, then draw each GraphModule among its globals; an error if there is none."""
    parser = argparse.ArgumentParser(prog="python -m mindtorch_v2.graph", description=main.__doc__)
    parser.add_argument("script", help="the script; its global variables that hold a GraphModule are drawn")
    parser.add_argument("--svg", required=True, metavar="FILE", help="where the picture goes")
    options, rest = parser.parse_known_args()
    as_torch()

    sys.argv = [options.script, *rest]
    sys.path.insert(0, str(pathlib.Path(options.script).resolve().parent))
    found = runpy.run_path(options.script, run_name="__main__")
    graphs = {name: value for name, value in found.items() if isinstance(value, GraphModule)}
    if not graphs:
        parser.error(f"{options.script} leaves no GraphModule in a global variable")
    pathlib.Path(options.svg).write_text(svg(graphs), encoding="utf-8")
    print(f"{options.svg}: {', '.join(graphs)}")


if __name__ == "__main__":
    main()
