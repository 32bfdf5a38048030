"""Exponentials, logarithms, trigonometry, rounding, and their two-argument kin."""

from __future__ import annotations

from ..pointwise import pointwise

for _name in "acos acosh asin asinh atan atanh cos cosh exp exp2 expm1 log log10 log1p log2 sin sinh tan tanh".split():
    pointwise(_name, f"{_name}(self)")
for _name, _function in (("ceil", "ceil"), ("floor", "floor"), ("trunc", "trunc"), ("round", "rint")):
    pointwise(_name, f"whole_or(self, [](auto x) {{ return {_function}(x); }})")
pointwise("frac", "self - trunc(self)")
pointwise(
    "round.decimals",
    "const double tens = pow(10.0, fabs(decimals_)); "
    "r0 = to<decltype(r0)>(decimals_ < 0 ? rint(double(self) / tens) * tens : rint(double(self) * tens) / tens);".replace(
        "decimals_", "double(decimals)"
    ),
)
pointwise("sigmoid", "sigmoid(self)")
pointwise("atan2", "atan2(self, other)")
pointwise("hypot", "hypot(self, other)")
pointwise("logaddexp", "log_of_sum(self, other)")
pointwise(
    "logaddexp2", "is_inf(self) && self == other ? self : larger(self, other) + log2(T(1) + exp2(-fabs(self - other)))"
)
