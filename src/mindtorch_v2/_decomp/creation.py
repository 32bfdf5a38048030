"""Operators that make tensors, in terms of simpler ones."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__: list[str] = []


@register_decomposition([aten.eye.default, aten.eye.m])
def eye(
    n: int, m: int | None = None, *, dtype: torch.dtype | None = None, device: Any = None, **where: Any
) -> torch.Tensor:
    rows, columns = torch.arange(n, device=device), torch.arange(n if m is None else m, device=device)
    return (rows.unsqueeze(-1) == columns).to(dtype or torch.get_default_dtype())
