"""torch.fft and short-time transforms against NumPy's, their inverses and their slopes."""

import subprocess
import sys

import numpy
import pytest

import mindtorch_v2 as torch
from mindtorch_v2._operators.composite.fft import _warn_of_real_result

pytestmark = pytest.mark.filterwarnings("ignore:A window was not provided")


def _close(ours, theirs, tolerance=1e-12):
    theirs = numpy.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = max(1.0, float(numpy.abs(theirs).max())) if theirs.size else 1.0
    assert numpy.abs(ours.numpy() - theirs).max() <= tolerance * scale


# Powers of two, products of small primes, primes small and large, squares of large primes.
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 12, 30, 31, 37, 49, 64, 97, 210, 400, 1024, 1369, 2003])
def test_lengths(n):
    z = numpy.random.default_rng(n).standard_normal((2, n, 2)) @ [1, 1j]
    x = torch.from_numpy(z)
    _close(torch.fft.fft(x), numpy.fft.fft(z))
    _close(torch.fft.ifft(x), numpy.fft.ifft(z))
    _close(torch.fft.fft(x.to(torch.complex64)), numpy.fft.fft(z), 2e-6)
    _close(torch.fft.rfft(x.real), numpy.fft.rfft(z.real))
    _close(torch.fft.irfft(x, n), numpy.fft.irfft(z, n))
    _close(torch.fft.hfft(x, n), numpy.fft.hfft(z, n))


@pytest.mark.parametrize("name", ["fft", "ifft", "irfft", "hfft", "fft2", "ifft2", "irfft2", "fftn", "ifftn", "irfftn"])
@pytest.mark.parametrize("norm", [None, "backward", "forward", "ortho"])
def test_directions_and_scales(name, norm):
    z = numpy.random.default_rng(0).standard_normal((3, 4, 6, 2)) @ [1, 1j]
    _close(getattr(torch.fft, name)(torch.from_numpy(z), norm=norm), getattr(numpy.fft, name)(z, norm=norm))


@pytest.mark.parametrize("name", ["rfft", "ihfft", "rfft2", "rfftn"])
@pytest.mark.parametrize("norm", [None, "forward", "ortho"])
def test_real_signals(name, norm):
    x = numpy.random.default_rng(0).standard_normal((3, 4, 5))
    _close(getattr(torch.fft, name)(torch.from_numpy(x), norm=norm), getattr(numpy.fft, name)(x, norm=norm))


def test_sizes_and_dimensions():
    x = numpy.random.default_rng(0).standard_normal((3, 4, 5))
    t = torch.from_numpy(x)
    _close(torch.fft.fft(t, 7, 1), numpy.fft.fft(x, 7, 1))
    _close(torch.fft.fftn(t, (2, 6), (0, 2)), numpy.fft.fftn(x, (2, 6), (0, 2)))
    _close(torch.fft.irfftn(t, (4, 7), (2, 1)), numpy.fft.irfftn(x, (4, 7), (2, 1)))
    _close(torch.fft.fft(t.transpose(0, 2), dim=0), numpy.fft.fft(x.transpose(2, 1, 0), axis=0))
    assert torch.fft.fft(t, dim=0).stride() == (1, 15, 3)  # as PyTorch lays it out
    _close(torch.fft.fftshift(t, (0, 2)), numpy.fft.fftshift(x, (0, 2)))
    _close(torch.fft.ifftshift(torch.fft.fftshift(t)), x)
    _close(torch.fft.fftfreq(5, 0.5, dtype=torch.float64), numpy.fft.fftfreq(5, 0.5))
    _close(torch.fft.rfftfreq(6, 2.0, dtype=torch.float64), numpy.fft.rfftfreq(6, 2.0))


def test_slopes():
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    z = torch.randn(3, 4, dtype=torch.complex128, requires_grad=True)
    fft = torch.fft
    for f in (fft.fft, fft.rfft, lambda x: fft.rfft(x, 4), fft.fftn, fft.ihfft, fft.rfft2):
        assert torch.autograd.gradcheck(f, (x,))
        assert torch.autograd.gradgradcheck(f, (x,))
    for f in (fft.ifft, fft.irfft, lambda z: fft.irfft(z, 7), fft.hfft, fft.irfft2, lambda z: fft.fft(z, norm="ortho")):
        assert torch.autograd.gradcheck(f, (z,))
        assert torch.autograd.gradgradcheck(f, (z,))


