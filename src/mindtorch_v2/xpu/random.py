"""Random number generators of XPU devices: there are none to seed."""

from mindtorch_v2._core.absent_devices import functions as _functions

globals().update(_functions("xpu.random"))
__all__ = sorted(_functions("xpu.random"))
