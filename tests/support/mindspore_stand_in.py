"""A small stand-in for MindSpore: what `mindtorch_v2.interop` and the provider ask of it, over NumPy.

It keeps the habits that were measured on MindSpore 2.10.0: `from_numpy` shares memory, `asnumpy` copies views, `strides` gives
those of a contiguous tensor for any, `assign_value` takes other memory, and a storage keeps the memory that it had. Its
primitives are NumPy's functions; one of them has no kernel, as many of MindSpore's have none for the CPU.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

BFLOAT16 = np.dtype([("bfloat16", "<u2")])
_NAMES = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()
CODES: dict[str, np.dtype] = {
    **{name: np.dtype(name) for name in _NAMES},
    "bool_": np.dtype(bool),
    "bfloat16": BFLOAT16,
}


class DType:
    """A type of elements: `mindspore.float32` and the like."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"mindspore.{self.name}"


class Storage:
    """Memory, kept as long as this object is."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def nbytes(self) -> int:
        return self._array.nbytes


class Tensor:
    """A tensor over a NumPy array."""

    def __init__(self, data: Any, dtype: Any = None) -> None:
        array = np.array(data)
        if array.dtype == np.float64 and not isinstance(data, np.ndarray):
            array = array.astype(np.float32)
        self._set(array.astype(CODES[dtype.name]) if dtype else array)

    def _set(self, array: np.ndarray) -> Tensor:
        self._array = array
        self.device = "CPU"
        return self

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        return Tensor.__new__(Tensor)._set(np.ascontiguousarray(array).reshape(array.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> DType:
        name = next(name for name, code in CODES.items() if code == self._array.dtype)
        return MODULE.__dict__[name]

    @property
    def strides(self) -> tuple[int, ...]:
        return np.empty(self.shape, self._array.dtype).strides

    def stride(self) -> list[int]:
        return [step // self._array.itemsize for step in self._array.strides]

    def is_contiguous(self) -> bool:
        return self._array.flags.c_contiguous

    def data_ptr(self) -> int:
        return self._array.__array_interface__["data"][0]

    def untyped_storage(self) -> Storage:
        return Storage(self._array)

    def asnumpy(self) -> np.ndarray:
        return self._array if self.is_contiguous() else self._array.copy()

    def assign_value(self, other: Tensor) -> None:
        self._set(other._array.copy())

    def transpose(self, *dims: int) -> Tensor:
        return Tensor.__new__(Tensor)._set(self._array.transpose(dims))

    def __getitem__(self, index: Any) -> Tensor:
        return Tensor.__new__(Tensor)._set(self._array[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[index] = value._array if isinstance(value, Tensor) else value


class COOTensor:
    """A sparse tensor, which is none of `Tensor`."""


class Primitive:
    """A primitive by name, with a kernel or without one."""

    def __init__(self, name: str, kernel: Callable[..., Any] | None) -> None:
        self.name, self._kernel = name, kernel

    def __call__(self, *arguments: Any) -> Tensor:
        if self._kernel is None:
            raise RuntimeError(f"The kernel {self.name} unregistered.")
        values = [item._array if isinstance(item, Tensor) else item for item in arguments]
        return Tensor.from_numpy(np.asarray(self._kernel(*values)))


def _add_ext(self: Any, other: Any, alpha: Any) -> Any:
    return np.add(self, np.asarray(other) * np.asarray(alpha, np.asarray(other).dtype))


_KERNELS: dict[str, Callable[..., Any] | None] = {
    "abs": np.abs,
    "add_ext": _add_ext,
    "exp": np.exp,
    "mul": np.multiply,
    "neg": np.negative,
    "tanh": None,
}


def _module(name: str, **names: Any) -> types.ModuleType:
    made = types.ModuleType(name, "A stand-in.")
    made.__dict__.update(names)
    return made


MODULE = _module(
    "mindspore",
    Tensor=Tensor,
    COOTensor=COOTensor,
    string=DType("string"),
    __version__="stand-in",
    **{name: DType(name) for name in CODES},
)
_PRIMITIVES = _module(
    "mindspore.ops.auto_generate.gen_ops_prim",
    **{f"{name}_op": Primitive(name, kernel) for name, kernel in _KERNELS.items()},
)
MODULES = {
    "mindspore": MODULE,
    "mindspore.common": _module("mindspore.common"),
    "mindspore.common.api": _module(
        "mindspore.common.api", _pynative_executor=types.SimpleNamespace(sync=lambda: None)
    ),
    "mindspore.common.np_dtype": _module("mindspore.common.np_dtype", bfloat16=BFLOAT16),
    "mindspore.ops": _module("mindspore.ops"),
    "mindspore.ops.operations": _module("mindspore.ops.operations"),
    "mindspore.ops.auto_generate": _module("mindspore.ops.auto_generate"),
    "mindspore.ops.auto_generate.gen_ops_prim": _PRIMITIVES,
}


def real() -> bool:
    """Whether MindSpore itself is installed."""
    import importlib.util

    return "mindspore" in sys.modules or importlib.util.find_spec("mindspore") is not None
