"""Nested state dictionaries as flat ones, and back: names are the paths' parts with dots between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mindtorch_v2 as torch

__all__ = ["flatten_state_dict", "set_element"]

Path = tuple[str | int, ...]


def _descends(value: Any) -> bool:
    """Whether a value is taken apart: dictionaries are, and lists that hold tensors or what is taken apart."""
    if isinstance(value, Mapping):
        return True
    if not isinstance(value, list | tuple) or type(value) not in (list, tuple):
        return False
    return any(isinstance(each, torch.Tensor) or _descends(each) for each in value)


def _visit(path: Path, value: Any, found: Callable[[Path, Any], None]) -> None:
    if not path or _descends(value):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, each in pairs:
            _visit((*path, key), each, found)
    else:
        found(path, value)


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Path]]:
    """(values by name, paths by name). ValueError where two paths have one name.

    >>> from mindtorch_v2.distributed.checkpoint.default_planner import flatten_state_dict
    >>> values, paths = flatten_state_dict({"layer": {"weight": 1, "sizes": [2, 3]}})
    >>> values
    {'layer.weight': 1, 'layer.sizes': [2, 3]}
    >>> paths["layer.sizes"]
    ('layer', 'sizes')
    """
    values: dict[str, Any] = {}
    paths: dict[str, Path] = {}

    def found(path: Path, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in values:
            raise ValueError(f"duplicated flatten key {name}")
        values[name], paths[name] = value, path

    _visit((), state_dict, found)
    return values, paths


def set_element(root: Any, path: Path, value: Any) -> None:
    """Put a value at a path of nested dictionaries and lists, making those that are missing.

    >>> from mindtorch_v2.distributed.checkpoint.default_planner import set_element
    >>> root = {}
    >>> set_element(root, ("layers", 1, "weight"), 5)
    >>> root
    {'layers': [None, {'weight': 5}]}
    """
    here = root
    for part, following in zip(path, path[1:], strict=False):
        empty: Any = {} if isinstance(following, str) else []
        if isinstance(here, list):
            while len(here) <= part:  # type: ignore[operator]  # (a number, in a list)
                here.append(None)
            if here[part] is None:  # type: ignore[index]  # (nested dictionaries and lists)
                here[part] = empty  # type: ignore[index]  # (nested dictionaries and lists)
        elif part not in here:
            here[part] = empty
        here = here[part]
    last = path[-1]
    if isinstance(here, list):
        while len(here) <= last:  # type: ignore[operator]  # (a number, in a list)
            here.append(None)
    here[last] = value
