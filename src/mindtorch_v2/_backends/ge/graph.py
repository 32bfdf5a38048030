"""A GE graph while it is built: operators, their values, and the graph's message."""

from __future__ import annotations

import contextlib
import functools
import pathlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from . import attr as _attr
from .proto import Message
from .types import DataType


class Tensor:
    """A value of a GE graph: one output of one of its operators.

    dtype and shape are None where nothing tells them: an output of an operator without a prototype here. `meta` is the fake
    tensor of the traced graph that this is the value of, where there is one.
    """

    __slots__ = ("dtype", "index", "meta", "op", "shape", "value")

    def __init__(self, op: Op, index: int, dtype: DataType | None, shape: Sequence[int] | None) -> None:
        self.op, self.index, self.dtype = op, index, dtype
        self.shape = None if shape is None else list(shape)
        self.meta: Any = None
        self.value: Any = None  # the numbers of a constant

    @property
    def rank(self) -> int:
        if self.shape is None:
            raise ValueError(f"the rank of {self.tensor} is not known")
        return len(self.shape)

    @property
    def tensor(self) -> str:
        """The name of its edge, `operator:output`."""
        return f"{self.op.name}:{self.index}"

    @property
    def name(self) -> str:
        return self.op.outputs[self.index]

    def __repr__(self) -> str:
        dtype = "unknown" if self.dtype is None else self.dtype.name
        return f"ge.Tensor({self.tensor}, dtype={dtype}, shape={self.shape})"


class Op:
    """An operator of a graph."""

    def __init__(self, name: str, type: str) -> None:
        self.name, self.type = name, type
        self.inputs: list[tuple[str, Tensor | None]] = []
        self.outputs: list[str] = []
        self.values: list[Tensor] = []
        self.attrs: dict[str, _attr.Attr] = {}
        self.after: list[Op] = []  # control edges
        self.source = ""  # the node of the traced graph that it was made for

    def written(self) -> list[tuple[str, Tensor]]:
        """The inputs that it writes: those with an output of the same name."""
        return [(name, value) for name, value in self.inputs if value is not None and name in self.outputs]

    def _layout(self, value: Tensor | None) -> str:
        """The meaning of a value's dimensions to this operator: an image's, or nothing in particular."""
        images = "data_format" in self.attrs and value is not None and value.shape is not None and len(value.shape) == 4
        return self.attrs["data_format"].value if images else "ND"

    def message(self) -> Message:
        made = Message("OpDef", name=self.name, type=self.type)
        for name, value in self.inputs:
            made.input.append("" if value is None else value.tensor)
            dtype = DataType.DT_UNDEFINED if value is None or value.dtype is None else value.dtype
            desc = _attr.descriptor(name, dtype, value.shape if value is not None else [], self._layout(value))
            if value is None:
                desc.attr["_is_unfed_optional"] = Message("AttrDef", b=True)
            made.input_desc.append(desc)
        made.input.extend(f"{op.name}:-1" for op in self.after)
        for name, out in zip(self.outputs, self.values, strict=True):
            dtype = DataType.DT_UNDEFINED if out.dtype is None else out.dtype
            desc = _attr.descriptor(name, dtype, out.shape, self._layout(out))
            made.output_desc.append(desc)
        for name, attribute in self.attrs.items():
            made.attr[name] = attribute.message()
        for side, names in (("input", [name for name, _ in self.inputs]), ("output", self.outputs)):
            made.attr[f"_{side}_name_key"] = _attr.ListStr(names).message()
            made.attr[f"_{side}_name_value"] = _attr.ListInt(list(range(len(names)))).message()
        if self.source:
            made.attr["_fx_node_name"] = _attr.Str(self.source).message()
        return made


