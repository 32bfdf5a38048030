"""The help of functions and methods that rows make, written from the rows when somebody asks for it.

`help(torch.add)` gives what the row says (its sentence, overloads, shape rule, dtypes, derivatives) and an example from
`examples.jsonl`, whose output is PyTorch's (tools/make_examples.py).
"""

from __future__ import annotations

import functools
import json
import keyword
import pathlib
import re
from collections.abc import Iterable
from typing import Any

from .. import _C
from .table.names import FUNCTIONAL, bound
from .table.rules import Rule

MODULES = {"function": "torch", "nn": "torch.nn.functional", "linalg": "torch.linalg", "special": "torch.special"}
MODULES |= {"fft": "torch.fft", "method": "torch.Tensor"}
"""The public module of each place in which rows bind names."""

_TYPES = {"Scalar": "Number", "ScalarType": "dtype", "Layout": "layout", "Device": "device", "SymInt": "int"}
_TYPES |= {"MemoryFormat": "memory_format", "SymBool": "bool"}
_DTYPES = {
    "float": "float32 and float64",
    "floating": "float32, float64, float16 and bfloat16",
    "real": "floating-point numbers and integers",
    "all": "every dtype: floating-point, complex, integers, bool",
    "integer": "integers",
    "complex": "complex64 and complex128",
    "bool": "bool",
}
_RESULTS = {
    "pointwise_float": "Integers give numbers of the default floating-point dtype.",
    "pointwise_bool": "The result is bool.",
    "reduce_bool": "The result is bool.",
    "pointwise": "Tensors and numbers of different dtypes are promoted to a common one.",
    "reduce_sum": "Integers and bool are added as int64.",
}


def text(function: Any, what: str) -> str | None:
    """The help of a function or method ("text"), or its signature as `inspect` reads it ("signature")."""
    if what == "signature":
        return signature(function)
    place, module = where(function)
    return "\n".join(_paragraphs(function, place, module)).rstrip() + "\n"


@functools.cache
def _places() -> dict[int, tuple[str, str]]:
    found: dict[int, tuple[str, str]] = {}
    for place, module in MODULES.items():
        for function in bound(place).values():
            found[id(function)] = (place, module)
    return found


def where(function: Any) -> tuple[str, str]:
    """The place that a function stands in ("function", "method", ...) and its public module."""
    return _places().get(id(function), ("operator", "torch.ops.aten"))


def signature(function: Any) -> str:
    """One signature for all overloads: what only some of them have may be left out."""
    place, _ = where(function)
    overloads = [_written_as_out(handle) for handle in function.overloads]
    longest = max(overloads, key=len)
    order = [*longest, *(each for arguments in overloads for each in arguments)]
    merged: dict[str, tuple[bool, bool, Any]] = {}
    for each in order:
        name = each["name"]
        needed = all(any(o["name"] == name and not o["has_default"] for o in a) for a in overloads)
        named = any(o["kwarg_only"] for a in overloads for o in a if o["name"] == name)
        merged.setdefault(_argument(name, place), (needed, named, each["default"]))
    positional: list[str] = []
    keywords: list[str] = []
    optional = False
    for name, (needed, named, default) in merged.items():
        if place == "method" and name == "self":
            positional.insert(0, "$self")
        elif named or (needed and optional):
            keywords.append(name if needed else f"{name}={_default(default)}")
        elif needed:
            positional.append(name)
        else:
            optional = True
            positional.append(f"{name}={_default(default)}")
    return f"({', '.join([*positional, *(['*', *keywords] if keywords else [])])})"


def _written_as_out(handle: Any) -> list[dict[str, Any]]:
    """The arguments of an overload as Python's callers name them: all that is written into is `out`."""
    written = [each for each in handle.arguments if each["is_write"] and each["kwarg_only"]]
    kept = [each for each in handle.arguments if each not in written]
    return [*kept, {"name": "out", "kwarg_only": True, "has_default": True, "default": None}] if written else kept


def _default(value: Any) -> str:
    return repr(value) if isinstance(value, bool | int | float | str | tuple | None) else "None"


def _argument(name: str, place: str) -> str:
    if keyword.iskeyword(name):
        return f"{name}_"  # as in the stubs; a call gives it by position
    return "input" if name == "self" and place not in ("method", "operator") else name


def _paragraphs(function: Any, place: str, module: str) -> Iterable[str]:
    name = _public_name(function.__name__, place)
    handles = [handle for handle in function.overloads if not _is_out(handle)] or list(function.overloads)
    rows = list(
        {id(row): row for row in (handle.__dict__.get("row") for handle in handles) if row is not None}.values()
    )
    first = rows[0] if rows else None
    inplace = name.endswith("_") and not name.endswith("__") and any(row.inplace in handles for row in rows)
    sentences = list(dict.fromkeys(_sentence(row.doc, place) for row in rows)) or [handles[0].__doc__ or ""]
    yield f"{sentences[0]}{' In place.' if inplace and 'In place' not in sentences[0] else ''}"
    yield ""
    others = sentences[1:]
    yield from (f"- {sentence}" for sentence in others)
    if others:
        yield ""
    outs = {handle.overload: handle for handle in function.overloads if _is_out(handle)}
    yield "Overloads:" if len(handles) > 1 else "Call:"
    for handle in handles:
        yield f"    {_prefix(module, place)}{name}{_call(handle, place)}"
    if outs:
        yield "With `out=` the result is written into a tensor that is given."
    if first is not None:
        yield ""
        yield from _facts(rows, place)
    example = examples().get(f"{module}.{name}")
    if example is not None:
        yield ""
        yield "Example:"
        yield from (f"    {line}" for line in example)


