"""Converters: for an operator of the traced graph, the function that says it in GE operators."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from ... import _C
from ..._operators.table import row_of
from . import apis, attr, fused
from .graph import Tensor
from .types import DataType


class Converter(NamedTuple):
    """A converter and where it came from."""

    function: Callable[..., Any]
    origin: str  # "registered" or "derived"
    wants_meta: bool


CONVERTERS: dict[Any, Converter] = {}  # operator handle -> its converter


def _handle(overload: Any) -> Any:
    handle = getattr(overload, "_handle", None)
    if handle is None:
        raise TypeError(
            f"register_fx_node_ge_converter takes an operator overload such as torch.ops.aten.add.Tensor, got {overload!r}"
            + (
                f": name one of its overloads, {', '.join(f'.{name}' for name in overload.overloads())}"
                if hasattr(overload, "overloads")
                else ""
            )
        )
    return handle


def register_fx_node_ge_converter(overload: Any) -> Callable[[Callable], Callable]:
    """Register the function below as the converter of an operator.

    It is called with the operator's arguments: a `ge.Tensor` for each tensor, everything else as it is in the graph, and, if it
    has the parameter, `meta_outputs`: what the results look like. It returns a `ge.Tensor` for each result.

    Raises:
        TypeError: not an operator overload, or a function that cannot take the operator's arguments.
    """
    handle = _handle(overload)

    def register(function: Callable) -> Callable:
        CONVERTERS[handle] = Converter(function, "registered", check(function, handle))
        return function

    return register


def _name(handle: Any) -> str:
    return f"{handle.namespace}.{handle.name}.{handle.overload or 'default'}"


def check(function: Callable, handle: Any) -> bool:
    """TypeError if a function cannot be the converter of an operator; whether it takes `meta_outputs`."""
    signature = inspect.signature(function)
    wants = "meta_outputs" in signature.parameters
    positional = [None] * sum(not a["kwarg_only"] for a in handle.arguments)
    keywords: dict[str, Any] = {a["name"]: None for a in handle.arguments if a["kwarg_only"]}
    if wants:
        keywords["meta_outputs"] = None
    try:
        signature.bind(*positional, **keywords)
    except TypeError as error:
        takes = ", ".join(a["name"] for a in handle.arguments)
        raise TypeError(
            f"the converter '{function.__name__}' does not fit the operator {_name(handle)}({takes}): {error}. Give it these "
            "parameters, in this order, and `meta_outputs=None`"
        ) from None
    return wants


def converter(handle: Any) -> Converter | None:
    """The converter of an operator, else None.

    What was registered; what a row of `fused.tsv` says; for users' operators one derived from the schema.
    """
    found = CONVERTERS.get(handle)
    if found is None:
        source = said_by(handle)
        if row_of(source) is None and handle.namespace not in ("aten", "prim", "prims"):
            return derived(handle)
        function = fused.converter(source)
        found = None if function is None else Converter(function, "fused", True)
    return found


# ---- a user's operator without a converter ----


def camel_case(name: str) -> str:
    """The GE name of an operator: `my_inplace_functional` becomes `MyInplace`.

    >>> camel_case("npu_rms_norm")
    'NpuRmsNorm'
    """
    return "".join(part[:1].upper() + part[1:] for part in name.removesuffix("_functional").split("_"))


_ATTRS: dict[str, Callable[[Any], attr.Attr]] = {
    "int": attr.Int,
    "SymInt": attr.Int,
    "float": attr.Float,
    "bool": attr.Bool,
    "str": attr.Str,
    "int[]": attr.ListInt,
    "SymInt[]": attr.ListInt,
    "float[]": attr.ListFloat,
    "bool[]": attr.ListBool,
    "ScalarType": lambda dtype: attr.DataType(DataType.of(dtype)),
}


def original(handle: Any) -> Any:
    """The operator with writes that `name_functional` stands for; None if it stands for none."""
    if not handle.name.endswith("_functional"):
        return None
    stem = f"{handle.namespace}::{handle.name.removesuffix('_functional')}"
    found = (_C._find_operator(name, handle.overload) for name in (stem, f"{stem}_"))
    return next((made for made in found if made is not None and made.mutates), None)


def _takes(handle: Any) -> list[tuple[str, str]]:
    return [(a["name"], a["type"]) for a in handle.arguments]


def said_by(handle: Any) -> Any:
    """The operator whose row says a functional call: its own, or that with writes whose functional form it is."""
    found = original(handle)
    if found is None and handle not in fused.rows() and handle.namespace != "aten":
        writing = _C._find_operator(f"{handle.namespace}::{handle.name}_", handle.overload)
        if writing is not None and _takes(writing) == _takes(handle):
            found = writing
    return handle if found is None else found


def problems(handle: Any) -> list[str]:
    """Why no converter can be derived for a user's operator; empty if one can."""
    said = []
    if handle.name.endswith("_functional_on_bases") and "functional_form_of" in handle.__dict__:
        said.append("it is called with arguments that overlap in memory and are written: give it clones of them")
    source = original(handle) or handle
    for argument in source.arguments:
        kind = argument["type"].rstrip("?")
        if not kind.startswith("Tensor") and kind not in _ATTRS:
            said.append(f"its argument '{argument['name']}' is {argument['type']}, which is no GE attribute")
    if any(not r["type"].startswith("Tensor") for r in source.returns):
        said.append("it returns something that is no tensor")
    return said


