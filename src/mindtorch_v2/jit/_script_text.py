"""The text of TorchScript for a record: one line for each operator that a traced function calls."""

from __future__ import annotations

import keyword
import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx import Graph, Node
from mindtorch_v2.jit._script_builtins import LAYOUTS, MEMORY_FORMATS, SCALAR_TYPES

__all__ = ["attribute_type", "function_text", "identifier", "type_text"]

_OF_SIZES = {
    operator.add: "add",
    operator.floordiv: "floordiv",
    operator.mod: "remainder",
    operator.mul: "mul",
    operator.neg: "neg",
    operator.sub: "sub",
    operator.truediv: "div",
}
_RESERVED = frozenset({"annotate", "getattr", "inf", "nan", "ops", "self", "torch", "uninitialized", "CONSTANTS"})


def identifier(name: str) -> str:
    """A name that both Python and TorchScript take."""
    name = re.sub(r"\W", "_", name)
    return f"_{name}" if keyword.iskeyword(name) or name in _RESERVED or name[:1].isdigit() else name


def type_text(value: Any) -> str:
    """TorchScript's type of an example."""
    if isinstance(value, torch.Tensor):
        return "Tensor"
    if isinstance(value, tuple):
        return f"Tuple[{', '.join(map(type_text, value))}]"
    if isinstance(value, list):
        return f"List[{type_text(value[0]) if value else 'Tensor'}]"
    if isinstance(value, dict):
        key, item = next(iter(value.items()), ("", torch.empty(0)))
        return f"Dict[{type_text(key)}, {type_text(item)}]"
    if value is None:
        return "NoneType"
    if isinstance(value, torch._C.CompiledObject):
        return f"__torch__.torch.classes.{type(value)._qualified}"
    return {bool: "bool", int: "int", float: "float", str: "str", torch.SymInt: "int"}[type(value)]


def attribute_type(value: Any) -> str | None:
    """TorchScript's type of a Module's attribute; None for what has none there: mixed or empty lists, other classes."""
    if isinstance(value, (dict, list, tuple)):
        kind = type(value)
        parts = [value, value.values()] if isinstance(value, dict) else [value]
        types = [[attribute_type(each) for each in part] for part in parts]
        if kind not in (dict, list, tuple) or not value or any(None in each for each in types):
            return None
        if kind is tuple:
            return f"Tuple[{', '.join(map(str, types[0]))}]"
        if any(len(set(each)) > 1 for each in types):
            return None
        return f"{'Dict' if kind is dict else 'List'}[{', '.join(str(each[0]) for each in types)}]"
    try:
        return type_text(value)
    except KeyError:
        return None


def function_text(
    name: str,
    self_type: str,
    graph: Graph,
    inputs: dict[Node, str],
    parameters: Sequence[tuple[str, str]],
    result: Callable[[Sequence[str]], str],
    returns: str,
) -> str:
    """The definition of a method.

    `graph` is of operators; `inputs` has the expression of each of its placeholders, `parameters` are (name, type), `result` gives the
    expression of the result for those of the graph's results.
    """
    written = _Text(inputs)
    for node in graph.nodes:
        if node.op == "call_function":
            written.call(node)
    (output,) = graph.find_nodes(op="output")
    results = [written.text(each) for each in output.args[0]]
    signature = ", ".join([f"self: {self_type}", *(f"{each}: {kind}" for each, kind in parameters)])
    lines = "".join(f"    {line}\n" for line in [*written.lines, f"return {result(results)}"])
    return f"  def {name}({signature}) -> {returns}:\n{lines}"


class _Text:
    """The lines of a body, as its nodes are written."""

    def __init__(self, names: dict[Node, str]) -> None:
        self.lines: list[str] = []
        self._names = dict(names)
        self._parts: dict[Node, list[str]] = {}

    def call(self, node: Node) -> None:
        """Write a node."""
        target: Any = node.target
        if target is operator.getitem and node.args[0] in self._parts:
            self._names[node] = self._parts[node.args[0]][node.args[1]]
            return
        if target is torch._C._set_grad_enabled:
            return
        name = identifier(node.name)
        call = self._call(node)
        self._names[node] = name
        if isinstance(target, OpOverload) and len(target._schema.returns) != 1:
            parts = [f"{name}_{place}" for place in range(len(target._schema.returns))]
            self._parts[node] = parts
            self.lines.append(f"{', '.join(parts)} = {call}" if parts else call)
        else:
            self.lines.append(f"{name} = {call}")

    def _call(self, node: Node) -> str:
        target: Any = node.target
        if target is operator.getitem:
            return f"{self.text(node.args[0])}[{node.args[1]}]"
        if target in _OF_SIZES:
            return f"torch.{_OF_SIZES[target]}({', '.join(map(self.text, node.args))})"
        if not isinstance(target, OpOverload):
            raise RuntimeError(f"torch.jit.save: {node.format_node()} has no text in TorchScript")
        if target is torch.ops.aten.sym_size.int:
            return f"torch.size({self.text(node.args[0])}, {self.text(node.args[1])})"
        types = {argument.name: str(argument.type) for argument in target._schema.arguments}
        positional = [argument.name for argument in target._schema.arguments if not argument.kwarg_only]
        given = [self.text(value, types[name]) for name, value in zip(positional, node.args)]
        given += [f"{name}={self.text(value, types[name])}" for name, value in node.kwargs.items()]
        namespace, _, base = target._schema.name.partition("::")
        path = f"torch.{base}" if namespace == "aten" else f"ops.{namespace}.{base}"
        return f"{path}({', '.join(given)})"

    def text(self, value: Any, kind: str = "") -> str:
        """An argument; `kind` is its type in the schema."""
        if isinstance(value, Node):
            return self._names[value]
        if isinstance(value, (list, tuple)):
            listed = f"[{', '.join(self.text(each) for each in value)}]"
            if not value or any(each is None for each in value):
                kind = kind.removeprefix("Optional[").removesuffix("]") if kind.startswith("Optional[") else kind
                return f"annotate({kind.replace('SymInt', 'int')}, {listed})"
            return listed
        if isinstance(value, torch.dtype):
            return str(SCALAR_TYPES.index(value))
        if isinstance(value, torch.layout):
            return str(LAYOUTS.index(value))
        if isinstance(value, torch.memory_format):
            return str(MEMORY_FORMATS.index(value))
        if isinstance(value, torch.device):
            return f'torch.device("{value}")'
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if isinstance(value, str):
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        if value is None or isinstance(value, (bool, int, float)):
            return repr(value)
        raise RuntimeError(f"torch.jit.save: a value of type {type(value).__name__} has no text in TorchScript")
