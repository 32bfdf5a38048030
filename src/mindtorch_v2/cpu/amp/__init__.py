"""`torch.cpu.amp`: the older names of `torch.amp` for the CPU."""

from mindtorch_v2.cpu.amp.autocast_mode import autocast
from mindtorch_v2.cpu.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast"]
