"""`torch._refs.nn.functional`: the functions of `torch.nn.functional`, see `torch._refs`."""

from __future__ import annotations

import functools
from typing import Any

import mindtorch_v2 as torch

__all__ = sorted(
    name for name in vars(torch.nn.functional) if callable(vars(torch.nn.functional)[name]) and name[0] != "_"
)


def __getattr__(name: str) -> Any:
    if name.endswith("_") and not name.startswith("_") and not hasattr(torch.nn.functional, name):
        return functools.partial(getattr(torch.nn.functional, name[:-1]), inplace=True)
    return getattr(torch.nn.functional, name)
