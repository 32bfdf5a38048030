"""The writes of a program to objects that were there before: kept apart, and made when a call of the graph ends."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = ["Writes", "Written", "instance_dict"]


class Written:
    """The writes of the program to an object that was there before: attributes by name, or items of a dictionary."""

    __slots__ = ("obj", "of_items", "values")

    def __init__(self, obj: Any, of_items: bool) -> None:
        self.obj, self.of_items = obj, of_items
        self.values: dict = {}


def instance_dict(obj: Any) -> dict[str, Any] | None:
    """The attributes that an object itself holds; None if it is not a dictionary that holds them."""
    try:
        found = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


class Writes:
    """The part of a trace that knows what was written."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.noted: dict = {}  # id of a dictionary (an object's own, too) or of a tensor -> Written

    def written(self, obj: Any, name: str, value: Any) -> None:
        """Note that an attribute of an object outside has a new value, which lasts within the capture."""
        place = obj if isinstance(obj, torch.Tensor) else instance_dict(obj)
        if place is None:
            self.trace.refuse(f"assignment to {name!r} of a {type(obj).__name__}, which has no dictionary", "write")
        self.note(place, obj, False).values[name] = value

    def note(self, place: Any, obj: Any, of_items: bool) -> Any:
        known = self.noted.get(id(place))
        if known is None:
            known = self.noted[id(place)] = Written(obj, of_items)
            self.trace.kept.append(place)
        return known

    def item_written(self, obj: Any, key: Any) -> Any:
        """`(value,)` that the program wrote to a dictionary outside; None if it did not write this key."""
        written = self.noted.get(id(obj))
        return (written.values[key],) if written is not None and key in written.values else None

    def check_module_write(self, module: Any, name: str, value: Any) -> None:
        """Refuse what changes the parameters, buffers or children of a Module outside."""
        values: Any = instance_dict(module)
        if isinstance(value, torch.nn.Module) or any(
            name in values.get(registry, ()) for registry in ("_parameters", "_buffers", "_modules")
        ):
            self.trace.refuse(f"assignment to {name!r} of a {type(module).__name__}, one of its parts", "write")
