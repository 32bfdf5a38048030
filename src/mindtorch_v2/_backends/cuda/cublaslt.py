"""Products of matrices with what follows them in the same kernel, by cuBLASLt.

    if not product(rows, weight.t(), out, BIAS, bias): ...

cuBLASLt says whether it has a kernel for a case; where it has none the caller goes by cuBLAS and separate kernels.
"""

from __future__ import annotations

import ctypes
import functools
import threading
from ctypes import c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

from ... import _C
from ..._core import float32_products
from ..common.communicator import Library
from . import compiler, libraries, state
from .cublas import IN_FLOAT, IN_TF32, TYPES, WORKSPACE, check, current_handle, operand

BIAS, BIAS_GRADIENT = (
    4,
    512,
)  # cublasLtEpilogue_t: add to each row of the result; sum over the rows of the first factor's transpose
_TRANSPOSED_A, _TRANSPOSED_B, _EPILOGUE, _BIAS_POINTER = 3, 4, 7, 8  # of a description
_MAX_WORKSPACE, _ALIGNMENT = 1, (5, 6, 7, 8)  # of a preference
_DTYPES = frozenset({"float16", "bfloat16", "float32"})
_MOST_PLANS = 1024

SIGNATURES: dict[str, tuple] = {
    "cublasLtCreate": (c_void_p,),
    "cublasLtMatmul": (*[c_void_p] * 14, c_size_t, c_void_p),
    "cublasLtMatmulAlgoGetHeuristic": (*[c_void_p] * 7, c_int, c_void_p, c_void_p),
    "cublasLtMatmulDescCreate": (c_void_p, c_int, c_int),
    "cublasLtMatmulDescDestroy": (c_void_p,),
    "cublasLtMatmulDescSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatmulPreferenceCreate": (c_void_p,),
    "cublasLtMatmulPreferenceDestroy": (c_void_p,),
    "cublasLtMatmulPreferenceSetAttribute": (c_void_p, c_int, c_void_p, c_size_t),
    "cublasLtMatrixLayoutCreate": (c_void_p, c_int, c_uint64, c_uint64, c_int64),
    "cublasLtMatrixLayoutDestroy": (c_void_p,),
}


class _Library(Library):
    def fail(self, name: str, code: int) -> None:
        check(name, code)

    def make(self, name: str, *arguments: Any) -> int:
        """The handle that a function makes."""
        made = c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made.value or 0


@functools.cache
def _library() -> _Library:
    return _Library(ctypes.CDLL(libraries.find("cublasLt")), SIGNATURES, {})


@functools.cache
def _handle(index: int) -> int:
    """cuBLASLt on a device: one for all threads and streams."""
    state.get().runtime.activate(index)
    return _library().make("cublasLtCreate")


