"""`torch.fft`, and short-time transforms of signals.

`n` or `s` cut the input or fill it up with zeros; `norm` says which direction is divided by the number of points:
"backward" the inverse (the default), "forward" the other, "ortho" both by its root.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..._core.dimensions import wrap_dim
from ..._core.dtype import DTYPES
from ..table import S, T, aten, class_name, composite, conj

if TYPE_CHECKING:
    from ..._tensor import Tensor


_FACTORY = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def _scale(norm, forward) -> int:
    if norm is None or norm == "backward":
        return 0 if forward else 2
    if norm == "forward":
        return 2 if forward else 0
    if norm == "ortho":
        return 1
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


@functools.cache
def _warn_of_missing_window(consequence) -> None:
    """Once a process for each consequence, as PyTorch."""
    warnings.warn(
        f"A window was not provided. A rectangular window will be applied{consequence}To suppress this warning and use "
        "a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`.",
        stacklevel=2,
    )


@functools.cache
def _warn_of_real_result() -> None:
    """Once a process, as PyTorch."""
    warnings.warn(
        "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all "
        "inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex "
        "output to recover the old return format.",
        stacklevel=2,
    )


def _legacy_name(x):
    """The name in PyTorch's C++ for the kind of a tensor: the legacy types, and other words for what had none."""
    return f"CPU{class_name(x.dtype)}Type" if x.is_complex() else x.type()


def _floating(x, to_complex=False):
    """In a dtype that transforms are made in: float, double or complex of these."""
    if not (x.is_floating_point() or x.is_complex()):
        x = x.to(aten.zeros([]).dtype)
    if x.element_size() == 2:
        raise RuntimeError(f"Unsupported dtype {class_name(x.dtype)}")
    if to_complex and not x.is_complex():
        x = x.to(DTYPES["complex128" if x.element_size() == 8 else "complex64"])
    return x


def _resized(x, sizes, dims):
    """`x` cut or filled up with zeros to these sizes along these dimensions."""
    for n, d in zip(sizes, dims, strict=True):
        have = x.size(d)
        if n < have:
            x = x.narrow(d, 0, n)
        elif n > have:
            x = aten.constant_pad_nd(x, [0, 0] * (x.dim() - 1 - d) + [0, n - have] + [0, 0] * d)
    return x


def _points(n):
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")
    return n


def _canonical(x, s, dim) -> tuple:
    """Sizes and dimensions of a transform of several dimensions."""
    if dim is not None:
        dims = [wrap_dim(d, x.dim(), wrap_scalar=False) for d in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
    if s is None:
        dims = list(range(x.dim())) if dim is None else dims
        return [_points(x.size(d)) for d in dims], dims
    if dim is not None and len(s) != len(dim):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if len(s) > x.dim():
        raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.dim()} dimensions.")
    if dim is None:
        dims = list(range(x.dim() - len(s), x.dim()))
    return [_points(x.size(d) if n == -1 else n) for n, d in zip(s, dims, strict=True)], dims


def _c2c(x, sizes, dims, norm, forward):
    x = _resized(x, sizes, dims)
    return aten._fft_c2c(x, dims, _scale(norm, forward), forward) if dims else x


def _real_only(x, name, text="{} expects a real input tensor, but got {}") -> None:
    if x.is_complex():
        raise RuntimeError(text.format(name, class_name(x.dtype)))


