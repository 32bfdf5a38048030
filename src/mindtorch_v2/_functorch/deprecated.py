"""The transforms under the names of the package `functorch`, which was taken into PyTorch: each says where it is now."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import func as _func
from mindtorch_v2._functorch import make_functional as _modules

__all__ = [
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "vjp",
    "vmap",
]


def _moved(function: Callable[..., Any], successor: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def moved(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"functorch is a part of PyTorch now: `functorch.{function.__name__}` is deprecated as of PyTorch 2.0 and will be "
            f"removed. Please use `{successor}` instead; https://pytorch.org/docs/main/func.migrating.html tells more.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    return moved


vmap = _moved(_func.vmap, "torch.vmap")
functionalize = _moved(_func.functionalize, "torch.func.functionalize")
grad = _moved(_func.grad, "torch.func.grad")
grad_and_value = _moved(_func.grad_and_value, "torch.func.grad_and_value")
hessian = _moved(_func.hessian, "torch.func.hessian")
jacfwd = _moved(_func.jacfwd, "torch.func.jacfwd")
jacrev = _moved(_func.jacrev, "torch.func.jacrev")
jvp = _moved(_func.jvp, "torch.func.jvp")
vjp = _moved(_func.vjp, "torch.func.vjp")
combine_state_for_ensemble = _moved(_modules.combine_state_for_ensemble, "torch.func.stack_module_state")
make_functional = _moved(_modules.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _moved(_modules.make_functional_with_buffers, "torch.func.functional_call")
