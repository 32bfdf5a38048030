"""Transforms of vectors part by part, and of vectors to correlation matrices."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions._transform import Transform
from mindtorch_v2.distributions.utils import (
    _sum_rightmost,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)


def _remaining(rows):
    """1 minus the sum of squares of the items before each one, along the last dimension; 1 for the first."""
    left = 1 - torch.cumsum(rows * rows, dim=-1)
    return torch.nn.functional.pad(left[..., :-1], [1, 0], value=1)


class CorrCholeskyTransform(Transform):
    """Vectors of D (D - 1) / 2 numbers to Cholesky factors of D by D correlation matrices.

    The tanh of each number says which share of the length that its row has left the item gets; the diagonal gets the rest.

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = torch.finfo(x.dtype).eps
        shares = vec_to_tril_matrix(torch.tanh(x).clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - shares**2).sqrt().cumprod(-1)
        identity = torch.eye(shares.shape[-1], dtype=shares.dtype, device=shares.device)
        return (shares + identity) * torch.nn.functional.pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        shares = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(_remaining(y), diag=-1).sqrt()
        return (shares.log1p() - shares.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor, intermediates: Any = None) -> torch.Tensor:
        # The last item of a row leaves exactly what its diagonal gets, and no other item shares: two diagonals down.
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        tanh = -2 * (x + torch.nn.functional.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return 0.5 * left.log().sum(-1) + tanh

    def forward_shape(self, shape: Any) -> tuple[int, ...]:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape: Any) -> tuple[int, ...]:
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


class _PartsTransform(Transform):
    """One transform for each part of a tensor along `dim`."""

    _join: Callable[..., torch.Tensor]  # puts the parts together again

    def __init__(self, tseq: Any, dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _parts(self, value, name="x"):
        """The parts of a tensor, one for each transform."""
        raise NotImplementedError

    def _check(self, value, name, expected, what) -> None:
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for tensor with {value.dim()} dimensions")
        if value.size(self.dim) != expected:
            raise AssertionError(f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {what} {expected}")

    def _call(self, x):
        return self._join([transform(part) for transform, part in zip(self.transforms, self._parts(x))], dim=self.dim)

    def _inverse(self, y):
        parts = zip(self.transforms, self._parts(y, "y"))
        return self._join([transform.inv(part) for transform, part in parts], dim=self.dim)

    @property
    def bijective(self) -> bool:  # type: ignore[override]  # (it follows from its parts)
        return all(t.bijective for t in self.transforms)


class CatTransform(_PartsTransform):
    """`tseq` applied to successive parts along `dim`, of `lengths` (1 each by default), as `torch.cat` joins them.

    >>> torch.distributions.CatTransform([torch.distributions.ExpTransform(), torch.distributions.AbsTransform()], lengths=[1, 1])(torch.tensor([0.0, -2.0]))
    tensor([1., 2.])
    """

    _join = staticmethod(torch.cat)

    def __init__(self, tseq: Any, dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> CatTransform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, value, name="x"):
        self._check(value, name, self.length, "length")
        return torch.split(value, self.lengths, dim=self.dim)

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        found = []
        for transform, one, other in zip(self.transforms, self._parts(x), self._parts(y, "y")):
            jacobian = transform.log_abs_det_jacobian(one, other)
            found.append(_sum_rightmost(jacobian, self.event_dim - transform.event_dim))
        # The dimension counted from the end, without those of the event.
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(found, dim=dim) if dim < 0 else sum(found)

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_PartsTransform):
    """`tseq` applied to the slices along `dim`, as `torch.stack` joins them.

    >>> torch.distributions.StackTransform([torch.distributions.ExpTransform(), torch.distributions.AbsTransform()])(torch.tensor([0.0, -2.0]))
    tensor([1., 2.])
    """

    _join = staticmethod(torch.stack)

    def __init__(self, tseq: Any, dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size: int = 1) -> StackTransform:
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, value, name="x"):
        self._check(value, name, len(self.transforms), "len(transforms)")
        return value.unbind(self.dim)

    def log_abs_det_jacobian(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        parts = zip(self.transforms, self._parts(x), self._parts(y, "y"))
        return torch.stack([t.log_abs_det_jacobian(one, other) for t, one, other in parts], dim=self.dim)

    @constraints.dependent_property
    def domain(self) -> constraints.Constraint:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self) -> constraints.Constraint:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
