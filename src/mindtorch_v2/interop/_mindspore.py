"""Tensors that share memory with MindSpore's, which is imported at the first call and never before.

To MindSpore a tensor goes as the NumPy array over its memory. The other way its memory is described to NumPy by its address:
`Tensor.asnumpy` copies views, and MindSpore's DLPack knows neither bool nor complex numbers and takes milliseconds a call.
The guide is `docs/mindspore.md`.
"""

from __future__ import annotations

import functools
import importlib
import math
import sys
import warnings
from types import ModuleType
from typing import Any

import numpy

from mindtorch_v2 import _C
from mindtorch_v2._tensor import Tensor

__all__ = ["from_mindspore", "set_interop_warning", "to_mindspore"]

# torch's dtype -> MindSpore's name of it, NumPy's code. NumPy has no bfloat16: MindSpore brings a dtype of its own for it.
_DTYPES = {
    "bool": ("bool_", "|b1"),
    "uint8": ("uint8", "|u1"),
    "uint16": ("uint16", "<u2"),
    "uint32": ("uint32", "<u4"),
    "uint64": ("uint64", "<u8"),
    "int8": ("int8", "|i1"),
    "int16": ("int16", "<i2"),
    "int32": ("int32", "<i4"),
    "int64": ("int64", "<i8"),
    "bfloat16": ("bfloat16", "<u2"),
    "float16": ("float16", "<f2"),
    "float32": ("float32", "<f4"),
    "float64": ("float64", "<f8"),
    "complex64": ("complex64", "<c8"),
    "complex128": ("complex128", "<c16"),
}
_PACKAGE = __name__.partition(".")[0]
_REMEDY = "pip install 'mindtorch_v2[mindspore]'"
# None: only histories that stay behind are told of. True: every crossing. False: nothing.
_warn: bool | None = None


def set_interop_warning(enabled: bool, /) -> None:
    """Warn at every crossing to and from MindSpore (True), to find what a migration has left; or at none (False).

    Before the first call only crossings that leave a gradient history behind warn.
    """
    global _warn
    if not isinstance(enabled, bool):
        raise TypeError(f"set_interop_warning(): expects a bool, got {type(enabled).__name__}")
    _warn = enabled


def _tell(direction: str, leaves_history: bool) -> None:
    if _warn is False or not (_warn or leaves_history):
        return
    text = f"{direction}: a tensor crosses between mindtorch_v2 and MindSpore"
    if leaves_history:
        text += "; its gradient history stays behind (`detach()` it first to say that this is meant)"
    warnings.warn(text, UserWarning, stacklevel=_level_of_caller())


def _level_of_caller() -> int:
    """The `stacklevel` that names the first line outside of this package to whoever asks for it."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    return level


def import_mindspore(function: str) -> ModuleType:
    """MindSpore, for a function of that name; ImportError with the remedy where it cannot be had."""
    try:
        return importlib.import_module("mindspore")
    except ModuleNotFoundError as error:
        if error.name != "mindspore":
            raise
        raise ImportError(
            f"{function}() needs MindSpore, which is not installed: {_REMEDY}", name="mindspore"
        ) from None
    except ImportError as error:
        if "dnnl" not in str(error):
            raise
        raise ImportError(
            f"{function}(): MindSpore cannot be loaded in this process. It brings an oneDNN of its own, and the one of this "
            "package, which was loaded for a matrix product or a convolution, has the same name: `import mindspore` at the "
            "beginning of the program, or set MINDTORCH_ONEDNN=0",
            name="mindspore",
        ) from error


@functools.lru_cache(maxsize=2)  # the tests put another module in its place
def _torch_names(mindspore: ModuleType) -> dict[Any, str]:
    return {getattr(mindspore, theirs): ours for ours, (theirs, _) in _DTYPES.items()}


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _supported() -> str:
    return f"dense CPU tensors of {', '.join(_DTYPES)} are exchanged"


def to_mindspore(tensor: Tensor, /) -> Any:
    """Return a mindspore.Tensor over the memory of a CPU tensor; of a contiguous copy, if it is not contiguous.

    Writes to either are seen by the other. No gradient crosses: the result has no history, and a UserWarning says so if
    `tensor` requires grad.

    Raises ImportError without MindSpore, TypeError for what is no tensor or has a dtype that MindSpore lacks, RuntimeError
    for tensors of other devices and layouts, and for those without memory.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"to_mindspore(): expects a Tensor, got {type(tensor).__name__}")
    import_mindspore("to_mindspore")
    if tensor.layout != _C.strided:
        raise RuntimeError(
            f"to_mindspore(): a tensor of layout {tensor.layout}; {_supported()}: use .to_dense() and .cpu() first"
        )
    if tensor.device.type != "cpu":
        raise RuntimeError(f"to_mindspore(): a tensor on {tensor.device}; {_supported()}: use .cpu() first")
    if _name(tensor.dtype) not in _DTYPES:
        remedy = ".dequantize()" if tensor.is_quantized else ".to(another dtype)"
        raise TypeError(f"to_mindspore(): a tensor of {tensor.dtype}; {_supported()}: use {remedy} first")
    if tensor.numel() and not tensor.untyped_storage().nbytes():
        raise RuntimeError(
            "to_mindspore(): the memory of the tensor was freed (its storage has 0 bytes); resize the storage and fill it first"
        )
    _tell("to_mindspore()", tensor.requires_grad and _C.is_grad_enabled())
    return shared_with_mindspore(tensor)


