"""`torch.amp`: mixed precision: `autocast`, gradient scaling, and the decorators for custom functions."""

from mindtorch_v2.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from mindtorch_v2.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
