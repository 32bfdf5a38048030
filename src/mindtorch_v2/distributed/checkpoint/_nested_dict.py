"""Nested state dictionaries as flat ones, and back: names are the paths' parts with dots between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.checkpoint._traverse import OBJ_PATH, set_element

__all__ = ["FLATTEN_MAPPING", "flatten_state_dict", "unflatten_state_dict"]

FLATTEN_MAPPING = dict[str, OBJ_PATH]


def _descends(value: Any) -> bool:
    """Whether a value is taken apart: dictionaries are, and lists that hold tensors or what is taken apart."""
    if isinstance(value, Mapping):
        return True
    if not isinstance(value, list | tuple) or type(value) not in (list, tuple):
        return False
    return any(isinstance(each, torch.Tensor) or _descends(each) for each in value)


def _visit(path: OBJ_PATH, value: Any, found: Callable[[OBJ_PATH, Any], None]) -> None:
    if not path or _descends(value):
        pairs = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, each in pairs:
            _visit((*path, key), each, found)
    else:
        found(path, value)


def flatten_state_dict(state_dict: Mapping[str, Any]) -> tuple[dict[str, Any], FLATTEN_MAPPING]:
    """(values by name, paths by name). ValueError where two paths have one name.

    >>> from mindtorch_v2.distributed.checkpoint.default_planner import flatten_state_dict
    >>> values, paths = flatten_state_dict({"layer": {"weight": 1, "sizes": [2, 3]}})
    >>> values
    {'layer.weight': 1, 'layer.sizes': [2, 3]}
    >>> paths["layer.sizes"]
    ('layer', 'sizes')
    """
    values: dict[str, Any] = {}
    paths: FLATTEN_MAPPING = {}

    def found(path: OBJ_PATH, value: Any) -> None:
        name = ".".join(map(str, path))
        if name in values:
            raise ValueError(f"duplicated flatten key {name}")
        values[name], paths[name] = value, path

    _visit((), state_dict, found)
    return values, paths


def unflatten_state_dict(state_dict: Mapping[str, Any], mapping: FLATTEN_MAPPING) -> dict[str, Any]:
    """The nested dictionary of which `flatten_state_dict` made values and paths. KeyError for a value whose path is not there.

    >>> from mindtorch_v2.distributed.checkpoint._nested_dict import flatten_state_dict, unflatten_state_dict
    >>> unflatten_state_dict(*flatten_state_dict({"layer": {"weight": 1}}))
    {'layer': {'weight': 1}}
    """
    nested: dict[str, Any] = {}
    for name, value in state_dict.items():
        set_element(nested, mapping[name], value)
    return nested
