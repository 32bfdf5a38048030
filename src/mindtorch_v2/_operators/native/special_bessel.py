"""Bessel functions, the Airy function and orthogonal polynomials; PyTorch differentiates none of them.

They are right to the dtype's precision, where PyTorch's are sometimes not: its Airy function is six digits good at -2.5, its
`bessel_j0` nine at 7.3. The samples keep to where both agree.
"""

from ..table import S, T, op, pointwise

_EVERYWHERE = {"low": -2, "high": 4, "grad": False}
_POSITIVE = {"low": 0.1, "high": 4, "grad": False}

for _name, _doc, _argument, _range in (
    ("airy_ai", "Airy function Ai.", "x", _EVERYWHERE),
    ("bessel_j0", "Bessel function of the first kind, order 0.", "self", _EVERYWHERE),
    ("bessel_j1", "Bessel function of the first kind, order 1.", "self", _EVERYWHERE),
    ("bessel_y0", "Bessel function of the second kind, order 0.", "self", _POSITIVE),
    ("bessel_y1", "Bessel function of the second kind, order 1.", "self", _POSITIVE),
    ("modified_bessel_i0", "Modified Bessel function of the first kind, order 0.", "self", _EVERYWHERE),
    ("modified_bessel_i1", "Modified Bessel function of the first kind, order 1.", "self", _EVERYWHERE),
    ("modified_bessel_k0", "Modified Bessel function of the second kind, order 0.", "self", _POSITIVE),
    ("modified_bessel_k1", "Modified Bessel function of the second kind, order 1.", "self", _POSITIVE),
    ("scaled_modified_bessel_k0", "`exp(x) * modified_bessel_k0(x)`.", "x", _POSITIVE),
    ("scaled_modified_bessel_k1", "`exp(x) * modified_bessel_k1(x)`.", "x", _POSITIVE),
    ("spherical_bessel_j0", "`sin(x) / x`, 1 at 0.", "x", _EVERYWHERE),
):
    op(
        f"special_{_name}(Tensor {_argument}) -> Tensor",
        _doc,
        bind="special out",
        tags="pointwise",
        cheap=False,
        meta=pointwise(_argument, to="float"),
        grad=None,
        samples=[S(T(3, 4, **_range))],
        dtypes="float",
    )


def _polynomials(name, doc, **values) -> None:
    degrees = T(4, low=0, high=12, dtype="int64", grad=False)
    for overload, x, n, sample in (
        ("", "Tensor", "Tensor", S(T(3, 4, grad=False, **values), degrees)),
        (".x_scalar", "Scalar", "Tensor", S(0.4, T(4, low=0, high=12, grad=False))),
        (".n_scalar", "Tensor", "Scalar", S(T(3, 4, grad=False, **values), 5)),
    ):
        op(
            f"special_{name}{overload}({x} x, {n} n) -> Tensor",
            doc,
            bind="special out",
            tags="pointwise",
            cheap=False,
            meta=pointwise("x", "n", to="float"),
            grad=None,
            kernel=f"special_{name}",
            samples=[sample],
            dtypes="float",
        )


_INSIDE = {"low": -1, "high": 1}
_SHIFTED = {"low": 0, "high": 1}
_polynomials("chebyshev_polynomial_t", "Chebyshev polynomial of the first kind, degree `n`.", **_INSIDE)
_polynomials("chebyshev_polynomial_u", "Chebyshev polynomial of the second kind, degree `n`.", **_INSIDE)
_polynomials("chebyshev_polynomial_v", "Chebyshev polynomial of the third kind, degree `n`.", **_INSIDE)
_polynomials("chebyshev_polynomial_w", "Chebyshev polynomial of the fourth kind, degree `n`.", **_INSIDE)
_polynomials("hermite_polynomial_h", "Physicist's Hermite polynomial of degree `n`.", low=-2, high=2)
_polynomials("hermite_polynomial_he", "Probabilist's Hermite polynomial of degree `n`.", low=-2, high=2)
_polynomials("laguerre_polynomial_l", "Laguerre polynomial of degree `n`.", low=0.1, high=4)
_polynomials("legendre_polynomial_p", "Legendre polynomial of degree `n`.", **_INSIDE)
_polynomials("shifted_chebyshev_polynomial_t", "`chebyshev_polynomial_t` at `2 * x - 1`.", **_SHIFTED)
_polynomials("shifted_chebyshev_polynomial_u", "`chebyshev_polynomial_u` at `2 * x - 1`.", **_SHIFTED)
_polynomials("shifted_chebyshev_polynomial_v", "`chebyshev_polynomial_v` at `2 * x - 1`.", **_SHIFTED)
_polynomials("shifted_chebyshev_polynomial_w", "`chebyshev_polynomial_w` at `2 * x - 1`.", **_SHIFTED)
