"""Cholesky, LU, LDL and QR factors, and solves with them.

A matrix has one block of our kernels, up to _LEAST columns; a larger one is halved, and what is between the halves are products by
cuBLAS, which is where nearly all of the arithmetic of a large matrix is. No library of dense solvers is asked: any dtype goes one
way, the results are the same at each run, and no other wheel is needed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .... import _C
from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_LEAST = 128  # columns that one block factors
_COLUMNS = 32  # of a right side, that a block solves for

_CHOLESKY, _LU, _SWAP = (Source("factor.cuh", entry) for entry in ("cholesky", "lu", "swap_rows"))
_TRIANGULAR = Source("triangular.cuh", "triangular")
_REFLECT, _APPLY = Source("reflect.cuh", "reflect"), Source("reflect.cuh", "apply")
_FACTOR_LDL, _SOLVE_LDL = Source("ldl.cuh", "factor"), Source("ldl.cuh", "solve")


# ---- matrices ----


def check_matrix(a: Tensor, name: str, what: str = "A") -> None:
    """Refuse what is no batch of matrices of real or complex numbers."""
    if a.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {what} must have at least 2 dimensions.")
    if not (a.is_floating_point() or a.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {a.dtype}")
    if a.dtype.itemsize < 4:
        raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {a.dtype}")


def check_square(a: Tensor, name: str) -> None:
    """Refuse what is no batch of square matrices."""
    check_matrix(a, name)
    if a.shape[-2] != a.shape[-1]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )


def columns_of(a: Tensor) -> Tensor:
    """A copy whose matrices lie in columns, as LAPACK's results."""
    made = aten.empty([*a.shape[:-2], a.shape[-1], a.shape[-2]], dtype=a.dtype, device=a.device).transpose(-2, -1)
    return made.copy_(a)


def identity_like(a: Tensor, rows: int, cols: int) -> Tensor:
    """The identity for each matrix of a batch, in columns."""
    return columns_of(aten.eye(rows, cols, dtype=a.dtype, device=a.device).expand([*a.shape[:-2], rows, cols]))


def codes(a: Tensor) -> Tensor:
    """A zero for each matrix."""
    return aten.zeros(a.shape[:-2], dtype=DTYPES["int32"], device=a.device)


def check_codes(info: Tensor, name: str, a: Tensor) -> None:
    """Raise what a code of `info` says, in the words of the operator; it waits for the device."""
    aten._linalg_check_errors(info.cpu(), name, is_matrix=a.dim() == 2)


@kernel("_linalg_check_errors")
def linalg_check_errors(info: Tensor, api_name: str, *, is_matrix: bool) -> None:
    aten._linalg_check_errors(info.cpu(), api_name, is_matrix=is_matrix)


def check_finite(a: Tensor, text: str) -> None:
    """Refuse numbers that no rotation ends with; `text` has a place for which matrix it is."""
    bad = ~aten.isfinite(a).flatten(-2).all(-1)
    if bad.any():
        where = "" if a.dim() == 2 else f"(Batch element {int(bad.flatten().to(DTYPES['int32']).argmax())}): "
        raise _C._LinAlgError(text.format(where))


def batches(a: Tensor) -> int:
    """How many matrices there are."""
    return math.prod(a.shape[:-2])


def places(a: Tensor) -> list:
    """A batch of matrices as kernels take it (linalg.cuh: Matrix). The dimensions of the batch lie as one."""
    flat = a if a.dim() == 3 else a.unsqueeze(0) if a.dim() == 2 else a.flatten(0, -3)
    return [a, *flat.stride()]


def one_batch(a: Tensor) -> Tensor:
    """The same matrices in a batch of one dimension; a view where memory allows it."""
    return a.reshape([batches(a), *a.shape[-2:]])


def threads_for(rows: int) -> int:
    """Threads of a block whose columns have so many rows."""
    return min(512, max(32, 1 << (rows - 1).bit_length() if rows > 1 else 1))


# ---- triangles ----


def solve_in_place(a: Tensor, x: Tensor, *, upper: bool, unit: bool = False, conjugate: bool = False) -> None:
    """Write X of A X = B over B, for batches of one dimension; the other triangle of A is not read."""
    n, cols = x.shape[-2:]
    if not x.numel():
        return
    if n <= _LEAST:
        words = (
            ("ELEMENT", element(a.dtype)), ("UPPER", str(int(upper))), ("UNIT", str(int(unit))), ("CONJUGATE", str(int(conjugate))),
        )  # fmt: skip
        of_block = min(cols, _COLUMNS)
        arguments = pack(n, cols, of_block, places(a), places(x))
        _TRIANGULAR.launch(a.device.index, words, (blocks(cols, of_block), a.shape[0]), (threads_for(n),), arguments)
        return
    half = n // 2
    first, rest = slice(None, half), slice(half, None)
    if upper:
        first, rest = rest, first
    solve_in_place(a[:, first, first], x[:, first], upper=upper, unit=unit, conjugate=conjugate)
    factor = a[:, rest, first]
    x[:, rest].sub_(aten.matmul(factor.conj() if conjugate else factor, x[:, first]))
    solve_in_place(a[:, rest, rest], x[:, rest], upper=upper, unit=unit, conjugate=conjugate)


