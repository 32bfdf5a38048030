"""mindtorch_v2: PyTorch's semantics without PyTorch.

``import mindtorch_v2 as torch``, or let unchanged programs find it as ``torch``: ``python -m mindtorch_v2 script.py``.
The names here are PyTorch's; each is documented where it is defined.
"""

from typing import Any as _Any

import builtins as _builtins
import importlib as _importlib
import os as _os

from ._core.openmp import load_core as _load_core

_C = _load_core()
_C._check_interpreter()
from ._C import (
    Generator,
    as_tensor,
    asarray,
    can_cast,
    default_generator,
    device,
    dtype,
    from_dlpack,
    from_numpy,
    frombuffer,
    get_default_dtype,
    get_num_threads,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    layout,
    memory_format,
    promote_types,
    result_type,
    set_default_dtype,
    set_flush_denormal,
    set_num_threads,
    tensor,
)
from .torch_version import __version__
from ._as_torch import alias_loaded as _alias_loaded
from ._as_torch import autoloads as _is_device_backend_autoload_enabled
from ._as_torch import load_companion as _load_companion
from ._as_torch import as_torch
from ._core.autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from ._core.device import get_default_device, set_default_device
from ._core.dtype import DTYPES as _DTYPES
from ._core.dtype import Size, finfo, iinfo
from ._core.errors import AcceleratorError, OutOfMemoryError
from ._core.storage import UntypedStorage
from ._tensor import Tensor
from ._core import c_names as _c_names, torch_function as _torch_function
from ._operators import load as _ops_load

globals().update(_DTYPES)
strided, sparse_coo, sparse_csr, sparse_csc = _C.strided, _C.sparse_coo, _C.sparse_csr, _C.sparse_csc
sparse_bsr, sparse_bsc, _mkldnn, jagged = _C.sparse_bsr, _C.sparse_bsc, _C._mkldnn, _C.jagged
contiguous_format, preserve_format = _C.contiguous_format, _C.preserve_format
legacy_contiguous_format = contiguous_format
channels_last, channels_last_3d = _C.channels_last, _C.channels_last_3d

globals().update(_ops_load.FUNCTIONS)
_C._nn = _ops_load._namespace("mindtorch_v2._C._nn", _ops_load.NN)
_C._linalg = _ops_load._namespace("mindtorch_v2._C._linalg", {f"linalg_{k}": v for k, v in _ops_load.LINALG.items()})
_C._special = _ops_load._namespace(
    "mindtorch_v2._C._special", {f"special_{k}": v for k, v in _ops_load.SPECIAL.items()}
)
_C._fft = _ops_load._namespace("mindtorch_v2._C._fft", {f"fft_{k}": v for k, v in _ops_load.FFT.items()})

from ._operators.tensor_types import (
    BFloat16Tensor,
    BoolTensor,
    ByteTensor,
    CharTensor,
    DoubleTensor,
    FloatTensor,
    HalfTensor,
    IntTensor,
    LongTensor,
    ShortTensor,
)
from ._behaviours.sparse.create import (
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)
from ._behaviours import quantized as _quantized_kernels
from . import _namespace
from ._sizes.numbers import FUNCTIONS as _OF_NUMBERS
from ._core.absent_modules import complete as _complete
from ._core.absent_operators import LATE as _LATE
from ._core import torch_dispatch as _torch_dispatch  # fills in what is made of several of the above

globals().update({name: getattr(_namespace, name) for name in _namespace.__all__})
globals().update(_OF_NUMBERS)
for _name in _namespace.LAZY_NAMES:  # a Python function goes before the operator of the same name that it calls
    globals().pop(_name, None)

_LAZY = _namespace.LAZY_MODULES


def __getattr__(name: str) -> _Any:
    if name == "torch":  # PyTorch's package is an attribute of itself, and programs write `torch.torch`
        return _importlib.import_module(__package__)
    if name in _LAZY:
        module = _importlib.import_module(f"{__package__}.{name}")
        _alias_loaded()
        return module
    source = _namespace.LAZY_NAMES.get(name)
    if source is not None:
        value = getattr(_importlib.import_module(f"{__package__}.{source}"), name)
        globals()[name] = value
        return value
    if name in _LATE["torch"]:
        return _namespace.late_function(name)
    raise AttributeError(f"module 'torch' has no attribute '{name}'")


def __dir__() -> list:
    return sorted({*globals(), *_LAZY, *_namespace.LAZY_NAMES})


__all__ = sorted(
    n for n in {*globals(), *_namespace.LAZY_NAMES} if not n.startswith("_") and n not in _builtins.__dict__
)

_complete(_importlib.import_module(__package__))
_load_companion()
if _os.environ.get("MINDTORCH_NPU_PRECISION"):
    _importlib.import_module(f"{__package__}.npu.precision").read_environment()
if _os.environ.get("TORCH_LOGS"):
    _importlib.import_module(f"{__package__}._logging")