def _public_name(name: str, place: str) -> str:
    """An operator's name in its module: `log_sigmoid` is `torch.nn.functional.logsigmoid`."""
    if place != "nn" or name in FUNCTIONAL:
        return name.removeprefix(f"{place}_")
    return next((each for each, entry in FUNCTIONAL.items() if entry.operator == name and not entry.parameters), name)


def _prefix(module: str, place: str) -> str:
    return "Tensor." if place == "method" else f"{module}."


def _is_out(handle: Any) -> bool:
    return any(argument["is_write"] and argument["kwarg_only"] for argument in handle.arguments)


def _sentence(doc: str, place: str) -> str:
    return doc if place == "method" else re.sub(r"\bself\b", "input", doc)


def _call(handle: Any, place: str) -> str:
    parts, starred = [], False
    for argument in handle.arguments:
        if place == "method" and argument["name"] == "self":
            continue
        if argument["kwarg_only"] and not starred:
            starred = True
            parts.append("*")
        default = f"={_default(argument['default'])}" if argument["has_default"] else ""
        parts.append(f"{_type(argument['type'])} {_argument(argument['name'], place)}{default}")
    results = [f"{_type(each['type'])} {each['name']}".strip() for each in handle.returns]
    given = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"({', '.join(parts)}) -> {given}"


def _type(spelled: str) -> str:
    match = re.match(r"(\w+)(?:\([^)]*\))?(.*)", spelled)
    if match is None:
        return spelled
    made, rest = _TYPES.get(match[1], match[1]), match[2]
    if "[" in rest:
        made = f"{'tensors' if made == 'Tensor' else made + 's'}"
    return made + ("?" if rest.endswith("?") else "")


def _facts(rows: list[Any], place: str) -> Iterable[str]:
    shapes = list(dict.fromkeys(filter(None, (_shapes(row, place) for row in rows))))
    if shapes:
        yield f"Shapes: {'; '.join(shapes[:2])}."
    words = dict.fromkeys(word for row in rows for word in row.dtypes.replace("+", " ").split())
    if words:
        yield f"Dtypes: {'; '.join(_DTYPES.get(word, word) for word in words)}. {_result_dtype(rows)}".rstrip()
    named = dict.fromkeys(_argument(name, place) for row in rows for name in (row.grad or {}))
    if named:
        yield f"Derivatives: of {', '.join(f'`{name}`' for name in named)}."
    elif rows[0].body is None:
        yield "Derivatives: none."
    if any("nondeterministic_seeded" in str(row.facts.tags) or row.facts.draws for row in rows):
        yield "Random: `torch.manual_seed` decides the numbers, which are those of PyTorch's CPU generator."


def _result_dtype(rows: list[Any]) -> str:
    meta = rows[0].meta
    return _RESULTS.get(meta.name, "") if isinstance(meta, Rule) else ""


def _shapes(row: Any, place: str) -> str:
    rule = row.meta
    if not isinstance(rule, Rule):
        return ""
    names = [f"`{_argument(str(name), place)}`" for name in rule.params if isinstance(name, str)]
    if rule.broadcasts:
        tensors = {a["name"] for a in row.handle.arguments if a["type"].startswith("Tensor")}
        names = [f"`{_argument(str(name), place)}`" for name in rule.params if name in tensors]
        if len(names) > 1:
            return f"{', '.join(names[:-1])} and {names[-1]} broadcast; the result has the common sizes"
        return f"the result has the sizes of {names[0]}" if names else ""
    if rule.name.startswith("like") and names:
        return f"the result has the sizes of {names[0]}"
    if rule.name.startswith("reduce") and names:
        return f"{names[0]} of any sizes; the dimensions that are reduced go, or stay with size 1 (`keepdim`)"
    if rule.name.startswith("scan") and names:
        return f"the result has the sizes of {names[0]}"
    if rule.name == "factory":
        return f"given by {names[0]}"
    return ""


@functools.cache
def examples() -> dict[str, list[str]]:
    """Lines of an example, prompts and output, by the public name that it shows."""
    lines = (pathlib.Path(__file__).parent / "examples.jsonl").read_text("utf-8").splitlines()
    return dict(json.loads(line) for line in lines)


def public_names() -> dict[str, Any]:
    """Functions and methods that rows bind, by its public name: "torch.add", "torch.Tensor.add", "torch.nn.functional.relu"."""
    named: dict[str, Any] = {}
    for place, module in MODULES.items():
        for name, function in bound(place).items():
            written = isinstance(function, _C.Function | _C.Method)  # not what Python puts around one
            shown = _public_name(name, place)
            if written and name.isidentifier() and not name.startswith("_") and (place != "nn" or shown in FUNCTIONAL):
                named[f"{module}.{shown}"] = function
    return named
