"""`torch.__future__`: how modules take converted parameters, in `to`, `half`, `cuda` and `load_state_dict`."""

from __future__ import annotations

_overwrite_module_params_on_conversion = False
_swap_module_params_on_conversion = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether a conversion makes new parameters rather than writing into those that are there."""
    global _overwrite_module_params_on_conversion
    _overwrite_module_params_on_conversion = value


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether a conversion makes new parameters: False unless it was set."""
    return _overwrite_module_params_on_conversion


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether a conversion swaps the insides of parameters, by `torch.utils.swap_tensors`, so that references stay valid."""
    global _swap_module_params_on_conversion
    _swap_module_params_on_conversion = value


def get_swap_module_params_on_conversion() -> bool:
    """Whether a conversion swaps the insides of parameters: False unless it was set."""
    return _swap_module_params_on_conversion
