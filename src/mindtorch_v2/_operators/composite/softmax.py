"""softmax and log_softmax as users call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._C import dtype
    from ..._tensor import Tensor


@composite(
    "_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "softmax whose rows of nothing but -inf are zero instead of NaN.",
    bind="function",
    batching="body",
    explicit=True,
    grad={"self": lambda grad, self, dim, result: aten._softmax_backward_data(grad, result, dim, self.dtype)},
    samples=[S(T(3, 4), 1)],
)
def _safe_softmax(self, dim, dtype=None):
    out = aten.softmax(self, dim, dtype=dtype)
    masked = (self == -float("inf")).all(dim, keepdim=True)
    return aten.where(masked, aten.zeros_like(out), out)


@composite(
    "log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "Logarithm of the softmax along `dim`, computed in `dtype`.",
    bind="function method out",
    out_dtype="exact",
    alias="special_log_softmax",
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, dtype="float64")],
)
def log_softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    return aten._log_softmax(self if dtype is None else self.to(dtype), dim, False)


@composite(
    "softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    "Exponentials along `dim`, divided by their sum, computed in `dtype`.",
    bind="function method out",
    out_dtype="exact",
    alias="special_softmax",
    samples=[S(T(3, 4), 1), S(T(3, 4), 0, dtype="float64")],
)
def softmax(self: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    return aten._softmax(self if dtype is None else self.to(dtype), dim, False)
