"""Reductions. Every dimension is named to the operator: an empty list means all of them to PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


int64 = DTYPES["int64"]


def _dims(self, dim):
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return tuple(range(self.dim()))
    return dim


def _correction(correction) -> int:
    return 1 if correction is None else int(correction)


@kernel("sum")
def sum_all(self: Tensor, dtype: Any, out: Tensor) -> None:
    call("aclnnReduceSum", self, _dims(self, None), False, out.dtype, out)


@kernel("sum.dim_IntList")
def sum_dim(self: Tensor, dim: Any, keepdim: bool, dtype: Any, out: Tensor) -> None:
    call("aclnnReduceSum", self, _dims(self, dim), keepdim, out.dtype, out)


@kernel("mean")
def mean_all(self: Tensor, dtype: Any, out: Tensor) -> None:
    call("aclnnMean", self, _dims(self, None), False, out.dtype, out)


@kernel("mean.dim")
def mean_dim(self: Tensor, dim: Any, keepdim: bool, dtype: Any, out: Tensor) -> None:
    call("aclnnMean", self, _dims(self, dim), keepdim, out.dtype, out)


def _over_dims(name, symbol) -> None:
    @kernel(name)
    def reduce(self: Tensor, dim: Any, keepdim: bool, out: Tensor) -> None:
        call(symbol, self, _dims(self, dim), keepdim, out)


for _name, _symbol in (
    ("all.dim", "aclnnAll"),
    ("amax", "aclnnAmax"),
    ("amin", "aclnnAmin"),
    ("any.dim", "aclnnAny"),
    ("logsumexp", "aclnnLogSumExp"),
):
    _over_dims(_name, _symbol)


def _over_stated_dims(name, symbol) -> None:
    @kernel(name)
    def reduce(self: Tensor, dim: Any, keepdim: bool, out: Tensor) -> None:
        if dim is not None and len(dim) == 0:  # here an empty list means none
            call("aclnnNeScalar", self, 0, out)
        else:
            call(symbol, self, _dims(self, dim), keepdim, out)


_over_stated_dims("all.dims", "aclnnAll")
_over_stated_dims("any.dims", "aclnnAny")


def _over_all(name, symbol) -> None:
    @kernel(name)
    def reduce(self: Tensor, out: Tensor) -> None:
        call(symbol, self, _dims(self, None), False, out)


_over_all("all", "aclnnAll")
_over_all("any", "aclnnAny")


def _place(name, symbol) -> None:
    @kernel(name)
    def reduce(self: Tensor, dim: Any, keepdim: bool, out: Tensor) -> None:
        if dim is None:
            call(symbol, self.reshape(-1), 0, False, out.view(()))
        else:
            call(symbol, self, dim, keepdim, out)


_place("argmax", "aclnnArgMax")
_place("argmin", "aclnnArgMin")


@kernel("linalg_vector_norm")
def vector_norm(self: Tensor, order: float, dim: Any, keepdim: bool, dtype: Any, out: Tensor) -> None:
    call("aclnnLinalgVectorNorm", self, order, _dims(self, dim), keepdim, out.dtype, out)


@kernel("prod")
def prod_all(self: Tensor, dtype: Any, out: Tensor) -> None:
    call("aclnnProd", self, out.dtype, out)


@kernel("prod.dim_int")
def prod_dim(self: Tensor, dim: Any, keepdim: bool, dtype: Any, out: Tensor) -> None:
    call("aclnnProdDim", self, dim, keepdim, out.dtype, out)


@kernel("std.correction")
def std(self: Tensor, dim: Any, correction: Any, keepdim: bool, out: Tensor) -> None:
    call("aclnnStd", self, _dims(self, dim), _correction(correction), keepdim, out)


@kernel("var.correction")
def var(self: Tensor, dim: Any, correction: Any, keepdim: bool, out: Tensor) -> None:
    call("aclnnVarCorrection", self, _dims(self, dim), _correction(correction), keepdim, out)


@kernel("var_mean.correction")
def var_mean(self: Tensor, dim: Any, correction: Any, keepdim: bool, variance: Tensor, mean: Tensor) -> None:
    call("aclnnVarMean", self, _dims(self, dim), _correction(correction), keepdim, variance, mean)


aclnn("max", "aclnnMax")
aclnn("max.dim", "aclnnMaxDim")
aclnn("min", "aclnnMin")
aclnn("min.dim", "aclnnMinDim")


@kernel("aminmax")
def aminmax(self: Tensor, dim: Any, keepdim: bool, low: Any, high: Any) -> None:
    call("aclnnAmin", self, _dims(self, dim), keepdim, low)
    call("aclnnAmax", self, _dims(self, dim), keepdim, high)


@kernel("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(self: Tensor, dim: Any, out: Tensor) -> None:
    call("aclnnReduceSum", self != 0, _dims(self, dim), False, out.dtype, out)


@kernel("std_mean.correction")
def std_mean(self: Tensor, dim: Any, correction: Any, keepdim: bool, deviation: Tensor, mean: Tensor) -> None:
    call("aclnnStd", self, _dims(self, dim), _correction(correction), keepdim, deviation)
    call("aclnnMean", self, _dims(self, dim), keepdim, mean.dtype, mean)


@kernel("trace")
def trace(self: Tensor, out: Tensor) -> None:
    call("aclnnReduceSum", self.diagonal(), (0,), False, out.dtype, out)


@kernel("nansum")
def nansum(self: Tensor, dim: Any, keepdim: bool, dtype: Any, out: Tensor) -> None:
    symbol = "aclnnReduceNansum" if self.dtype.is_floating_point else "aclnnReduceSum"
    call(symbol, self, _dims(self, dim), keepdim, out.dtype, out)


aclnn("histc", "aclnnHistc")
aclnn("median", "aclnnMedian")
aclnn("median.dim", "aclnnMedianDim")
aclnn("nanmedian", "aclnnNanMedian")
aclnn("nanmedian.dim", "aclnnNanMedianDim")


@kernel("bincount")
def bincount(self: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    if self.dim() != 1 or self.dtype.is_floating_point:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    low, high = (int(self.min().item()), int(self.max().item())) if self.numel() else (0, -1)
    if low < 0:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and weights.shape != self.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None:
        each = aten.ones_like(self, dtype=int64)
    else:
        each = weights if weights.dtype == DTYPES["float32"] else weights.to(DTYPES["float64"])
    counts = aten.new_zeros(each, [max(high + 1, minlength)])
    return counts.index_add(0, self.to(int64), each) if self.numel() else counts
