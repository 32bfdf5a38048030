"""`functorch.experimental`."""

from mindtorch_v2._functorch.names import control_flow
from mindtorch_v2._higher_order_ops.cond import cond
from mindtorch_v2.func import functionalize, vmap

__all__ = ["cond", "control_flow", "functionalize", "vmap"]
