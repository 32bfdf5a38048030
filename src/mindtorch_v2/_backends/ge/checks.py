"""Faults of converters that can be told before a graph runs."""

from __future__ import annotations

from typing import Any

from ... import _C
from . import fused, graph, registry
from .types import DataType


class GEConversionError(RuntimeError):
    """Raised where a traced graph cannot become a GE graph; says every reason."""

    __module__ = "mindtorch_v2.torchair"


_ADVICE = "correct the converter, or the Meta kernel"


def name(handle: Any) -> str:
    """An operator as a program writes it, `npu.my_inplace.default`."""
    return f"{handle.namespace}.{handle.name}.{handle.overload or 'default'}"


def _fail(text: str) -> None:
    raise GEConversionError(text)


def results(node: Any, handle: Any, converter: registry.Converter, made: Any) -> Any:
    """Value that a converter returned, if it is what the operator returns. GEConversionError says what it is instead."""
    expected = node.meta.get("val")
    subject = f"node '{node.name}': the converter '{converter.function.__name__}' of {name(handle)}"
    count = len(handle.returns)
    if made is None and count:
        _fail(f"{subject} returned nothing, the operator has {count} result{'s' * (count > 1)}: add `return`")
    several = count > 1 or isinstance(expected, (list, tuple))
    if not several:
        if isinstance(made, (list, tuple)) and len(made) == 1:
            made = made[0]
        if isinstance(made, (list, tuple)):
            _fail(f"{subject} returned {len(made)} values, the operator has one result")
        _fit(subject, made, expected)
        return made
    if not isinstance(made, (list, tuple)):
        made = (made,)
    wanted = expected if isinstance(expected, (list, tuple)) else [None] * count
    if len(made) != len(wanted):
        _fail(
            f"{subject} returned {len(made)} value{'s' * (len(made) != 1)}, the operator has {len(wanted)} results: "
            f"{handle.schema}"
        )
    for number, (each, meta) in enumerate(zip(made, wanted, strict=True)):
        _fit(f"{subject}, result {number},", each, meta)
    return made


def _fit(subject: str, made: Any, meta: Any) -> None:
    if isinstance(made, (list, tuple)):
        if not isinstance(meta, (list, tuple)) or len(meta) != len(made):
            _fail(f"{subject} returned a list of {len(made)} values, the operator's result is no such list")
        for each, one in zip(made, meta, strict=True):
            _fit(subject, each, one)
        return
    if made is None:
        if isinstance(meta, _C.TensorBase):
            _fail(f"{subject} returned None in the place of a tensor")
        return
    if isinstance(made, int) and isinstance(meta, int):  # a number among the results is of every run
        return
    if not isinstance(made, graph.Tensor):
        _fail(f"{subject} returned {made!r}, which is no ge.Tensor")
    if not isinstance(meta, _C.TensorBase):
        return
    kind = DataType.of(meta.dtype)
    if made.dtype is None:
        made.dtype = kind
    elif made.dtype != kind:
        _fail(f"{subject} gives {made.dtype.name} where the Meta kernel says {meta.dtype} ({kind.name}); {_ADVICE}")
    if made.shape is None:
        made.shape = list(meta.shape)
    elif made.shape != list(meta.shape):
        _fail(f"{subject} gives the shape {made.shape} where the Meta kernel says {list(meta.shape)}; {_ADVICE}")
    if made.meta is None:
        made.meta = meta


def _target(module: Any, source: str) -> str:
    for node in module.graph.nodes:
        if node.name == source and hasattr(node.target, "_handle"):
            return name(node.target._handle)
    return source


def hazards(made: graph.Graph, module: Any) -> None:
    """GEConversionError if an operator writes a value that something else reads: only edges order operators.

    What is written must be a value of its own, as TensorMove makes it.
    """
    readers: dict[str, list[graph.Op]] = {}
    for op in made.ops:
        for _, value in op.inputs:
            if value is not None:
                readers.setdefault(value.tensor, []).append(op)
    lines = []
    for op in made.ops:
        for place, value in op.written():
            others = [other for other in readers[value.tensor] if other is not op]
            what = f"{_target(module, op.source)} (node '{op.source}'): its converter makes {op.type}, which writes its input '{place}'"
            if others:
                readings = ", ".join(f"{other.type} of node '{other.source}'" for other in others[:3])
                lines.append(f"{what}, and that value is also read by {readings}, before or after the write")
            elif value.op.type in ("Data", "Const"):
                lines.append(f"{what}, and that value is an input of the graph, which its caller keeps")
    if lines:
        _fail(
            "operators that write what others read:\n  "
            + "\n  ".join(lines)
            + "\nLet the converter write a copy, ge.TensorMove(x), and return that. If the operator is meant to write its argument, "
            "declare it: Tensor(a!) in its schema; the functional form is then derived."
        )


def _argument_of(handle: Any, place: str) -> str:
    """The argument of an operator that an input of the GE operator stands for; those of a list are numbered."""
    lists = [a["name"] for a in handle.arguments if "[" in a["type"]]
    return next((n for n in lists if place.startswith(n) and place.removeprefix(n).isdigit()), place)


def kernels(made: graph.Graph, module: Any) -> dict[str, Any]:
    """For each GE operator without a prototype here: the operator of the program whose kernel does the same, if there is one.

    That is the operator in whose converter it was made, or the one with writes that it is the functional form of, if its name
    in CamelCase is the GE operator's; else any of a user's with that name.
    """
    found: dict[str, Any] = {}
    sources = {n.name: n.target._handle for n in module.graph.nodes if hasattr(n.target, "_handle")}
    for op in made.ops:
        if op.type in graph.prototypes() or op.type in fused.types() or op.type in found or op.type == "NetOutput":
            continue
        handle = sources.get(op.source)
        candidates = [] if handle is None else [registry.original(handle), handle]
        candidates += [h for h in _C._all_operators() if h.namespace not in ("aten", "prim", "prims")]
        for candidate in candidates:
            if candidate is None or registry.camel_case(candidate.name) != op.type:
                continue
            given = {_argument_of(candidate, place) for place, value in op.inputs if value is not None}
            written = {a["name"] for a in candidate.arguments if a["is_write"]} & given
            if written != {_argument_of(candidate, place) for place, _ in op.written()}:
                continue
            found[op.type] = candidate
            break
    return found
