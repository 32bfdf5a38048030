"""`Transform`: the base of the invertible maps, and their inverses."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints


class Transform:
    """A map with an inverse `inv` (a Transform too); calling it maps a tensor.

    `domain` and `codomain` are constraints; `sign` is 1 or -1 for monotone maps. With `cache_size=1` the last pair is
    kept, so that the inverse of a value just computed is exact and free.

    >>> torch.distributions.ExpTransform().bijective
    True
    """

    codomain: Any
    domain: Any

    bijective = False

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._inv: Any = None
        self._cached_x_y: Any = None, None
        super().__init__()

    @property
    def event_dim(self) -> Any:
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return self.domain.event_dim

    @property
    def inv(self) -> Any:
        inverse = self._inv() if self._inv is not None else None
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> torch.Tensor | int:
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Self:
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self.__eq__(other)

    __hash__ = object.__hash__

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self._cache_size == 0:
            return self._call(x)
        x_old, y_old = self._cached_x_y
        if x is x_old:
            return y_old
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        x_old, y_old = self._cached_x_y
        if y is y_old:
            return x_old
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError

    def _inverse(self, y):
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """log |det dy/dx| for y = self(x)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__ + "()"

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the output, given the input's."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        """The shape of the input, given the output's."""
        return shape

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_inv"] = None
        return state


class _InverseTransform(Transform):
    """The inverse of `transform`, which it keeps alive."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inverted = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> constraints.Constraint:
        return self._inverted.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> constraints.Constraint:
        return self._inverted.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]  # (it follows from its parts)
        return self._inverted.bijective

    @property
    def sign(self) -> torch.Tensor | int:
        return self._inverted.sign

    @property
    def inv(self) -> Any:
        return self._inverted

    def with_cache(self, cache_size: int = 1) -> Self:
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inverted == other._inverted

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self._inverted!r})"

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        return self._inverted._inv_call(x)

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return -self._inverted.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._inverted.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._inverted.forward_shape(shape)
