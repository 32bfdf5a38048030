"""Fourier transforms beside the CPU's."""

from typing import Any

import pytest

import mindtorch_v2 as torch


def _assert_same(name: str, x: Any, dtype: Any, **options: Any) -> None:
    function = getattr(torch.fft, name)
    ours, theirs = function(x.cuda(), **options), function(x, **options)
    room = 1e-11 if dtype == torch.float64 else 4e-6
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    assert 1 in ours.shape or ours.stride() == theirs.stride()
    torch.testing.assert_close(ours.cpu(), theirs, rtol=room, atol=room * float(theirs.abs().max()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6, 8, 12, 30, 48, 67, 101, 128, 134])
def test_transforms(n: int, dtype: Any) -> None:
    draw = torch.Generator().manual_seed(n)
    x = torch.randn(3, n, 2, dtype=dtype, generator=draw)
    z = torch.complex(x, torch.randn(3, n, 2, dtype=dtype, generator=draw))
    kept = z.clone()
    for norm in ("forward", "backward", "ortho"):
        for name in ("fft", "ifft"):
            _assert_same(name, z, dtype, dim=1, norm=norm)
    _assert_same("rfft", x, dtype, dim=1)
    _assert_same("fft", x, dtype, dim=1)
    for points in (max(1, 2 * n - 2), 2 * n - 1):
        _assert_same("irfft", z, dtype, n=points, dim=-2)
    _assert_same("fftn", z, dtype)
    _assert_same("irfftn", z, dtype, s=(4, 6), dim=(0, 1))
    assert torch.equal(z, kept)


def test_arguments_stay_what_they_are() -> None:
    z = torch.tensor([1 + 2j]).cuda()
    torch.fft.irfft(z, n=1)
    assert z.cpu().tolist() == [1 + 2j]


def test_short_time_transform() -> None:
    x, window = torch.randn(4, 200, generator=torch.Generator().manual_seed(0)), torch.hann_window(64)
    ours = torch.stft(x.cuda(), 64, 16, window=window.cuda(), return_complex=True)
    torch.testing.assert_close(
        ours.cpu(), torch.stft(x, 64, 16, window=window, return_complex=True), rtol=1e-5, atol=1e-5
    )
