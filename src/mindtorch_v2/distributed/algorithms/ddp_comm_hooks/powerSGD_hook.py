"""PowerSGD by its names, which libraries import beside the other hooks: gradients are not sent in low rank here."""

from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

_PLACE = "torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook"
_REMEDY = "default_hooks sends gradients in sixteen bits"
PowerSGDState = unavailable_class(f"{_PLACE}.PowerSGDState", _REMEDY)
powerSGD_hook = unavailable_function(f"{_PLACE}.powerSGD_hook", _REMEDY)
batched_powerSGD_hook = unavailable_function(f"{_PLACE}.batched_powerSGD_hook", _REMEDY)
