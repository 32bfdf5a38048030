"""Pipes that make one of several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe
from mindtorch_v2.utils.data.datapipes.iter.splitting import DemultiplexerIterDataPipe, ForkerIterDataPipe

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]


def _checked(pipes: tuple[Any, ...], complaint: str) -> tuple[Any, ...]:
    if not pipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(pipe, IterDataPipe) for pipe in pipes):
        raise TypeError(complaint)
    return pipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """A pipe of one pipe's elements after another's.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).concat(IterableWrapper([3])))
    [1, 2, 3]
    """

    def __init__(self, *datapipes: IterDataPipe) -> None:
        self.datapipes = _checked(datapipes, "Expected all inputs to be `IterDataPipe`")

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        if all(hasattr(pipe, "__len__") for pipe in self.datapipes):
            return sum(len(pipe) for pipe in self.datapipes)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """A pipe of one element of each in turn, until the shortest ends.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2, 3]).mux(IterableWrapper([10, 20])))
    [1, 10, 2, 20]
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for elements in zip(*self.datapipes, strict=False):
            yield from elements

    def __len__(self) -> int:
        if all(hasattr(pipe, "__len__") for pipe in self.datapipes):
            return min(len(pipe) for pipe in self.datapipes) * len(self.datapipes)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """A pipe of tuples, an element of each, until the shortest ends.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2, 3]).zip(IterableWrapper("ab")))
    [(1, 'a'), (2, 'b')]
    """

    def __init__(self, *datapipes: IterDataPipe) -> None:
        if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
            raise TypeError("All inputs are required to be `IterDataPipe` for `ZipIterDataPipe`.")
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        if all(hasattr(pipe, "__len__") for pipe in self.datapipes):
            return min(len(pipe) for pipe in self.datapipes)
        raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