def test_short_time_transforms_invert_each_other():
    torch.manual_seed(0)
    signal, window = torch.randn(2, 50, dtype=torch.float64), torch.hann_window(16, dtype=torch.float64)
    spectrum = torch.stft(signal, 16, 4, window=window, return_complex=True)
    assert spectrum.shape == (2, 9, 13)
    padded = numpy.pad(signal.numpy(), ((0, 0), (8, 8)), mode="reflect")
    frames = numpy.stack([padded[:, i * 4 : i * 4 + 16] * window.numpy() for i in range(13)], -1)
    _close(spectrum, numpy.fft.rfft(frames, axis=1))
    _close(torch.istft(spectrum, 16, 4, window=window, length=50), signal.numpy())
    _warn_of_real_result.cache_clear()
    with pytest.warns(UserWarning, match="stft with return_complex=False is deprecated"):
        parts = torch.stft(signal[0], 16, 4, window=window, return_complex=False)
    assert torch.equal(parts, torch.view_as_real(spectrum[0]))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: torch.fft.fft(t, 0), RuntimeError, r"Invalid number of data points \(0\) specified"),
        (lambda t: torch.fft.fft(t, norm="a"), RuntimeError, 'Invalid normalization mode: "a"'),
        (lambda t: torch.fft.fft(t.half()), RuntimeError, "Unsupported dtype Half"),
        (lambda t: torch.fft.fft(t, dim=7), IndexError, r"expected to be in range of \[-2, 1\], but got 7"),
        (lambda t: torch.fft.rfft(t + 0j), RuntimeError, "rfft expects a real input tensor, but got ComplexFloat"),
        (lambda t: torch.fft.fftn(t, dim=(0, 0)), RuntimeError, "FFT dims must be unique"),
        (lambda t: torch.fft.fftn(t, (1, 1, 1)), RuntimeError, "Got shape with 3 values but input tensor only has 2"),
        (lambda t: torch.fft.fftn(t, (1, 1), (0,)), RuntimeError, "dim and shape arguments must have the same length"),
        (lambda t: torch.stft(t[0], 2), RuntimeError, "requires the return_complex parameter be given"),
        (lambda t: torch.stft(t[0], 9, center=False, return_complex=True), RuntimeError, "expected 0 < n_fft < 4, but got"),
        (lambda t: torch.istft(t, 4), RuntimeError, "istft requires a complex-valued input tensor"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(3, 4))


def test_a_quarter_turn_is_exact():
    assert torch.fft.fft(torch.tensor([0.0, 1, 2, 3])).tolist() == [6, -2 + 2j, -2, -2 - 2j]
    impulse = torch.zeros(64, dtype=torch.float64)
    impulse[16] = 1
    assert torch.fft.fft(impulse)[:8].tolist() == [1, -1j, -1, 1j, 1, -1j, -1, 1j]


def test_a_missing_window_is_warned_of_once():
    code = (
        "import warnings; warnings.simplefilter('always'); import mindtorch_v2 as t\n"
        "with warnings.catch_warnings(record=True) as seen:\n"
        "    for _ in range(2): t.istft(t.stft(t.ones(32), 8, return_complex=True), 8)\n"
        "for w in seen: print(w.message)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    end = "To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
    assert done.stdout.splitlines() == [
        "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other "
        "windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage." + end,
        "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to "
        "make the inversion lossless." + end,
    ]


# More rows than are transformed at once, alone and side by side, and lengths that are transformed one at a time.
@pytest.mark.parametrize("n", [2, 6, 15, 22, 64, 74, 550, 1025, 2048, 3000])
@pytest.mark.parametrize("rows", [1, 16, 19])
def test_many_rows_each_way(n, rows):
    z = numpy.random.default_rng(n).standard_normal((rows, n, 2)) @ [1, 1j]
    x = torch.from_numpy(z)
    for dim, turn in ((1, lambda v: v), (0, lambda v: v.T)):
        t = turn(x).contiguous()
        _close(turn(torch.fft.fft(t, dim=dim)), numpy.fft.fft(z))
        _close(turn(torch.fft.ifft(t, dim=dim)), numpy.fft.ifft(z))
        _close(turn(torch.fft.rfft(t.real, dim=dim)), numpy.fft.rfft(z.real))
        _close(turn(torch.fft.irfft(t, n, dim=dim)), numpy.fft.irfft(z, n))
        _close(turn(torch.fft.fft(t.real.float(), dim=dim)), numpy.fft.fft(z.real), 2e-6)
        _close(turn(torch.fft.irfft(t.to(torch.complex64), n, dim=dim)), numpy.fft.irfft(z, n), 2e-6)


@pytest.mark.parametrize("n", [8, 9, 74, 600])
def test_a_row_does_not_touch_another(n):
    x = torch.ones(5, n)
    x[2, 1] = float("nan")
    for result in (torch.fft.rfft(x), torch.fft.fft(x.to(torch.complex64)), torch.fft.irfft(x.to(torch.complex64), n)):
        assert result.isnan().any(1).tolist() == [False, False, True, False, False]
