"""The graph of an ONNX file as TensorBoard shows it."""

from __future__ import annotations

from typing import Any

import onnx  # an optional package
from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

__all__ = ["graph_of"]


def _value(value: Any) -> NodeDef:
    """An input or an output: its element type and its shape."""
    kind = value.type.tensor_type
    sizes = [dim.dim_value for dim in kind.shape.dim]
    shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in sizes])
    attributes = {"dtype": AttrValue(type=kind.elem_type), "shape": AttrValue(shape=shape)}
    return NodeDef(name=value.name, op="Variable", input=[], attr=attributes)


def _node(node: Any, place: int, made_by: dict[str, str]) -> NodeDef:
    attributes = ", ".join(f"{each.name}={onnx.helper.get_attribute_value(each)}" for each in node.attribute)
    name = node.name or f"{node.op_type}_{place}"
    inputs = [made_by.get(each, each) for each in node.input if each]
    return NodeDef(name=name, op=node.op_type, input=inputs, attr={"parameters": AttrValue(s=attributes.encode())})


def graph_of(path: str) -> GraphDef:
    """The graph of the file at `path`: a box for each input, output and node."""
    graph = onnx.load(path).graph
    nodes = [_value(each) for each in graph.input]
    made_by: dict[str, str] = {}
    for place, node in enumerate(graph.node):
        drawn = _node(node, place, made_by)
        nodes.append(drawn)
        made_by.update(dict.fromkeys(node.output, drawn.name))
    for each in graph.output:
        shown = _value(each)
        shown.input.append(made_by.get(each.name, each.name))
        nodes.append(shown)
    return GraphDef(node=nodes, versions=VersionDef(producer=22))
