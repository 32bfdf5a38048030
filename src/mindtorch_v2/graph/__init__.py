"""Graphs of programs: what holds of each of them (`verify`), and pictures of them (`svg`).

`check_order` runs one in other orders that its data flow allows.

`python -m mindtorch_v2.graph script.py --svg out.svg` runs a script and draws the graph modules that it leaves.
"""

from mindtorch_v2.graph._draw import svg
from mindtorch_v2._lowered.replay import check_order
from mindtorch_v2._lowered.verify import GraphError, verify

__all__ = ["GraphError", "check_order", "svg", "verify"]
