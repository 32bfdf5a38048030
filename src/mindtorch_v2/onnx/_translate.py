"""From an exported program to a graph of ONNX: each operator by the function that onnxscript has for it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._ops import OpOverload
from mindtorch_v2._sizes import SymInt
from mindtorch_v2.export.exported_program import ExportedProgram
from mindtorch_v2.export.graph_signature import InputKind, OutputKind
from mindtorch_v2.fx import Node
from mindtorch_v2.onnx._arguments import bound, constant, plain
from mindtorch_v2.onnx._library import NATIVE_OPSET, graphs, qualified_name, translations
from mindtorch_v2.onnx._numbers import onnx_dtype, stored
from mindtorch_v2.onnx._promotion import computed_dtype, masks
from mindtorch_v2.onnx._recorder import Recorder
from mindtorch_v2.onnx.errors import OnnxExporterError, UnsupportedOperatorError

__all__ = ["NotWrittenError", "Table", "kept", "translated"]


class NotWrittenError(OnnxExporterError):
    """Raised for a node that could not be written in ONNX."""

    def __init__(self, node: Node, error: Exception) -> None:
        reason = str(error) if isinstance(error, OnnxExporterError) else f"{type(error).__name__}: {error}"
        super().__init__(f"torch.onnx.export: {node.format_node()} could not be written in ONNX: {reason}")
        self.target = node.target


Table = Mapping[OpOverload, Callable[..., Any]]
"""Functions of onnxscript for operators: a user's own, which come first."""


def translated(program: ExportedProgram, own: Table) -> Any:
    """The `onnx_ir.Model` that computes what `program`, a program of core operators, computes.

    Inputs are those of the user, by the names of their placeholders; parameters, buffers and constants are initializers by the
    names that they have in the program. Complex tensors are pairs in a last dimension, as onnxscript has them.
    """
    ir = graphs()
    graph = ir.Graph([], [], nodes=[], opset_imports={"": NATIVE_OPSET}, name="main_graph")
    recorder = Recorder(graph)
    writer = _Writer(recorder, own)
    specs = {spec.arg.name: spec for spec in program.graph_signature.input_specs}
    with recorder.recording():
        for node in program.graph.find_nodes(op="placeholder"):
            spec = specs[node.name]
            if spec.kind is InputKind.USER_INPUT:
                if (value := _input(node)) is not None:
                    graph.inputs.append(value)
                    writer.values[node] = value
                else:
                    writer.values[node] = node.meta.get("val")
            else:
                value = _initializer(spec.target, _state(program, spec))
                graph.initializers[value.name] = value
                writer.values[node] = value
        results = writer.run(program.graph)
        kinds = [spec.kind for spec in program.graph_signature.output_specs]
        wanted = [result for result, kind in zip(results, kinds, strict=True) if kind is OutputKind.USER_OUTPUT]
        for value in wanted:
            if value is not None:
                graph.outputs.append(writer.as_output(value))
    return ir.Model(graph, ir_version=10, producer_name="mindtorch_v2", producer_version=torch.__version__)


def _state(program: ExportedProgram, spec: Any) -> torch.Tensor:
    name = spec.target
    if name in program.state_dict:
        return program.state_dict[name]
    return program.constants[name]


def _initializer(name: str, tensor: torch.Tensor) -> Any:
    """The value of a tensor that the model holds."""
    held = stored(tensor, name)
    return graphs().Value(name=name, const_value=held, shape=held.shape, type=graphs().TensorType(held.dtype))


def _input(node: Node) -> Any:
    """The value of an input; None for one that is no tensor and no size, which the program does not read."""
    seen = node.meta.get("val")
    if not isinstance(seen, (torch.Tensor, SymInt)):
        return None
    value = graphs().Value(name=node.name)
    _describe(value, seen)
    return value


def _describe(value: Any, seen: Any) -> None:
    """Give a value the type and the sizes of what was seen of it."""
    ir = graphs()
    if isinstance(seen, SymInt):
        value.shape, value.type = ir.Shape([]), ir.TensorType(ir.DataType.INT64)
    elif isinstance(seen, torch.Tensor):
        sizes: list[int | str] = [size if type(size) is int else str(size) for size in seen.shape]
        dtype = seen.dtype
        if dtype.is_complex:
            sizes, dtype = [*sizes, 2], torch.float64 if dtype is torch.complex128 else torch.float32
        value.shape, value.type = ir.Shape(sizes), ir.TensorType(onnx_dtype(dtype))


def kept(program: ExportedProgram, own: Table) -> set[OpOverload]:
    """The operators of a program that are written in ONNX as they are: those that only compute, and that have a function."""
    known = {name for name, _ in translations()}
    called = {node.target for node in program.graph.nodes}
    return {
        target
        for target in called
        if isinstance(target, OpOverload)
        and (target in own or qualified_name(target) in known)
        and not any(argument.alias_info is not None for argument in target._schema.arguments)
        and any("Tensor" in str(argument.type) for argument in target._schema.arguments)
    }


