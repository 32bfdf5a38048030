"""Guards: what must hold for a captured graph to be used, and the function that checks it, made as Python code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2._capture._guard_kinds import KINDS, names
from mindtorch_v2._capture._sources import absent, look_up, sequence_item

if TYPE_CHECKING:
    from mindtorch_v2._capture._sources import Source


__all__ = ["Guard", "compile_check", "compile_gather", "first_failure"]


class Guard:
    """One condition. `kind` is the name of one of `KINDS`, `source` and `value` what it is about."""

    __slots__ = ("kind", "source", "value", "where")

    def __init__(self, kind: Any, source: Any, value: Any = None, where: Any = None) -> None:
        self.kind, self.source, self.value, self.where = kind, source, value, where

    def text(self) -> str:
        """The condition as text."""
        return KINDS[self.kind].text(self)

    def why(self, args: Any, kwargs: dict[str, Any]) -> str:
        """Why it does not hold for these arguments."""
        try:
            return KINDS[self.kind].why(self, args, kwargs)
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            return f"{self.text()}, which cannot be read"


class _Writer:
    """Write the code of a check: a variable for each source, a test for each guard."""

    def __init__(self) -> None:
        self.space = {
            **names,
            "absent": absent,
            "attribute": object.__getattribute__,
            "dict_item": dict.__getitem__,
            "look_up": look_up,
            "sequence_item": sequence_item,
        }
        self.lines: list[Any] = []
        self.names: dict[Any, Any] = {}
        self.constants: dict[Any, Any] = {}

    def constant(self, value: Any) -> str:
        """The name of an object."""
        name = self.constants.get(id(value))
        if name is None:
            name = self.constants[id(value)] = f"k{len(self.constants)}"
            self.space[name] = value
        return name

    def value(self, source: Any) -> str:
        """The name of the variable that holds the value of a source."""
        name = self.names.get(source)
        if name is None:
            parent = None if source.parent is None else self.value(source.parent)
            code = source.code(parent, self.constant)
            if code.isidentifier():
                name = code
            else:
                name = f"v{len(self.names)}"
                self.lines.append(f"{name} = {code}")
            self.names[source] = name
        return name

    def condition(self, guard: Any) -> Any:
        """The expression that is true where the guard holds."""
        of = None if guard.source is None else self.value(guard.source)
        return KINDS[guard.kind].condition(self, of, guard)


def _compile(writer, name, lines, otherwise):
    body = "\n".join(f"        {line}" for line in lines)
    text = (
        f"def {name}(args, kwargs):\n    i = 0\n    try:\n{body}\n    except Exception:\n        return {otherwise}\n"
    )
    exec(compile(text, f"<{name}>", "exec"), writer.space)
    return writer.space[name]


def compile_check(guards: Sequence[Guard]) -> Callable[..., Any]:
    """A function of `(args, kwargs)`: whether every guard holds."""
    writer = _Writer()
    for guard in guards:
        condition = writer.condition(guard)
        writer.lines.append(f"if not ({condition}): return False")
    return _compile(writer, "guards", [*writer.lines, "return True"], False)


def first_failure(guards: Sequence[Guard], args: Any, kwargs: dict[str, Any]) -> list:
    """Why the first guard that does not hold fails, in a list; empty if all hold."""
    writer = _Writer()
    for index, guard in enumerate(guards):
        writer.lines.append(f"i = {index}")
        condition = writer.condition(guard)
        writer.lines.append(f"if not ({condition}): return {index}")
    found = _compile(writer, "failing_guard", [*writer.lines, "return -1"], "i")(args, kwargs)
    return [] if found == -1 else [guards[found].why(args, kwargs)]


def compile_gather(sources: Sequence[Source]) -> Callable[..., Any]:
    """A function of `(args, kwargs)` that gives the graph's inputs."""
    writer = _Writer()
    names = [writer.value(source) for source in sources]
    body = "\n".join(f"    {line}" for line in writer.lines)
    exec(
        compile(
            f"def gather(args, kwargs):\n{body or '    pass'}\n    return [{', '.join(names)}]\n", "<inputs>", "exec"
        ),
        writer.space,
    )
    gather: Any = writer.space["gather"]
    return gather
