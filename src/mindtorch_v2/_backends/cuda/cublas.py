"""Products of matrices by cuBLAS."""

from __future__ import annotations

import ctypes
import functools
import threading
from ctypes import c_double, c_float, c_size_t, c_void_p
from typing import Any, NamedTuple

from ... import _C
from ..._core import float32_products
from ..._core.dtype import DTYPES
from ..._operators.table import aten
from . import compiler, libraries, state

WORKSPACE = 32 << 20  # bytes, PyTorch's size for a large device
TYPES = {"float32": 0, "float64": 1, "float16": 2, "complex64": 4, "complex128": 5, "bfloat16": 14}  # cudaDataType
IN_FLOAT, IN_DOUBLE, IN_TF32 = 68, 70, 77  # cublasComputeType_t
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
            _library = library
        return _library


def check(function: str, code: int) -> None:
    """Raise the error of a code that is not 0."""
    if code:
        raise RuntimeError(f"CUDA error: {_WORDS.get(code, 'CUBLAS error')} ({code}) when calling `{function}`")


class _Handle:
    """cuBLAS on one device for one thread, with memory of its own to work in: what it allocates itself no graph could record."""

    def __init__(self, index: int) -> None:
        self.library = _load()
        state.get().runtime.activate(index)
        handle = c_void_p()
        check("cublasCreate", self.library.cublasCreate_v2(ctypes.byref(handle)))
        self.handle, self.index = handle.value or 0, index
        self.product = ctypes.cast(self.library.cublasGemmStridedBatchedEx, c_void_p).value or 0
        compiler.names[self.product] = "cublasGemmStridedBatchedEx"
        self.stream = -1
        self.workspace: dict[int, Any] = {}  # by stream: work of two streams may run at once

    def on(self, stream: int) -> None:
        """Let a stream be its own."""
        check("cublasSetStream", self.library.cublasSetStream_v2(self.handle, stream or None))
        if stream not in self.workspace:
            self.workspace[stream] = aten.empty([WORKSPACE], dtype=DTYPES["uint8"], device=f"cuda:{self.index}")
        address = self.workspace[stream].data_ptr()
        check("cublasSetWorkspace", self.library.cublasSetWorkspace_v2(self.handle, address, WORKSPACE))
        self.stream = stream


def current_handle(index: int) -> _Handle:
    """This thread's handle on a device, with the current stream as its own."""
    handles = getattr(_local, "handles", None)
    if handles is None:
        handles = _local.handles = {}
    held: _Handle | None = handles.get(index)
    if held is None:
        held = handles[index] = _Handle(index)
    stream = _C._cuda_stream(index)
    if stream != held.stream:
        state.get().runtime.activate(index)
        held.on(stream)
    return held


_NAMES: dict[Any, str] = {}


def _name_of(dtype: Any) -> str:
    return _NAMES.setdefault(dtype, str(dtype).rpartition(".")[2])


def takes(dtype: Any) -> bool:
    """Whether cuBLAS multiplies matrices of a dtype."""
    return _name_of(dtype) in TYPES


@functools.cache
def _one_or_none(name: str, value: int) -> tuple[Any, int]:
    """The number 0 or 1 as cuBLAS takes it, and its address."""
    return _number(name, value)


def _number(name: str, value: Any) -> tuple[Any, int]:
    """A factor as cuBLAS takes it, and its address."""
    number = _scalar(name, value)
    return number, ctypes.addressof(number)


def _scalar(name: str, value: Any) -> Any:
    number = complex(value)
    if name == "complex64":
        return (c_float * 2)(number.real, number.imag)
    if name == "complex128":
        return (c_double * 2)(number.real, number.imag)
    return c_double(number.real) if name == "float64" else c_float(number.real)


