"""Products by the emulated GPU's cuBLAS, of small whole numbers: exact in every type."""

import ctypes
import random
import struct

import pytest
from emulated_gpu import Gpu, Library, code_of, own_process

pytestmark = pytest.mark.no_torch

HALF, BFLOAT, FLOAT, DOUBLE, BYTE, INT, COMPLEX, COMPLEX_DOUBLE = 2, 14, 0, 1, 3, 10, 4, 5
C16, C32, C32_TF32, C64, C32I = 64, 68, 77, 70, 72
FORMATS = {HALF: "e", FLOAT: "f", DOUBLE: "d", BYTE: "b", INT: "i", COMPLEX: "f", COMPLEX_DOUBLE: "d"}


def _pack(values, kind):
    if kind in (COMPLEX, COMPLEX_DOUBLE):
        return struct.pack(f"{2 * len(values)}{FORMATS[kind]}", *(p for v in values for p in (v.real, v.imag)))
    real = [v.real for v in values]
    if kind == BFLOAT:
        return b"".join(struct.pack("f", v)[2:] for v in real)
    whole = kind in (BYTE, INT)
    return struct.pack(f"{len(real)}{FORMATS[kind]}", *(int(v) if whole else v for v in real))


def _unpack(data, kind):
    if kind == BFLOAT:
        return [struct.unpack("f", b"\0\0" + data[i : i + 2])[0] for i in range(0, len(data), 2)]
    code = FORMATS[kind]
    flat = list(struct.unpack(f"{len(data) // struct.calcsize(code)}{code}", data))
    if kind in (COMPLEX, COMPLEX_DOUBLE):
        return [complex(*pair) for pair in zip(flat[::2], flat[1::2], strict=True)]
    return flat


class Blas:
    """A handle on a stream of its own."""

    def __init__(self):
        self.gpu = Gpu()
        self.library = Library("libcublas.so.13")
        self.handle = ctypes.c_void_p()
        self.stream = self.gpu.stream()
        self.library.cublasCreate_v2(ctypes.byref(self.handle))
        self.library.cublasSetStream_v2(self.handle, self.stream)

    def put(self, values, kind):
        """Values in new device memory."""
        return self.gpu.put(_pack(values, kind), "B", self.stream)

    def get(self, memory, number, kind):
        """Values of device memory, when the stream is done."""
        return _unpack(bytes(self.gpu.get(memory, number * len(_pack([0], kind)), "B", self.stream)), kind)


def _numbers(count, kind, seed):
    draw = random.Random(seed)
    parts = [draw.randint(-3, 3) for _ in range(2 * count)]
    imaginary = kind in (COMPLEX, COMPLEX_DOUBLE)
    return [complex(parts[i], parts[count + i] if imaginary else 0) for i in range(count)]


def _product(op_a, op_b, m, n, k, a, lda, b, ldb):
    """By columns, with leading dimensions."""

    def at(x, leading, op, row, column):
        v = x[row + column * leading] if op == 0 else x[column + row * leading]
        return v.conjugate() if op == 2 else v

    return [sum(at(a, lda, op_a, i, p) * at(b, ldb, op_b, p, j) for p in range(k)) for j in range(n) for i in range(m)]


TYPES = [
    (FLOAT, FLOAT, C32, FLOAT),
    (FLOAT, FLOAT, C32_TF32, FLOAT),
    (DOUBLE, DOUBLE, C64, DOUBLE),
    (HALF, HALF, C32, FLOAT),
    (HALF, HALF, C16, HALF),
    (HALF, FLOAT, C32, FLOAT),
    (BFLOAT, BFLOAT, C32, FLOAT),
    (BFLOAT, FLOAT, C32, FLOAT),
    (BYTE, INT, C32I, INT),
    (COMPLEX, COMPLEX, C32, COMPLEX),
    (COMPLEX_DOUBLE, COMPLEX_DOUBLE, C64, COMPLEX_DOUBLE),
]


