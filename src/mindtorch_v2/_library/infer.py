"""Schemas from the annotations and defaults of a function."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._dispatch.tags import Tag, as_tags
from mindtorch_v2._tensor import Tensor

__all__ = ["SUPPORTED_PARAM_TYPES", "SUPPORTED_RETURN_TYPES", "infer_schema"]

_NUMBER = int | float | bool
# Annotation, schema type, and what may stand in front and behind: a list of it, None instead of it.
_PLAIN = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    _NUMBER: "Scalar",
    _C.dtype: "ScalarType",
    _C.device: "Device",
    _C.Generator: "Generator",
}
_IN_LISTS = (Tensor, int, float, bool, _NUMBER)


def _parameter_types() -> dict[Any, str]:
    table: dict[Any, str] = dict(_PLAIN)
    kind: Any
    sequence: Any
    for kind in _IN_LISTS:
        for sequence in (typing.Sequence[kind], typing.List[kind], Sequence[kind], list[kind]):
            table[sequence] = f"{_PLAIN[kind]}[]"
    for sequence in (typing.Sequence, typing.List, Sequence, list):
        table[sequence[typing.Optional[Tensor]]] = "Tensor?[]"
    for kind, name in list(table.items()):
        if name != "Tensor?[]":
            table[typing.Optional[kind]] = f"{name}?"
    return table


SUPPORTED_PARAM_TYPES = _parameter_types()
SUPPORTED_RETURN_TYPES = {
    Tensor: "Tensor",
    typing.List[Tensor]: "Tensor[]",
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    _NUMBER: "Scalar",
}


def infer_schema(prototype_function: Callable, /, *, mutates_args: Any, op_name: Any = None, tags: Any = ()) -> str:
    """The schema that a function's annotations and defaults say, without a name unless `op_name` is given.

    Args:
        prototype_function: annotated with Tensor, int, float, bool, str, torch.dtype, torch.device, torch.Generator,
            Number, lists and optionals of them; no `*args` or `**kwargs`.
        mutates_args: names of the tensors that the function writes to; "unknown" marks every tensor.
        op_name: goes in front of the schema.
        tags: with `torch.Tag.out` or `torch.Tag.inplace` the results are the written arguments themselves.

    Raises ValueError for annotations that no schema type stands for, with the signature.

    >>> def scaled_add(x: torch.Tensor, y: torch.Tensor, scale: float = 1.0) -> torch.Tensor: ...
    >>> torch.library.infer_schema(scaled_add, mutates_args=())
    '(Tensor x, Tensor y, float scale=1.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)

    def fail(text: str) -> None:
        raise ValueError(f"infer_schema(func): {text} Got func with signature {signature})")

    tags = as_tags(tags)
    marked_all = isinstance(mutates_args, str)
    if marked_all and mutates_args != "unknown":
        raise ValueError(
            "mutates_args must either be a sequence of the names of the arguments that are mutated or the string 'unknown'. "
        )
    mutated = () if marked_all else tuple(mutates_args)
    if Tag.inplace in tags:
        first = next(iter(signature.parameters), None)
        if marked_all or mutated != (first,):
            fail(
                "torch.Tag.inplace requires mutates_args to contain exactly the first positional argument, got "
                f"{mutates_args}."
            )
    parts, written, keyword_only = [], [], False
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            parts.append("*")
            keyword_only = True
        if parameter.annotation is inspect.Parameter.empty:
            fail(f"Parameter {name} must have a type annotation.")
        annotation = _evaluated(parameter.annotation, prototype_function, fail)
        kind = _parameter_type(name, annotation, fail)
        if (marked_all and kind.startswith("Tensor")) or name in mutated:
            if not kind.startswith("Tensor"):
                fail(f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be mutated")
            kind = f"Tensor(a{position}!){kind.removeprefix('Tensor')}"
            written.append(f"Tensor(a{position}!)")
        parts.append(f"{kind} {name}{_default(name, parameter.default, fail)}")
    unknown = set(mutated) - set(signature.parameters)
    if unknown:
        fail(
            f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names "
            "of all args that the custom op mutates, or just the string 'unknown' if you don't know."
        )
    if Tag.out in tags or Tag.inplace in tags:
        returns = written[0] if len(written) == 1 else f"({', '.join(written)})"
    else:
        returns = _returns(_evaluated(signature.return_annotation, prototype_function, fail), fail)
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


def _evaluated(annotation, function, fail):
    if not isinstance(annotation, str):
        return annotation
    names: dict[str, Any] = {
        "torch": types.SimpleNamespace(Tensor=Tensor, dtype=_C.dtype, device=_C.device, Generator=_C.Generator)
    }
    names |= {"Tensor": Tensor, "List": typing.List, "Optional": typing.Optional, "Sequence": Sequence}
    try:
        return eval(annotation, {**names, **getattr(inspect.unwrap(function), "__globals__", {})})
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        fail(
            f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using 'from __future__ "
            "import annotations', note that annotations are evaluated lazily as strings; make sure all types referenced in "
            "annotations are importable at module scope, not only inside a local function."
        )
    raise AssertionError("fail() raises")


def _parameter_type(name, annotation, fail):
    try:
        kind = SUPPORTED_PARAM_TYPES.get(annotation)
    except TypeError:  # not hashable, so no type
        kind = None
    if kind is not None:
        return kind
    if annotation is tuple or typing.get_origin(annotation) is tuple:
        items = {item for item in typing.get_args(annotation) if item is not Ellipsis}
        instead = f"list[{items.pop().__name__}]" if len(items) == 1 else "list"
        fail(
            f"Parameter {name} has unsupported type {annotation}. We do not support Tuple inputs in schema. As a "
            f"workaround, please try to use List instead. For example, {instead}.\n\nThe valid types are: "
            f"{SUPPORTED_PARAM_TYPES.keys()}."
        )
    fail(f"Parameter {name} has unsupported type {annotation}. The valid types are: {SUPPORTED_PARAM_TYPES.keys()}.")
    raise AssertionError("fail() raises")


def _default(name, value, fail) -> str:
    if value is inspect.Parameter.empty:
        return ""
    if value is None or isinstance(value, (bool, int, float)):
        return f"={value}"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
        return f'="{escaped}"'
    if isinstance(value, _C.dtype):
        return f"={str(value).removeprefix('torch.')}"
    if isinstance(value, _C.device):
        return f'="{value}"'
    fail(
        f"Parameter {name} has an unsupported default value type {type(value)}. Please file an issue on GitHub so we can "
        "prioritize this."
    )
    raise AssertionError("fail() raises")


def _returns(annotation, fail):
    if annotation is inspect.Signature.empty:
        fail("No return type annotation was provided. Please add one.")
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        kinds = [SUPPORTED_RETURN_TYPES.get(item) for item in typing.get_args(annotation)]
        known = [kind for kind in kinds if kind is not None]
        if len(known) == len(kinds):
            # One value in a tuple stays a tuple.
            return f"(({known[0]}))" if len(known) == 1 else f"({', '.join(known)})"
    elif annotation in SUPPORTED_RETURN_TYPES:
        return SUPPORTED_RETURN_TYPES[annotation]
    fail(f"Return has unsupported type {annotation}. The valid types are: {SUPPORTED_RETURN_TYPES}.")
    raise AssertionError("fail() raises")
