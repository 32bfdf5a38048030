"""Pipes that make one of several."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import MapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]


def _checked(pipes: tuple[Any, ...]) -> tuple[Any, ...]:
    if not pipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(pipe, MapDataPipe) for pipe in pipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(hasattr(pipe, "__len__") for pipe in pipes):
        raise TypeError("Expected all inputs to be `Sized`")
    return pipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """A pipe of one pipe's elements after another's.

    >>> from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper([1, 2]).concat(SequenceWrapper([3]))[2]
    3
    """

    def __init__(self, *datapipes: MapDataPipe) -> None:
        self.datapipes = _checked(datapipes)

    def __getitem__(self, index: Any) -> Any:
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self) -> int:
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """A pipe of tuples, an element of each.

    >>> from mindtorch_v2.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper([1, 2]).zip(SequenceWrapper("ab"))[1]
    (2, 'b')
    """

    def __init__(self, *datapipes: MapDataPipe) -> None:
        self.datapipes = _checked(datapipes)

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        elements = []
        for pipe in self.datapipes:
            try:
                elements.append(pipe[index])
            except IndexError as error:
                raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes {pipe}.") from error
        return tuple(elements)

    def __len__(self) -> int:
        return min(len(pipe) for pipe in self.datapipes)
