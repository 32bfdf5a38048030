"""Random number generators of CUDA devices: there are none to seed."""

from mindtorch_v2._core.absent_devices import functions as _functions

globals().update(_functions("cuda.random"))
__all__ = sorted(_functions("cuda.random"))
