"""How two numbers or tensors differ, in words."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from typing import Any

import numpy as np

import mindtorch_v2 as torch

Identifier = str | Callable[[str], str] | None


def _name(default: str, identifier: Identifier) -> str:
    if identifier is None:
        return default
    return identifier(default) if callable(identifier) else identifier


def _allowed(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def scalar_mismatch(
    actual: Any, expected: Any, *, rtol: float, atol: float, equal_nan: bool, identifier: Identifier
) -> str | None:
    """The difference of two numbers, or None where they are close."""
    if actual == expected or (equal_nan and cmath.isnan(actual) and cmath.isnan(expected)):
        return None
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return None
    relative = difference / abs(expected) if expected != 0 else float("inf")
    exact = rtol == 0 and atol == 0
    return (
        f"{_name('Scalars', identifier)} are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
        f"Relative difference: {relative}{_allowed(rtol, exact)}"
    )


def tensor_mismatch(
    actual: torch.Tensor,
    expected: torch.Tensor,
    matches: torch.Tensor,
    *,
    rtol: float,
    atol: float,
    identifier: Identifier,
) -> str:
    """The differences of two tensors of one shape, where `matches` is False."""
    if not (actual.is_floating_point() or actual.is_complex()):  # differences of small integers would wrap around
        actual, expected = actual.to(torch.int64), expected.to(torch.int64)
    shape = matches.shape
    matches = matches.flatten()
    differences = torch.abs(actual - expected).flatten()
    relative = differences / torch.abs(expected).flatten()
    differences = torch.where(matches, torch.zeros_like(differences), differences)
    relative = torch.where(matches, torch.zeros_like(relative), relative)
    mismatched = matches.numel() - int(matches.sum().item())
    exact = rtol == 0 and atol == 0
    return (
        f"{_name('Tensor-likes', identifier)} are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {mismatched} / {matches.numel()} ({mismatched / matches.numel():.1%})\n"
        f"Greatest absolute difference: {_greatest(differences, shape)}{_allowed(atol, exact)}\n"
        f"Greatest relative difference: {_greatest(relative, shape)}{_allowed(rtol, exact)}"
    )


def _greatest(values: torch.Tensor, shape: torch.Size) -> str:
    position = int(torch.argmax(values).item())
    index = tuple(int(part) for part in np.unravel_index(position, tuple(shape)))
    return f"{values[position].item()} at index {index}"
