"""Samples: calls of an operator for the derived tests, with tensors described rather than made."""

from __future__ import annotations

from typing import Any, NamedTuple


class TensorSpec(NamedTuple):
    """A tensor argument of a sample; written ``T(3, 4, dtype="int64", low=0, high=5)``."""

    shape: tuple[int, ...]
    options: dict[str, Any]


def T(*shape: int, **options: Any) -> TensorSpec:
    """A tensor argument of a sample: its shape and how to fill it (dtype, low, high, grad)."""
    return TensorSpec(shape, options)


class Sample(NamedTuple):
    """One call of the operator: positional and keyword arguments, tensors as :class:`TensorSpec`."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def S(*args: Any, **kwargs: Any) -> Sample:
    """One call of the operator. Only ints: one tensor of that shape."""
    if args and all(type(a) is int for a in args):
        args = (T(*args),)
    return Sample(args, kwargs)
