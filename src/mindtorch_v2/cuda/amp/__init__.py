"""`torch.cuda.amp`: the older names of `torch.amp` for CUDA devices."""

import functools

import mindtorch_v2 as torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(torch.amp.autocast):
    """`torch.amp.autocast("cuda", ...)`."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True) -> None:
        super().__init__("cuda", enabled=enabled, dtype=dtype or torch.float16, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("cuda", ...)`."""

    def __init__(
        self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd=None, **kwargs):
    """`torch.amp.custom_fwd(device_type="cuda")`."""
    decorate = functools.partial(torch.amp.custom_fwd, device_type="cuda", **kwargs)
    return decorate if fwd is None else decorate(fwd)


def custom_bwd(bwd):
    """`torch.amp.custom_bwd(device_type="cuda")`."""
    return torch.amp.custom_bwd(bwd, device_type="cuda")
