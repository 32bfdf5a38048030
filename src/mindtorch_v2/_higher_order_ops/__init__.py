"""Control flow whose conditions are tensors, and scans: `cond`, `while_loop`, `scan` and `associative_scan`."""

import mindtorch_v2._higher_order_ops.map  # (a function of that name within it)
import mindtorch_v2._higher_order_ops.wrap
from mindtorch_v2._core.unavailable import unavailable_function
from mindtorch_v2._higher_order_ops.associative_scan import associative_scan
from mindtorch_v2._higher_order_ops.cond import cond
from mindtorch_v2._higher_order_ops.invoke_quant import InvokeQuant
from mindtorch_v2._higher_order_ops.scan import scan
from mindtorch_v2._higher_order_ops.while_loop import while_loop

__all__ = ["InvokeQuant", "associative_scan", "cond", "scan", "while_loop"]

invoke_quant_packed = unavailable_function("torch._higher_order_ops.invoke_quant_packed")
