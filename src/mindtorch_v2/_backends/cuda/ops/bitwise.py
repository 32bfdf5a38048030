"""Operators on the bits of integers."""

from __future__ import annotations

from ..pointwise import pointwise

for _name, _sign in (("and", "&"), ("or", "|"), ("xor", "^")):
    for _form in ("Tensor", "Scalar", "Scalar_Tensor"):
        pointwise(f"bitwise_{_name}.{_form}", f"self {_sign} other")
pointwise("bitwise_not", "inverted(self)")
for _form in ("Tensor", "Tensor_Scalar", "Scalar_Tensor"):
    pointwise(f"bitwise_left_shift.{_form}", "shift_left(self, other)")
    pointwise(f"bitwise_right_shift.{_form}", "shift_right(self, other)")
pointwise("gcd", "greatest_divisor(self, other)")
pointwise("lcm", "least_multiple(self, other)")
