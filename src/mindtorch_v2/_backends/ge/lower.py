"""From a traced graph of operators to a GE graph.

The graph has to be functional: nothing in it writes, but for `copy_` to one of its inputs, which becomes a result that is
copied there when the graph has run. All that has no converter is told at once, before anything is converted.
"""

from __future__ import annotations

import importlib
import operator
from typing import Any, NamedTuple

from ... import _C
from ..._core.torch_dispatch import run_call
from ...utils import _pytree as pytree
from . import apis, checks, graph, registry
from .checks import GEConversionError
from .proto import Message
from .types import DataType

importlib.import_module(f"{__package__}.converters")  # they register themselves


class Output(NamedTuple):
    """The form that a result of the GE graph has to look like."""

    dtype: Any
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    device: Any


class Program(NamedTuple):
    """A GE graph, and how the traced graph's inputs and results belong to its own."""

    model: Message
    feeds: list[tuple]  # for each Data: ("input", position), ("attribute", tensor), ("seed" or "offset", draw)
    outputs: list[Output]  # of the GE graph
    results: list[tuple]  # of the traced graph, flat: ("output", position), ("input", position), ("value", object)
    spec: Any  # the tree that the results make
    writes: list[tuple[int, int]]  # (input, output that is copied to it)
    index: int | None  # type: ignore[assignment]  # (a tuple's method has that name)  # of the device that it is for; None if it does not say
    fixed: list[tuple[int, Any]]  # inputs that are no tensors: their value is in the graph
    kernels: dict[str, Any]  # GE type of a user's operator -> the operator whose kernel does the same


def _describe(value: Any) -> Output:
    return Output(value.dtype, tuple(value.shape), tuple(value.stride()), value.device)


def _meta(node: Any) -> Any:
    value = node.meta.get("val")
    if value is None:
        raise GEConversionError(f"node '{node.name}' has no meta['val']: trace the graph with make_fx")
    return value


def _missing(module: Any) -> list[str]:
    """The operators without a converter, and those that is not functional: a line for each operator."""
    found: dict[Any, list[Any]] = {}
    for node in module.graph.nodes:
        if node.op in ("call_module", "call_method") or (
            node.op == "call_function" and node.target is not operator.getitem and not hasattr(node.target, "_handle")
        ):
            found.setdefault(f"{node.op} of {node.target}", []).append(node)
        elif node.op == "call_function" and node.target is not operator.getitem:
            handle = run_call(node.target, node.args)._handle
            if not _is_epilogue(node) and (handle.mutates or registry.converter(handle) is None):
                found.setdefault(handle, []).append(node)
    lines = []
    for what, nodes in found.items():
        names = ", ".join(node.name for node in nodes[:4]) + (", ..." if len(nodes) > 4 else "")
        if isinstance(what, str):
            lines.append(f"{what} (nodes {names}): not an operator; trace the program with make_fx")
            continue
        name = f"{what.namespace}.{what.name}.{what.overload or 'default'}"
        if what.mutates:
            lines.append(
                f"{name} (nodes {names}): it writes to an argument; functionalize the program before it is converted"
            )
        else:
            why = "; ".join(registry.problems(what)) if what.namespace != "aten" else ""
            why = f" (none can be derived: {why})" if why else ""
            lines.append(
                f"{name} (nodes {names}): no converter{why}; write one with "
                f"@torchair.register_fx_node_ge_converter(torch.ops.{name})"
            )
    return lines


def _is_epilogue(node: Any) -> bool:
    return node.target._handle.name == "copy_" and node.args[0].op == "placeholder"


