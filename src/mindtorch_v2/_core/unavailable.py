"""Names that must exist for programs to import, without an implementation: calling them says so.

What these make is usable where only the name matters: in annotations, `isinstance`, `hasattr` and imports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Never


def unavailable_function(name: str, remedy: str = "") -> Callable[..., Never]:
    """A function that raises NotImplementedError, naming `name` and the `remedy` (a sentence part, if any)."""
    text = _text(name, remedy)

    def function(*args: Any, **kwargs: Any) -> Never:
        raise NotImplementedError(text)

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = text
    mark(function, text)
    return function


def unavailable_class(name: str, remedy: str = "", bases: tuple[type, ...] = ()) -> Any:
    """A class that cannot be instantiated: doing so raises NotImplementedError, naming `name` and the `remedy`."""
    text = _text(name, remedy)

    def __new__(cls: type, *args: Any, **kwargs: Any) -> Never:
        raise NotImplementedError(text)

    short = name.rpartition(".")[2]
    module = "mindtorch_v2" + name.rpartition(".")[0].removeprefix("torch")
    return type(short, bases, {"__new__": __new__, "__doc__": text, "__module__": module, "__unavailable__": text})


def unavailable_object(name: str) -> Any:
    """An object that can be handed on only: whatever else is done to it raises NotImplementedError, naming `name`."""
    text = _text(name, "")

    def use(self: object, *args: Any, **kwargs: Any) -> Never:
        raise NotImplementedError(text)

    methods = "call getattr getitem iter len bool contains enter eq".split()
    namespace: dict[str, Any] = {f"__{each}__": use for each in methods}
    namespace |= {"__hash__": object.__hash__, "__unavailable__": text, "__doc__": text}
    return type("Unavailable", (), namespace)()


def unavailable_names(module: str, functions: str = "", classes: str = "", remedy: str = "") -> dict[str, Any]:
    """The names of a module that cannot be used, as a dict for its `globals()`: of functions and of classes, by spaces."""
    return {
        **{name: unavailable_function(f"{module}.{name}", remedy) for name in functions.split()},
        **{name: unavailable_class(f"{module}.{name}", remedy) for name in classes.split()},
    }


def mark(thing: Any, text: str) -> None:
    """Let a function or module say by its attribute `__unavailable__` that it is here for its name alone."""
    thing.__unavailable__ = text


def _text(name: str, remedy: str) -> str:
    return f"{name} is not implemented in mindtorch_v2" + (f"; {remedy}" if remedy else "")
