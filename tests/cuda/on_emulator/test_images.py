"""Images at another size on the emulated GPU against the CPU's: larger, smaller, by scales, with aligned corners."""

from typing import Any

import pytest

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F


def _both(function: Any, *shapes: tuple[int, ...]) -> None:
    """The function's value and gradients are the CPU's."""
    torch.manual_seed(0)
    here = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    there = [t.detach().cuda().requires_grad_() for t in here]
    theirs, ours = function(*here), function(*there)
    torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-9, atol=1e-9)
    weight = torch.randn(theirs.shape, dtype=torch.float64)
    wanted = torch.autograd.grad(theirs, here, weight)
    for mine, expected in zip(torch.autograd.grad(ours, there, weight.cuda()), wanted, strict=True):
        torch.testing.assert_close(mine.cpu(), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scale", [2.0, 1.0, 0.4, 1.7])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear", "bilinear", "trilinear", "bicubic"])
def test_another_size(mode: str, scale: float) -> None:
    for dims in {"linear": [1], "bilinear": [2], "trilinear": [3], "bicubic": [2]}.get(mode, [1, 2, 3]):
        shape = (2, 3, 7, 5, 6)[: 2 + dims]
        _both(lambda x: F.interpolate(x, scale_factor=scale, mode=mode), shape)
        _both(lambda x: F.interpolate(x, scale_factor=scale, mode=mode, recompute_scale_factor=True), shape)
        if not mode.startswith("nearest"):
            _both(lambda x: F.interpolate(x, scale_factor=scale, mode=mode, align_corners=True), shape)


@pytest.mark.parametrize("size", [(3, 11), (9, 5), (7, 2), (1, 1)])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("corners", [False, True])
def test_antialiased(mode: str, size: tuple[int, int], corners: bool) -> None:
    _both(lambda x: F.interpolate(x, size, mode=mode, antialias=True, align_corners=corners), (2, 3, 7, 5))


def test_layouts_bytes_and_no_images() -> None:
    x = torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).reshape(2, 3, 4, 5)
    for given in (x.contiguous(memory_format=torch.channels_last), x.transpose(2, 3), x[:, :1].expand(2, 3, 4, 5)):
        theirs = F.interpolate(given, (6, 3), mode="bilinear")
        torch.testing.assert_close(F.interpolate(given.cuda(), (6, 3), mode="bilinear").cpu(), theirs)
    raw = x.to(torch.uint8)
    assert torch.equal(F.interpolate(raw.cuda(), (6, 3)).cpu(), F.interpolate(raw, (6, 3)))
    assert F.interpolate(x[:0].cuda(), (6, 3)).shape == (0, 3, 6, 3)
    with pytest.raises(NotImplementedError, match="upsample_linear"):
        F.interpolate(raw.cuda(), (6, 3), mode="bilinear")