@pytest.mark.parametrize(("kind", "result", "compute", "scale"), TYPES)
@own_process()
def test_products_of_each_type(kind, result, compute, scale):
    blas = Blas()
    m, n, k, lda, ldb, ldc = 9, 5, 7, 11, 13, 10
    for op_a in range(3):
        for op_b in range(3):
            a, b = _numbers(lda * 13, kind, 1), _numbers(ldb * 13, kind, 2)
            c = _numbers(ldc * n, result, 3)
            imaginary = kind in (COMPLEX, COMPLEX_DOUBLE)
            alpha, beta = (complex(2, 1), complex(1, -2)) if imaginary else (2 + 0j, 3 + 0j)
            target = blas.put(c, result)
            blas.library.cublasGemmEx(
                *(blas.handle, op_a, op_b, m, n, k, _pack([alpha], scale)),
                *(blas.put(a, kind), kind, lda, blas.put(b, kind), kind, ldb),
                *(_pack([beta], scale), target, result, ldc, compute, -1),
            )
            product = _product(op_a, op_b, m, n, k, a, lda, b, ldb)
            expected = list(c)
            for j in range(n):
                for i in range(m):
                    expected[i + j * ldc] = alpha * product[i + j * m] + beta * c[i + j * ldc]
            assert blas.get(target, len(c), result) == expected


@own_process()
def test_products_larger_than_a_block():
    blas = Blas()
    m, n, k = 131, 70, 300
    a, b = _numbers(m * k, DOUBLE, 1), _numbers(k * n, DOUBLE, 2)
    target = blas.put([0j] * (m * n), DOUBLE)
    one, zero = _pack([1 + 0j], DOUBLE), _pack([0j], DOUBLE)
    blas.library.cublasGemmEx(
        *(blas.handle, 0, 1, m, n, k, one, blas.put(a, DOUBLE), DOUBLE, m, blas.put(b, DOUBLE), DOUBLE, n),
        *(zero, target, DOUBLE, m, C64, -1),
    )
    assert blas.get(target, m * n, DOUBLE) == _product(0, 1, m, n, k, a, m, b, n)


@pytest.mark.parametrize("arrays", [False, True])
@own_process()
def test_batches(arrays):
    blas = Blas()
    m, n, k, batches = 3, 4, 5, 6
    a, b = _numbers(15 * batches, FLOAT, 1), _numbers(20 * batches, FLOAT, 2)
    target = blas.put([complex(float("nan"))] * (12 * batches), FLOAT)  # which beta 0 does not read
    one, zero = _pack([1 + 0j], FLOAT), _pack([0j], FLOAT)
    at_a, at_b = blas.put(a, FLOAT), blas.put(b, FLOAT)
    if arrays:
        places = [
            blas.gpu.put([first + i * step for i in range(batches)], "Q", blas.stream)
            for first, step in [(at_a, 60), (at_b, 80), (target, 48)]
        ]
        blas.library.cublasGemmBatchedEx(
            *(blas.handle, 0, 0, m, n, k, one, places[0], FLOAT, m, places[1], FLOAT, k),
            *(zero, places[2], FLOAT, m, batches, C32, -1),
        )
    else:
        strides = [ctypes.c_int64(s) for s in (15, 20, 12)]
        blas.library.cublasGemmStridedBatchedEx(
            *(blas.handle, 0, 0, m, n, k, one, at_a, FLOAT, m, strides[0], at_b, FLOAT, k, strides[1]),
            *(zero, target, FLOAT, m, strides[2], batches, C32, -1),
        )
    expected = []
    for i in range(batches):
        expected += _product(0, 0, m, n, k, a[15 * i : 15 * i + 15], m, b[20 * i : 20 * i + 20], k)
    assert blas.get(target, 12 * batches, FLOAT) == expected


