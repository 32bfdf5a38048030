"""Where a value that a program read came from: a path from its arguments, or from an object that stays the same."""

from __future__ import annotations

import collections
from typing import Any

__all__ = [
    "Argument",
    "Attribute",
    "Constant",
    "Dictionary",
    "Item",
    "Keyword",
    "OfClass",
    "Source",
    "is_registry",
    "look_up",
    "pairs_of",
    "root_of",
]

_absent = object()
_REGISTRIES = ("_parameters", "_buffers", "_modules")


def look_up(kind: Any, name: str, default: Any = None) -> Any:
    """The attribute that the class `kind` or a base of it has under `name`, as it stands there."""
    for base in type.__dict__["__mro__"].__get__(kind):
        found = type.__dict__["__dict__"].__get__(base).get(name, _absent)
        if found is not _absent:
            return found
    return default


class Source:
    """One step of a path: `parent` is the source of the object that is asked, `key` what it is asked for."""

    __slots__ = ("_hash", "key", "parent")

    def __init__(self, parent: Any, key: Any) -> None:
        self.parent, self.key = parent, key
        self._hash = hash((type(self), id(parent), self._identity()))

    def _identity(self) -> tuple:
        return (type(self.key), self.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: Any) -> bool:
        # Parents are interned: a trace has one Source object for each path.
        return type(self) is type(other) and self.parent is other.parent and self._identity() == other._identity()

    def code(self, parent: Any, constant: Any) -> str:
        """The expression of the value, where `parent` is that of the parent and `constant(x)` names an object."""
        raise NotImplementedError

    def text(self) -> Any:
        """How a person would write it."""
        raise NotImplementedError

    def path(self) -> str:
        """The whole path, with the registries of Modules, which names of a graph's inputs are made of."""
        return self.text()

    def get(self, args: Any, kwargs: dict[str, Any]) -> Any:
        """The value now."""
        raise NotImplementedError

    def of_call(self, outputs: Any, args: Any, kwargs: dict[str, Any], memo: Any) -> Any:
        """The value now, for what is put round a graph's outputs."""
        return self.get(args, kwargs)


class Constant(Source):
    """An object that the capture holds on to; `name` says what it is."""

    __slots__ = ("name",)

    def __init__(self, value: Any, name: str) -> None:
        self.name = name
        super().__init__(None, value)

    def _identity(self):
        return id(self.key)

    def code(self, parent: Any, constant: Any) -> str:
        return constant(self.key)

    def text(self) -> str:
        return self.name

    def get(self, args: Any, kwargs: dict[str, Any]) -> Any:
        return self.key


class Argument(Source):
    """A positional argument; `name` is that of the parameter."""

    __slots__ = ("name",)

    def __init__(self, index: Any, name: str) -> None:
        self.name = name
        super().__init__(None, index)

    def code(self, parent: Any, constant: Any) -> str:
        return f"args[{self.key}]"

    def text(self) -> str:
        return f"L[{self.name!r}]"

    def get(self, args: Any, kwargs: dict[str, Any]) -> Any:
        return args[self.key]


class Keyword(Source):
    """A keyword argument."""

    __slots__ = ()

    def __init__(self, name: str) -> None:
        super().__init__(None, name)

    def code(self, parent: Any, constant: Any) -> str:
        return f"kwargs[{self.key!r}]"

    def text(self) -> str:
        return f"L[{self.key!r}]"

    def get(self, args: Any, kwargs: dict[str, Any]) -> Any:
        return kwargs[self.key]


class Attribute(Source):
    """An attribute that the object's class has a slot for."""

    __slots__ = ()

    def code(self, parent: Any, constant: Any) -> str:
        return f"attribute({parent}, {self.key!r})"

    def text(self) -> str:
        return f"{self.parent.text()}.{self.key}"

    def path(self) -> str:
        return f"{self.parent.path()}.{self.key}"

    def get(self, args: Any, kwargs: dict[str, Any]) -> Any:
        return object.__getattribute__(self.parent.get(args, kwargs), self.key)


