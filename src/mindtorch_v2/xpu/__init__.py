"""`torch.xpu` without Intel GPUs: nothing is available, and what would need a device raises."""

from mindtorch_v2._core.absent_devices import functions as _functions
from mindtorch_v2._core.unavailable import unavailable_names
from mindtorch_v2.xpu import memory, random
from mindtorch_v2.xpu.memory import *
from mindtorch_v2.xpu.random import *

_ABSENT = _functions("xpu")
_UNAVAILABLE = unavailable_names(
    "torch.xpu",
    functions="make_graphed_callables use_mem_pool",
    classes="Event MemPool Stream XPUGraph XPUPluggableAllocator graph",
)
globals().update(_ABSENT | _UNAVAILABLE)
__all__ = sorted([*_ABSENT, *_UNAVAILABLE, *memory.__all__, *random.__all__, "default_generators", "memory", "random"])

default_generators = ()
