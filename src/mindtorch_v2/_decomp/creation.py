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


def _filled(size: Any, value: Any, dtype: torch.dtype | None, where: dict[str, Any]) -> torch.Tensor:
    where.pop("memory_format", None)
    return torch.full(size, value, dtype=dtype or torch.get_default_dtype(), **where)


@register_decomposition(aten.ones.default)
def ones(size: Any, *, dtype: torch.dtype | None = None, **where: Any) -> torch.Tensor:
    return _filled(size, 1, dtype, where)


@register_decomposition(aten.zeros.default)
def zeros(size: Any, *, dtype: torch.dtype | None = None, **where: Any) -> torch.Tensor:
    return _filled(size, 0, dtype, where)


def _like(self: torch.Tensor, options: dict[str, Any]) -> dict[str, Any]:
    """Options with the place and type of a tensor, where they say nothing else."""
    kept = {name: value for name, value in options.items() if value is not None}
    return {"dtype": self.dtype, "device": self.device, **kept}


@register_decomposition(aten.new_full.default)
def new_full(self: torch.Tensor, size: Any, fill_value: Any, **options: Any) -> torch.Tensor:
    return torch.full(size, fill_value, **_like(self, options))


@register_decomposition(aten.new_ones.default)
def new_ones(self: torch.Tensor, size: Any, **options: Any) -> torch.Tensor:
    return torch.full(size, 1, **_like(self, options))


@register_decomposition(aten.new_zeros.default)
def new_zeros(self: torch.Tensor, size: Any, **options: Any) -> torch.Tensor:
    return torch.full(size, 0, **_like(self, options))


@register_decomposition(aten.new_empty.default)
def new_empty(self: torch.Tensor, size: Any, **options: Any) -> torch.Tensor:
    return torch.empty(size, **_like(self, options))


@register_decomposition(aten.ones_like.default)
def ones_like(self: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.full_like(self, 1, **options)


@register_decomposition(aten.zeros_like.default)
def zeros_like(self: torch.Tensor, **options: Any) -> torch.Tensor:
    return torch.full_like(self, 0, **options)


@register_decomposition(aten.arange.default)
def arange(end: Any, **options: Any) -> torch.Tensor:
    return aten.arange.start_step(0, end, 1, **options)


@register_decomposition(aten.arange.start)
def arange_from(start: Any, end: Any, **options: Any) -> torch.Tensor:
    return aten.arange.start_step(start, end, 1, **options)


@register_decomposition(aten.linspace.default)
def linspace(
    start: Any, end: Any, steps: int, *, dtype: torch.dtype | None = None, device: Any = None, **where: Any
) -> torch.Tensor:
    kind = dtype or (torch.get_default_dtype() if not isinstance(start + end, complex) else torch.complex64)
    if steps < 2:
        return torch.full((steps,), start, dtype=kind, device=device)
    # Counted from both ends, so that the last number is the end itself.
    exact = kind if kind.is_floating_point or kind.is_complex else torch.float64
    exact = torch.float32 if exact in (torch.float16, torch.bfloat16) else exact
    step = (end - start) / (steps - 1)
    places = torch.arange(steps, device=device)
    from_start = start + step * places.to(exact)
    from_end = end - step * (steps - 1 - places).to(exact)
    return torch.where(places < steps // 2, from_start, from_end).to(kind)


@register_decomposition(aten.logspace.default)
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: torch.dtype | None = None, **where: Any
) -> torch.Tensor:
    kind = dtype or torch.get_default_dtype()
    exact = torch.float64 if kind.is_floating_point or not kind.is_complex else torch.complex128
    return torch.pow(base, torch.linspace(start, end, steps, dtype=exact, **where)).to(kind)


@register_decomposition(aten.detach.default)
def detach(self: torch.Tensor) -> torch.Tensor:
    return aten.alias.default(self)


@register_decomposition(aten.lift_fresh_copy.default)
def lift_fresh_copy(self: torch.Tensor) -> torch.Tensor:
    return self.clone()
