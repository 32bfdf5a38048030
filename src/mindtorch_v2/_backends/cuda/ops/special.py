"""Special functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..pointwise import Pointwise, pointwise
from ..table import MAY_ALIAS, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor

pointwise("digamma", "digamma_of(self)")
pointwise("erf", "erf(self)")
pointwise("erfc", "erfc(self)")
pointwise("erfinv", "erfinv(self)")
pointwise("i0", "cyl_bessel_i0(self)")
pointwise("special_i1", "cyl_bessel_i1(self)")
pointwise("special_i0e", "exp(-fabs(self)) * cyl_bessel_i0(self)")
pointwise("special_i1e", "exp(-fabs(self)) * cyl_bessel_i1(self)")
pointwise("lgamma", "lgamma(self)")


def _logit(words: dict) -> str:
    inside = "self" if words.get("eps", 0) is None else "larger(smaller(self, T(1) - eps), eps)"
    return f"const T z = {inside}; r0 = log(z / (T(1) - z));"


def _logit_backward(words: dict) -> str:
    if words.get("eps", 0) is None:
        return "self < T(0) || self > T(1) ? T(NAN) : grad_output / (self * (T(1) - self))"
    return "self < eps || self > T(1) - eps ? T(0) : grad_output / (self * (T(1) - self))"


pointwise("logit", _logit)
pointwise("logit_backward", _logit_backward)
pointwise("sinc", "sinc_of(self)")
pointwise("special_entr", "is_nan(self) ? self : self > T(0) ? -self * log(self) : self == T(0) ? T(0) : T(-INFINITY)")
pointwise("special_erfcx", "erfcx(self)")
pointwise(
    "special_log_ndtr",
    "const T t = self * T(0.70710678118654752440); "
    "r0 = self < T(-1) ? log(erfcx(-t) / T(2)) - t * t : log1p(-erfc(t) / T(2));",
)
pointwise("special_ndtr", "normal_below(self)")
pointwise("special_ndtri", "normcdfinv(self)")
for _name, _first, _second in (
    ("xlogy", "Scalar_Self", "Scalar_Other"),
    ("special_xlog1py", "self_scalar", "other_scalar"),
):
    _log = "log" if _name == "xlogy" else "log1p"
    for _form in ([".Tensor"] if _name == "xlogy" else [""]) + [f".{_first}", f".{_second}"]:
        pointwise(f"{_name}{_form}", f"is_nan(other) ? other : self == T(0) ? T(0) : self * {_log}(other)")
for _form in ("", ".self_scalar", ".other_scalar"):
    pointwise(f"special_zeta{_form}", "T(hurwitz_zeta(double(self), double(other)))")
pointwise("igamma", "T(incomplete_gamma<false>(double(self), double(other)))")
pointwise("igammac", "T(incomplete_gamma<true>(double(self), double(other)))")
_POLYGAMMA = Pointwise("polygamma", 1, ["n", "self"], "T(polygamma_of(n, double(self), sizeof(T) == 4))", raw=("n",))


@kernel("polygamma", flags=MAY_ALIAS)
def polygamma(n: int, self: Tensor, out: Tensor) -> None:
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    _POLYGAMMA.launcher.run((out,), (n, self))
