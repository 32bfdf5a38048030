"""Decorators of pipes: the one that makes a class a method of all pipes, and marks that change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["argument_validation", "functional_datapipe", "runtime_validation"]


class functional_datapipe:
    """Let pipes of a class be made by a method of all pipes: `pipe.batch(2)` is `Batcher(pipe, 2)`.

    Exception if the name is taken already. Other classes stay as they are.

    >>> from mindtorch_v2.utils.data import IterDataPipe, functional_datapipe
    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> @functional_datapipe("every_second")
    ... class EverySecond(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         return (each for place, each in enumerate(self.source) if place % 2 == 0)
    >>> list(IterableWrapper(range(5)).every_second())
    [0, 2, 4]
    """

    def __init__(self, name: str, enable_df_api_tracing: bool = False) -> None:
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls: Any) -> Any:
        for kind in (IterDataPipe, MapDataPipe):
            if isinstance(cls, type) and issubclass(cls, kind):
                kind.register_datapipe_as_function(self.name, cls)
        return cls


def argument_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function whose pipes' element types are to be compared with its hints; returns it: they are not compared.

    >>> @torch.utils.data.argument_validation
    ... def first(pipe):
    ...     return next(iter(pipe))
    >>> first([3, 4])
    3
    """
    return f


def runtime_validation(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark an `__iter__` whose elements are to be compared with the pipe's type; returns it: they are not compared.

    >>> class Numbers(torch.utils.data.IterDataPipe):
    ...     @torch.utils.data.runtime_validation
    ...     def __iter__(self):
    ...         yield from (1, 2)
    >>> list(Numbers())
    [1, 2]
    """
    return f
