"""The writes of a program to objects that were there before: kept apart, and made when a call of the graph ends.

Owns the new values, by the object that they were written to. A container that the program changes as a whole, `items.append(x)`,
is copied first: the program goes on with the copy, and the container is given what that holds in the end.
"""

from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._guard_kinds import is_constant, same_constant
from mindtorch_v2._capture._sources import Dictionary, Item, Source, absent, is_registry, pairs_of
from mindtorch_v2._sizes.recorded import RecordedNumber

if TYPE_CHECKING:
    from mindtorch_v2._capture._rebuild import Rebuilding
    from mindtorch_v2._capture._recording import Recorder

__all__ = ["Effect", "Writes", "Written", "instance_dict"]


class Written:
    """The writes of the program to an object that was there before: attributes by name, or items of a dictionary."""

    __slots__ = ("obj", "of_items", "values")

    def __init__(self, obj: Any, of_items: bool) -> None:
        self.obj, self.of_items = obj, of_items
        self.values: dict[Any, Any] = {}


_COPIED = (list, set, dict, collections.deque, collections.OrderedDict, collections.defaultdict)


class _Copied:
    """A container from outside, the copy that the program changes, and what it held before."""

    __slots__ = ("before", "copy", "obj")

    def __init__(self, obj: Any, copy: Any, before: Any) -> None:
        self.obj, self.copy, self.before = obj, copy, before

    def is_as_before(self) -> bool:
        """Whether the copy holds the same objects in the same order."""
        copy, before = self.contents(), self.contents(self.before)
        return len(copy) == len(before) and all(a is b for a, b in zip(copy, before))

    def contents(self, of: Any = None) -> list[Any]:
        """The objects in it, with those that are keys."""
        of = self.copy if of is None else of
        return [each for pair in pairs_of(of) for each in pair] if isinstance(of, dict) else [*of]


def _replace(container: Any, _: None, contents: Any) -> None:
    """Let a container hold something else."""
    if isinstance(container, list):
        container[:] = contents
    else:
        container.clear()
        container.extend(contents) if isinstance(container, collections.deque) else container.update(contents)


def instance_dict(obj: Any) -> dict[str, Any] | None:
    """The attributes that an object itself holds; None if it is not a dictionary that holds them."""
    try:
        found = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


Effect = tuple[Callable[[Any, Any, Any], None], Callable[..., Any], Any, Callable[..., Any]]
"""A write that is due: the function that writes, how the object is found, the name or key, and how its value is made."""


