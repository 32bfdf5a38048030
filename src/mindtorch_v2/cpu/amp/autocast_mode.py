"""`torch.cpu.amp.autocast`, an old form of `torch.amp.autocast("cpu")`."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch

__all__ = ["autocast"]


class autocast(torch.amp.autocast):
    """`torch.amp.autocast("cpu", ...)`; warns that it is an old form.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"), torch.cpu.amp.autocast():
    ...     torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(self, enabled: bool = True, dtype: torch.dtype = torch.bfloat16, cache_enabled: bool = True) -> None:
        warnings.warn(
            "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cpu', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__("cpu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)
