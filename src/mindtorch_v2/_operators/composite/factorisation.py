"""Products and solves with factors as LAPACK leaves them: reflectors, LDL, LU with its pivots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..native.linalg import _householder_product_grad
from ..table import S, T, aten, class_name, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


_DTYPES = "float complex"


def _ormqr_grad(grad, self, input2, input3, left, transpose, result, needs) -> tuple:
    to_self = to_tau = to_other = None
    if needs[2]:
        to_other = aten.ormqr(self, input2, grad, left, not transpose)
    if needs[0] or needs[1]:
        # Through Q itself: the product with all of its columns, as householder_product differentiates it. Columns beyond
        # the rows take no part.
        full = aten.constant_pad_nd(self, [0, self.size(-2) - self.size(-1)])
        slope = grad @ input3.mH if left else input3.mH @ grad
        to_full, to_tau = _householder_product_grad(slope.mH if transpose else slope, full, input2)
        to_self = aten.constant_pad_nd(to_full, [0, self.size(-1) - self.size(-2)])
    return to_self, to_tau, to_other


@composite(
    "ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor",
    "`input3` multiplied by the orthogonal matrix whose reflectors `geqrf` gave as `self` and `input2`.",
    bind="function method out",
    out_dtype="torch.ormqr: Expected input and result to have the same dtype, but input has dtype{result} and "
    "result has dtype {out}",
    batching="stack",
    autocast="float32",
    explicit=True,
    grad={("self", "input2", "input3"): _ormqr_grad},
    samples=[
        S(T(4, 3), T(3, low=0.1, high=0.9), T(4, 2)),
        S(T(4, 3), T(3, low=0.1, high=0.9), T(2, 4), False, True),
        S(T(2, 3, 3), T(2, 2, low=0.1, high=0.9), T(2, 3, 2), True, True),
    ],
    dtypes=_DTYPES,
)
def ormqr(self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    for name, x in (("input", self), ("other", input3)):
        if x.dim() < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    if self.dim() - input2.dim() != 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{input2.dim()} and input.ndim is equal to {self.dim()}"
        )
    if self.dim() != input3.dim():
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{input3.dim()} and input.ndim is equal to {self.dim()}"
        )
    side = -2 if left else -1
    if input2.size(-1) != min(input3.size(side), self.size(-1)):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if input3.size(side) < input2.size(-1):
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be greater than or equal to tau.shape[-1]")
    if input3.size(side) != self.size(-2):
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    for name, x, batch in (("tau", input2, input2.shape[:-1]), ("other", input3, input3.shape[:-2])):
        if batch != self.shape[:-2]:
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to input.shape[:-2], but got "
                f"{list(batch)}"
            )
        if x.dtype != self.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype "
                f"{class_name(self.dtype)} and {name} has dtype {class_name(x.dtype)}"
            )
    return aten._ormqr(self, input2, input3, left, transpose)


@composite(
    "orgqr(Tensor self, Tensor input2) -> Tensor",
    "`torch.linalg.householder_product`.",
    bind="function method out",
    autocast="float32",
    samples=[S(T(4, 3), T(2))],
    dtypes=_DTYPES,
)
def orgqr(self: Tensor, input2: Tensor) -> Tensor:
    return aten.linalg_householder_product(self, input2)


@composite(
    "linalg_ldl_factor(Tensor self, *, bool hermitian=False) -> (Tensor LD, Tensor pivots)",
    "Factors of symmetric or Hermitian matrices, and exchanges.",
    bind="linalg out",
    out_dtype="exact",
    raises_by_values=True,
)
def linalg_ldl_factor(self: Tensor, *, hermitian: bool = False) -> tuple:
    factors, pivots, info = aten.linalg_ldl_factor_ex(self, hermitian=hermitian)
    aten._linalg_check_errors(info, "torch.linalg.ldl_factor", is_matrix=self.dim() == 2)
    return factors, pivots


@composite(
    "linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor",
    "Solves with LDL factors.",
    bind="linalg out",
    out_dtype="exact",
)
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    if LD.dim() < 2:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected LD to have at least 2 dimensions, but it has {LD.dim()} dimensions "
            "instead"
        )
    if B.dim() < 2:
        raise RuntimeError("torch.linalg.ldl_solve: The input tensor B must have at least 2 dimensions.")
    if LD.dtype != B.dtype:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: LD dtype {class_name(LD.dtype)} does not match b dtype {class_name(B.dtype)}"
        )
    if LD.size(-1) != B.size(-2):
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {LD.size(-1)} by {LD.size(-1)} but each b "
            f"matrix is {B.size(-2)} by {B.size(-1)}"
        )
    if pivots.shape != LD.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    if pivots.is_floating_point() or pivots.is_complex():
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {class_name(pivots.dtype)}")
    batch = aten.broadcast_tensors([LD.sum((-2, -1)), B.sum((-2, -1))])[0].shape
    factors = LD.expand([*batch, *LD.shape[-2:]])
    exchanges = pivots.expand([*batch, pivots.size(-1)])
    return aten._ldl_solve(factors, exchanges, B.expand([*batch, *B.shape[-2:]]), hermitian)