@own_process()
def test_factors_on_the_device_are_read_when_the_stream_gets_there():
    blas = Blas()
    factors = blas.put([1, 0], FLOAT)
    x, target = blas.put([3], FLOAT), blas.put([0], FLOAT)
    blas.library.cublasSetPointerMode_v2(blas.handle, 1)
    for value in (5, 7):
        blas.gpu.cu.cuMemcpyHtoDAsync_v2(factors, _pack([value], FLOAT), ctypes.c_size_t(4), blas.stream)
        blas.library.cublasGemmEx(
            *(blas.handle, 0, 0, 1, 1, 1, ctypes.c_void_p(factors), x, FLOAT, 1, x, FLOAT, 1),
            *(ctypes.c_void_p(factors + 4), target, FLOAT, 1, C32, -1),
        )
        assert blas.get(target, 1, FLOAT) == [9 * value]


@own_process()
def test_sums_are_rounded_once():
    blas = Blas()
    a = [2048, 1, 1]
    b = [1, 1, 1]
    one, zero = _pack([1], FLOAT), _pack([0], FLOAT)
    for kind, expected in [(HALF, 2050), (BFLOAT, 2048)]:
        target = blas.put([0], kind)
        blas.library.cublasGemmEx(
            *(blas.handle, 0, 0, 1, 1, 3, one, blas.put(a, kind), kind, 1, blas.put(b, kind), kind, 3),
            *(zero, target, kind, 1, C32, -1),
        )
        assert blas.get(target, 1, kind) == [expected]


@own_process()
def test_half_numbers_at_their_edges():
    blas = Blas()
    one, zero = _pack([1], FLOAT), _pack([0], FLOAT)
    values = [65504.0, 6.103515625e-05, 5.9604644775390625e-08, 0.333251953125, -65504.0, float("inf")]
    for value in values:
        target = blas.put([0], HALF)
        blas.library.cublasGemmEx(
            *(blas.handle, 0, 0, 1, 1, 1, one, blas.put([value], HALF), HALF, 1, blas.put([1], HALF), HALF, 1),
            *(zero, target, HALF, 1, C32, -1),
        )
        assert blas.get(target, 1, HALF) == [value]
    for value, expected in [(131008.0, float("inf")), (2049 / 2048, 1), (2.0**-25, 0), (2051 / 2048, 1026 / 1024)]:
        target = blas.put([0], HALF)
        blas.library.cublasGemmEx(
            *(blas.handle, 0, 0, 1, 1, 1, _pack([value], FLOAT), blas.put([1], HALF), HALF, 1),
            *(blas.put([1], HALF), HALF, 1, zero, target, HALF, 1, C32, -1),
        )
        assert blas.get(target, 1, HALF) == [expected]  # rounded to even


@own_process()
def test_calls_that_are_refused():
    blas = Blas()
    one, memory = _pack([1], FLOAT), blas.put([1] * 16, FLOAT)

    def code(**changes):
        call = {
            **dict(handle=blas.handle, op_a=0, op_b=0, m=4, n=4, k=4, alpha=one, a=memory, type_a=FLOAT, lda=4),
            **dict(b=memory, type_b=FLOAT, ldb=4, beta=one, c=memory, type_c=FLOAT, ldc=4, compute=C32, algorithm=-1),
        }
        return code_of(blas.library.cublasGemmEx, *{**call, **changes}.values())

    assert code() == 0
    assert code(handle=ctypes.c_void_p(16)) == 1
    assert code(lda=3) == code(ldb=3) == code(ldc=3) == code(m=-1) == code(op_a=3) == code(alpha=None) == 7
    assert code(type_a=HALF) == code(compute=C64) == code(type_a=99) == code(compute=99) == 15
    assert code(m=0) == 0
    blas.gpu.cu.cuCtxSynchronize()
    assert code(a=64) == 0
    assert code_of(blas.gpu.cu.cuCtxSynchronize) == 700
    assert blas.gpu.fault() == "cublasGemmEx: access to 0x40, which is no device memory"
    assert code() == 13
    blas.library.cublasDestroy_v2(blas.handle)
    assert code_of(blas.library.cublasDestroy_v2, blas.handle) == 1
