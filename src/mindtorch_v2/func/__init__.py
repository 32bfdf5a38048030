"""`torch.func`: functions transformed. `vmap` runs slice by slice; derivatives are recorded backward passes."""

from mindtorch_v2._unavailable import unavailable_function
from mindtorch_v2.func._derivatives import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp
from mindtorch_v2.func._functional_call import functional_call, stack_module_state
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
    "stack_module_state",
    "vjp",
    "vmap",
]

functionalize = unavailable_function("torch.func.functionalize")
linearize = unavailable_function("torch.func.linearize", "use torch.func.jvp")
