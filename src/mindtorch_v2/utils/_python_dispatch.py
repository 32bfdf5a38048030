"""`__torch_dispatch__` modes, by name: calls are not handed to Python below autograd yet."""

from mindtorch_v2._unavailable import unavailable_class

__all__ = [
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
]

TorchDispatchMode = unavailable_class("torch.utils._python_dispatch.TorchDispatchMode")


def _get_current_dispatch_mode():
    return None


def _get_current_dispatch_mode_stack():
    return []


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """Whether a mode is active: False."""
    return False


def is_traceable_wrapper_subclass_type(t):
    """Whether a class has both `__tensor_flatten__` and `__tensor_unflatten__`."""
    return hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def is_traceable_wrapper_subclass(t):
    """Whether `t` is a tensor that wraps others and can be taken apart."""
    return is_traceable_wrapper_subclass_type(type(t))
