"""The sets that parameters and samples lie in: each `Constraint` checks a tensor elementwise (or per event)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region of tensors. `event_dim` rightmost dimensions are checked together; `is_discrete` says of what kind.

    >>> isinstance(torch.distributions.constraints.positive, torch.distributions.constraints.Constraint)
    True
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: torch.Tensor) -> torch.Tensor:
        """A bool tensor of `value`'s shape without its event dimensions: where the constraint holds."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.__class__.__name__[1:] + "()"


class _Dependent(Constraint):
    """Constraint that depends on other parameters: it cannot be checked alone."""

    def __init__(self, *, is_discrete: bool = NotImplemented, event_dim: int = NotImplemented) -> None:
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    @property
    def is_discrete(self) -> Any:  # type: ignore[override]  # (it follows from its parts)
        if self._is_discrete is NotImplemented:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> Any:  # type: ignore[override]  # (it follows from its parts)
        if self._event_dim is NotImplemented:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: torch.Tensor) -> torch.Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Constraint) -> bool:
    """Whether `constraint` depends on other parameters.

    >>> torch.distributions.constraints.is_dependent(torch.distributions.constraints.positive)
    False
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that gives an instance's constraint, and on the class is a dependent constraint.

    >>> from mindtorch_v2.distributions import Uniform
    >>> Uniform(0.0, 2.0).support.check(torch.tensor([1.0, 3.0]))
    tensor([ True, False])
    """

    def __init__(
        self, fn: Callable | None = None, *, is_discrete: bool = NotImplemented, event_dim: int = NotImplemented
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn: Callable[..., Any]) -> _DependentProperty:  # type: ignore[override]  # (it follows from its parts)
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """Check `reinterpreted_batch_ndims` more dimensions together than its base does.

    >>> torch.distributions.constraints.independent(torch.distributions.constraints.positive, 1).check(torch.tensor([0.5, 2.0]))
    tensor(True)
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        if not isinstance(reinterpreted_batch_ndims, int):
            raise AssertionError(
                f"reinterpreted_batch_ndims must be an int, got {type(reinterpreted_batch_ndims).__name__}"
            )
        if reinterpreted_batch_ndims < 0:
            raise AssertionError(f"reinterpreted_batch_ndims must be >= 0, got {reinterpreted_batch_ndims}")
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # (it follows from its parts)
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:  # type: ignore[override]  # (it follows from its parts)
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: torch.Tensor) -> torch.Tensor:
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            expected = self.base_constraint.event_dim + self.reinterpreted_batch_ndims
            raise ValueError(f"Expected value.dim() >= {expected} but got {value.dim()}")
        return result.reshape(result.shape[: result.dim() - self.reinterpreted_batch_ndims] + (-1,)).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The constraint of a mixture: that of its components, for each of them.

    >>> from mindtorch_v2.distributions.constraints import MixtureSameFamilyConstraint, positive
    >>> MixtureSameFamilyConstraint(positive).check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint must be a Constraint, got {type(base_constraint).__name__}")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # (it follows from its parts)
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> Any:  # type: ignore[override]  # (it follows from its parts)
        return self.base_constraint.event_dim

    def check(self, value: torch.Tensor) -> torch.Tensor:
        unsqueezed = value.unsqueeze(-1 - self.event_dim)
        result = self.base_constraint.check(unsqueezed)
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        dims = value.dim() - self.event_dim + 1
        return result.reshape(result.shape[:dims] + (-1,)).all(-1).all(-1)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_constraint!r})"


class _Boolean(Constraint):
    """0 or 1."""

    is_discrete = True

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    """One 1 among zeros, along the last dimension."""

    is_discrete = True
    event_dim = 1

    def check(self, value: torch.Tensor) -> torch.Tensor:
        is_boolean = (value == 0) | (value == 1)
        return is_boolean.all(-1) & value.sum(-1).eq(1)


class _IntegerInterval(Constraint):
    """Integers from `lower_bound` to `upper_bound`, both included.

    >>> torch.distributions.constraints.integer_interval(0, 3).check(torch.tensor([0.5, 2.0]))
    tensor([False,  True])
    """

    is_discrete = True

    def __init__(self, lower_bound: torch.Tensor | float, upper_bound: torch.Tensor | float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class _IntegerLessThan(Constraint):
    """Integers up to `upper_bound`, included."""

    is_discrete = True

    def __init__(self, upper_bound: torch.Tensor | float) -> None:
        self.upper_bound = upper_bound

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return (value % 1 == 0) & (value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}(upper_bound={self.upper_bound})"


class _IntegerGreaterThan(Constraint):
    """Integers from `lower_bound` on, included."""

    is_discrete = True

    def __init__(self, lower_bound: torch.Tensor | float) -> None:
        self.lower_bound = lower_bound

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}(lower_bound={self.lower_bound})"


class _Real(Constraint):
    """Anything but NaN."""

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return value == value


class _GreaterThan(Constraint):
    """Above `lower_bound`.

    >>> torch.distributions.constraints.greater_than(1.0).check(torch.tensor([0.5, 2.0]))
    tensor([False,  True])
    """

    def __init__(self, lower_bound: torch.Tensor | float) -> None:
        self.lower_bound = lower_bound

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return self.lower_bound < value

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}(lower_bound={self.lower_bound})"


class _GreaterThanEq(_GreaterThan):
    """From `lower_bound` on, included.

    >>> torch.distributions.constraints.greater_than_eq(1.0).check(torch.tensor([0.5, 1.0]))
    tensor([False,  True])
    """

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return self.lower_bound <= value


class _LessThan(Constraint):
    """Below `upper_bound`.

    >>> torch.distributions.constraints.less_than(1.0).check(torch.tensor([0.5, 2.0]))
    tensor([ True, False])
    """

    def __init__(self, upper_bound: torch.Tensor | float) -> None:
        self.upper_bound = upper_bound

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return value < self.upper_bound

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}(upper_bound={self.upper_bound})"


class _Interval(Constraint):
    """From `lower_bound` to `upper_bound`, both included.

    >>> torch.distributions.constraints.interval(0.0, 1.0).check(torch.tensor([0.5, 2.0]))
    tensor([ True, False])
    """

    def __init__(self, lower_bound: torch.Tensor | float, upper_bound: torch.Tensor | float) -> None:
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return (self.lower_bound <= value) & (value <= self.upper_bound)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__[1:]}(lower_bound={self.lower_bound}, upper_bound={self.upper_bound})"


class _HalfOpenInterval(_Interval):
    """From `lower_bound`, included, to `upper_bound`, excluded.

    >>> torch.distributions.constraints.half_open_interval(0.0, 1.0).check(torch.tensor([0.5, 1.0]))
    tensor([ True, False])
    """

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _Simplex(Constraint):
    """Nonnegative, with sum 1 along the last dimension (to 1e-6)."""

    event_dim = 1

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return torch.all(value >= 0, dim=-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    """Nonnegative integers with sum at most `upper_bound` along the last dimension.

    >>> torch.distributions.constraints.multinomial(3).check(torch.tensor([1, 2]))
    tensor(True)
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: torch.Tensor | float) -> None:
        self.upper_bound = upper_bound

    def check(self, x: torch.Tensor) -> torch.Tensor:
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    """Lower-triangular matrices."""

    event_dim = 2

    def check(self, value: torch.Tensor) -> torch.Tensor:
        return (value.tril() == value).flatten(-2).min(-1)[0]


