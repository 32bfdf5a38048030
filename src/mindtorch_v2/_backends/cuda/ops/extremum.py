"""Larger and smaller numbers, and choices between two."""

from __future__ import annotations

from ..pointwise import pointwise


def _clamp(words: dict) -> str:
    low, high = words.get("lo", "given") is not None, words.get("hi", "given") is not None
    inner = "larger(self, lo)" if low else "self"
    return f"smaller({inner}, hi)" if high else inner


pointwise("clamp", _clamp)
pointwise("clamp.Tensor", _clamp)
for _form in ("", ".Tensor"):
    pointwise(f"clamp_max{_form}", "smaller(self, hi)")
    pointwise(f"clamp_min{_form}", "larger(self, lo)")
pointwise("copysign.Tensor", "copysign(self, other)")
pointwise("copysign.Scalar", "copysign(self, other)")
pointwise("fmax", "is_nan(self) ? other : is_nan(other) || self > other ? self : other")
pointwise("fmin", "is_nan(self) ? other : is_nan(other) || self < other ? self : other")
pointwise("heaviside", "self == T(0) ? values : self > T(0) ? T(1) : T(0)")
pointwise("masked_fill.Scalar", "bool(mask) ? value : self", raw="mask")
pointwise("masked_fill.Tensor", "bool(mask) ? value : self", raw="mask")
pointwise("maximum", "larger(self, other)")
pointwise("minimum", "smaller(self, other)")
pointwise(
    "nan_to_num",
    "is_nan(self) ? (has_nan ? nan : T(0)) : !is_inf(self) ? self : self > T(0) ? "
    "(has_posinf ? posinf : largest_of(r0)) : (has_neginf ? neginf : -largest_of(r0))",
)
pointwise("nextafter", "nextafter(self, other)")
for _form in ("self", "ScalarSelf", "ScalarOther", "Scalar"):
    pointwise(f"where.{_form}", "bool(condition) ? self : other", raw="condition")
