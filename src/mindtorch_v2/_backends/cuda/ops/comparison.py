"""Comparisons, tests of numbers, and logic: results are bool, computed in the promotion of the arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..pointwise import pointwise
from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor

for _name, _sign in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">=")):
    for _form in ("Tensor", "Scalar"):
        pointwise(f"{_name}.{_form}", f"self {_sign} other", compute="common")
pointwise("isfinite", "is_finite(self)", compute="self")
pointwise("isinf", "is_inf(self)", compute="self")
pointwise("isnan", "is_nan(self)", compute="self")
pointwise("isneginf", "is_inf(self) && self < T(0)", compute="self")
pointwise("isposinf", "is_inf(self) && self > T(0)", compute="self")
pointwise("signbit", "sign_bit(self)", compute="self")
pointwise("logical_and", "bool(self) && bool(other)", raw="self other")
pointwise("logical_or", "bool(self) || bool(other)", raw="self other")
pointwise("logical_xor", "bool(self) != bool(other)", raw="self other")
pointwise("logical_not", "!bool(self)", raw="self")
pointwise(
    "isclose",
    lambda words: (
        "self == other || (is_finite(self) && is_finite(other) && "
        "double(magnitude(self - other)) <= double(atol) + double(rtol) * double(magnitude(other)))"
        + (" || (is_nan(self) && is_nan(other))" if words["equal_nan"] else "")
    ),
    compute="common",
    raw="rtol atol",
)


@kernel("equal")
def equal(self: Tensor, other: Tensor) -> bool:
    return self.shape == other.shape and bool(aten.eq(self, other).all())
