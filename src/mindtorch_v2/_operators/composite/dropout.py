"""Dropout in its forms: of elements, of channels, and with the statistics of SELU kept."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


_ALPHA = 1.7580993408473766  # SELU's scale times its alpha: minus the value that it saturates at


def _check(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")


def _noise(input, p: float, feature: bool):
    """Zeros and ones of the input's type; one number a channel with `feature`."""
    if feature:
        if input.dim() < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = [*input.shape[:2], *([1] * (input.dim() - 2))]
        noise = aten.new_empty(input, shape)
    else:
        noise = aten.empty_like(input)
    return noise.bernoulli_(1 - p)


def _factors(input, p: float, feature: bool, alpha: bool) -> tuple:
    """Dropout is `input * scale + shift`; shift None for the plain kinds."""
    noise = _noise(input, p, feature)
    if not alpha:
        return noise.div_(1 - p), None
    a = 1.0 / math.sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = noise.add(-1).mul_(_ALPHA * a).add_(_ALPHA * a * p)
    return noise.mul_(a), shift


def drop(input: Tensor, p: float, train: bool, feature: bool, alpha: bool, inplace: bool) -> Tensor:
    """Dropout of every kind, in the parts that PyTorch makes it of."""
    _check(p)
    if p == 0 or not train or input.numel() == 0:
        return input
    if p == 1:
        zero = aten.zeros([], dtype=input.dtype, device=input.device)
        return input.mul_(zero) if inplace else input.mul(zero)
    scale, shift = _factors(input, p, feature, alpha)
    out = input.mul_(scale) if inplace else input.mul(scale)
    return out if shift is None else out.add_(shift)


@composite(
    "alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    "Sets elements to SELU's saturation value and keeps mean and variance.",
    bind="function",
    tags="nondeterministic_seeded maybe_aliasing_or_mutating",
    samples=[S(T(3, 4), 0.5, False)],
)
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return drop(input, p, train, False, True, False)


@composite(
    "alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    "alpha_dropout in place.",
    bind="function",
    tags="nondeterministic_seeded",
)
def alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return drop(self, p, train, False, True, True)


@composite(
    "dropout(Tensor input, float p, bool train) -> Tensor",
    "In training sets each element to zero with probability `p` and divides the others by 1 - p.",
    bind="function",
    tags="nondeterministic_seeded maybe_aliasing_or_mutating",
    samples=[S(T(3, 4), 0.5, False), S(T(3, 4), 1.0, True)],
)
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    if train and 0 < p < 1 and input.is_floating_point() and input.numel() > 0:
        return aten._fused_dropout(input, 1 - p)[0]
    return drop(input, p, train, False, False, False)


@composite(
    "dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    "dropout in place.",
    bind="function",
    tags="nondeterministic_seeded",
)
def dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return drop(self, p, train, False, False, True)


@composite(
    "feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
    "alpha_dropout of whole channels.",
    bind="function",
    tags="nondeterministic_seeded maybe_aliasing_or_mutating",
    samples=[S(T(3, 4, 2), 0.5, False)],
)
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return drop(input, p, train, True, True, False)


@composite(
    "feature_alpha_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    "feature_alpha_dropout in place.",
    bind="function",
    tags="nondeterministic_seeded",
)
def feature_alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return drop(self, p, train, True, True, True)


@composite(
    "feature_dropout(Tensor input, float p, bool train) -> Tensor",
    "dropout of whole channels.",
    bind="function",
    tags="nondeterministic_seeded maybe_aliasing_or_mutating",
    samples=[S(T(3, 4, 2), 0.5, False)],
)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return drop(input, p, train, True, False, False)


@composite(
    "feature_dropout_(Tensor(a!) self, float p, bool train) -> Tensor(a!)",
    "feature_dropout in place.",
    bind="function",
    tags="nondeterministic_seeded",
)
def feature_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    return drop(self, p, train, True, False, True)
