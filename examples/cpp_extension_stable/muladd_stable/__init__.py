"""`muladd`, `mul` and `add_out`, with kernels in C++ on the stable ABI; fake kernels and gradients in Python."""

import torch

from . import _C  # noqa: F401  (its static initialisers register the operators)

muladd = torch.ops.muladd_stable.muladd
mul = torch.ops.muladd_stable.mul
add_out = torch.ops.muladd_stable.add_out


@torch.library.register_fake("muladd_stable::muladd")
def _fake_muladd(a, b, c):
    torch._check(a.shape == b.shape, lambda: f"muladd: sizes differ, {list(a.shape)} and {list(b.shape)}")
    return torch.empty_like(a)


@torch.library.register_fake("muladd_stable::mul")
def _fake_mul(a, b):
    torch._check(a.shape == b.shape, lambda: f"mul: sizes differ, {list(a.shape)} and {list(b.shape)}")
    return torch.empty_like(a)


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])


def _gradients(ctx, grad):
    a, b = ctx.saved_tensors
    return mul(grad, b), mul(grad, a)


torch.library.register_autograd("muladd_stable::mul", _gradients, setup_context=_save)
torch.library.register_autograd(
    "muladd_stable::muladd", lambda ctx, grad: (*_gradients(ctx, grad), None), setup_context=_save
)
