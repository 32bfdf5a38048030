"""Pipes that make several of one: copies of it, and parts that a function chooses."""

from __future__ import annotations

import collections
import copy as copying
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mindtorch_v2.utils.data.datapipes._decorator import functional_datapipe
from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe
from mindtorch_v2.utils.data.datapipes.utils.common import check_picklable

__all__ = ["DemultiplexerIterDataPipe", "ForkerIterDataPipe"]


class _Source(IterDataPipe):
    """A pipe that is read once for several readers; what one is ahead of the others waits, `most` elements at most (-1: no limit).

    It is one among the pipes of a graph, but only its readers are iterated. A copy that is pickled begins anew.
    """

    def __init__(self, datapipe: Any, count: int, most: int) -> None:
        self.main_datapipe, self.count, self.most = datapipe, count, most
        self.restart()

    def place(self, element: Any) -> Iterable[int]:
        """The readers that get an element."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.main_datapipe)

    def __getstate__(self) -> Any:
        kept = {name: value for name, value in self.__dict__.items() if name not in ("waiting", "iterator", "readers")}
        hook = type(self).getstate_hook
        return hook(kept) if hook is not None else kept

    def __setstate__(self, state: Any) -> None:
        self.__dict__.update(state)
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


class _ForkerIterDataPipe(_Source):
    """The pipe behind copies."""

    def place(self, element: Any) -> Iterable[int]:
        return range(self.count)


class _DemultiplexerIterDataPipe(_Source):
    """The pipe behind the parts that a function chooses."""

    def __init__(
        self, datapipe: Any, count: int, most: int, classifier_fn: Callable[[Any], int | None], drop: bool
    ) -> None:
        super().__init__(datapipe, count, most)
        self.classifier_fn, self.drop_none = classifier_fn, drop

    def place(self, element: Any) -> Iterable[int]:
        index = self.classifier_fn(element)
        if index is None and self.drop_none:
            return ()
        if index is None or not 0 <= index < self.count:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.count - 1}. {index} is returned."
            )
        return (index,)


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
        return len(self.main_datapipe)


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
        main = _ForkerIterDataPipe(datapipe, num_instances, buffer_size)
        change = {None: None, "shallow": copying.copy, "deep": copying.deepcopy}[copy]
        return [_ChildDataPipe(main, index, change) for index in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """Several pipes, as a list: `classifier_fn(element)` is the index of the one that gets the element.

    ValueError for an index that is none, and for None unless `drop_none`.

    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> even, odd = IterableWrapper(range(5)).demux(2, (2).__rmod__)
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
        check_picklable(classifier_fn)
        main = _DemultiplexerIterDataPipe(datapipe, num_instances, buffer_size, classifier_fn, drop_none)
        return [_ChildDataPipe(main, index) for index in range(num_instances)]
