"""Orders of the events of a profile; of PyTorch's analyses the names, which raise when they are used."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from mindtorch_v2._core.unavailable import unavailable_names

__all__ = ["traverse_bfs", "traverse_dfs"]

globals().update(
    unavailable_names(
        "torch.profiler._utils",
        functions="index_of_first_match source_code_location _init_for_cuda_graphs",
        classes="BasicEvaluation EventKey EventMetrics Interval",
    )
)


def traverse_dfs(tree: Iterable[Any], reverse: bool = False) -> Iterator[Any]:
    """Events and those in their `children`, the inner ones right after the one that they are in.

    >>> from types import SimpleNamespace as Event
    >>> tree = [Event(name="a", children=[Event(name="b", children=[])]), Event(name="c", children=[])]
    >>> [event.name for event in traverse_dfs(tree)], [event.name for event in traverse_bfs(tree)]
    (['a', 'b', 'c'], ['a', 'c', 'b'])
    """
    return _walk(tree, deque.pop, reverse=not reverse)


def traverse_bfs(tree: Iterable[Any], reverse: bool = False) -> Iterator[Any]:
    """Events and those in their `children`, the outer ones before all inner ones."""
    return _walk(tree, deque.popleft, reverse=reverse)


def _walk(tree, take, reverse):
    def in_order(events):
        return reversed(list(events)) if reverse else events

    left = deque(in_order(tree))
    while left:
        event = take(left)
        yield event
        left.extend(in_order(event.children))
