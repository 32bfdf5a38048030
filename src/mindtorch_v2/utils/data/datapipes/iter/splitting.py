"""Pipes that make several of one: copies of it, and parts that a function chooses."""

from __future__ import annotations

import collections
import copy as copying
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe

__all__ = ["DemultiplexerIterDataPipe", "ForkerIterDataPipe"]


class _Source:
    """A pipe that is read once for several readers; what one is ahead of the others waits, `most` elements at most (-1: no limit)."""

    def __init__(self, datapipe: Any, count: int, most: int, place: Callable[[Any], Any]) -> None:
        self.main_datapipe, self.count, self.most, self.place = datapipe, count, most, place
        self.restart()

    def restart(self) -> None:
        self.waiting: list[collections.deque[Any]] = [collections.deque() for _ in range(self.count)]
        self.iterator: Iterator[Any] | None = None
        self.readers: set[int] = set()

    def begin(self, reader: int) -> None:
        """Begin anew if this reader has begun before, for all of them."""
        if self.iterator is None or reader in self.readers:
            self.restart()
            self.iterator = iter(self.main_datapipe)
        self.readers.add(reader)

    def next(self, reader: int) -> Any:
        while not self.waiting[reader]:
            assert self.iterator is not None
            element = next(self.iterator)
            for other in self.place(element):
                self.waiting[other].append(element)
                if other != reader and self.most >= 0 and len(self.waiting[other]) > self.most:
                    raise BufferError(
                        "ForkerIterDataPipe buffer overflow," + f"buffer size {self.most} is insufficient."
                    )
        return self.waiting[reader].popleft()


class _ChildDataPipe(IterDataPipe):
    """One of the readers."""

    def __init__(self, main: _Source, instance_id: int, change: Callable[[Any], Any] | None = None) -> None:
        self.main_datapipe, self.instance_id, self.change = main, instance_id, change

    def __iter__(self) -> Iterator[Any]:
        self.main_datapipe.begin(self.instance_id)
        while True:
            try:
                element = self.main_datapipe.next(self.instance_id)
            except StopIteration:
                return
            yield self.change(element) if self.change is not None else element

    def __len__(self) -> int:
        return len(self.main_datapipe.main_datapipe)


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """Several pipes, as a list, of the same elements; `copy` is None, "shallow" or "deep", for all but the first.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> one, other = IterableWrapper(range(3)).fork(2)
    >>> list(one), list(other)
    ([0, 1, 2], [0, 1, 2])
    """

    def __new__(cls, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")
        if copy not in (None, "shallow", "deep"):
            raise ValueError(f"Unknown copy method `{copy}` - choose one of None, 'shallow' or 'deep'")
        if num_instances == 1:
            return datapipe
        main = _Source(datapipe, num_instances, buffer_size, lambda element: range(num_instances))
        change = {None: None, "shallow": copying.copy, "deep": copying.deepcopy}[copy]
        return [_ChildDataPipe(main, index, change) for index in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """Several pipes, as a list: `classifier_fn(element)` is the index of the one that gets the element.

    ValueError for an index that is none, and for None unless `drop_none`.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> even, odd = IterableWrapper(range(5)).demux(2, lambda x: x % 2)
    >>> list(even), list(odd)
    ([0, 2, 4], [1, 3])
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        if num_instances < 1:
            raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")

        def place(element: Any) -> tuple[int, ...]:
            index = classifier_fn(element)
            if index is None and drop_none:
                return ()
            if index is None or not 0 <= index < num_instances:
                raise ValueError(
                    f"Output of the classification fn should be between 0 and {num_instances - 1}. {index} is returned."
                )
            return (index,)

        main = _Source(datapipe, num_instances, buffer_size, place)
        return [_ChildDataPipe(main, index) for index in range(num_instances)]
