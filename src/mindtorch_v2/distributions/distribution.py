"""`Distribution`: the base of them all."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.utils import lazy_property

if TYPE_CHECKING:
    from mindtorch_v2._core.dtype import Size


__all__ = ["Distribution"]


class Distribution:
    """A batch of probability distributions.

    `batch_shape` counts distributions that share no sample, `event_shape` is the shape of one sample. `sample(s)` has
    shape `s + batch_shape + event_shape`; `log_prob(x)` has x's shape without its event dimensions.

    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.Distribution)
    True
    """

    base_dist: Any
    concentration: Any
    loc: Any
    logits: Any
    probs: Any
    rate: Any
    scale: Any
    temperature: Any

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Let new distributions check their arguments, or not."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] | None = None,
        event_shape: Sequence[int] | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = torch.Size() if batch_shape is None else torch.Size(batch_shape)
        self._event_shape = torch.Size() if event_shape is None else torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        elif torch.compiler.is_dynamo_compiling():
            self._validate_args = False  # a check that nobody asked for would cut the graph at the values
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and _is_lazy(type(self), name):
                continue  # the other parametrisation was given, and this one follows from it
            value = getattr(self, name)
            valid = constraint.check(value)
            if not torch.all(valid):
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Self:
        """The same distribution with a larger batch shape."""
        raise NotImplementedError

    def _expanded(self, cls, batch_shape, _instance, *names):
        """The result of `expand` of `cls`: an instance in which the tensors and distributions `names` are expanded.

        Those that this one does not have are left out: of `probs` and `logits`, the one that was not given.
        """
        new = self._get_checked_instance(cls, _instance)
        batch_shape = torch.Size(batch_shape)
        for name in names:
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(batch_shape))
        parent: Any = super(cls, new)
        parent.__init__(batch_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    @property
    def arg_constraints(self) -> Any:
        """The constraint of each parameter, by name."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint:
        """The constraint of the samples."""
        raise NotImplementedError

    @property
    def mean(self) -> torch.Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> torch.Tensor:
        """The mode."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> torch.Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> torch.Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        """Samples, without gradient."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def sample_n(self, n: int) -> torch.Tensor:
        """`n` samples: the old form of `sample((n,))`, which warns."""
        warnings.warn("`sample_n(n)` will be deprecated. Use `sample((n,))` instead.", UserWarning, stacklevel=2)
        return self.sample(torch.Size((n,)))

    def rsample(self, sample_shape: Sequence[int] = ()) -> torch.Tensor:
        """Samples through which gradients flow to the parameters."""
        raise NotImplementedError

    def log_prob(self, value: torch.Tensor) -> torch.Tensor:
        """The logarithm of the density or probability at `value`."""
        raise NotImplementedError

    def cdf(self, value: torch.Tensor) -> torch.Tensor:
        """The cumulative distribution function at `value`."""
        raise NotImplementedError

    def icdf(self, value: torch.Tensor) -> torch.Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> torch.Tensor:
        """Every value of a discrete distribution, along a new first dimension."""
        raise NotImplementedError

    def entropy(self) -> torch.Tensor:
        """The entropy, one number for each distribution of the batch."""
        raise NotImplementedError

    def perplexity(self) -> torch.Tensor:
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        return torch.Size(sample_shape) + self._batch_shape + self._event_shape

    def _validate_sample(self, value) -> None:
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        event_start = len(value.size()) - len(self._event_shape)
        if value.size()[event_start:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.size()), reversed(expected)):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        valid = support.check(value)
        if not torch.all(valid):
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the support "
                f"({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def __repr__(self) -> str:
        names = [name for name in self.arg_constraints if name in self.__dict__]
        values = (self.__dict__[name] for name in names)
        text = ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in zip(names, values)
        )
        return f"{self.__class__.__name__}({text})"


def _is_lazy(cls, name) -> bool:
    return any(isinstance(base.__dict__.get(name), lazy_property) for base in cls.__mro__)
