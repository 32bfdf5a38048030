"""`functorch.einops`: the notation of einops, as `torch.func.rearrange` takes it."""

from mindtorch_v2.func._rearrange import rearrange

__all__ = ["rearrange"]
