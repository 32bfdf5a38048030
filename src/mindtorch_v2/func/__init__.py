"""`torch.func`: functions transformed: mapped over slices (`vmap`), differentiated (`grad`, `vjp`, `jvp`, ...), nested."""

from mindtorch_v2.func import _function_rules as _function_rules
from mindtorch_v2.func._batch_norm import replace_all_batch_norm_modules_
from mindtorch_v2.func._functional_call import functional_call, stack_module_state
from mindtorch_v2.func._functionalize import functionalize
from mindtorch_v2.func._rearrange import rearrange
from mindtorch_v2.func._transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from mindtorch_v2.func._vmap import vmap

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