def shared_with_mindspore(tensor: Tensor) -> Any:
    """A mindspore.Tensor over the memory of a dense CPU tensor of one of the dtypes, or over that of a contiguous copy."""
    mindspore, name = importlib.import_module("mindspore"), _name(tensor.dtype)
    data = tensor.detach().contiguous()
    if name == "bfloat16":
        bits = data.view(_C._dtypes["uint16"]).numpy()
        array = bits.view(importlib.import_module("mindspore.common.np_dtype").bfloat16)
    else:
        array = data.numpy()
    return mindspore.Tensor.from_numpy(array)


class _Memory:
    """The memory of a MindSpore tensor as NumPy takes it. It stays alive with the storage, which `assign_value` replaces."""

    def __init__(self, tensor: Any, code: str, itemsize: int) -> None:
        # Asking for the address waits for the kernels that still write there.
        self._storage, self.address = tensor.untyped_storage(), tensor.data_ptr()
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(tensor.shape),
            # Not `Tensor.strides`, which gives those of a contiguous tensor for any.
            "strides": tuple(step * itemsize for step in tensor.stride()),
            "typestr": code,
            "data": (self.address, False),
        }


def from_mindspore(ms_tensor: Any, /, copy: bool = False) -> Tensor:
    """Return a tensor over the memory of a mindspore.Tensor on the CPU, views included; over a copy with `copy`.

    It waits for the kernels that write there. Writes to either are seen by the other, and the memory stays as long as one of
    them does. No gradient crosses.

    Raises ImportError without MindSpore, TypeError for other objects (sparse tensors too) and for dtypes that torch lacks,
    RuntimeError for other devices than the CPU and for tensors without memory.
    """
    mindspore = import_mindspore("from_mindspore")
    if not isinstance(ms_tensor, mindspore.Tensor):
        raise TypeError(
            f"from_mindspore(): expects a mindspore.Tensor, got {type(ms_tensor).__name__}; {_supported()}; of a sparse tensor"
            " take .to_dense()"
        )
    if ms_tensor.dtype not in _torch_names(mindspore):
        raise TypeError(f"from_mindspore(): a tensor of {ms_tensor.dtype}; {_supported()}: use .astype() first")
    if not ms_tensor.device.upper().startswith("CPU"):
        raise RuntimeError(
            f"from_mindspore(): a tensor on {ms_tensor.device}; {_supported()}: use .move_to('CPU') first"
        )
    _tell("from_mindspore()", False)
    tensor = shared_from_mindspore(ms_tensor)
    return tensor.clone() if copy else tensor


def shared_from_mindspore(ms_tensor: Any) -> Tensor:
    """A tensor over the memory of a mindspore.Tensor on the CPU, of one of the dtypes; RuntimeError if it has none."""
    ours = _torch_names(importlib.import_module("mindspore"))[ms_tensor.dtype]
    dtype, code = _C._dtypes[ours], _DTYPES[ours][1]
    if math.prod(ms_tensor.shape):
        memory = _Memory(ms_tensor, code, dtype.itemsize)
        if not memory.address:
            raise RuntimeError(
                "from_mindspore(): the tensor has no memory yet (it is to be initialised later); call its init_data() first"
            )
        tensor = _C.from_numpy(numpy.asarray(memory))
    else:
        tensor = _C.from_numpy(numpy.empty(0, code)).new_empty(ms_tensor.shape)
    return tensor.view(dtype) if ours == "bfloat16" else tensor


def mindspore_dtype(dtype: Any) -> Any:
    """MindSpore's name of one of our dtypes."""
    return getattr(importlib.import_module("mindspore"), _DTYPES[_name(dtype)][0])
