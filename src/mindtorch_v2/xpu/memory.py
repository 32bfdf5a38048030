"""Memory of XPU devices: there are none, so nothing is in use."""

from mindtorch_v2._core.absent_devices import functions as _functions

globals().update(_functions("xpu.memory"))
__all__ = sorted(_functions("xpu.memory"))
