"""`functorch.experimental.control_flow`."""

from mindtorch_v2._higher_order_ops.cond import cond

__all__ = ["cond"]
