"""Where onnxscript's functions put what they call: an evaluator that writes nodes into a graph instead of computing."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mindtorch_v2.onnx._library import graphs, required, script

__all__ = ["Recorder"]


class Recorder:
    """An evaluator of onnxscript over a `GraphBuilder`: see `recording`."""

    def __init__(self, graph: Any, parent: Recorder | None = None) -> None:
        self.builder: Any = script().GraphBuilder(graph, parent=None if parent is None else parent.builder)
        self.op = self.builder.op
        self._numbers = itertools.count()

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Let calls of ONNX operators, and arithmetic of their values, become nodes of the graph."""
        evaluator = required("onnxscript.evaluator")
        before = graphs().set_value_magic_handler(self.op)
        try:
            with evaluator.default_as(self):
                yield
        finally:
            graphs().set_value_magic_handler(before)

    def eval_op(self, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Add a node that calls an operator of ONNX; returns its value, or its values."""
        attributes = {name: self._attribute(value) for name, value in kwargs.items() if value is not None}
        outputs = [self._value() for _ in range(_count(op, attributes))]
        return self.builder.call_op(
            op.name,
            [self._argument(each) for each in args],
            attributes,
            domain=op.domain,
            version=op.opset.version,
            outputs=outputs,
        )

    def eval_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Write the nodes of a compiled function of onnxscript into the graph."""
        parameters = function.op_signature.params
        values = {**dict(zip((parameter.name for parameter in parameters), args)), **kwargs}
        inputs = [self._input(values.get(each.name)) for each in parameters if each.is_param()]
        attributes = {}
        for each in parameters:
            if not each.is_param():
                value = values[each.name] if each.name in values else each.default.value
                attributes[each.name] = float(value) if each.type.name == "FLOAT" else value
        converted = graphs().convenience.convert_attributes(attributes)
        return self.builder.call_inline(function, *inputs, **{each.name: each for each in converted})

    def _input(self, value: Any) -> Any:
        """A value for an input of a compiled function."""
        if value is None or isinstance(value, graphs().Value):
            return value
        return self.op.Constant(value=graphs().tensor(value))

    def _value(self) -> Any:
        return _comparable()(name=f"val_{next(self._numbers)}")

    def _argument(self, value: Any) -> Any:
        """An argument of an operator: arrays, and sizes of which there are none, become constants."""
        if isinstance(value, (list, tuple)) and not value:
            return self.op.Constant(value=graphs().tensor([], dtype=graphs().DataType.INT64))
        if isinstance(value, graphs().TensorProtocol) or hasattr(value, "__array__"):
            return self.op.Constant(value=graphs().tensor(value))
        return value

    def _attribute(self, value: Any) -> Any:
        """An attribute as `onnx_ir` takes it; functions that are bodies of loops become graphs."""
        if not hasattr(value, "function_ir"):
            return value
        return graphs().from_proto(value.function_ir.to_graph_proto())


@functools.cache
def _comparable() -> type:
    """The class of values that can be compared, as some of onnxscript's functions do."""

    base: Any = graphs().Value

    class Value(base):
        def __lt__(self, other: Any) -> Any:
            return self._magic_handler.Less(self, other)

        def __gt__(self, other: Any) -> Any:
            return self._magic_handler.Greater(self, other)

        def __le__(self, other: Any) -> Any:
            return self._magic_handler.LessOrEqual(self, other)

        def __ge__(self, other: Any) -> Any:
            return self._magic_handler.GreaterOrEqual(self, other)

    return Value


def _count(op: Any, attributes: Mapping[str, Any]) -> int:
    """How many values a call of an operator gives: all of its schema's, but where attributes decide."""
    if op.name == "Split" and "num_outputs" in attributes:
        return attributes["num_outputs"]
    if op.name == "BatchNormalization" and not attributes.get("training_mode"):
        return 1
    return len(op.op_schema.outputs)
