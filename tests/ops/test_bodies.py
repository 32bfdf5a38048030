"""The bodies of compositions: the defaults in their Python signatures are those of the schemas."""

import inspect
from typing import Any

from mindtorch_v2._operators.table import every_row


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _wrong(row: Any) -> list[str]:
    parameters = inspect.signature(row.body).parameters
    found = []
    for argument in row.handle.arguments:
        name = argument["name"]
        if argument["has_default"] and name in parameters:
            given, stated = _plain(parameters[name].default), _plain(argument["default"])
            if given != stated:
                found.append(f"{row.name}, {name}: {given}, the schema says {stated}")
    return found


def test_defaults_are_the_schemas() -> None:
    bodies = [row for row in every_row().values() if row.body]
    assert len(bodies) > 500
    assert [line for row in bodies for line in _wrong(row)] == []
