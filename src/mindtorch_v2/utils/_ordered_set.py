"""A set that remembers in which order its elements came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSet
from typing import Any, TypeVar

__all__ = ["OrderedSet"]

T = TypeVar("T")


class OrderedSet(MutableSet[T]):
    """A set whose elements come in the order in which they were added.

    >>> from mindtorch_v2.utils._ordered_set import OrderedSet
    >>> OrderedSet([3, 1, 3]) | {2}
    OrderedSet([3, 1, 2])
    """

    __slots__ = ("_elements",)

    def __init__(self, iterable: Iterable[T] | None = None) -> None:
        self._elements = dict.fromkeys(() if iterable is None else iterable)

    def __contains__(self, element: object) -> bool:
        return element in self._elements

    def __iter__(self) -> Iterator[T]:
        return iter(self._elements)

    def __reversed__(self) -> Iterator[T]:
        return reversed(self._elements)

    def __len__(self) -> int:
        return len(self._elements)

    def add(self, value: T) -> None:
        """Let the element be in it."""
        self._elements[value] = None

    def discard(self, value: T) -> None:
        """Let the element not be in it."""
        self._elements.pop(value, None)

    def clear(self) -> None:
        """Let it be empty."""
        self._elements.clear()

    def copy(self) -> OrderedSet[T]:
        """Another set of the same elements."""
        return OrderedSet(self)

    def update(self, *others: Iterable[T]) -> None:
        """Add the elements of others, in their order."""
        for other in others:
            self._elements.update(dict.fromkeys(other))

    def union(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The elements of all."""
        found = self.copy()
        found.update(*others)
        return found

    def intersection(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The elements that all have."""
        return OrderedSet(each for each in self if all(each in other for other in map(set, others)))

    def difference(self, *others: Iterable[T]) -> OrderedSet[T]:
        """The elements that no other has."""
        return OrderedSet(each for each in self if not any(each in other for other in map(set, others)))

    def issubset(self, other: Iterable[Any]) -> bool:
        """Whether the other has all elements."""
        return set(self) <= set(other)

    def __repr__(self) -> str:
        return f"OrderedSet({list(self)})"
