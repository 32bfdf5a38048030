"""Reductions over some dimensions or all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..reduce import reduce
from ..table import CONTIGUOUS, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _all(self: Tensor) -> list[int]:
    return list(range(self.dim()))


def _dims(self: Tensor, dim: int | Sequence[int] | None) -> list[int]:
    """The dimensions that an argument means, none of them below zero."""
    if dim is None or (not isinstance(dim, int) and len(dim) == 0):
        return _all(self)
    return sorted(
        {d % self.dim() if self.dim() else 0 for d in ([dim] if isinstance(dim, int) else dim)} if self.dim() else []
    )


def _count(self: Tensor, dims: list[int]) -> int:
    n = 1
    for d in dims:
        n *= self.shape[d]
    return n


def _over_dims(name: str, op: str, facts: str = "") -> None:
    @kernel(name, flags=CONTIGUOUS)
    def compute(self: Tensor, dim: Any, *rest: Any) -> None:
        dims = _dims(self, dim)
        reduce(op, self, dims, rest[-1], p=(float(_count(self, dims)), 0.0), facts=facts)


def _over_all(name: str, op: str, facts: str = "") -> None:
    @kernel(name, flags=CONTIGUOUS)
    def compute(self: Tensor, *rest: Any) -> None:
        reduce(op, self, _all(self), rest[-1], p=(float(self.numel()), 0.0), facts=facts)


for _name, _op in (
    ("all", "All"),
    ("any", "Any"),
    ("sum", "Sum"),
    ("prod", "Prod"),
    ("mean", "Mean"),
):
    _over_all(_name, _op)
for _name in ("max", "min"):
    _over_all(_name, "Greatest" if _name == "max" else "Smallest", "ORDERED")
for _name, _op, _facts in (
    ("all.dim", "All", ""), ("any.dim", "Any", ""),  ("sum.dim_IntList", "Sum", ""),
    ("nansum", "NanSum", ""), ("mean.dim", "Mean", ""), ("prod.dim_int", "Prod", ""), ("amax", "Greatest", "ORDERED"),
    ("amin", "Smallest", "ORDERED"), ("count_nonzero.dim_IntList", "Count", ""), ("count_nonzero", "Count", ""), ("logsumexp", "LogSumExp", "REAL"),
    ("argmax", "ArgMax", "ORDERED"), ("argmin", "ArgMin", "ORDERED"),
):  # fmt: skip
    _over_dims(_name, _op, _facts)


def _with_places(name: str, op: str) -> None:
    @kernel(name, flags=CONTIGUOUS)
    def compute(self: Tensor, dim: int, keepdim: bool, values: Tensor, indices: Tensor) -> None:
        reduce(op, self, _dims(self, dim), values, indices, facts="ORDERED")


_with_places("max.dim", "Max")
_with_places("min.dim", "Min")


@kernel("aminmax", flags=CONTIGUOUS)
def aminmax(self: Tensor, dim: int | None, keepdim: bool, low: Tensor, high: Tensor) -> None:
    reduce("Both", self, _dims(self, dim), low, high, facts="ORDERED")


def _spread(name: str, root: bool, mean: bool) -> None:
    @kernel(name, flags=CONTIGUOUS)
    def compute(self: Tensor, dim: Any, correction: float | None, keepdim: bool, *outs: Tensor) -> None:
        p = (1.0 if correction is None else float(correction), float(root))
        reduce("Variance", self, _dims(self, dim), outs[0], outs[1] if mean else None, p=p, facts="REAL")


_spread("var.correction", False, False)
_spread("std.correction", True, False)
_spread("var_mean.correction", False, True)
_spread("std_mean.correction", True, True)


@kernel("linalg_vector_norm", flags=CONTIGUOUS)
def vector_norm(self: Tensor, ord: float, dim: Any, keepdim: bool, dtype: Any, out: Tensor) -> None:
    if dtype is not None and self.dtype != dtype:
        self = self.to(dtype)
    reduce("Norm", self, _dims(self, dim), out, p=(float(ord), 0.0), facts="REAL")


@kernel("trace", flags=CONTIGUOUS)
def trace(self: Tensor, out: Tensor) -> None:
    reduce("Sum", self.diagonal(), [0], out)


def _over_given(name: str, op: str) -> None:
    @kernel(name, flags=CONTIGUOUS)
    def compute(self: Tensor, dim: Sequence[int] | None, keepdim: bool, out: Tensor) -> None:
        """No dimension at all is reduced where none is named."""
        reduce(op, self, [] if dim is not None and not len(dim) else _dims(self, dim), out)


_over_given("all.dims", "All")
_over_given("any.dims", "Any")