class Dictionary(Source):
    """The attributes that the object itself holds."""

    __slots__ = ()

    def __init__(self, parent: Any) -> None:
        super().__init__(parent, "__dict__")

    def code(self, parent: Any, constant: Any) -> str:
        return f"attribute({parent}, '__dict__')"

    def text(self) -> str:
        return f"{self.parent.text()}.__dict__"

    def path(self) -> str:
        return f"{self.parent.path()}.__dict__"

    def get(self, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        return object.__getattribute__(self.parent.get(args, kwargs), "__dict__")


class Item(Source):
    """An item of a list, a tuple or a dictionary (past what a subclass makes of `[]`)."""

    __slots__ = ("of_dict",)

    def __init__(self, parent: Any, key: Any, of_dict: bool = True) -> None:
        self.of_dict = of_dict
        super().__init__(parent, key)

    def _identity(self) -> tuple:
        return (type(self.key), self.key, self.of_dict)

    def code(self, parent: Any, constant: Any) -> str:
        if isinstance(self.parent, Dictionary):
            return f"{parent}[{self.key!r}]"
        key = repr(self.key) if type(self.key) in (str, int) else constant(self.key)
        if self.of_dict:
            return f"dict_item({parent}, {key})"
        return f"sequence_item({parent}, {key})"

    def text(self) -> str:
        if isinstance(self.parent, Dictionary) and isinstance(self.key, str):
            return f"{self.parent.parent.text()}.{self.key}"
        registry = self.parent
        if isinstance(registry, Item) and isinstance(registry.parent, Dictionary) and registry.key in _REGISTRIES:
            # What programs know as an attribute of a Module.
            return f"{registry.parent.parent.text()}.{self.key}"
        return f"{self.parent.text()}[{self.key!r}]"

    def path(self) -> str:
        if isinstance(self.parent, Dictionary) and isinstance(self.key, str):
            return f"{self.parent.parent.path()}.{self.key}"
        if isinstance(self.parent, Constant) and self.parent.name.startswith("G["):
            return f"G[{self.key!r}]"
        return f"{self.parent.path()}[{self.key!r}]"

    def get(self, args: Any, kwargs: dict[str, Any]) -> Any:
        parent = self.parent.get(args, kwargs)
        return dict.__getitem__(parent, self.key) if self.of_dict else sequence_item(parent, self.key)


class OfClass(Source):
    """An attribute of a class or of one of its bases. `parent` is None, `kind` the class."""

    __slots__ = ("kind",)

    def __init__(self, kind: Any, name: str) -> None:
        self.kind = kind
        super().__init__(None, name)

    def _identity(self) -> tuple:
        return (id(self.kind), self.key)

    def code(self, parent: Any, constant: Any) -> str:
        return f"look_up({constant(self.kind)}, {self.key!r}, absent)"

    def text(self) -> str:
        return f"{self.kind.__name__}.{self.key}"

    def get(self, args: Any, kwargs: dict[str, Any]) -> Any:
        return look_up(self.kind, self.key, _absent)


def sequence_item(sequence: Any, index: Any) -> Any:
    """`sequence[index]` of a list, tuple or deque, past what a subclass makes of it."""
    if isinstance(sequence, tuple):
        return tuple.__getitem__(sequence, index)
    kind: Any = list if isinstance(sequence, list) else collections.deque
    return kind.__getitem__(sequence, index)


def pairs_of(mapping: Any) -> list[tuple[Any, Any]]:
    """The items of a dictionary in its order, past what a subclass makes of `[]` and `items`."""
    if isinstance(mapping, collections.OrderedDict):  # whose order that of dict does not know
        return list(collections.OrderedDict.items(mapping))
    return list(dict.items(mapping))


def root_of(source: Source) -> Source:
    """The first step of a path."""
    while source.parent is not None:
        source = source.parent
    return source


def is_registry(source: Source) -> bool:
    """Whether a source is that of a Module's parameters, buffers or children."""
    return isinstance(source, Item) and isinstance(source.parent, Dictionary) and source.key in _REGISTRIES


absent = _absent
