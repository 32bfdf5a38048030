"""Control flow whose conditions are tensors: `cond` and `while_loop`."""

from mindtorch_v2._higher_order_ops.cond import cond
from mindtorch_v2._higher_order_ops.while_loop import while_loop

__all__ = ["cond", "while_loop"]
