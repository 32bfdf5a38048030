"""Products of matrices by cuBLAS."""

from __future__ import annotations

import ctypes
import threading
from ctypes import c_double, c_float, c_int, c_longlong, c_size_t, c_void_p
from typing import Any

from ..._core.dtype import DTYPES
from ..._operators.table import aten
from . import libraries, settings, state

_WORKSPACE = 32 << 20  # bytes, PyTorch's size for a large device
_TYPES = {"float32": 0, "float64": 1, "float16": 2, "complex64": 4, "complex128": 5, "bfloat16": 14}  # cudaDataType
_IN_FLOAT, _IN_TF32, _IN_DOUBLE = 68, 77, 70  # cublasComputeType_t
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


def takes(dtype: Any) -> bool:
    """Whether cuBLAS multiplies matrices of a dtype."""
    return str(dtype).rpartition(".")[2] in _TYPES


def _scalar(name: str, value: Any) -> Any:
    number = complex(value)
    if name == "complex64":
        return (c_float * 2)(number.real, number.imag)
    if name == "complex128":
        return (c_double * 2)(number.real, number.imag)
    return c_double(number.real) if name == "float64" else c_float(number.real)


def _operand(matrix: Any) -> tuple[Any, int, int, int]:
    """(tensor, whether it is transposed, leading dimension, distance of two matrices) of a batch of matrices; a copy if need be.

    cuBLAS counts down columns: a matrix in rows is its transpose there.
    """
    _, rows, columns = matrix.shape
    batch_stride, row, column = matrix.stride()
    if (column == 1 or columns == 1) and (row >= max(1, columns) or rows == 1):
        return matrix, 0, max(row if rows > 1 else columns, 1, columns), batch_stride
    if (row == 1 or rows == 1) and (column >= max(1, rows) or columns == 1):
        return matrix, 1, max(column if columns > 1 else rows, 1, rows), batch_stride
    return _operand(matrix.contiguous())


def multiply(a: Any, b: Any, out: Any, alpha: Any = 1, beta: Any = 0) -> None:
    """out = alpha * a @ b + beta * out for batches of matrices, (b, m, k) and (b, k, n), of a dtype that cuBLAS has.

    `out` has rows next to each other; a batch of an operand may be one matrix that is repeated (stride 0).
    """
    batch, m, n = out.shape
    k = a.shape[2]
    name = str(out.dtype).rpartition(".")[2]
    kind = _TYPES[name]
    compute = _IN_DOUBLE if name in ("float64", "complex128") else _IN_FLOAT
    if name in ("float32", "complex64") and settings.tf32:
        compute = _IN_TF32
    a, a_transposed, a_leading, a_distance = _operand(a)
    b, b_transposed, b_leading, b_distance = _operand(b)
    library, handle = current_handle(out.device.index)
    # The transposes of row-major matrices: out' = b' a'.
    code = library.cublasGemmStridedBatchedEx(
        handle, b_transposed, a_transposed, n, m, k, ctypes.byref(_scalar(name, alpha)), b.data_ptr(), kind, b_leading, b_distance,
        a.data_ptr(), kind, a_leading, a_distance, ctypes.byref(_scalar(name, beta)), out.data_ptr(), kind,
        max(out.stride(1) if m > 1 else n, n, 1), out.stride(0), batch, compute, _DEFAULT_ALGORITHM,
    )  # fmt: skip
    _check("cublasGemmStridedBatchedEx", code)
