"""The pipes that a pipe is made of."""

from __future__ import annotations

import io
import pickle
from typing import Any

from mindtorch_v2.utils.data.datapipes.datapipe import IterDataPipe, MapDataPipe

__all__ = ["traverse", "traverse_dps"]


def traverse_dps(datapipe: Any) -> dict[int, tuple[Any, dict]]:
    """The pipes that a pipe is made of: its id, itself, and the same of each that it holds.

    >>> from mindtorch_v2.utils.data.graph import traverse_dps
    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> [(pipe, sources)] = traverse_dps(IterableWrapper(range(4)).batch(2)).values()
    >>> type(pipe).__name__, [type(source).__name__ for source, _ in sources.values()]
    ('BatcherIterDataPipe', ['IterableWrapperIterDataPipe'])
    """
    return _traverse(datapipe, set())


def traverse(datapipe: Any, only_datapipe: bool | None = None) -> dict[int, tuple[Any, dict]]:
    """As `traverse_dps`; attributes that are no pipes are searched in any case.

    >>> import warnings
    >>> from mindtorch_v2.utils.data.graph import traverse
    >>> from mindtorch_v2.utils.data.datapipes.iter import IterableWrapper
    >>> with warnings.catch_warnings(action="ignore"):
    ...     graph = traverse(IterableWrapper(range(4)).batch(2))
    >>> [type(pipe).__name__ for pipe, _ in graph.values()]
    ['BatcherIterDataPipe']
    """
    return _traverse(datapipe, set())


def _traverse(datapipe: Any, seen: set[int]) -> dict[int, tuple[Any, dict]]:
    if not isinstance(datapipe, IterDataPipe | MapDataPipe):
        raise RuntimeError(f"Expected `IterDataPipe` or `MapDataPipe`, but {type(datapipe)} is found")
    if id(datapipe) in seen:
        return {}
    seen = {*seen, id(datapipe)}
    below: dict[int, tuple[Any, dict]] = {}
    for pipe in _held(datapipe):
        below.update(_traverse(pipe, seen))
    return {id(datapipe): (datapipe, below)}


def _held(datapipe: Any) -> list[Any]:
    """The pipes in a pipe's attributes, at any depth: a pickler is asked for them, which goes into none."""
    found: list[Any] = []

    class Finder(pickle.Pickler):
        def persistent_id(self, obj: Any) -> Any:
            if isinstance(obj, IterDataPipe | MapDataPipe):
                found.append(obj)
                return len(found)
            return None

        def reducer_override(self, obj: Any) -> Any:
            if callable(obj):  # lambdas, which are not pickled
                return str, ("",)
            return NotImplemented

    for value in vars(datapipe).values():
        try:
            Finder(io.BytesIO()).dump(value)
        except Exception:  # noqa: BLE001  (what cannot be pickled holds no pipe that can be told)
            continue
    return list({id(pipe): pipe for pipe in found}.values())