class Writes:
    """Part of a recorder: what was written."""

    def __init__(self, trace: Recorder) -> None:
        self.trace = trace
        self._noted: dict[int, Written] = {}  # id of a dictionary (an object's own, too), of a tensor or of a cell
        self._copies: dict[int, _Copied] = {}  # id of a container

    def due(self) -> list[tuple[Any, ...]]:
        """The writes that would be made now, to be compared: two lists are equal where nothing else was written in between."""
        found: list[tuple[Any, ...]] = [
            (id(written.obj), name, id(value))
            for written in self._noted.values()
            for name, value in written.values.items()
            if not self._is_as_before(written, name, value)
        ]
        for copied in self._copies.values():
            if not copied.is_as_before():
                found.append((id(copied.obj), *map(id, copied.contents())))
        return found

    def _is_as_before(self, written: Written, name: Any, value: Any) -> bool:
        """Whether what was written is what stood there, as the program read it."""
        source = self.trace.sources.source_of(written.obj)
        if source is None or isinstance(written.obj, (torch.Tensor, types.CellType)):
            return False
        where = source if written.of_items else self.trace.sources.source(Dictionary, source)
        return not is_constant(value) and self.trace.sources.read(self.trace.sources.source(Item, where, name)) is value

    def current(self, obj: Any) -> Any:
        """The copy that the program goes on with, of a container outside that it changed; else the object itself."""
        found = self._copies.get(id(obj)) if self._copies else None
        return obj if found is None else found.copy

    def to_copy(self, obj: Any) -> Any:
        """The copy of a container outside, which the program may change from here on."""
        if id(obj) in self._copies:
            return self._copies[id(obj)].copy
        kind, source = type(obj), self.trace.sources.source_of(obj)
        if (
            not self.trace.keeps_writes
            or kind not in _COPIED
            or source is None
            or isinstance(source, Dictionary)
            or is_registry(source)
        ):
            self.trace.refuse(f"a write to a {kind.__name__} outside", "write")
        copy: Any
        before: Any
        if issubclass(kind, dict):
            written = self._noted.get(id(obj))
            copy = collections.defaultdict(self._factory(obj)) if kind is collections.defaultdict else kind()
            copy.update(self.trace.iteration.items_before(obj, source))
            before = dict(copy)
            copy.update({} if written is None else written.values)
            self._noted.pop(id(obj), None)
        elif kind is collections.deque:
            copy = collections.deque(self.trace.iteration.over(obj), obj.maxlen)
            before = copy.copy()
        else:
            copy = kind(self.trace.iteration.over(obj))
            before = kind(copy)
        self._copies[id(obj)] = _Copied(obj, copy, before)
        self.trace.kept.append(obj)
        return copy

    def _factory(self, obj: Any) -> Any:
        """The maker of the missing items of a defaultdict, as the program calls it."""
        factory = obj.default_factory
        return factory if factory in (None, int, list, dict, set, float) else self.trace.functions.wrapped(factory)

    def cell(self, cell: types.CellType, source: Source, value: Any) -> None:
        """Note that a variable of a function that has been left has a new value."""
        self.trace.sources.register(cell, source)
        self._note(cell, cell, False).values["cell_contents"] = value

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

    def effects(self, rebuilding: Rebuilding) -> list[Effect]:
        """The writes that are due at the end of each call; `rebuilding` says how to make a value.

        Attributes of tensors come last: those of a tensor that the call neither was given nor gives are seen by nobody.
        """
        recipe = rebuilding.recipe
        of_tensors = [each for each in self._noted.values() if isinstance(each.obj, torch.Tensor)]
        others = [each for each in self._noted.values() if not isinstance(each.obj, torch.Tensor)]
        found = [effect for written in others for effect in self._effects(written, recipe)]
        found += [effect for copied in self._copies.values() for effect in self._contents(copied, recipe)]
        seen = [each for each in of_tensors if rebuilding.gives(each.obj)]
        return found + [effect for written in seen for effect in self._effects(written, recipe)]

    def _contents(self, copied: _Copied, recipe: Callable[[Any], Callable[..., Any]]) -> Iterable[Effect]:
        if copied.is_as_before():
            return
        source = self.trace.sources.source_of(copied.obj)
        assert source is not None  # only what is outside is copied
        for other in self.trace.sources.others_like(copied.obj):
            self.trace.guards.note("different", source, other)
        copy = dict(copied.copy) if isinstance(copied.copy, collections.defaultdict) else copied.copy
        yield _replace, source.of_call, None, recipe(copy)

    def _effects(self, written: Written, recipe: Callable[[Any], Callable[..., Any]]) -> Iterable[Effect]:
        obj, sources = written.obj, self.trace.sources
        if isinstance(obj, torch.Tensor):
            yield from ((setattr, recipe(obj), name, recipe(value)) for name, value in written.values.items())
            return
        source = sources.source_of(obj)
        assert source is not None  # only what is outside is noted
        for other in sources.others_like(obj):
            # A write to one object would be seen in another that is the same.
            self.trace.guards.note("different", source, other)
        if isinstance(obj, types.CellType):
            yield setattr, source.of_call, "cell_contents", recipe(written.values["cell_contents"])
            return
        values = obj if written.of_items else object.__getattribute__(obj, "__dict__")
        where = source if written.of_items else sources.source(Dictionary, source)
        for name, value in written.values.items():
            before = values.get(name, absent)
            if self._is_as_before(written, name, value):
                continue
            if before is not absent and is_constant(before) and same_constant(value, before):
                known = sources.wrap(before, sources.source(Item, where, name))
                if not isinstance(known, RecordedNumber):
                    continue  # what it was is guarded, so that a write of the same need not be repeated
            yield operator.setitem if written.of_items else setattr, source.of_call, name, recipe(value)
