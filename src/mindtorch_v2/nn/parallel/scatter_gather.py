"""Inputs cut for several devices, and outputs of several devices joined, whatever they are nested in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import deprecated

import mindtorch_v2 as torch

from ._functions import Gather, Scatter

__all__ = ["gather", "scatter", "scatter_kwargs"]


@deprecated("`is_namedtuple` is deprecated, please use the python checks instead", category=FutureWarning)
def is_namedtuple(obj: Any) -> bool:
    """Whether an object is of a class that `collections.namedtuple` made. Deprecated.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> torch.nn.parallel.scatter_gather.is_namedtuple((1, 2))
    False
    """
    return _is_namedtuple(obj)


def _is_namedtuple(obj: Any) -> bool:
    return isinstance(obj, tuple) and hasattr(obj, "_asdict") and hasattr(obj, "_fields")


def scatter(inputs: Any, target_gpus: Sequence[int | torch.device], dim: int = 0) -> Any:
    """Inputs for each device: tensors are cut along `dim`, all else goes to every device as it is.

    Tuples, lists, dicts and named tuples are looked into. The result is a list or tuple with the inputs of each device.

    >>> torch.nn.parallel.scatter((1, [2]), [0, 1])
    [(1, [2]), (1, [2])]
    """
    if isinstance(inputs, torch.Tensor):
        return Scatter.apply(target_gpus, None, dim, inputs)
    if _is_namedtuple(inputs):
        return [type(inputs)(*parts) for parts in _each(inputs, target_gpus, dim)]
    if isinstance(inputs, tuple) and inputs:
        return list(_each(inputs, target_gpus, dim))
    if isinstance(inputs, list) and inputs:
        return [list(parts) for parts in _each(inputs, target_gpus, dim)]
    if isinstance(inputs, dict) and inputs:
        return [type(inputs)(parts) for parts in _each(inputs.items(), target_gpus, dim)]
    return [inputs for _ in target_gpus]


def _each(items: Any, target_gpus: Sequence[Any], dim: int) -> Any:
    return zip(*(scatter(item, target_gpus, dim) for item in items), strict=False)


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[int | torch.device], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """Positional and named arguments for each device, as many of the one as of the other.

    >>> torch.nn.parallel.scatter_gather.scatter_kwargs((1,), {"a": 2}, [0, 1])
    (((1,), (1,)), ({'a': 2}, {'a': 2}))
    """
    positional = list(scatter(inputs, target_gpus, dim)) if inputs else []
    named = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    positional += [()] * (len(named) - len(positional))
    named += [{}] * (len(positional) - len(named))
    return tuple(positional), tuple(named)


def gather(outputs: Any, target_device: int | torch.device, dim: int = 0) -> Any:
    """Outputs of several devices as one on `target_device`: tensors are joined along `dim`, numbers of no dimension stacked.

    Tuples, lists, dicts and named tuples are looked into; None stays None. ValueError if dicts have other keys.

    >>> torch.nn.parallel.gather([[None, (None,)], [None, (None,)]], 0)
    [None, (None,)]
    """
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        return Gather.apply(target_device, dim, *outputs)
    if first is None:
        return None
    if isinstance(first, dict):
        if not all(len(each) == len(first) for each in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((key, gather([each[key] for each in outputs], target_device, dim)) for key in first)
    parts = [gather(each, target_device, dim) for each in zip(*outputs, strict=False)]
    return type(first)(*parts) if _is_namedtuple(first) else type(first)(parts)
