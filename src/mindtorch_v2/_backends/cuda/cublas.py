"""Products of matrices by cuBLAS."""

from __future__ import annotations

import ctypes
import functools
import threading
from ctypes import c_double, c_float, c_int, c_longlong, c_size_t, c_void_p
from typing import Any

from ..._core import float32_products
from ..._core.dtype import DTYPES
from ..._operators.table import aten
from . import libraries, state

_WORKSPACE = 32 << 20  # bytes, PyTorch's size for a large device
_TYPES = {"float32": 0, "float64": 1, "float16": 2, "complex64": 4, "complex128": 5, "bfloat16": 14}  # cudaDataType
_IN_FLOAT, _IN_DOUBLE, _IN_TF32 = 68, 70, 77  # cublasComputeType_t
_DEFAULT_ALGORITHM = -1
_WORDS = {
    1: "CUBLAS_STATUS_NOT_INITIALIZED", 3: "CUBLAS_STATUS_ALLOC_FAILED", 7: "CUBLAS_STATUS_INVALID_VALUE",
    8: "CUBLAS_STATUS_ARCH_MISMATCH", 11: "CUBLAS_STATUS_MAPPING_ERROR", 13: "CUBLAS_STATUS_EXECUTION_FAILED",
    14: "CUBLAS_STATUS_INTERNAL_ERROR", 15: "CUBLAS_STATUS_NOT_SUPPORTED",
}  # fmt: skip

_library: Any = None
_lock = threading.Lock()
_local = threading.local()


def _load() -> Any:
    global _library
    with _lock:
        if _library is None:
            library = ctypes.CDLL(libraries.find("cublas"))
            library.cublasCreate_v2.argtypes = (c_void_p,)
            library.cublasSetStream_v2.argtypes = (c_void_p, c_void_p)
            library.cublasSetWorkspace_v2.argtypes = (c_void_p, c_void_p, c_size_t)
            library.cublasGemmStridedBatchedEx.argtypes = (
                c_void_p, c_int, c_int, c_int, c_int, c_int, c_void_p, c_void_p, c_int, c_int, c_longlong, c_void_p, c_int, c_int,
                c_longlong, c_void_p, c_void_p, c_int, c_int, c_longlong, c_int, c_int, c_int,
            )  # fmt: skip
            _library = library
        return _library


def _check(function: str, code: int) -> None:
    if code:
        raise RuntimeError(f"CUDA error: {_WORDS.get(code, 'CUBLAS error')} ({code}) when calling `{function}`")


class _Handle:
    """cuBLAS on one device for one thread, with memory of its own to work in: what it allocates itself no graph could record."""

    def __init__(self, index: int) -> None:
        self.library = _load()
        state.get().runtime.activate(index)
        handle = c_void_p()
        _check("cublasCreate", self.library.cublasCreate_v2(ctypes.byref(handle)))
        self.handle, self.index = handle, index
        self.stream = -1
        self.workspace: dict[int, Any] = {}  # by stream: work of two streams may run at once

    def on(self, stream: int) -> c_void_p:
        """The handle, with a stream as its own."""
        if stream != self.stream:
            _check("cublasSetStream", self.library.cublasSetStream_v2(self.handle, stream or None))
            if stream not in self.workspace:
                self.workspace[stream] = aten.empty([_WORKSPACE], dtype=DTYPES["uint8"], device=f"cuda:{self.index}")
            address = self.workspace[stream].data_ptr()
            _check("cublasSetWorkspace", self.library.cublasSetWorkspace_v2(self.handle, address, _WORKSPACE))
            self.stream = stream
        return self.handle


def current_handle(index: int) -> tuple[Any, c_void_p]:
    """The library, and this thread's handle on a device with the current stream."""
    handles = getattr(_local, "handles", None)
    if handles is None:
        handles = _local.handles = {}
    if index not in handles:
        handles[index] = _Handle(index)
    runtime = state.get().runtime
    runtime.activate(index)
    held = handles[index]
    return held.library, held.on(runtime.stream_handle(index))


_NAMES: dict[Any, str] = {}


def _name_of(dtype: Any) -> str:
    return _NAMES.setdefault(dtype, str(dtype).rpartition(".")[2])


def takes(dtype: Any) -> bool:
    """Whether cuBLAS multiplies matrices of a dtype."""
    return _name_of(dtype) in _TYPES


@functools.cache
def _one_or_none(name: str, value: int) -> tuple[Any, Any]:
    """The number 0 or 1 as cuBLAS takes it, and a reference to it."""
    number = _scalar(name, value)
    return number, ctypes.byref(number)


def _scalar(name: str, value: Any) -> Any:
    number = complex(value)
    if name == "complex64":
        return (c_float * 2)(number.real, number.imag)
    if name == "complex128":
        return (c_double * 2)(number.real, number.imag)
    return c_double(number.real) if name == "float64" else c_float(number.real)


def _reference(name: str, value: Any) -> Any:
    if value == 0 or value == 1:
        return _one_or_none(name, int(value.real))[1]
    return ctypes.byref(_scalar(name, value))


def _layout(rows: int, columns: int, row: int, column: int) -> tuple[int, int] | None:
    """(whether it is transposed, leading dimension) of a matrix with these strides; None for one that has to be copied.

    cuBLAS counts down columns: a matrix in rows is its transpose there.
    """
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return 0, max(row if rows > 1 else columns, columns, 1)
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return 1, max(column if columns > 1 else rows, rows, 1)
    return None


def _operand(matrix: Any) -> tuple[int, int, int, int, Any]:
    """(address, whether it is transposed, leading dimension, distance of two matrices, tensor) of matrices; a copy if need be."""
    *_, rows, columns = matrix.shape
    *batch, row, column = matrix.stride()
    found = _layout(rows, columns, row, column)
    if found is None:
        return _operand(matrix.contiguous())
    return matrix.data_ptr(), *found, batch[0] if batch else 0, matrix


def multiply(a: Any, b: Any, out: Any, alpha: Any = 1, beta: Any = 0) -> None:
    """out = alpha * a @ b + beta * out, of matrices or of batches of them, of a dtype that cuBLAS has.

    `out` has rows next to each other; a batch of an operand may be one matrix that is repeated (stride 0).
    """
    *batch, m, n = out.shape
    *distance, row, _ = out.stride()
    k = a.shape[-1]
    name = _NAMES.get(out.dtype) or _name_of(out.dtype)
    kind = _TYPES[name]
    compute = _IN_DOUBLE if name in ("float64", "complex128") else _IN_FLOAT
    if name in ("float32", "complex64") and float32_products.may_be_shortened():
        compute = _IN_TF32
    a_address, a_transposed, a_leading, a_distance, a = _operand(a)
    b_address, b_transposed, b_leading, b_distance, b = _operand(b)
    library, handle = current_handle(out.device.index)
    # The transposes of row-major matrices: out' = b' a'.
    code = library.cublasGemmStridedBatchedEx(
        handle, b_transposed, a_transposed, n, m, k, _reference(name, alpha), b_address, kind, b_leading, b_distance, a_address,
        kind, a_leading, a_distance, _reference(name, beta), out.data_ptr(), kind, max(row if m > 1 else n, n, 1),
        distance[0] if distance else 0, batch[0] if batch else 1, compute, _DEFAULT_ALGORITHM,
    )  # fmt: skip
    _check("cublasGemmStridedBatchedEx", code)