def _layout(rows: int, columns: int, row: int, column: int) -> tuple[int, int] | None:
    """(whether it is transposed, leading dimension) of a matrix with these strides; None for one that has to be copied.

    cuBLAS counts down columns: a matrix in rows is its transpose there.
    """
    if (column == 1 or columns == 1) and (row >= columns or rows == 1):
        return 0, max(row if rows > 1 else columns, columns, 1)
    if (row == 1 or rows == 1) and (column >= rows or columns == 1):
        return 1, max(column if columns > 1 else rows, rows, 1)
    return None


def operand(matrix: Any) -> tuple[int, int, int] | None:
    """(whether it is transposed, leading dimension, distance of two matrices) of matrices; None where they have to be copied."""
    *_, rows, columns = matrix.shape
    *batch, row, column = matrix.stride()
    found = _layout(rows, columns, row, column)
    return None if found is None else (*found, batch[0] if batch else 0)


class _Plan(NamedTuple):
    """The common part of calls with the same shapes, strides and factors: which of the factors are copied first, and arguments."""

    copies: tuple[bool, bool]
    head: tuple[int, ...]  # operations, sizes, alpha
    of_a: tuple[int, ...]  # type, leading dimension, distance
    of_b: tuple[int, ...]
    beta: int
    of_out: tuple[int, ...]
    tail: tuple[int, ...]  # number of products, how to compute
    numbers: tuple[Any, Any]  # which alpha and beta point to


_PLANS: dict[tuple, _Plan] = {}
_MOST_PLANS = 4096


def _plan(a: Any, b: Any, out: Any, alpha: Any, beta: Any, shortened: bool) -> _Plan:
    *batch, m, n = out.shape
    *distance, row, _ = out.stride()
    name = _name_of(out.dtype)
    kind = TYPES[name]
    compute = IN_DOUBLE if name in ("float64", "complex128") else IN_FLOAT
    if name in ("float32", "complex64") and shortened:
        compute = IN_TF32
    of_a, of_b = operand(a), operand(b)
    copies = of_a is None, of_b is None
    of_a, of_b = of_a or operand(a.contiguous()), of_b or operand(b.contiguous())
    if of_a is None or of_b is None:
        raise AssertionError("a contiguous matrix is read as it lies")
    a_transposed, *of_a_ = of_a
    b_transposed, *of_b_ = of_b
    numbers = [
        _one_or_none(name, int(value.real)) if value in (0, 1) else _number(name, value) for value in (alpha, beta)
    ]
    return _Plan(
        copies,
        # The transposes of row-major matrices: out' = b' a'.
        (b_transposed, a_transposed, n, m, a.shape[-1], numbers[0][1]),
        (kind, *of_a_),
        (kind, *of_b_),
        numbers[1][1],
        (kind, max(row if m > 1 else n, n, 1), distance[0] if distance else 0),
        (batch[0] if batch else 1, compute, _DEFAULT_ALGORITHM),
        (numbers[0][0], numbers[1][0]),
    )


def multiply(a: Any, b: Any, out: Any, alpha: Any = 1, beta: Any = 0) -> None:
    """out = alpha * a @ b + beta * out, of matrices or of batches of them, of a dtype that cuBLAS has.

    `out` has rows next to each other; a batch of an operand may be one matrix that is repeated (stride 0).
    """
    shortened = float32_products.may_be_shortened()
    key = a.shape, a.stride(), b.shape, b.stride(), out.shape, out.stride(), out.dtype, alpha, beta, shortened
    plan = _PLANS.get(key)
    if plan is None:
        if len(_PLANS) >= _MOST_PLANS:
            _PLANS.clear()
        plan = _PLANS[key] = _plan(a, b, out, alpha, beta, shortened)
    if plan.copies != (False, False):
        a, b = (matrix.contiguous() if copied else matrix for matrix, copied in zip((a, b), plan.copies, strict=True))
    index = out.device.index
    held = current_handle(index)
    code = _C._cuda_call(
        index, held.product, held.handle, *plan.head, b.data_ptr(), *plan.of_b, a.data_ptr(), *plan.of_a, plan.beta,
        out.data_ptr(), *plan.of_out, *plan.tail,
    )  # fmt: skip
    if code:
        check("cublasGemmStridedBatchedEx", code)
