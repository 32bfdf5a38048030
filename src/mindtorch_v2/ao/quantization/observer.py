"""Observers: modules that see tensors, and say with which scale and zero point they would be quantized."""

from mindtorch_v2.ao.quantization._observers import defaults, granularity, histogram, min_max, passing, state
from mindtorch_v2.ao.quantization._observers.base import (
    ObserverBase,
    UniformQuantizationObserverBase,
    _PartialWrapper,
    _with_args,
    _with_callable_args,
)
from mindtorch_v2.ao.quantization._observers.defaults import *  # noqa: F403  (each says what it exports)
from mindtorch_v2.ao.quantization._observers.granularity import *  # noqa: F403  (each says what it exports)
from mindtorch_v2.ao.quantization._observers.histogram import *  # noqa: F403  (each says what it exports)
from mindtorch_v2.ao.quantization._observers.min_max import *  # noqa: F403  (each says what it exports)
from mindtorch_v2.ao.quantization._observers.passing import *  # noqa: F403  (each says what it exports)
from mindtorch_v2.ao.quantization._observers.state import *  # noqa: F403  (each says what it exports)
from mindtorch_v2.ao.quantization._observers.state import _is_activation_post_process

__all__ = [
    "ObserverBase",
    "UniformQuantizationObserverBase",
    *defaults.__all__,
    *granularity.__all__,
    *histogram.__all__,
    *min_max.__all__,
    *passing.__all__,
    *state.__all__,
]

_ObserverBase = UniformQuantizationObserverBase

# Names that programs reach through this module though it does not define them.
_REACHED_HERE = (_PartialWrapper, _with_args, _with_callable_args, _is_activation_post_process)

# Classes and functions say where users, and pickles, find them.
for _each in list(globals().values()):
    if isinstance(_each, type) or hasattr(_each, "__code__"):
        if getattr(_each, "__module__", "").startswith("mindtorch_v2.ao.quantization._observers."):
            _each.__module__ = __name__
del _each
