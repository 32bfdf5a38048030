"""The functions that converters are written with: `ge.TensorMove(x)`, `ge.Cast(x, dst_type=...)`, `ge.custom_op(...)`.

There is one for every operator of `prototypes.tsv`: inputs come first, in their order or by name, attributes by name. A
number or a list in the place of a tensor becomes a constant: int64 where the operator wants sizes or axes, else of the
dtype of the operator's other inputs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import attr, graph, shapes
from .graph import Tensor
from .types import DataType

_PLACES = {  # inputs that say where or how much: always int64
    "axes",
    "axis",
    "begin",
    "dimension",
    "dims",
    "end",
    "filter_size",
    "indexed_sizes",
    "indexed_strides",
    "input_size",
    "normalized_shape",
    "offset",
    "paddings",
    "perm",
    "seed",
    "shape",
    "size_splits",
    "split_dim",
    "strides",
}


def _flat(values: Any) -> tuple[list, list[int]]:
    """The numbers of nested lists, and their shape."""
    if not isinstance(values, (list, tuple)):
        return [values], []
    parts = [_flat(each) for each in values]
    if any(shape != parts[0][1] for _, shape in parts):
        raise ValueError("ge.Const: lists of different lengths make no tensor")
    return [x for numbers, _ in parts for x in numbers], [len(parts), *(parts[0][1] if parts else [])]


def Const(v: Any, dtype: DataType | None = None, node_name: str | None = None) -> Tensor:
    """A constant of numbers: a number, or lists of them. Without a dtype: int64, float32 or bool, as the numbers are.

    Raises:
        TypeError: what is no number.
        ValueError: nested lists of different lengths.
    """
    numbers, shape = _flat(v)
    if any(not isinstance(each, (bool, int, float)) for each in numbers):
        raise TypeError(f"ge.Const takes numbers, got {v!r}")
    if dtype is None:
        kinds = {type(each) for each in numbers}
        dtype = DataType.DT_FLOAT if float in kinds else DataType.DT_BOOL if kinds == {bool} else DataType.DT_INT64
    elif not isinstance(dtype, DataType):
        dtype = DataType(dtype) if isinstance(dtype, int) else DataType.of(dtype)
    op = graph.current().add("Const", [], ["y"], {"value": attr.Tensor(numbers, dtype, shape)}, node_name)
    made = op.values[0]
    made.dtype, made.shape, made.value = dtype, shape, numbers
    return made


def _as_tensor(value: Any, place: str, kind: DataType | None) -> Tensor:
    if isinstance(value, Tensor):
        return value
    if place in _PLACES:
        return Const(value, DataType.DT_INT64)
    return Const(value, kind)


def build(prototype: graph.Prototype, args: Sequence, kwargs: Mapping[str, Any]) -> Any:
    """Add an operator of a prototype to the graph that is being built; its outputs."""
    name = prototype.type
    places = [place for place, _ in prototype.inputs]
    given = dict(zip(places, args))
    if len(args) > len(places):
        raise TypeError(f"ge.{name} takes {len(places)} inputs ({', '.join(places)}), got {len(args)}")
    attrs: dict[str, attr.Attr] = {}
    node_name = None
    rest = dict(kwargs)
    rest.pop("dependencies", None)
    node_name = rest.pop("node_name", None)
    for key, value in rest.items():
        if key in places and key not in given:
            given[key] = value
        elif key in prototype.attrs:
            attrs[key] = attr.of_type(prototype.attrs[key][0], value)
        else:
            raise TypeError(f"ge.{name} has no input or attribute '{key}'")
    kind = next((v.dtype for v in given.values() if isinstance(v, Tensor)), None)
    inputs: list[tuple[str, Tensor | None]] = []
    for place, count in prototype.inputs:
        value = given.get(place)
        if count == "*":
            inputs += [(f"{place}{i}", _as_tensor(each, place, kind)) for i, each in enumerate(value or ())]
        elif value is None:
            if count != "?":
                raise TypeError(f"ge.{name}: the input '{place}' is missing")
            inputs.append((place, None))
        else:
            inputs.append((place, _as_tensor(value, place, kind)))
    for key, (type_name, default) in prototype.attrs.items():
        if key in attrs:
            continue
        if key == "N":
            attrs[key] = attr.Int(sum(count != "" for _, count in prototype.inputs) and len(inputs))
        elif default is None:
            raise TypeError(f"ge.{name}: the attribute '{key}' is missing")
        else:
            attrs[key] = attr.of_type(type_name, _default(type_name, default))
    outputs: list[str] = []
    for place, count in prototype.outputs:
        if count == "*":
            outputs += [f"{place}{i}" for i in range(attrs["num_split"].value)]
        else:
            outputs.append(place)
    op = graph.current().add(name, inputs, outputs, attrs, node_name)
    shapes.infer(op, prototype.rule)
    if not op.values:
        return op
    several = len(prototype.outputs) > 1 or prototype.outputs[0][1] == "*"
    return tuple(op.values) if several else op.values[0]


def _default(type_name: str, text: str) -> Any:
    if type_name == "Bool":
        return text == "true"
    if type_name == "Int":
        return int(text)
    if type_name == "Float":
        return float(text)
    if type_name == "Type":
        return DataType[text]
    if type_name == "ListInt":
        return [int(each) for each in re.findall(r"-?\d+", text)]
    return text.strip('"')


def function(name: str) -> Callable[..., Any]:
    """The function of a GE operator. AttributeError if there is no prototype of that name."""
    prototype = graph.prototypes().get(name)
    if prototype is None:
        raise AttributeError(
            f"there is no prototype of the GE operator '{name}' here; custom_op('{name}', inputs={{...}}, outputs=[...]) makes "
            "any operator"
        )

    def operator(*args: Any, **kwargs: Any) -> Any:
        return build(prototype, args, kwargs)

    operator.__name__ = operator.__qualname__ = name
    inputs = ", ".join(n + count for n, count in prototype.inputs)
    operator.__doc__ = f"The GE operator {name}({inputs}) -> ({', '.join(n for n, _ in prototype.outputs)})."
    return operator


def Cast(x: Tensor, *, dst_type: Any, node_name: str | None = None) -> Tensor:
    """`x` as another data type; `x` itself if it has that one."""
    kind = dst_type if isinstance(dst_type, DataType) else DataType.of(dst_type)
    if x.dtype == kind:
        return x
    return build(graph.prototypes()["Cast"], [x], {"dst_type": kind, "node_name": node_name})


def Clone(x: Tensor, *, node_name: str | None = None) -> Tensor:
    """A copy of a value, for an operator that writes it."""
    return build(graph.prototypes()["TensorMove"], [x], {"node_name": node_name})


def custom_op(
    op_type: str,
    *args: Any,
    inputs: Mapping[str, Any] | None = None,
    outputs: Sequence[Any] | None = None,
    attrs: Mapping[str, attr.Attr] | None = None,
    node_name: str | None = None,
) -> Any:
    """An operator of any type: one of GE's, or of an operator package of the user.

    Args:
        op_type: "MyInplace".
        args: inputs and attributes in the order of the operator's prototype, for an operator that has one here.
        inputs: {name: Tensor, None for one that is left out, or a list for a dynamic input}, in the operator's order.
        outputs: the names, in order; (name, n) for a dynamic output of n values. An output with the name of an input is
            that input, written.
        attrs: {name: ge.attr.Int(3)}.

    Returns:
        the output, a tuple if there are several, lists for dynamic ones.

    Raises:
        TypeError: inputs that are no tensors, attributes without a type.
        ValueError: neither a prototype nor inputs and outputs.
    """
    if args or inputs is None or outputs is None:
        prototype = graph.prototypes().get(op_type)
        if prototype is None:
            raise ValueError(
                f"custom_op('{op_type}'): no prototype of it is known here; state inputs={{...}} and outputs=[...] by name"
            )
        keywords = dict(zip(prototype.attrs, args[len(prototype.inputs) :]))
        return build(prototype, args[: len(prototype.inputs)], {**keywords, **(inputs or {}), **(attrs or {})})
    for key, value in (attrs or {}).items():
        if not isinstance(value, attr.Attr):
            raise TypeError(
                f"custom_op('{op_type}'): the attribute '{key}' needs its type, as ge.attr.Int(3); got {value!r}"
            )
    places: list[tuple[str, Tensor | None]] = []
    for name, value in inputs.items():
        if isinstance(value, (list, tuple)):
            places += [(f"{name}{i}", each) for i, each in enumerate(value)]
        else:
            places.append((name, value))
    names: list[str] = []
    for each in outputs:
        names += [each] if isinstance(each, str) else [f"{each[0]}{i}" for i in range(each[1])]
    op = graph.current().add(op_type, places, names, dict(attrs or {}), node_name)
    given = dict(places)
    for out in op.values:  # what is written keeps its dtype and shape
        source = given.get(out.name)
        if source is not None:
            out.dtype, out.shape = source.dtype, source.shape
    prototype = graph.prototypes().get(op_type)
    if prototype is not None:
        shapes.infer(op, prototype.rule)
    made: list[Any] = []
    left = list(op.values)
    for each in outputs:
        if isinstance(each, str):
            made.append(left.pop(0))
        else:
            made.append(left[: each[1]])
            del left[: each[1]]
    return made[0] if len(made) == 1 else tuple(made)


def numel(x: Tensor) -> int:
    """How many elements a value has. ValueError where its shape is not known."""
    if x.shape is None:
        raise ValueError(f"the shape of {x.tensor} is not known")
    return math.prod(x.shape)


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return function(name)
