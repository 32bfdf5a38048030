"""The package `functorch` where the package stands in for PyTorch: the transforms, by their older names.

`functorch.compile` has the pieces of ahead-of-time autograd.
"""

from mindtorch_v2._functorch.deprecated import (
    combine_state_for_ensemble,
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    make_functional,
    make_functional_with_buffers,
    vjp,
    vmap,
)
from mindtorch_v2._functorch.make_functional import FunctionalModule, FunctionalModuleWithBuffers
from mindtorch_v2._functorch.names import compile  # PyTorch's name
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx

__all__ = [
    "FunctionalModule",
    "FunctionalModuleWithBuffers",
    "combine_state_for_ensemble",
    "compile",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
]
