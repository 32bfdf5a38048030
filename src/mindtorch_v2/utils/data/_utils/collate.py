"""Collation: from a list of samples to a batch of tensors (`default_collate`), or one sample (`default_convert`)."""

from __future__ import annotations

import collections.abc
import copy
import re
from typing import Any

import mindtorch_v2 as torch

np_str_obj_array_pattern = re.compile(r"[SaUO]")

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _is_numpy(value) -> bool:
    """Whether `value` is NumPy's, told by its class so that NumPy need not be imported."""
    return type(value).__module__ == "numpy"


def _is_numpy_array(value) -> bool:
    return _is_numpy(value) and type(value).__name__ in ("ndarray", "memmap")


def _rebuild_mapping(data, items):
    """A mapping like `data` with `items`; a plain dict if its class takes no dict."""
    try:
        if isinstance(data, collections.abc.MutableMapping):
            clone = copy.copy(data)
            clone.update(items)
            return clone
        return type(data)(items)
    except TypeError:
        return dict(items)


def _rebuild_sequence(data, items):
    """A sequence like `data` with `items`; a plain list if its class takes no list."""
    try:
        if isinstance(data, collections.abc.MutableSequence):
            clone = copy.copy(data)
            for i, item in enumerate(items):
                clone[i] = item
            return clone
        return type(data)(items)
    except TypeError:
        return list(items)


def default_convert(data: Any) -> Any:
    """NumPy arrays in `data` (mappings, namedtuples, sequences of any depth) become tensors; all else stays.

    >>> default_convert([0, "a"])
    [0, 'a']
    """
    if isinstance(data, torch.Tensor):
        return data
    if _is_numpy(data):
        if _is_numpy_array(data) and np_str_obj_array_pattern.search(data.dtype.str) is not None:
            return data
        return torch.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return _rebuild_mapping(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(value) for value in data))
    if isinstance(data, tuple):
        return [default_convert(value) for value in data]
    if isinstance(data, collections.abc.Sequence) and not isinstance(data, (str, bytes)):
        return _rebuild_sequence(data, [default_convert(value) for value in data])
    return data


def collate(batch: Any, *, collate_fn_map: dict[Any, collections.abc.Callable[..., Any]] | None = None) -> Any:
    """Collate by the function that `collate_fn_map` names for the samples' type, descending into containers.

    The map goes from a type, or tuple of types, to `fn(batch, *, collate_fn_map)`. The exact type is tried before
    subclasses. Raises TypeError for a type that is neither in the map nor a container.
    """
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known in collate_fn_map:
            if isinstance(first, known):
                return collate_fn_map[known](batch, collate_fn_map=collate_fn_map)
        if _is_numpy(first):
            fn = collate_numpy_array_fn if _is_numpy_array(first) else collate_numpy_scalar_fn
            return fn(batch, collate_fn_map=collate_fn_map)

    def again(samples: collections.abc.Sequence[Any]) -> Any:
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, collections.abc.Mapping):
        return _rebuild_mapping(first, {key: again([sample[key] for sample in batch]) for key in first})
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(again(column) for column in zip(*batch, strict=True)))
    if isinstance(first, collections.abc.Sequence):
        samples = [list(sample) if not isinstance(sample, collections.abc.Sized) else sample for sample in batch]
        if any(len(sample) != len(first) for sample in samples):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [again(column) for column in zip(*samples, strict=True)]
        return columns if isinstance(first, tuple) else _rebuild_sequence(first, columns)
    raise TypeError(default_collate_err_msg_format.format(kind))


def collate_tensor_fn(
    batch: Any, *, collate_fn_map: dict[Any, collections.abc.Callable[..., Any]] | None = None
) -> Any:
    """Stacks tensors."""
    return torch.stack(tuple(batch), 0)


def collate_numpy_array_fn(
    batch: Any, *, collate_fn_map: dict[Any, collections.abc.Callable[..., Any]] | None = None
) -> Any:
    """Stacks arrays as tensors; TypeError for strings and objects."""
    first = batch[0]
    if np_str_obj_array_pattern.search(first.dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(first.dtype))
    return collate([torch.as_tensor(item) for item in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(
    batch: Any, *, collate_fn_map: dict[Any, collections.abc.Callable[..., Any]] | None = None
) -> Any:
    """A tensor of NumPy scalars, in their dtype."""
    return torch.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: dict[Any, collections.abc.Callable[..., Any]] | None = None) -> Any:
    """A float64 tensor."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: dict[Any, collections.abc.Callable[..., Any]] | None = None) -> Any:
    """An int64 tensor, or a bool one."""
    return torch.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: dict[Any, collections.abc.Callable[..., Any]] | None = None) -> Any:
    """Strings stay a list."""
    return batch


default_collate_fn_map = {
    torch.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """A batch from samples: tensors are stacked, numbers become tensors, containers keep their shape.

    >>> default_collate([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])
    {'a': tensor([1, 2]), 'b': ['x', 'y']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)
