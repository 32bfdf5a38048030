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

def fft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The discrete Fourier transform."""
def fft2(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The discrete Fourier transform over several dimensions."""
@overload
def fftfreq(n: _int, d: _float = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Frequencies of the points of a transform."""
@overload
def fftfreq(n: _int, d: _float = ..., *, out: Tensor) -> Tensor:
    """`torch.fft.fftfreq` into `out`, in its dtype."""
def fftn(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The discrete Fourier transform over several dimensions."""
def fftshift(input: Tensor, dim: _Sequence[_int] | _int | None = ...) -> Tensor:
    """The frequency zero moved to the middle."""
def hfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real spectrum of half a symmetric signal."""
def hfft2(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real spectrum of half a symmetric signal over several dimensions."""
def hfftn(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real spectrum of half a symmetric signal over several dimensions."""
def ifft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse discrete Fourier transform."""
def ifft2(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse transform over several dimensions."""
def ifftn(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse transform over several dimensions."""
def ifftshift(input: Tensor, dim: _Sequence[_int] | _int | None = ...) -> Tensor:
    """The frequency zero moved back to the beginning."""
def ihfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse of `hfft`."""
def ihfft2(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse of `hfftn`."""
def ihfftn(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse of `hfftn`."""
def irfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real signal of half a spectrum."""
def irfft2(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real signal of half a spectrum over several dimensions."""
def irfftn(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The real signal of half a spectrum over several dimensions."""
def rfft(input: Tensor, n: _int | None = ..., dim: _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The first half of a real signal's transform."""
def rfft2(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Half the transform of a real signal over several dimensions."""
@overload
def rfftfreq(n: _int, d: _float = ..., *, dtype: _dtype | None = ..., layout: _layout | None = ..., device: _device | str | _int | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """Frequencies of the points of `rfft`."""
@overload
def rfftfreq(n: _int, d: _float = ..., *, out: Tensor) -> Tensor:
    """`torch.fft.rfftfreq` into `out`, in its dtype."""
def rfftn(input: Tensor, s: _Sequence[_int] | _int | None = ..., dim: _Sequence[_int] | _int | None = ..., norm: str | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Half the transform of a real signal over several dimensions."""
