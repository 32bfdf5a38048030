"""Control flow whose conditions are tensors, and scans: `cond`, `while_loop`, `scan` and `associative_scan`."""

from mindtorch_v2._higher_order_ops.associative_scan import associative_scan
from mindtorch_v2._higher_order_ops.cond import cond
from mindtorch_v2._higher_order_ops.scan import scan
from mindtorch_v2._higher_order_ops.while_loop import while_loop

__all__ = ["associative_scan", "cond", "scan", "while_loop"]
