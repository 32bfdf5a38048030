"""`torch.mps` without Metal: nothing is available, and what would need it raises RuntimeError."""

from mindtorch_v2._core.absent_devices import functions as _functions

globals().update(_functions("mps"))
__all__ = sorted(_functions("mps"))