@kernel("_solve_triangular")
def solve_triangular(self: Tensor, b: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    check_square(self, "linalg.solve_triangular")
    check_matrix(b, "linalg.solve_triangular", "B")
    if self.dtype != b.dtype:
        raise RuntimeError(
            f"linalg.solve_triangular: Expected A and B to have the same dtype, but found A of type {self.dtype} and B of type "
            f"{b.dtype} instead"
        )
    if self.shape[-1] != b.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation {'AX' if left else 'XA'} = B "
            f"({self.shape[-2]}x{self.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )
    if self.shape[:-2] != b.shape[:-2]:
        raise RuntimeError("linalg.solve_triangular: batches of A and B differ")
    result = columns_of(b)
    a, x = one_batch(self), one_batch(result)
    if left:
        solve_in_place(a, x, upper=upper, unit=unitriangular)
    else:
        solve_in_place(a.mT, x.mT, upper=not upper, unit=unitriangular)
    return result


# ---- Cholesky ----


def _cholesky(a: Tensor, info: Tensor, base: int) -> None:
    n = a.shape[-1]
    if n <= _LEAST:
        words = (("ELEMENT", element(a.dtype)), ("PIVOT", "0"))
        arguments = pack(n, n, places(a), info, base, None, 0)
        _CHOLESKY.launch(a.device.index, words, (a.shape[0],), (threads_for(n),), arguments)
        return
    half = n // 2
    top, below, rest = a[:, :half, :half], a[:, half:, :half], a[:, half:, half:]
    _cholesky(top, info, base)
    solve_in_place(top, below.mT, upper=False, conjugate=True)
    rest.sub_(aten.matmul(below, below.mH))
    _cholesky(rest, info, base + half)


@kernel("linalg_cholesky_ex")
def cholesky_ex(self: Tensor, *, upper: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    check_square(self, "linalg.cholesky")
    result, info = columns_of(self.mH if upper else self), codes(self)
    if result.numel():
        _cholesky(one_batch(result), info, 0)
    if check_errors:
        check_codes(info, "linalg.cholesky_ex", self)
    return columns_of(result.tril().mH if upper else result.tril()), info


# ---- LU ----


def _swap_rows(a: Tensor, pivots: Tensor, base: int = 0, *, back: bool = False) -> None:
    count = pivots.shape[-1]
    if not (a.numel() and count):
        return
    words = (("ELEMENT", element(a.dtype)), ("PIVOT", "1"))
    arguments = pack(a.shape[0], a.shape[-1], count, places(a), pivots, pivots.stride(0), base, back)
    _SWAP.launch(a.device.index, words, (blocks(a.shape[0] * a.shape[-1], 128),), (128,), arguments)


def _lu(a: Tensor, pivots: Tensor, info: Tensor, base: int, pivot: bool) -> None:
    rows, cols = a.shape[-2:]
    if not a.numel():
        return
    if min(rows, cols) <= 1 or cols <= _LEAST:
        words = (("ELEMENT", element(a.dtype)), ("PIVOT", str(int(pivot))))
        arguments = pack(rows, cols, places(a), info, base, pivots, pivots.stride(0))
        threads = threads_for(rows)
        _LU.launch(a.device.index, words, (a.shape[0],), (threads,), arguments, shared=threads * 16)
        return
    half = min(rows, cols) // 2
    left, right = a[..., :half], a[..., half:]
    _lu(left, pivots[:, :half], info, base, pivot)
    if pivot:
        _swap_rows(right, pivots[:, :half], base)
    solve_in_place(left[:, :half], right[:, :half], upper=False, unit=True)
    rest = right[:, half:]
    rest.sub_(aten.matmul(left[:, half:], right[:, :half]))
    _lu(rest, pivots[:, half:], info, base + half, pivot)
    if pivot:
        _swap_rows(left[:, half:], pivots[:, half:], base + half)


@kernel("linalg_lu_factor_ex")
def lu_factor_ex(self: Tensor, *, pivot: bool = True, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    check_matrix(self, "torch.linalg.lu_factor")
    result, info, least = columns_of(self), codes(self), min(self.shape[-2:])
    pivots = aten.empty([*self.shape[:-2], least], dtype=DTYPES["int32"], device=self.device)
    _lu(one_batch(result), pivots.reshape([batches(self), least]), info, 0, pivot)
    if check_errors:
        check_codes(info, "torch.linalg.lu_factor_ex", self)
    return result, pivots, info


def _check_pivots(pivots: Tensor, n: int, name: str, *, of_size: str, pairs: bool = False) -> None:
    """Refuse pivots that name no row: kernels take them for indices as they are. It waits for the device."""
    if not pivots.numel():
        return
    rows = pivots.abs() if pairs else pivots
    least, most = (int(x) for x in aten.aminmax(rows))
    words = (
        ("|pivot| >= 1", f"|pivot| <= {of_size}")
        if pairs
        else ("be greater or equal to 1", f"be smaller or equal to {of_size}")
    )
    for bad, word in ((least < 1, words[0]), (most > n, words[1])):
        if bad:
            verb = "must all satisfy" if pairs else "must all"
            raise RuntimeError(
                f"Pivots given to {name} {verb} {word}. Did you properly pass the result of {name.replace('solve', 'factor')}?"
            )


@kernel("_lu_solve")
def lu_solve(self: Tensor, pivots: Tensor, b: Tensor, left: bool, adjoint: bool) -> Tensor:
    check_square(self, "torch.linalg.lu_solve")
    n = self.shape[-1]
    if self.shape[:-2] != b.shape[:-2] or n != b.shape[-2]:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation AX = B ({n}x{n} and {b.shape[-2]}x{b.shape[-1]})"
        )
    if pivots.shape != self.shape[:-1]:
        raise RuntimeError(
            f"torch.linalg.lu_solve: expected a vector of {n} for each of the matrices of shape {list(self.shape)}, but got a "
            f"tensor of shape {list(pivots.shape)}"
        )
    _check_pivots(pivots, n, "lu_solve", of_size="LU.size(-2)")
    result = columns_of(b)
    a, x = one_batch(self), one_batch(result)
    exchanges = pivots.to(DTYPES["int32"]).contiguous().reshape([batches(self), n])
    if adjoint:
        solve_in_place(a.mT, x, upper=False, conjugate=True)
        solve_in_place(a.mT, x, upper=True, unit=True, conjugate=True)
        _swap_rows(x, exchanges, back=True)
    else:
        _swap_rows(x, exchanges)
        solve_in_place(a, x, upper=False, unit=True)
        solve_in_place(a, x, upper=True)
    return result


@kernel("linalg_inv_ex")
def inv_ex(self: Tensor, *, check_errors: bool = False) -> tuple[Tensor, Tensor]:
    check_square(self, "linalg.inv")
    factors, pivots, info = lu_factor_ex(self)
    result = identity_like(self, *self.shape[-2:])
    x, a = one_batch(result), one_batch(factors)
    _swap_rows(x, pivots.reshape([batches(self), self.shape[-1]]))
    solve_in_place(a, x, upper=False, unit=True)
    solve_in_place(a, x, upper=True)
    if check_errors:
        check_codes(info, "linalg.inv_ex", self)
    return result, info


# ---- QR ----


def reflectors(a: Tensor) -> tuple[Tensor, Tensor]:
    """R and the reflectors of each matrix, in its place, and their factors."""
    result, least = columns_of(a), min(a.shape[-2:])
    tau = aten.zeros([*a.shape[:-2], least], dtype=a.dtype, device=a.device)
    if result.numel():
        words = (("ELEMENT", element(a.dtype)), ("CONJUGATE", "0"))
        arguments = pack(*a.shape[-2:], places(result), tau)
        _REFLECT.launch(a.device.index, words, (batches(a),), (threads_for(a.shape[-2]),), arguments, shared=32 * 8)
    return result, tau


def reflect(a: Tensor, tau: Tensor, x: Tensor, *, adjoint: bool = False) -> None:
    """Multiply x, in its place, from the left with the product of reflectors, or with its adjoint."""
    count = tau.shape[-1]
    if not (x.numel() and count):
        return
    words = (("ELEMENT", element(a.dtype)), ("CONJUGATE", str(int(adjoint))))
    a, x, tau = one_batch(a), one_batch(x), tau.contiguous()
    arguments = pack(a.shape[0], *x.shape[-2:], count, places(a), places(x), tau, adjoint)
    _APPLY.launch(a.device.index, words, (blocks(a.shape[0] * x.shape[-1] * 32, 128),), (128,), arguments)


@kernel("linalg_qr")
def qr(self: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_matrix(self, "linalg.qr")
    rows, cols = self.shape[-2:]
    middle = rows if mode == "complete" else min(rows, cols)
    factors, tau = reflectors(self)
    r = columns_of(factors[..., :middle, :].triu())
    if mode == "r":
        return aten.empty([0], dtype=self.dtype, device=self.device), r
    q = identity_like(self, rows, middle)
    reflect(factors, tau, q)
    return q, r


@kernel("geqrf")
def geqrf(self: Tensor) -> tuple[Tensor, Tensor]:
    check_matrix(self, "torch.geqrf")
    return reflectors(self)


@kernel("linalg_householder_product")
def householder_product(input: Tensor, tau: Tensor) -> Tensor:
    name = "torch.linalg.householder_product"
    check_matrix(input, name, "input")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if tau.dim() + 1 != input.dim():
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.dim()} and input.ndim is "
            f"equal to {input.dim()}"
        )
    if tau.shape[:-1] != input.shape[:-2]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau.shape[-1] > input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    result = identity_like(input, *input.shape[-2:])
    reflect(input, tau.to(input.dtype), result)
    return result


@kernel("_ormqr")
def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor:
    if input2.dim() < 1:
        raise RuntimeError("torch.ormqr: tau must have at least 1 dimension")
    rows, count = input3.shape[-2 if left else -1], input2.shape[-1]
    if (
        self.shape[:-2] != input3.shape[:-2]
        or input2.shape[:-1] != self.shape[:-2]
        or self.shape[-2] != rows
        or count > min(self.shape[-2:])
    ):
        raise RuntimeError(
            f"torch.ormqr: incompatible shapes of input, tau and other: {list(self.shape)}, {list(input2.shape)} and "
            f"{list(input3.shape)}"
        )
    tau = input2.to(self.dtype)
    if left:
        result = columns_of(input3)
        reflect(self, tau, result, adjoint=transpose)
        return result
    other = columns_of(input3.mH)  # x Q is the adjoint of Q^H x^H
    reflect(self, tau, other, adjoint=not transpose)
    return columns_of(other.mH)


# ---- symmetric matrices that are not positive ----


def _ldl_words(a: Tensor, hermitian: bool) -> tuple[tuple[str, str], ...]:
    return (("ELEMENT", element(a.dtype)), ("HERMITIAN", str(int(hermitian and a.is_complex()))))


@kernel("linalg_ldl_factor_ex")
def ldl_factor_ex(
    self: Tensor, *, hermitian: bool = False, check_errors: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    check_square(self, "torch.linalg.ldl_factor_ex")
    result, info, n = columns_of(self.tril()), codes(self), self.shape[-1]
    pivots = aten.empty(self.shape[:-1], dtype=DTYPES["int32"], device=self.device)
    if result.numel():
        arguments = pack(n, 0, places(result), places(result), pivots, info)
        _FACTOR_LDL.launch(
            self.device.index, _ldl_words(self, hermitian), (batches(self),), (threads_for(n),), arguments
        )
    if check_errors:
        check_codes(info, "torch.linalg.ldl_factor_ex", self)
    return result, pivots, info


@kernel("_ldl_solve")
def ldl_solve(self: Tensor, pivots: Tensor, b: Tensor, hermitian: bool) -> Tensor:
    check_square(self, "torch.linalg.ldl_solve")
    n, cols = self.shape[-1], b.shape[-1]
    if n != b.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {n} by {n} but each b matrix is "
            f"{b.shape[-2]} by {cols}"
        )
    if self.shape[:-2] != b.shape[:-2] or pivots.shape != self.shape[:-1]:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: expected operands of one batch, but got {list(self.shape)}, {list(pivots.shape)} and "
            f"{list(b.shape)}"
        )
    _check_pivots(pivots, n, "ldl_solve", of_size="LD.size(-2)", pairs=True)
    if pivots.numel() and not _in_pairs(pivots.cpu().reshape([-1, n]).tolist()):
        raise RuntimeError(
            "Pivots given to ldl_solve must be negative in pairs. Did you properly pass the result of ldl_factor?"
        )
    result = columns_of(b)
    if result.numel():
        a, exchanges = one_batch(self), pivots.to(DTYPES["int32"]).contiguous()
        arguments = pack(n, cols, places(a), places(one_batch(result)), exchanges, None)
        _SOLVE_LDL.launch(
            self.device.index, _ldl_words(self, hermitian), (blocks(cols, 128), batches(self)), (128,), arguments
        )
    return result


def _in_pairs(rows: list[list[int]]) -> bool:
    """Whether each negative pivot stands beside another one of the same block."""
    for row in rows:
        place = 0
        while place < len(row):
            if row[place] > 0:
                place += 1
            elif place + 1 < len(row) and row[place + 1] < 0:
                place += 2
            else:
                return False
    return True
