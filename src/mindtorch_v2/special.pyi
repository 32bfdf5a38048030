# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

from builtins import bool as _bool, complex as _complex, float as _float, int as _int
from collections.abc import Sequence as _Sequence
from typing import Any, overload
from ._C import Generator as _Generator, device as _device, dtype as _dtype, layout as _layout
from ._C import memory_format as _memory_format
from ._core.storage import UntypedStorage as _UntypedStorage
from ._core.stream import Stream as _Stream
from . import return_types
from ._tensor import Tensor

_Number = _int | _float | _bool | _complex

def airy_ai(x: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Airy function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bessel function of the first kind, order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bessel function of the first kind, order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bessel function of the second kind, order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bessel function of the second kind, order 1."""
@overload
def chebyshev_polynomial_t(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the first kind, degree `n`."""
@overload
def chebyshev_polynomial_t(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the first kind, degree `n`."""
@overload
def chebyshev_polynomial_t(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the first kind, degree `n`."""
@overload
def chebyshev_polynomial_u(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the second kind, degree `n`."""
@overload
def chebyshev_polynomial_u(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the second kind, degree `n`."""
@overload
def chebyshev_polynomial_u(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the second kind, degree `n`."""
@overload
def chebyshev_polynomial_v(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the third kind, degree `n`."""
@overload
def chebyshev_polynomial_v(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the third kind, degree `n`."""
@overload
def chebyshev_polynomial_v(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the third kind, degree `n`."""
@overload
def chebyshev_polynomial_w(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the fourth kind, degree `n`."""
@overload
def chebyshev_polynomial_w(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the fourth kind, degree `n`."""
@overload
def chebyshev_polynomial_w(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Chebyshev polynomial of the fourth kind, degree `n`."""
def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.digamma`."""
def entr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`-self * log(self)`."""
def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.erf`."""
def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.erfc`."""
def erfcx(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`exp(self**2) * erfc(self)`."""
def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.erfinv`."""
def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.exp2`."""
def expit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.sigmoid`."""
def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.expm1`."""
def gammainc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.igamma`."""
def gammaincc(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.igammac`."""
def gammaln(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.lgamma`."""
@overload
def hermite_polynomial_h(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Physicist's Hermite polynomial of degree `n`."""
@overload
def hermite_polynomial_h(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Physicist's Hermite polynomial of degree `n`."""
@overload
def hermite_polynomial_h(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Physicist's Hermite polynomial of degree `n`."""
@overload
def hermite_polynomial_he(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Probabilist's Hermite polynomial of degree `n`."""
@overload
def hermite_polynomial_he(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Probabilist's Hermite polynomial of degree `n`."""
@overload
def hermite_polynomial_he(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Probabilist's Hermite polynomial of degree `n`."""
def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.i0`."""
def i0e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`exp(-|self|) * i0(self)`."""
def i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 1."""
def i1e(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`exp(-|self|) * i1(self)`."""
@overload
def laguerre_polynomial_l(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Laguerre polynomial of degree `n`."""
@overload
def laguerre_polynomial_l(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Laguerre polynomial of degree `n`."""
@overload
def laguerre_polynomial_l(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Laguerre polynomial of degree `n`."""
@overload
def legendre_polynomial_p(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Legendre polynomial of degree `n`."""
@overload
def legendre_polynomial_p(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Legendre polynomial of degree `n`."""
@overload
def legendre_polynomial_p(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Legendre polynomial of degree `n`."""
def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.log1p`."""
def log_ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the normal distribution function."""
def log_softmax(input: Tensor, dim: _int, *, dtype: _dtype | None = ...) -> Tensor:
    """`torch.log_softmax`."""
def logit(input: Tensor, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """`torch.logit`."""
def logsumexp(input: Tensor, dim: _Sequence[_int] | _int, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """`torch.logsumexp`."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the second kind, order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the second kind, order 1."""
def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """`torch.mvlgamma`."""
def ndtr(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Normal distribution function."""
def ndtri(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse of the normal distribution function."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.polygamma`."""
def psi(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.digamma`."""
def round(input: Tensor, *, decimals: _int = ..., out: Tensor | None = ...) -> Tensor:
    """`torch.round`."""
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`exp(x) * modified_bessel_k0(x)`."""
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`exp(x) * modified_bessel_k1(x)`."""
@overload
def shifted_chebyshev_polynomial_t(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_t` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_t(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_t` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_t(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_t` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_u(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_u` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_u(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_u` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_u(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_u` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_v(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_v` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_v(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_v` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_v(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_v` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_w(x: Tensor, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_w` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_w(x: _Number, n: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_w` at `2 * x - 1`."""
@overload
def shifted_chebyshev_polynomial_w(x: Tensor, n: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`chebyshev_polynomial_w` at `2 * x - 1`."""
def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.sinc`."""
def softmax(input: Tensor, dim: _int, dtype: _dtype | None = ...) -> Tensor:
    """`torch.softmax`."""
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`sin(x) / x`, 1 at 0."""
@overload
def xlog1py(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self * log1p(other)`, 0 where `self` is 0."""
@overload
def xlog1py(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`self * log1p(other)`, 0 where `self` is 0."""
@overload
def xlog1py(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`self * log1p(other)`, 0 where `self` is 0."""
@overload
def xlogy(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.xlogy`."""
@overload
def xlogy(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """`torch.xlogy`."""
@overload
def xlogy(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """`torch.xlogy`."""
@overload
def zeta(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hurwitz zeta function."""
@overload
def zeta(input: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hurwitz zeta function."""
@overload
def zeta(input: Tensor, other: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Hurwitz zeta function."""
