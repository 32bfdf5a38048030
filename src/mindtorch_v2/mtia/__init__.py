"""`torch.mtia` without such devices."""

from mindtorch_v2._core.absent_devices import functions as _functions

globals().update(_functions("mtia"))
__all__ = sorted(_functions("mtia"))
