"""Arithmetic."""

from __future__ import annotations

from ..pointwise import pointwise

_ADD = "self + alpha * other"
pointwise("abs", "magnitude(self)", compute="self")
pointwise("add.Tensor", _ADD)
pointwise("add.Scalar", _ADD)
pointwise("addcdiv", "self + value * (tensor1 / tensor2)")
pointwise("addcmul", "self + value * (tensor1 * tensor2)")
pointwise("div.Tensor", "self / other")
pointwise("div.Scalar", "self / other")


def _rounded(words: dict) -> str:
    mode = words.get("rounding_mode")
    return {None: "self / other", "floor": "floor_quotient(self, other)"}.get(mode, "trunc_quotient(self, other)")


pointwise("div.Tensor_mode", _rounded)
pointwise("div.Scalar_mode", _rounded)
pointwise("floor_divide", "floor_quotient(self, other)")
pointwise("floor_divide.Scalar", "floor_quotient(self, other)")
pointwise("fmod.Tensor", "mod_of(self, other)")
pointwise("fmod.Scalar", "mod_of(self, other)")
_LERP = "magnitude(weight) < 0.5f ? self + weight * (end - self) : end - (end - self) * (T(1) - weight)"
pointwise("lerp.Tensor", _LERP)
pointwise("lerp.Scalar", _LERP)
pointwise("mul.Tensor", "self * other")
pointwise("mul.Scalar", "self * other")
pointwise("neg", "-self")
pointwise("pow.Tensor_Tensor", "power(self, exponent)")
pointwise("pow.Tensor_Scalar", "power(self, exponent)")
pointwise("pow.Scalar", "power(self, exponent)")
pointwise("reciprocal", "T(1) / self")
pointwise("remainder.Tensor", "remainder_of(self, other)")
pointwise("remainder.Scalar", "remainder_of(self, other)")
pointwise("remainder.Scalar_Tensor", "remainder_of(self, other)")
pointwise("rsqrt", "T(1) / sqrt(self)")
pointwise("rsub.Tensor", "other - alpha * self")
pointwise("rsub.Scalar", "other - alpha * self")
pointwise("sgn", "sign_of(self)")
pointwise("sign", "sign_of(self)")
pointwise("sqrt", "sqrt(self)")
pointwise("square", "self * self")
pointwise("sub.Tensor", "self - alpha * other")
pointwise("sub.Scalar", "self - alpha * other")
