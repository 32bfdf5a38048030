"""`functorch.experimental.control_flow`."""

from mindtorch_v2._higher_order_ops.cond import cond
from mindtorch_v2._higher_order_ops.map import map

__all__ = ["cond", "map"]