def derived(handle: Any) -> Converter | None:
    """A converter from schema and naming; None if the schema has what GE has no word for.

    The GE operator has the name in CamelCase without `_functional`, the tensors as inputs and the rest as attributes, by their
    names. Outputs: the results (`y`, or `y0`, `y1`, ...; `output` where an argument is called `y`), then a same-named output for
    each argument that is written. Those arguments are copied first, so that nothing else sees the write.
    """
    if problems(handle) or handle.mutates:
        return None
    source = original(handle) or handle
    written = {a["name"] for a in source.arguments if a["is_write"]}
    given = {r["alias"] for r in source.returns if r["is_write"]}
    fresh = sum(not r["is_write"] for r in source.returns) if given else len(source.returns)
    taken = any(re.fullmatch(r"y\d*", a["name"]) for a in source.arguments)
    result = "output" if taken else "y"

    def convert(*args: Any, **kwargs: Any) -> Any:
        inputs: dict[str, Any] = {}
        attrs: dict[str, attr.Attr] = {}
        values = [*args, *(kwargs.get(a["name"], a["default"]) for a in source.arguments[len(args) :])]
        outputs: list[Any] = [result] if fresh == 1 else [f"{result}{i}" for i in range(fresh)]
        there = [True] * fresh  # of each result; an argument that was left out is none
        for argument, value in zip(source.arguments, values, strict=True):
            name, kind = argument["name"], argument["type"].rstrip("?")
            if kind.startswith("Tensor"):
                if name in written and value is not None:
                    several = isinstance(value, (list, tuple))
                    value = [apis.Clone(each) for each in value] if several else apis.Clone(value)
                    outputs.append((name, len(value)) if several else name)  # type: ignore[arg-type]  # (pairs where an output has several parts)
                if name in written:
                    there.append(value is not None)
                inputs[name] = value
            elif value is not None:
                attrs[name] = _ATTRS[kind](value)
        made = apis.custom_op(camel_case(source.name), inputs=inputs, outputs=outputs, attrs=attrs)
        remaining = iter(made if len(outputs) != 1 else [made])
        results = [next(remaining) if each else None for each in there]
        return results[0] if len(results) == 1 else tuple(results)

    convert.__name__ = f"derived_{handle.name}"
    return Converter(convert, "derived", False)


def is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor)