def _half_to_full(x, s, dim, name) -> tuple:
    """Sizes, dimensions and resized input of a transform from half a spectrum."""
    sizes, dims = _canonical(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    if s is None or s[-1] == -1:
        sizes[-1] = _points(2 * (x.size(dims[-1]) - 1))
    return sizes, dims, _resized(x, [*sizes[:-1], sizes[-1] // 2 + 1], dims)


# ---- one dimension ----


def _along(name, doc, body, samples, dtypes="float complex") -> None:
    schema = f"fft_{name}(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor"
    composite(schema, doc, bind="fft out", autocast="float32", samples=samples, dtypes=dtypes)(body)


def _fft_body(forward):
    def body(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        x = _floating(self)
        d = wrap_dim(dim, x.dim(), wrap_scalar=False)
        x = _resized(x, [_points(x.size(d) if n is None else n)], [d])
        scale = _scale(norm, forward)
        if x.is_complex():
            return aten._fft_c2c(x, [d], scale, forward)
        spectrum = aten._fft_r2c(x, [d], scale, False)
        return spectrum if forward else conj(spectrum)

    return body


def _half_body(name, forward):
    def body(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        _real_only(self, name)
        x = _floating(self)
        d = wrap_dim(dim, x.dim(), wrap_scalar=False)
        x = _resized(x, [_points(x.size(d) if n is None else n)], [d])
        spectrum = aten._fft_r2c(x, [d], _scale(norm, forward), True)
        return spectrum if forward else conj(spectrum)

    return body


def _real_body(forward):
    def body(self: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
        x = _floating(self, to_complex=True)
        d = wrap_dim(dim, x.dim(), wrap_scalar=False)
        n = _points(2 * (x.size(d) - 1) if n is None else n)
        x = _resized(x, [n // 2 + 1], [d])
        return aten._fft_c2r(conj(x) if forward else x, [d], _scale(norm, forward), n)

    return body


_along("fft", "The discrete Fourier transform.", _fft_body(True), [S(3, 5), S(T(3, 4), 6, 0, "ortho")])
_along("ifft", "The inverse discrete Fourier transform.", _fft_body(False), [S(3, 5), S(T(3, 4), 3, 1, "forward")])
_along("rfft", "The first half of a real signal's transform.", _half_body("rfft", True), [S(3, 6), S(3, 5)], "float")
_along("ihfft", "The inverse of `hfft`.", _half_body("ihfft", False), [S(3, 6), S(T(3, 5), 4, 0)], "float")
_along("irfft", "The real signal of half a spectrum.", _real_body(False), [S(3, 4), S(T(3, 4), 5)])
_along("hfft", "The real spectrum of half a symmetric signal.", _real_body(True), [S(3, 4), S(T(3, 4), 5)])


# ---- several dimensions ----


def _over(name, doc, body, samples, dtypes="float complex") -> None:
    for tail, default in (("n", "None"), ("2", "[-2,-1]")):
        kind = "int[1]?" if tail == "n" else "int[1]"

        def run(
            self: Tensor,
            s: Sequence[int] | None = None,
            dim: Sequence[int] | None = None if tail == "n" else (-2, -1),
            norm: str | None = None,
            tail: str = tail,
        ) -> Tensor:
            return body(self, s, dim, norm, f"{name}n")

        run.__module__ = __name__
        composite(
            f"fft_{name}{tail}(Tensor self, SymInt[1]? s=None, {kind} dim={default}, str? norm=None) -> Tensor",
            doc,
            bind="fft out",
            autocast="" if name in ("hfft", "ihfft") else "float32",
            samples=samples,
            dtypes=dtypes,
        )(lambda self, *rest, run=run, **options: run(self, *rest, **options))


def _fftn(self, s, dim, norm, name):
    x = _floating(self, to_complex=True)
    sizes, dims = _canonical(x, s, dim)
    return _c2c(x, sizes, dims, norm, True)


def _ifftn(self, s, dim, norm, name):
    x = _floating(self, to_complex=True)
    sizes, dims = _canonical(x, s, dim)
    return _c2c(x, sizes, dims, norm, False)


def _rfftn(self, s, dim, norm, name):
    _real_only(self, name, "{} expects a real-valued input tensor, but got {}")
    x = _floating(self)
    sizes, dims = _canonical(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return aten._fft_r2c(_resized(x, sizes, dims), dims, _scale(norm, True), True)


def _irfftn(self, s, dim, norm, name):
    sizes, dims, x = _half_to_full(_floating(self, to_complex=True), s, dim, name)
    return aten._fft_c2r(x, dims, _scale(norm, False), sizes[-1])


def _hfftn(self, s, dim, norm, name):
    sizes, dims, x = _half_to_full(_floating(self, to_complex=True), s, dim, name)
    scale = _scale(norm, True)
    if len(dims) > 1:
        x = aten._fft_c2c(x, dims[:-1], scale, True)
    return aten._fft_c2r(conj(x), dims[-1:], scale, sizes[-1])


def _ihfftn(self, s, dim, norm, name):
    _real_only(self, name, "Only supports floating-point dtypes, but found: {1}")
    x = _floating(self)
    sizes, dims = _canonical(x, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    scale = _scale(norm, False)
    spectrum = conj(aten._fft_r2c(_resized(x, sizes, dims), dims[-1:], scale, True))
    return aten._fft_c2c(spectrum, dims[:-1], scale, False) if len(dims) > 1 else spectrum


_over("fft", "The discrete Fourier transform over several dimensions.", _fftn, [S(3, 4, 5)])
_over("ifft", "The inverse transform over several dimensions.", _ifftn, [S(3, 4, 5), S(T(3, 4), [2, 5])])
_over("rfft", "Half the transform of a real signal over several dimensions.", _rfftn, [S(3, 4, 5)], "float")
_over("irfft", "The real signal of half a spectrum over several dimensions.", _irfftn, [S(3, 4, 5)])
_over("hfft", "The real spectrum of half a symmetric signal over several dimensions.", _hfftn, [S(3, 4, 5)])
_over("ihfft", "The inverse of `hfftn`.", _ihfftn, [S(3, 4, 5)], "float")


# ---- frequencies, shifts ----


@composite(
    f"fft_fftfreq(int n, float d=1.0, *, {_FACTORY}) -> Tensor", "Frequencies of the points of a transform.", bind="fft"
)
def fft_fftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    steps = aten.arange(n, **options)
    if not steps.is_floating_point():
        steps = steps.to(aten.zeros([]).dtype) if options.get("dtype") is None else steps
    return aten.where(steps < (n + 1) // 2, steps, steps - n) * (1.0 / (n * d))


@composite(
    f"fft_rfftfreq(int n, float d=1.0, *, {_FACTORY}) -> Tensor", "Frequencies of the points of `rfft`.", bind="fft"
)
def fft_rfftfreq(n: int, d: float = 1.0, **options: Any) -> Tensor:
    steps = aten.arange(n // 2 + 1, **options)
    if not steps.is_floating_point():
        steps = steps.to(aten.zeros([]).dtype) if options.get("dtype") is None else steps
    return steps * (1.0 / (n * d))


def _frequencies_into(name) -> None:
    @composite(
        f"fft_{name}.out(int n, float d=1.0, *, Tensor(a!) out) -> Tensor(a!)",
        f"`torch.fft.{name}` into `out`, in its dtype.",
        bind="fft",
    )
    def into(n: int, d: float = 1.0, *, out: Tensor) -> Tensor:
        if not (out.is_floating_point() or out.is_complex()):
            raise RuntimeError(f"{name} requires a floating point or complex dtype, but got {class_name(out.dtype)}")
        made = getattr(aten, f"fft_{name}")(n, d, dtype=out.dtype, device=out.device)
        return aten.copy_(aten.arange(made.numel(), out=out), made)  # tells of another size, and takes it


for _name in ("fftfreq", "rfftfreq"):
    _frequencies_into(_name)


def _shifted(self, dim, inverse):
    dims = list(range(self.dim())) if dim is None else list(dim)
    if not dims:
        return aten.clone(self)
    return aten.roll(self, [(self.size(d) + (1 if inverse else 0)) // 2 for d in dims], dims)


@composite(
    "fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor",
    "The frequency zero moved to the middle.",
    bind="fft",
    samples=[S(3, 4), S(T(3, 4), [1])],
)
def fft_fftshift(self: Tensor, dim: Sequence[int] | None = None) -> Tensor:
    return _shifted(self, dim, False)


@composite(
    "fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor",
    "The frequency zero moved back to the beginning.",
    bind="fft",
    samples=[S(3, 4), S(T(3, 4), [1])],
)
def fft_ifftshift(self: Tensor, dim: Sequence[int] | None = None) -> Tensor:
    return _shifted(self, dim, True)


# ---- short-time transforms ----


def _window(window, win_length, n_fft, like):
    """The window of `n_fft` points, shorter ones in the middle; None if there is none and none is needed."""
    if window is None:
        if win_length == n_fft:
            return None
        window = aten.ones([win_length], dtype=like.real.dtype if like.is_complex() else like.dtype, device=like.device)
    if win_length == n_fft:
        return window
    left = (n_fft - win_length) // 2
    return aten.constant_pad_nd(window, [left, n_fft - win_length - left])


def _listed(window) -> str:
    if window is None:
        return "None"
    return f"{_legacy_name(window)}{{{list(window.shape)}}}"


@composite(
    "stft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None,"
    " bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor",
    "Transforms of the overlapping windows of a signal.",
    bind="function",
    autocast="float32",
    samples=[S(T(2, 12), 4, 2, None, T(4), return_complex=True)],
    dtypes="float",
)
def stft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    if window is None:
        _warn_of_missing_window(
            ",which is known to cause spectral leakage. Other windows such as torch.hann_window or torch.hamming_window "
            "are recommended to reduce spectral leakage."
        )
    complex_input = self.is_complex() or (window is not None and window.is_complex())

    def refuse(text: str) -> NoReturn:
        raise RuntimeError(
            f"stft({_legacy_name(self)}{list(self.shape)}, n_fft={n_fft}, hop_length={hop}, "
            f"win_length={width}, window={_listed(window)}, normalized={int(normalized)}, onesided={onesided}, "
            f"return_complex={None if return_complex is None else int(return_complex)}, "
            f"align_to_window={align_to_window}) : {text}"
        )

    if return_complex is None:
        if not complex_input:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    if not return_complex:
        _warn_of_real_result()
    if not (self.is_floating_point() or self.is_complex()):
        refuse("expected a tensor of floating point or complex values")
    if self.dim() not in (1, 2):
        refuse("expected a 1D or 2D tensor")
    x = self.unsqueeze(0) if self.dim() == 1 else self
    length = x.size(1)
    if not 0 < n_fft <= length:
        refuse(f"expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        refuse(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < width <= n_fft:
        refuse(f"expected 0 < win_length <= n_fft, but got win_length={width}")
    if window is not None and (window.dim() != 1 or window.size(0) != width):
        refuse(
            f"expected a 1D window tensor of size equal to win_length={width}, but got window with size "
            f"{list(window.shape)}"
        )
    weights = _window(window, width, n_fft, x)
    frames = x.unfold(1, n_fft, hop)
    if weights is not None:
        frames = frames * weights
    if onesided is None:
        onesided = not complex_input
    scale = 1 if normalized else 0
    if complex_input:
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        spectrum = aten._fft_c2c(_floating(frames, to_complex=True), [2], scale, True)
    else:
        spectrum = aten._fft_r2c(frames, [2], scale, onesided)
    spectrum = spectrum.transpose(1, 2)
    if self.dim() == 1:
        spectrum = spectrum.squeeze(0)
    return spectrum if return_complex else aten.view_as_real(spectrum)


@composite(
    "istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True,"
    " bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False) -> Tensor",
    "The signal whose overlapping windows have these transforms.",
    bind="function method",
    samples=[S(T(2, 3, 6), 4, 2, None, T(4, dtype="float32", low=0.5))],
    dtypes="complex64",
)
def istft(
    self: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    said = None if onesided is None else int(onesided)
    if window is None:
        _warn_of_missing_window(".Please provide the same window used by stft to make the inversion lossless.")

    def refuse(text: str) -> NoReturn:
        raise RuntimeError(
            f"istft({_legacy_name(self)}{list(self.shape)}, n_fft={n_fft}, hop_length={hop}, "
            f"win_length={width}, window={_listed(window)}, center={int(center)}, normalized={int(normalized)}, "
            f"onesided={said}, length={length}, return_complex={int(return_complex)}){text}"
        )

    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not self.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if self.numel() == 0:
        refuse(" : input tensor cannot be empty.")
    if self.dim() not in (2, 3):
        refuse(f" : expected a tensor with 2 or 3 dimensions, but got {self.dim()}")
    if not 0 < hop <= width:
        refuse(" : expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        refuse(" : expected 0 < win_length <= n_fft")
    if window is not None and (window.dim() != 1 or window.size(0) != width):
        refuse(" : Invalid window shape. window has to be 1D and length of `win_length`")
    x = self if self.dim() == 3 else self.unsqueeze(0)
    if onesided is None:
        onesided = x.size(1) != n_fft
    expected = n_fft // 2 + 1 if onesided else n_fft
    if x.size(1) != expected:
        refuse(
            " : expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{'n_fft / 2 + 1' if onesided else 'n_fft'} when onesided={onesided}, but got {x.size(1)}"
        )
    frames = x.transpose(1, 2)
    scale = 1 if normalized else 2
    if return_complex:
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        frames = aten._fft_c2c(frames, [2], scale, False)
    else:
        frames = aten._fft_c2r(frames if onesided else frames.narrow(2, 0, n_fft // 2 + 1), [2], scale, n_fft)
    weights = _window(window, width, n_fft, frames)
    if weights is None:
        weights = aten.ones([n_fft], dtype=frames.real.dtype if frames.is_complex() else frames.dtype)
    count = frames.size(1)
    whole = n_fft + hop * (count - 1)
    signal = aten.unfold_backward(frames * weights, [x.size(0), whole], 1, n_fft, hop)
    squares = (weights * weights).expand([1, count, n_fft])
    envelope = aten.unfold_backward(squares, [1, whole], 1, n_fft, hop)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - n_fft // 2 if center else whole
    signal, envelope = (y.narrow(1, start, min(end, whole) - start) for y in (signal, envelope))
    if envelope.abs().min().item() <= 1e-11:
        refuse(" window overlap add min: 1\n[ CPUBoolType{} ]")
    signal = signal / envelope
    if end > whole:
        warnings.warn(
            "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. "
            "Please check your center and hop_length settings.",
            UserWarning,
            stacklevel=2,
        )
        signal = aten.constant_pad_nd(signal, [0, end - whole])
    return signal if self.dim() == 3 else signal.squeeze(0)
