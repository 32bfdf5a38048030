"""Return types: the named tuples of operators with several named results."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any


class ReturnType(tuple[Any, ...]):
    """Several named results: a tuple whose items are also attributes."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    n_fields = 0

    def __new__(cls, values: Iterable[Any] = (), named: object = None) -> ReturnType:
        self = super().__new__(cls, values)
        if len(self) != cls.n_fields:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence ({len(self)}-sequence given)"
            )
        return self

    def __repr__(self) -> str:
        items = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{items})"

    def __copy__(self) -> ReturnType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ReturnType:
        return type(self)(copy.deepcopy(tuple(self), memo))

    def __reduce__(self) -> tuple[Any, ...]:
        return (tuple, (tuple(self),))


def _make_item(i: int) -> property:
    return property(lambda self: self[i])


RETURN_TYPES: dict[tuple[str, tuple[str, ...]], type] = {}


def return_type(name: str, fields: tuple[str, ...]) -> type:
    """The class of an operator's named results."""
    made = RETURN_TYPES.get((name, fields))
    if made is None:
        items = {f: _make_item(i) for i, f in enumerate(fields)}
        made = type(name, (ReturnType,), {"__slots__": (), "_fields": fields, "n_fields": len(fields), **items})
        made.__module__ = "torch.return_types"
        made.__doc__ = (
            f"Results of `{name}`: a tuple whose items are also attributes, {', '.join(fields)}.\n\n"
            f"    >>> torch.return_types.{name}({tuple(range(len(fields)))}).{fields[-1]}\n    {len(fields) - 1}\n"
        )
        RETURN_TYPES[name, fields] = made
    return made


def name_returns(handle: Any, out: Any, name: str) -> None:
    fields = tuple(r["name"] for r in handle.returns)
    if len(fields) > 1 and all(fields) and not name.endswith(("_forward", "_backward")):
        handle.set_return_type(return_type(name, fields))
        if out is not None:
            out.set_return_type(return_type(f"{name}_out", fields))
