"""The writes of a program to objects that were there before: kept apart, and made when a call of the graph ends.

Owns the new values, by the object that they were written to.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant, same_constant
from mindtorch_v2._capture._sources import Dictionary, Item, Source, absent

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder

__all__ = ["Effect", "Writes", "Written", "instance_dict"]


class Written:
    """The writes of the program to an object that was there before: attributes by name, or items of a dictionary."""

    __slots__ = ("obj", "of_items", "values")

    def __init__(self, obj: Any, of_items: bool) -> None:
        self.obj, self.of_items = obj, of_items
        self.values: dict[Any, Any] = {}


def instance_dict(obj: Any) -> dict[str, Any] | None:
    """The attributes that an object itself holds; None if it is not a dictionary that holds them."""
    try:
        found = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


Effect = tuple[Callable[[Any, Any, Any], None], Source, Any, Callable[..., Any]]
"""A write that is due: the function that writes, where the object is, the name or key, and how its value is made."""


class Writes:
    """Part of a recorder: what was written."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self._noted: dict[int, Written] = {}  # id of a dictionary (an object's own, too) or of a tensor

    def __len__(self) -> int:
        return len(self._noted)

    def attribute(self, obj: Any, name: str, value: Any) -> None:
        """Note that an attribute of an object outside has a new value, which lasts within the capture."""
        place = obj if isinstance(obj, torch.Tensor) else instance_dict(obj)
        if place is None:
            self.trace.refuse(f"assignment to {name!r} of a {type(obj).__name__}, which has no dictionary", "write")
        self._note(place, obj, False).values[name] = value

    def item(self, dictionary: dict[Any, Any], key: Any, value: Any) -> None:
        """Note that an item of a dictionary outside has a new value."""
        self._note(dictionary, dictionary, True).values[key] = value

    def _note(self, place: Any, obj: Any, of_items: bool) -> Written:
        known = self._noted.get(id(place))
        if known is None:
            known = self._noted[id(place)] = Written(obj, of_items)
            self.trace.kept.append(place)
        return known

    def to(self, place: Any) -> Written | None:
        """The writes to a dictionary (an object's own, too) or a tensor; None if there are none."""
        return self._noted.get(id(place))

    def item_written(self, obj: Any, key: Any) -> tuple[Any] | None:
        """`(value,)` that the program wrote to a dictionary outside; None if it did not write this key."""
        written = self._noted.get(id(obj))
        return (written.values[key],) if written is not None and key in written.values else None

    def check_module_write(self, module: torch.nn.Module, name: str, value: Any) -> None:
        """Refuse what changes the parameters, buffers or children of a Module outside."""
        values: Any = instance_dict(module)
        if isinstance(value, torch.nn.Module) or any(
            name in values.get(registry, ()) for registry in ("_parameters", "_buffers", "_modules")
        ):
            self.trace.refuse(f"assignment to {name!r} of a {type(module).__name__}, one of its parts", "write")

    def effects(self, recipe: Callable[[Any], Callable[..., Any]]) -> list[Effect]:
        """The writes that are due at the end of each call; `recipe` says how to make a value."""
        return [effect for written in self._noted.values() for effect in self._effects(written, recipe)]

    def _effects(self, written: Written, recipe: Callable[[Any], Callable[..., Any]]) -> Iterable[Effect]:
        obj, sources = written.obj, self.trace.sources
        if isinstance(obj, torch.Tensor):
            self.trace.refuse("an attribute of a tensor was written", "write")
        source = sources.source_of(obj)
        assert source is not None  # only what is outside is noted
        for other in sources.others_like(obj):
            # A write to one object would be seen in another that is the same.
            self.trace.guards.note("different", source, other)
        values = obj if written.of_items else object.__getattribute__(obj, "__dict__")
        where = source if written.of_items else sources.source(Dictionary, source)
        for name, value in written.values.items():
            before = values.get(name, absent)
            if before is not absent and is_constant(before) and same_constant(value, before):
                # What it was is guarded, so that a write of the same need not be repeated.
                sources.wrap(before, sources.source(Item, where, name))
            else:
                yield operator.setitem if written.of_items else setattr, source, name, recipe(value)