class _Heuristic(ctypes.Structure):
    _fields_ = [
        ("algorithm", c_uint64 * 8),
        ("workspace", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    ]


class _Plan:
    """A product of certain shapes: its descriptions, and the kernel that cuBLASLt chose; for one thread, as the bias is part of it."""

    zero, one = c_float(0), c_float(1)

    def __init__(self, index: int, a: Any, b: Any, out: Any, epilogue: int, alignments: tuple[int, ...]) -> None:
        library, (m, n), k = _library(), out.shape, a.shape[1]
        self.library, self.index, self.bias = library, index, 0
        compute = IN_TF32 if _name(out) == "float32" and float32_products.may_be_shortened() else IN_FLOAT
        kind = TYPES[_name(out)]
        self.description = library.make("cublasLtMatmulDescCreate", compute, TYPES["float32"])
        # The transposes of row-major matrices: out' = b' a'.
        self.layouts = []
        for attribute, matrix, rows, columns in ((_TRANSPOSED_A, b, n, k), (_TRANSPOSED_B, a, k, m)):
            found = operand(matrix)
            assert found is not None
            transposed, leading, _ = found
            shape = (columns, rows) if transposed else (rows, columns)
            self.layouts.append(library.make("cublasLtMatrixLayoutCreate", kind, *shape, leading))
            self._set(attribute, c_int32(transposed))
        self.layouts.append(library.make("cublasLtMatrixLayoutCreate", kind, n, m, n))
        self._set(_EPILOGUE, c_uint32(epilogue))
        self._set(_BIAS_POINTER, c_void_p(256))  # any: kernels are chosen for a product that has one
        self.chosen: Any = self._choose(alignments)

    def _set(self, attribute: int, value: Any) -> None:
        size = ctypes.sizeof(value)
        self.library.call(
            "cublasLtMatmulDescSetAttribute", self.description, attribute, ctypes.byref(value), size
        )  # fmt: skip

    def _choose(self, alignments: tuple[int, ...]) -> _Heuristic | None:
        preference = self.library.make("cublasLtMatmulPreferenceCreate")
        settings = [(_MAX_WORKSPACE, c_uint64(WORKSPACE)), *zip(_ALIGNMENT, map(c_uint32, alignments), strict=True)]
        for attribute, value in settings:
            size = ctypes.sizeof(value)
            self.library.call(
                "cublasLtMatmulPreferenceSetAttribute", preference, attribute, ctypes.byref(value), size
            )  # fmt: skip
        chosen, found = _Heuristic(), c_int()
        first, second, third = self.layouts
        code = self.library.functions["cublasLtMatmulAlgoGetHeuristic"](
            _handle(self.index), self.description, first, second, third, third, preference, 1, ctypes.byref(chosen),
            ctypes.byref(found),
        )  # fmt: skip
        self.library.call("cublasLtMatmulPreferenceDestroy", preference)
        return chosen if not code and found.value and not chosen.state else None

    def run(self, a: int, b: int, out: int, bias: int) -> None:
        if bias != self.bias:
            self._set(_BIAS_POINTER, c_void_p(bias))
            self.bias = bias
        held = current_handle(self.index)
        first, second, third = self.layouts
        code = _C._cuda_call(
            self.index, _address(), _handle(self.index), self.description, _ONE, b, first, a, second, _ZERO, out, third, out, third,
            ctypes.addressof(self.chosen), held.workspace[held.stream].data_ptr(), WORKSPACE, held.stream,
        )  # fmt: skip
        if code:
            check("cublasLtMatmul", code)

    def drop(self) -> None:
        self.library.call("cublasLtMatmulDescDestroy", self.description)
        for layout in self.layouts:
            self.library.call("cublasLtMatrixLayoutDestroy", layout)


_ONE, _ZERO = ctypes.addressof(_Plan.one), ctypes.addressof(_Plan.zero)


@functools.cache
def _address() -> int:
    address = ctypes.cast(_library().functions["cublasLtMatmul"], c_void_p).value or 0
    compiler.names[address] = "cublasLtMatmul"
    return address


def _name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


_local = threading.local()


def _alignment(address: int) -> int:
    return min(256, address & -address)


def product(a: Any, b: Any, out: Any, epilogue: int, bias: Any) -> bool:
    """out = a @ b, with an epilogue that reads or writes `bias`; False where cuBLASLt has no kernel for it, and nothing is done.

    Matrices, `out` and `bias` without gaps, all of one dtype.
    """
    pointers = b.data_ptr(), a.data_ptr(), out.data_ptr()
    alignments = tuple(map(_alignment, (*pointers, pointers[2])))
    index, shortened = out.device.index, float32_products.may_be_shortened()
    key = a.shape, a.stride(), b.shape, b.stride(), out.dtype, epilogue, alignments, index, shortened
    plans: dict[tuple, _Plan | None] | None = getattr(_local, "plans", None)
    if plans is None:
        plans = _local.plans = {}
    if key not in plans:
        if len(plans) >= _MOST_PLANS:
            for each in plans.values():
                if each is not None:
                    each.drop()
            plans.clear()
        taken = _name(out) in _DTYPES and operand(a) is not None and operand(b) is not None
        made = _Plan(index, a, b, out, epilogue, alignments) if taken else None
        plans[key] = made if made is not None and made.chosen is not None else None
    plan = plans[key]
    if plan is None:
        return False
    plan.run(pointers[1], pointers[0], pointers[2], bias.data_ptr())
    return True