class _LowerCholesky(Constraint):
    """Lower-triangular matrices with positive diagonal."""

    event_dim = 2

    def check(self, value: torch.Tensor) -> torch.Tensor:
        triangular = (value.tril() == value).flatten(-2).min(-1)[0]
        return triangular & (value.diagonal(dim1=-2, dim2=-1) > 0).min(-1)[0]


class _CorrCholesky(Constraint):
    """Cholesky factors of correlation matrices: rows of length 1."""

    event_dim = 2

    def check(self, value: torch.Tensor) -> torch.Tensor:
        tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
        row_norm = torch.linalg.norm(value.detach(), dim=-1)
        return _LowerCholesky().check(value) & (row_norm - 1.0).abs().le(tolerance).all(dim=-1)


class _Square(Constraint):
    """Square matrices."""

    event_dim = 2

    def check(self, value: torch.Tensor) -> torch.Tensor:
        square = value.shape[-2] == value.shape[-1]
        return torch.full(size=value.shape[:-2], fill_value=square, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    """Symmetric matrices (to 1e-6)."""

    def check(self, value: torch.Tensor) -> torch.Tensor:
        square = super().check(value)
        if not square.all():
            return square
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: torch.Tensor) -> torch.Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return torch.linalg.eigvalsh(value).ge(0).all(-1)


class _PositiveDefinite(_Symmetric):
    """Symmetric matrices with positive eigenvalues only."""

    def check(self, value: torch.Tensor) -> torch.Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        return torch.linalg.cholesky_ex(value).info.eq(0)


def _check_dim(dim, value):
    if not -value.dim() <= dim < value.dim():
        raise AssertionError(f"dim {dim} out of range for value with {value.dim()} dimensions")


def _constraints(given) -> list:
    found = list(given)
    if not all(isinstance(each, Constraint) for each in found):
        raise AssertionError("All elements of cseq must be Constraint instances")
    return found


class _Cat(Constraint):
    """One constraint for each stretch of dimension `dim`; `lengths` are those of the stretches.

    >>> parts = [torch.distributions.constraints.positive, torch.distributions.constraints.real]
    >>> torch.distributions.constraints.cat(parts, lengths=[1, 1]).check(torch.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        self.cseq = _constraints(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match cseq ({len(self.cseq)})")
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # (it follows from its parts)
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> Any:  # type: ignore[override]  # (it follows from its parts)
        return max(c.event_dim for c in self.cseq)

    def check(self, value: torch.Tensor) -> torch.Tensor:
        _check_dim(self.dim, value)
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths):
            checks.append(constraint.check(value.narrow(self.dim, start, length)))
            start += length
        return torch.cat(checks, self.dim)


class _Stack(Constraint):
    """One constraint for each index of dimension `dim`.

    >>> parts = [torch.distributions.constraints.positive, torch.distributions.constraints.real]
    >>> torch.distributions.constraints.stack(parts).check(torch.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq = _constraints(cseq)
        self.dim = dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # (it follows from its parts)
        return any(c.is_discrete for c in self.cseq)

    @property
    def event_dim(self) -> Any:  # type: ignore[override]  # (it follows from its parts)
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: torch.Tensor) -> torch.Tensor:
        _check_dim(self.dim, value)
        slices = [value.select(self.dim, i) for i in range(value.size(self.dim))]
        return torch.stack([c.check(v) for v, c in zip(slices, self.cseq)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