class _Writer:
    """Write the nodes of fx graphs as nodes of ONNX; `values` has what each node gives."""

    def __init__(self, recorder: Recorder, own: Table) -> None:
        self.recorder, self.op, self.own = recorder, recorder.op, own
        self.values: dict[Node, Any] = {}
        self._named: set[int] = set()

    def run(self, graph: Any) -> list[Any]:
        """Write a graph, whose placeholders have values already; returns the values of its results."""
        for node in graph.nodes:
            if node.op == "call_function":
                try:
                    self.values[node] = self._called(node)
                except Exception as error:
                    raise NotWrittenError(node, error) from error
                _describe_all(self.values[node], node.meta.get("val"))
                self._name(node)
            elif node.op == "get_attr":
                self.values[node] = self._attribute(node)
            elif node.op == "output":
                results = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
                return [self._value(each) for each in results]
        return []

    def _name(self, node: Node) -> None:
        """Call what a node gives by the node's name, where it is not called by another's yet."""
        value = self.values[node]
        if isinstance(value, graphs().Value) and value.producer() is not None and id(value) not in self._named:
            self._named.add(id(value))
            value.name = node.name

    def as_output(self, value: Any) -> Any:
        """A value that can be an output of the graph: neither an input, nor an initializer, nor an output already."""
        ir = graphs()
        if not isinstance(value, ir.Value):
            return constant(value, None, self.op)
        if value.producer() is None or value.is_graph_output():
            made = self.op.Identity(value)
            made.shape, made.type = value.shape, value.type
            return made
        return value

    def _attribute(self, node: Node) -> Any:
        held: Any = node.graph.owning_module
        for part in str(node.target).split("."):
            held = getattr(held, part)
        if not isinstance(held, torch.Tensor):
            return held
        value = _initializer(node.name, held)
        self.recorder.builder.graph.initializers[value.name] = value
        return value

    def _value(self, argument: Any) -> Any:
        if isinstance(argument, Node):
            return self.values[argument]
        if isinstance(argument, (list, tuple)):
            return [self._value(each) for each in argument]
        return plain(argument)

    def _called(self, node: Node) -> Any:
        target: Any = node.target
        if target is operator.getitem:
            held, place = (self._value(each) for each in node.args)
            return self.op.SequenceAt(held, place) if isinstance(held, graphs().Value) else held[place]
        if isinstance(target, OpOverload) and not target._schema.returns:
            return None  # an assertion: ONNX has none
        name, function = self._function(node)
        args = [self._value(each) for each in node.args]
        kwargs = {key: self._value(each) for key, each in node.kwargs.items()}
        if isinstance(target, OpOverload):
            args = self._computed(node, args)
        if not hasattr(function, "op_signature") or function.op_signature is None:
            return function(*args, **kwargs)
        traced = getattr(function, "func", None)  # itself: it has a parameter `self`, as the object around it has
        if traced is None:
            return self.recorder.eval_function(function, (), bound(name, function, args, kwargs, self.op))
        try:
            return traced(**bound(name, function, args, kwargs, self.op))
        except TypeError:
            # Some functions compute with their numbers, whatever their annotations say.
            return traced(**bound(name, function, args, kwargs, None))

    def _function(self, node: Node) -> tuple[str, Callable[..., Any]]:
        target: Any = node.target
        if target in self.own:
            return str(target), self.own[target]
        is_complex = any(
            isinstance(each.meta.get("val"), torch.Tensor) and each.meta["val"].is_complex()
            for each in node.all_input_nodes
        )
        name = qualified_name(target)
        if name.endswith(".Scalar") and len(node.all_input_nodes) > 1:
            name = name.removesuffix("Scalar") + "Tensor"  # the number is a size, which is a value of the graph
        found = translations().get((name, is_complex)) or translations().get((name, False))
        if found is None:
            raise UnsupportedOperatorError(
                f"No ONNX function found for {target}. torch.onnx.export: pass custom_translation_table={{{target}: a function of "
                "onnxscript}, or write the program without it"
            )
        return name, found

    def _computed(self, node: Node, args: list[Any]) -> list[Any]:
        """The arguments in the type that the operator computes in: ONNX promotes nothing."""
        dtype = computed_dtype(node)
        if dtype is None:
            return args
        wanted = onnx_dtype(dtype)

        def cast(value: Any) -> Any:
            if isinstance(value, list):
                return [cast(each) for each in value]
            if isinstance(value, graphs().Value) and value.dtype != wanted:
                value = self.op.Cast(value, to=int(wanted))
                value.type = graphs().TensorType(wanted)
            return value

        kept = masks(node.target)
        return [each if place in kept else cast(each) for place, each in enumerate(args)]


def _describe_all(value: Any, seen: Any) -> None:
    if isinstance(value, graphs().Value):
        _describe(value, seen[0] if isinstance(seen, (list, tuple)) and len(seen) == 1 else seen)
    elif isinstance(value, (list, tuple)) and isinstance(seen, (list, tuple)):
        for each, one in zip(value, seen):
            _describe_all(each, one)
