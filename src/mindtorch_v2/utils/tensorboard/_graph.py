"""A Module's trace as the graph that TensorBoard draws."""

from __future__ import annotations

from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

import mindtorch_v2 as torch

__all__ = ["graph"]


def graph(model: Any, args: Any, verbose: bool = False, use_strict_trace: bool = True) -> tuple[Any, Any]:
    """The graph of `model(*args)` as TensorBoard's message, and what it goes with: devices and times, of which there are none.

    Inputs, parameters and outputs are nodes of the kinds "IO Node" and "Parameter"; a call has the name of its function.
    """
    inputs = tuple(args) if isinstance(args, list | tuple) else (args,)
    traced = (
        model if isinstance(model, torch.jit.ScriptModule) else torch.jit.trace(model, inputs, strict=use_strict_trace)
    )
    nodes = [_node(each, traced) for each in traced.graph.nodes]
    if verbose:
        print(traced.graph)
    return GraphDef(node=nodes, versions=VersionDef(producer=22)), RunMetadata()


def _node(node: Any, owner: Any) -> Any:
    kinds = {"placeholder": "IO Node", "output": "IO Node", "get_attr": "Parameter"}
    kind = kinds.get(node.op) or f"aten::{getattr(node.target, '__name__', str(node.target))}"
    attributes = {"attr": AttrValue(s=f"{{ {node.target} }}".encode())}
    shape = _shape(node, owner)
    if shape is not None:
        sizes = TensorShapeProto(dim=[TensorShapeProto.Dim(size=size) for size in shape])
        attributes["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=[sizes]))
    name = f"{'input' if node.op == 'placeholder' else 'output' if node.op == 'output' else 'program'}/{node.name}"
    inputs = [_name(each) for each in node.all_input_nodes]
    return NodeDef(name=name, op=kind, input=inputs, attr=attributes)


def _name(node: Any) -> str:
    return f"{'input' if node.op == 'placeholder' else 'program'}/{node.name}"


def _shape(node: Any, owner: Any) -> Any:
    """The sizes of a node's tensor as far as they are known without running it: those of parameters."""
    if node.op != "get_attr":
        return None
    value: Any = owner
    for part in str(node.target).split("."):
        value = getattr(value, part, None)
    return list(value.shape) if isinstance(value, torch.Tensor) else None
