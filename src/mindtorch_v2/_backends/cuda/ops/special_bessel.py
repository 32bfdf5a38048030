"""Orthogonal polynomials and Bessel functions."""

from __future__ import annotations

from ..pointwise import pointwise

_LIMIT = "(sizeof(T) == 8 ? 512 : 128)"
_POLYNOMIALS = {
    **{f"chebyshev_polynomial_{k.lower()}": f"chebyshev<'{k}'>(double(x), double(n))" for k in "TUVW"},
    **{f"shifted_chebyshev_polynomial_{k.lower()}": f"shifted_chebyshev<'{k}'>(double(x), double(n))" for k in "TUVW"},
    "hermite_polynomial_h": f"hermite<true>(double(x), double(n), {_LIMIT})",
    "hermite_polynomial_he": f"hermite<false>(double(x), double(n), {_LIMIT})",
    "laguerre_polynomial_l": "laguerre(double(x), double(n))",
    "legendre_polynomial_p": "legendre(double(x), double(n))",
}
for _name, _expression in _POLYNOMIALS.items():
    for _form in ("", ".x_scalar", ".n_scalar"):
        pointwise(f"special_{_name}{_form}", f"T({_expression})")
for _kind in ("j0", "j1", "y0", "y1"):
    pointwise(f"special_bessel_{_kind}", f"T({_kind}(double(self)))")
for _kind in ("i0", "i1"):
    pointwise(f"special_modified_bessel_{_kind}", f"T(cyl_bessel_{_kind}(double(self)))")
pointwise(
    "special_spherical_bessel_j0",
    "const double z = double(x); r0 = T(is_inf(z) ? 0.0 : fabs(z) < 0.5 ? "
    "1 - z * z / 6 * (1 - z * z / 20 * (1 - z * z / 42 * (1 - z * z / 72 * (1 - z * z / 110)))) : sin(z) / z);",
)
for _order in (0, 1):
    pointwise(f"special_modified_bessel_k{_order}", f"T(modified_k({_order}, double(self), false))")
    pointwise(f"special_scaled_modified_bessel_k{_order}", f"T(modified_k({_order}, double(x), true))")
pointwise("special_airy_ai", "T(airy_ai(double(x)))")
