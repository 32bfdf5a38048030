"""Random number generators of CUDA devices; without any, there are none to seed."""

from mindtorch_v2._core.absent_devices import functions as _functions
from mindtorch_v2.cuda._handed import handing_on as _handing_on

globals().update({name: _handing_on(function) for name, function in _functions("cuda.random").items()})
__all__ = sorted(_functions("cuda.random"))
