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


# What a required argument gets in a row without samples, by type; by name where the type says too little.
_BY_TYPE: dict[str, Any] = {
    "Tensor": T(3, 4),
    "Tensor?": T(3, 4),
    "Tensor[]": [T(3, 4), T(3, 4)],
    "Scalar": 2,
    "float": 0.5,
    "bool": True,
}
_BY_NAME: dict[str, Any] = {
    "condition": T(3, 4, dtype="bool"),
    "axis0": 0,
    "axis1": 1,
    "dim": 0,
    "dim0": 0,
    "dim1": 1,
    "dims": [0, 1],
    "index": T(3, 4, dtype="int64", low=0, high=3),
    "indices": T(5, dtype="int64", low=0, high=3),
    "k": 2,
    "mask": T(3, 4, dtype="bool"),
    "n": 2,
    "size": [3, 4],
}


def samples_of(row: Any) -> tuple[Sample, ...]:
    """The row's samples; for a row without any, one call that is made from its schema, if that can be done.

    Internal rows are left out: they trust their callers, and PyTorch's may crash on arguments that do not belong together. So
    are rows with `samples=None`, those of sparse tensors.
    """
    if row.samples or row.name.startswith("_") or "backward" in row.name or not row.schema_call:
        stated: tuple[Sample, ...] = row.samples
        return stated
    values = []
    for argument in row.handle.arguments:
        if argument["has_default"]:
            continue
        kind, name = argument["type"], argument["name"]
        named = _BY_NAME.get(name)
        is_tensor = kind.startswith("Tensor")
        value = named if named is not None and hasattr(named, "options") == is_tensor else _BY_TYPE.get(kind)
        if value is None or argument["kwarg_only"]:
            return ()
        values.append(value)
    return (S(*values),) if values else ()
