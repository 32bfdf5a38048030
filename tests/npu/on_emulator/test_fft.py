"""Fourier transforms on the device beside those of NumPy in double precision, in sizes with and without factors."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

fft: Any = torch.fft  # whose functions are made from rows
_SIZES = (1, 2, 5, 64, 97, 100, 130, 402, 1024)  # 97 is prime, 402 is 6 * 67
_RANDOM = np.random.default_rng(0)


def _close(ours: torch.Tensor, expected: Any) -> None:
    assert ours.device.type == "npu" and ours.shape == expected.shape
    assert np.abs(ours.cpu().numpy() - expected).max() < 2e-6 * np.abs(expected).max()


@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("dim", [0, 1])
def test_one_dimension(size: int, dim: int) -> None:
    shape = (3, size) if dim else (size, 3)
    x, y = (_RANDOM.standard_normal(shape).astype("float32") for _ in range(2))
    z = (x + 1j * y).astype("complex64")
    _close(fft.rfft(torch.from_numpy(x).npu(), dim=dim), np.fft.rfft(x.astype("float64"), axis=dim))
    _close(fft.fft(torch.from_numpy(z).npu(), dim=dim), np.fft.fft(z.astype("complex128"), axis=dim))
    _close(fft.ifft(torch.from_numpy(z).npu(), dim=dim), np.fft.ifft(z.astype("complex128"), axis=dim))
    half = np.fft.rfft(x.astype("float64"), axis=dim).astype("complex64")
    back = fft.irfft(torch.from_numpy(half).npu(), size, dim=dim)
    _close(back, np.fft.irfft(half.astype("complex128"), size, axis=dim))


def test_several_dimensions_and_scales() -> None:
    x = _RANDOM.standard_normal((4, 6, 10)).astype("float32")
    there = torch.from_numpy(x).npu()
    for norm in ("backward", "ortho", "forward"):
        _close(fft.rfftn(there, norm=norm), np.fft.rfftn(x.astype("float64"), norm=norm))
        _close(fft.fft2(there, norm=norm), np.fft.fft2(x.astype("float64"), norm=norm))
        _close(fft.irfftn(fft.rfftn(there, norm=norm), s=x.shape, norm=norm), x)