class _Lowering:
    def __init__(self, module: Any, name: str) -> None:
        self.module = module
        self.graph = graph.Graph(name)
        self.env: dict[Any, Any] = {}
        self.inputs: dict[Any, int] = {}
        self.written: dict[Any, graph.Tensor] = {}  # placeholder -> its last value
        self.attributes: dict[str, graph.Tensor] = {}
        self.fixed: list[tuple[int, Any]] = []
        self.devices: set[int] = set()

    def run(self) -> Program:
        lines = _missing(self.module)
        if lines:
            raise GEConversionError("this graph cannot become a GE graph:\n  " + "\n  ".join(lines))
        output = None
        with self.graph:
            for node in self.module.graph.nodes:
                if node.op == "output":
                    output = node
                    continue
                with graph.made_for(self.graph, node.name):
                    self.env[node] = getattr(self, node.op)(node)
            assert output is not None
            return self.finish(output)

    def placeholder(self, node: Any) -> Any:
        position = self.inputs[node] = len(self.inputs)
        value = _meta(node)
        if not isinstance(value, _C.TensorBase):
            self.fixed.append((position, value))
            return value
        if value.device.type == "npu" and value.device.index is not None:
            self.devices.add(value.device.index)
        made = self.graph.data(("input", position), node.name, DataType.of(value.dtype), value.shape)
        made.meta = value
        return made

    def get_attr(self, node: Any) -> Any:
        if node.target not in self.attributes:
            value: Any = self.module
            for part in node.target.split("."):
                value = getattr(value, part)
            if not isinstance(value, _C.TensorBase):
                raise GEConversionError(f"node '{node.name}': the attribute {node.target} is no tensor but {value!r}")
            made = self.graph.data(("attribute", value), node.name, DataType.of(value.dtype), value.shape)
            made.meta = node.meta.get("val", value)
            self.attributes[node.target] = made
        return self.attributes[node.target]

    def call_function(self, node: Any) -> Any:
        args, kwargs = pytree.tree_map(self.value, (tuple(node.args), dict(node.kwargs)))
        if node.target is operator.getitem:
            return args[0][args[1]]
        handle = run_call(node.target, node.args)._handle
        if _is_epilogue(node):
            target, source = node.args[0], args[1]
            value = apis.Cast(source, dst_type=args[0].dtype)
            if value.shape != args[0].shape:
                value = apis.function("BroadcastTo")(value, list(args[0].shape))
            self.written[target] = value
            return value
        found = registry.converter(handle)
        assert found is not None
        if found.wants_meta:
            kwargs["meta_outputs"] = node.meta.get("val")
        try:
            made = found.function(*args, **kwargs)
        except (
            ArithmeticError,
            AssertionError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            raise GEConversionError(
                f"node '{node.name}': the converter '{found.function.__name__}' of {checks.name(handle)} failed: {error}"
            ) from error
        return checks.results(node, handle, found, made)

    def value(self, each: Any) -> Any:
        return self.env[each] if type(each).__name__ == "Node" and each in self.env else each

    def finish(self, output: Any) -> Program:
        flat, spec = pytree.tree_flatten(output.args[0])
        results: list[tuple] = []
        outputs: list[Output] = []
        ends: list[graph.Tensor] = []

        def end(value: graph.Tensor, description: Output) -> int:
            ends.append(value)
            outputs.append(description)
            return len(ends) - 1

        for node in flat:
            if type(node).__name__ != "Node":
                results.append(("value", node))
            elif node in self.inputs:
                results.append(("input", self.inputs[node]))
            elif node.op == "call_function" and hasattr(node.target, "_handle") and _is_epilogue(node):
                results.append(("input", self.inputs[node.args[0]]))
            elif not isinstance(self.env[node], graph.Tensor):
                results.append(("value", self.env[node]))
            else:
                results.append(("output", end(self.env[node], _describe(_meta(node)))))
        writes = [(self.inputs[node], end(value, _describe(_meta(node)))) for node, value in self.written.items()]
        self.graph.add("NetOutput", [(f"x{i}", value) for i, value in enumerate(ends)], [], {}, "NetOutput")
        checks.hazards(self.graph, self.module)
        kernels = checks.kernels(self.graph, self.module)
        if len(self.devices) > 1:
            raise GEConversionError(f"a GE graph runs on one device, the inputs are on NPUs {sorted(self.devices)}")
        index = next(iter(self.devices), None)
        return Program(
            self.graph.message(), self.graph.feeds, outputs, results, spec, writes, index, self.fixed, kernels
        )


def lower(module: Any, name: str = "graph") -> Program:
    """A GE graph of a functional graph of operators that all have converters. GEConversionError says what does not fit."""
    return _Lowering(module, name).run()
