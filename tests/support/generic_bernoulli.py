"""PyTorch with dropout's masks drawn from mt19937 on every processor. Imports the real PyTorch.

PyTorch's CPU generator draws `bernoulli_(p)` on two paths. On Intel processors it takes a generator of MKL's, seeded
with one number from the mt19937 stream; everywhere else each element takes one 53-bit uniform (two 32-bit words) from
mt19937 itself. We follow the second on every processor. So that expected values come out the same on every machine, a
dispatch mode sends `bernoulli_(p)` to its overload for a tensor of float64 probabilities, which never takes MKL's path
and draws exactly those 53-bit uniforms.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class GenericBernoulli(TorchDispatchMode):
    """While active, every dropout mask comes from the mt19937 stream."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.bernoulli_.float:
            probability = args[1] if len(args) > 1 else 0.5
            return args[0].bernoulli_(
                torch.full_like(args[0], probability, dtype=torch.float64),
                **(kwargs or {}),
            )
        return func(*args, **(kwargs or {}))
