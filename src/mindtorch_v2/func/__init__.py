"""`torch.func`: functions transformed. `vmap` runs slice by slice; the transforms of derivatives are missing."""

from mindtorch_v2._unavailable import unavailable_function
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

_REMEDY = "use torch.autograd.grad or torch.autograd.functional"

functionalize = unavailable_function("torch.func.functionalize")
grad = unavailable_function("torch.func.grad", _REMEDY)
grad_and_value = unavailable_function("torch.func.grad_and_value", _REMEDY)
hessian = unavailable_function("torch.func.hessian", _REMEDY)
jacfwd = unavailable_function("torch.func.jacfwd", _REMEDY)
jacrev = unavailable_function("torch.func.jacrev", _REMEDY)
jvp = unavailable_function("torch.func.jvp", _REMEDY)
linearize = unavailable_function("torch.func.linearize", _REMEDY)
vjp = unavailable_function("torch.func.vjp", _REMEDY)
