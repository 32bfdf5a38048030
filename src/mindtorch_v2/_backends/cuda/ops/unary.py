"""Exponentials, logarithms, trigonometry, rounding, and their two-argument kin."""

from __future__ import annotations

from ..pointwise import pointwise

pointwise("acos", "acos(self)")
pointwise("acosh", "acosh(self)")
pointwise("asin", "asin(self)")
pointwise("asinh", "asinh(self)")
pointwise("atan", "atan(self)")
pointwise("atanh", "atanh(self)")
pointwise("cos", "cos(self)")
pointwise("cosh", "cosh(self)")
pointwise("exp", "exp(self)")
pointwise("exp2", "exp2(self)")
pointwise("expm1", "expm1(self)")
pointwise("log", "log(self)")
pointwise("log10", "log10(self)")
pointwise("log1p", "log1p(self)")
pointwise("log2", "log2(self)")
pointwise("sin", "sin(self)")
pointwise("sinh", "sinh(self)")
pointwise("tan", "tan(self)")
pointwise("tanh", "tanh(self)")
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
