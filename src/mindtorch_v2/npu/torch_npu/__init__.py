"""`torch_npu`'s names. The device is part of this package: nothing is registered by the import.

`import torch_npu` finds this module where `torch` means ours, MINDTORCH_AS_TORCH_NPU=1 asks for it, and no other torch_npu is
installed. Its operators are those of `torch.ops.npu` and `torch.ops.atb`.
"""

import os
from typing import Any

from mindtorch_v2 import npu, ops, qint8, qint32, quint2x4, quint4x2, quint8, torchair
from mindtorch_v2._as_torch import TORCH_VERSION as __version__
from mindtorch_v2._operators.table import rows_of
from mindtorch_v2.npu.streams import erase_stream

from mindtorch_v2._core.unavailable import unavailable_class, unavailable_function

from . import _C, atb, contrib, dynamo, jit, multiprocessing, op_plugin, optim, profiler, testing, utils
from ._outputs import with_outputs
from .formats import (
    Format,
    empty_with_format,
    empty_with_swapped_memory,
    get_npu_format,
    npu_format_cast,
    npu_format_cast_,
)
from .utils.combine_tensors import get_storage_size, npu_change_data_ptr

ops.npu.npu_rms_norm  # noqa: B018  (defines the operators)
_OPERATORS = {row.handle.name: getattr(ops, space) for space in ("npu", "atb") for row in rows_of(space).values()}
# The numbers by which operators take dtypes that PyTorch's C++ does not number: 256 and ACL's number of the type.
_DTYPES = {
    "hifloat8": 290,
    "float8_e5m2": 291,
    "float8_e4m3fn": 292,
    "float8_e8m0fnu": 293,
    "float4_e2m1fn_x2": 296,
    "float4_e1m2fn_x2": 297,
}

# The dtypes whose typed storages a device does not have: programs that number dtypes leave these out.
unsupported_dtype = [quint8, quint4x2, quint2x4, qint32, qint8]

__all__ = [
    "Format",
    "__version__",
    "HiFloat8Tensor",
    "atb",
    "contrib",
    "dynamo",
    "empty_with_format",
    "erase_stream",
    "empty_with_swapped_memory",
    "get_storage_size",
    "jit",
    "multiprocessing",
    "npu",
    "npu_change_data_ptr",
    "op_plugin",
    "optim",
    "profiler",
    "testing",
    "torchair",
    "unsupported_dtype",
    "utils",
    *_DTYPES,
    *_OPERATORS,
]

for _name, _space in _OPERATORS.items():
    if _name not in globals():  # those of .formats look first whether there is anything to do
        globals()[_name] = with_outputs(getattr(_space, _name))
globals().update(_DTYPES)


def __getattr__(name: str) -> Any:
    """The form without writing of an operator that writes, which is made when it is asked for."""
    stem = name.removesuffix("_functional")
    space = None if stem == name else _OPERATORS.get(stem, _OPERATORS.get(f"{stem}_"))
    if space is not None and hasattr(space, name):
        globals()[name] = with_outputs(getattr(space, name))
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


HiFloat8Tensor = unavailable_class("torch_npu.HiFloat8Tensor")
HiFloat8Tensor.to_hifloat8 = unavailable_function("torch_npu.HiFloat8Tensor.to_hifloat8")

if os.environ.get("PROF_CONFIG_PATH"):
    from .profiler._non_intrusive_profile import _NonIntrusiveProfile

    _NonIntrusiveProfile.init()

if os.environ.get("TORCH_TRANSFER_TO_NPU") == "1":
    from .contrib import transfer_to_npu as _transfer_to_npu
