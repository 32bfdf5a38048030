"""torch.special's names for operators that have another name, and functions made of others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..table import S, T, aten, composite
from ..table.writing import check_holds

if TYPE_CHECKING:
    from ..._tensor import Tensor
    from ...types import Number


_ANOTHER_NAME = {
    "digamma": "digamma",
    "erf": "erf",
    "erfc": "erfc",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gammaln": "lgamma",
    "i0": "i0",
    "log1p": "log1p",
    "psi": "digamma",
    "sinc": "sinc",
}


def _calls(name):
    def body(self: Tensor) -> Tensor:
        return getattr(aten, name)(self)

    return body


for _name, _meant in _ANOTHER_NAME.items():
    composite(
        f"special_{_name}(Tensor self) -> Tensor",
        f"`torch.{_meant}`.",
        bind="special out",
        samples=[S(T(3, 4, low=0.1, high=0.9))],
    )(_calls(_meant))


@composite(
    "special_gammainc(Tensor self, Tensor other) -> Tensor",
    "`torch.igamma`.",
    bind="special out",
    samples=[S(T(3, 4, low=0.5, high=3, grad=False), T(3, 4, low=0.5, high=3))],
)
def special_gammainc(self: Tensor, other: Tensor) -> Tensor:
    return aten.igamma(self, other)


@composite(
    "special_gammaincc(Tensor self, Tensor other) -> Tensor",
    "`torch.igammac`.",
    bind="special out",
    samples=[S(T(3, 4, low=0.5, high=3, grad=False), T(3, 4, low=0.5, high=3))],
)
def special_gammaincc(self: Tensor, other: Tensor) -> Tensor:
    return aten.igammac(self, other)


@composite(
    "special_logit(Tensor self, float? eps=None) -> Tensor",
    "`torch.logit`.",
    bind="special out",
    samples=[S(T(3, 4, low=0.1, high=0.9))],
)
def special_logit(self: Tensor, eps: float | None = None) -> Tensor:
    return aten.logit(self, eps)


@composite(
    "polygamma_(Tensor(a!) self, int n) -> Tensor(a!)",
    "The `n`-th derivative of digamma.",
    bind="method",
    tags="pointwise",
)
def polygamma_(self: Tensor, n: int) -> Tensor:
    result = aten.polygamma(n, self.clone())  # its gradient reads what is overwritten
    check_holds(self, result)
    return aten.copy_(self, result)


@composite(
    "special_polygamma(int n, Tensor self) -> Tensor",
    "`torch.polygamma`.",
    bind="special out",
    samples=[S(1, T(3, 4, low=0.5, high=3))],
    dtypes="float",
)
def special_polygamma(n: int, self: Tensor) -> Tensor:
    return aten.polygamma(n, self)


@composite(
    "special_round(Tensor self, *, int decimals=0) -> Tensor",
    "`torch.round`.",
    bind="special out",
    out_dtype="found",
    samples=[S(T(3, 4), decimals=1)],
)
def special_round(self: Tensor, decimals: int = 0) -> Tensor:
    return aten.round(self, decimals=decimals)


@composite(
    "special_xlogy(Tensor self, Tensor other) -> Tensor",
    "`torch.xlogy`.",
    bind="special out",
    samples=[S(T(3, 4), T(3, 4, low=0.5, high=3))],
)
def special_xlogy(self: Tensor, other: Tensor) -> Tensor:
    return aten.xlogy(self, other)


@composite(
    "special_xlogy.self_scalar(Scalar self, Tensor other) -> Tensor",
    "`torch.xlogy`.",
    bind="special out",
    samples=[S(1.5, T(3, 4, low=0.5, high=3))],
)
def special_xlogy_number(self: Number, other: Tensor) -> Tensor:
    return aten.xlogy(self, other)


@composite(
    "special_xlogy.other_scalar(Tensor self, Scalar other) -> Tensor",
    "`torch.xlogy`.",
    bind="special out",
    samples=[S(T(3, 4), 1.5)],
)
def special_xlogy_of_number(self: Tensor, other: Number) -> Tensor:
    return aten.xlogy(self, other)


@composite(
    "mvlgamma(Tensor self, int p) -> Tensor",
    "Logarithm of the multivariate gamma function.",
    bind="function method inplace out",
    tags="pointwise",
    cheap=False,
    samples=[S(T(3, 4, low=2, high=5), 2)],
    node="MvlgammaBackward0",
)
def mvlgamma(self: Tensor, p: int) -> Tensor:
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    halves = aten.arange(
        (1 - p) / 2, 0.5, 0.5, dtype=self.dtype if self.is_floating_point() else None, device=self.device
    )
    return aten.lgamma(self.unsqueeze(-1) + halves).sum(-1) + p * (p - 1) / 4 * math.log(math.pi)


@composite(
    "special_multigammaln(Tensor self, int p) -> Tensor",
    "`torch.mvlgamma`.",
    bind="special out",
    samples=[S(T(3, 4, low=2, high=5), 2)],
)
def special_multigammaln(self: Tensor, p: int) -> Tensor:
    return aten.mvlgamma(self, p)
