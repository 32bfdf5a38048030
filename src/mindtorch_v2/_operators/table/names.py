"""Names of operators in Python: which callables stand in which place, and every operator by name in `aten`."""

from __future__ import annotations

import functools
import operator
import re
from typing import Any, NamedTuple

from ... import _C
from . import late

PLACES = ("function", "method", "nn", "linalg", "special", "fft")
BOUND: dict[str, dict[str, list[Any]]] = {place: {} for place in PLACES}  # place -> name -> operators
FUNCTIONAL: dict[str, Functional] = {}  # name in torch.nn.functional -> what stands there
_NAMED: dict[str, dict[str, list[Any]]] = {}  # namespace -> name -> operators
_ALIASES: dict[Any, tuple[str, ...]] = {}  # operator -> its further names


class Functional(NamedTuple):
    """A function of torch.nn.functional: the operator ``operator``, or a function of these ``parameters`` around it."""

    operator: str
    parameters: str
    doc: str


class Namespace:
    """The operators of a namespace by name, called with Python's binding rules: ``aten.add(x, 1)``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        ops = _NAMED.get(self._name, {}).get(name)
        if ops is None and not name.startswith("__") and late.read():
            ops = _NAMED.get(self._name, {}).get(name)
        if ops is None:
            raise AttributeError(f"no operator is called '{self._name}::{name}'")
        function = _C.Function(name, in_order(ops))
        setattr(self, name, function)
        return function


namespace = functools.cache(Namespace)
aten = namespace("aten")


_PREFIXED = ("linalg", "special", "fft")  # places whose operators have the place in their names


def record(handle: Any, name: str, bind: tuple[str, ...], alias: tuple[str, ...]) -> None:
    _NAMED.setdefault(handle.namespace, {}).setdefault(name, []).append(handle)
    if alias:
        _ALIASES[handle] = alias
    for word in bind:
        if word not in BOUND:  # a derived form
            continue
        for n in (name, *alias):
            if word == "method" and n.startswith("special_"):  # a function alone, by its further name
                continue
            short = n.removeprefix(word + "_") if word in _PREFIXED else n
            BOUND[word].setdefault(short, []).append(handle)


def aliases_of(handle: Any) -> tuple[str, ...]:
    """The further names of an operator; none for most."""
    return _ALIASES.get(handle, ())


_ENTRY = re.compile(r"(\w+)(?:\(([^()]+)\))?(?:\s+|$)")


def record_functional(name: str, spelled: str, doc: str) -> None:
    """Take up what the row of the operator ``name`` has in torch.nn.functional: "relu(input, inplace=False) relu_"."""
    entries = list(_ENTRY.finditer(spelled))
    if "".join(entry[0] for entry in entries) != spelled:
        raise ValueError(f"{name}: functional={spelled!r} is no list of names and signatures")
    for entry in entries:
        own = entry[1] if entry[1] == f"{name}_" else name
        FUNCTIONAL[entry[1]] = Functional(own, entry[2] or "", doc)


_PRECEDENCE = operator.attrgetter("precedence")


def in_order(ops: list[Any]) -> list[Any]:
    return sorted(ops, key=_PRECEDENCE) if len(ops) > 1 else ops


@functools.cache  # the same function under each of its names
def bound(where: str) -> dict[str, Any]:
    """The callables of one place ("function", "nn", "linalg", "special", "fft"; "method" gives method descriptors)."""
    kind = _C.Method if where == "method" else _C.Function
    prefix = f"{where}_" if where in _PREFIXED else ""  # torch.fft.ifft calls itself "fft_ifft"
    return {name: kind(prefix + name, in_order(ops)) for name, ops in BOUND[where].items()}