class Graph:
    """A graph under construction; within `with graph:` the functions of `ge` add to it."""

    def __init__(self, name: str = "graph") -> None:
        self.name = name
        self.ops: list[Op] = []
        self.names: dict[str, int] = {}
        self.source = ""
        self.marks: list[dict[str, _attr.Attr]] = []  # attributes of what is made now, the innermost last
        self.feeds: list[tuple] = []  # where the values of the Data operators come from, in the order of their index

    def data(self, feed: tuple, name: str, dtype: DataType, shape: Sequence[int]) -> Tensor:
        """An input of the graph. `feed` says what its value is at a run."""
        op = self.add("Data", [], ["y"], {"index": _attr.Int(len(self.feeds))}, name)
        self.feeds.append(feed)
        op.values[0].dtype, op.values[0].shape = dtype, list(shape)
        return op.values[0]

    def random_state(self) -> tuple[Tensor, Tensor]:
        """The seed and the offset that one random operator draws its numbers with: other ones at each run."""
        draw = sum(feed[0] == "seed" for feed in self.feeds)
        made = [self.data((kind, draw), f"{kind}_{draw}", DataType.DT_INT64, [1]) for kind in ("seed", "offset")]
        return made[0], made[1]

    def unique(self, name: str) -> str:
        count = self.names.get(name, 0)
        self.names[name] = count + 1
        return name if not count else self.unique(f"{name}_{count}")

    def add(
        self,
        type: str,
        inputs: Sequence[tuple[str, Tensor | None]],
        outputs: Sequence[str],
        attrs: dict[str, _attr.Attr],
        name: str | None = None,
    ) -> Op:
        """A new operator; its outputs know neither dtype nor shape yet."""
        op = Op(self.unique(name or (f"{self.source}_{type}" if self.source else type)), type)
        for place, value in inputs:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"{type}: the input '{place}' is no ge.Tensor but {value!r}")
        if type not in ("Data", "NetOutput"):
            for mark in self.marks:
                attrs = {**attrs, **mark}
        op.inputs, op.outputs, op.attrs = list(inputs), list(outputs), attrs
        op.values = [Tensor(op, i, None, None) for i in range(len(outputs))]
        op.source = self.source
        self.ops.append(op)
        return op

    def message(self) -> Message:
        """The ModelDef with this graph."""
        graph = Message("GraphDef", name=self.name)
        graph.op.extend(op.message() for op in self.ops)
        graph.input.extend(op.values[0].tensor for op in self.ops if op.type == "Data")
        graph.output.extend(
            v.tensor for op in self.ops if op.type == "NetOutput" for _, v in op.inputs if v is not None
        )
        return Message("ModelDef", name=self.name, version=1, graph=[graph])

    def __enter__(self) -> Graph:
        _building.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _building.stack.pop()


class _Building(threading.local):
    def __init__(self) -> None:
        self.stack: list[Graph] = []


_building = _Building()


def current() -> Graph:
    """The graph that is being built. RuntimeError outside of a conversion."""
    if not _building.stack:
        raise RuntimeError("GE operators can only be made while a graph is converted: call them in a converter")
    return _building.stack[-1]


@contextlib.contextmanager
def made_for(graph: Graph, source: str) -> Iterator[None]:
    """Operators made within are those of a node of the traced graph."""
    before, graph.source = graph.source, source
    try:
        yield
    finally:
        graph.source = before


class Prototype(NamedTuple):
    """The facts about a GE operator."""

    type: str
    inputs: tuple[tuple[str, str], ...]  # (name, "" or "?" may be left out or "*" any number)
    outputs: tuple[tuple[str, str], ...]
    attrs: dict[str, tuple[str, str | None]]  # name -> (type, default as text; None where it must be given)
    rule: str


def _places(text: str) -> tuple[tuple[str, str], ...]:
    return tuple((n.rstrip("?*"), n[-1] if n[-1] in "?*" else "") for n in text.split(",") if n)


@functools.cache
def prototypes() -> dict[str, Prototype]:
    """The operators that `ge` has functions for."""
    made = {}
    for line in (pathlib.Path(__file__).parent / "prototypes.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        name, inputs, outputs, attrs, rule = line.split("\t")
        parsed: dict[str, tuple[str, str | None]] = {}
        for each in filter(None, attrs.split(";")):
            key, _, kind = each.partition(":")
            kind, default, value = kind.partition("=")
            parsed[key.rstrip("!")] = (kind, value if default else None)
        made[name] = Prototype(name, _places(inputs), _places(outputs), parsed, rule)
    return made
