"""`torch.special`: special functions, under the names that the operators' rows bind here.

A name of PyTorch's that no row binds raises AttributeError, which says so.
"""

from __future__ import annotations

from mindtorch_v2._operators.table import bound

_PYTORCH_NAMES = """
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 chebyshev_polynomial_t chebyshev_polynomial_u
    chebyshev_polynomial_v chebyshev_polynomial_w digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc
    gammaincc gammaln hermite_polynomial_h hermite_polynomial_he i0 i0e i1 i1e laguerre_polynomial_l
    legendre_polynomial_p log1p log_ndtr log_softmax logit logsumexp modified_bessel_i0 modified_bessel_i1
    modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round scaled_modified_bessel_k0
    scaled_modified_bessel_k1 shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
    shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w sinc softmax spherical_bessel_j0 xlog1py xlogy
    zeta
""".split()

_functions = bound("special")
globals().update(_functions)

__all__ = [*sorted(name for name in _functions if not name.startswith("_"))]


def __getattr__(name: str) -> None:
    if name in _PYTORCH_NAMES:
        raise AttributeError(f"torch.special.{name} is not implemented in mindtorch_v2")
    raise AttributeError(f"module 'mindtorch_v2.special' has no attribute {name!r}")
