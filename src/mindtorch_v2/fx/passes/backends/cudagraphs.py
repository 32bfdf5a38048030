"""The parts of a graph that a CUDA graph can hold."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

import mindtorch_v2 as torch
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node
from mindtorch_v2.fx.passes.fake_tensor_prop import FakeTensorProp
from mindtorch_v2.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from mindtorch_v2.fx.passes.operator_support import OperatorSupport
from mindtorch_v2.fx.passes.tools_common import CALLABLE_NODE_OPS
from mindtorch_v2.utils import _pytree as pytree


class CudaGraphsSupport(OperatorSupport):
    """Nodes that take and give tensors of GPUs only.

    >>> x, add, output = torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> add.meta["val"] = torch.ones(1)
    >>> CudaGraphsSupport().is_node_supported({}, add)
    False
    """

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS or node.target is torch.ops.aten.embedding_dense_backward.default:
            return False
        if node.target is operator.getitem:
            return True
        values = [each.meta["val"] for each in (node, *node.all_input_nodes) if "val" in each.meta]
        tensors = [each for each in pytree.tree_leaves(values) if isinstance(each, torch.Tensor)]
        return bool(tensors) and all(each.device.type == "cuda" for each in tensors)


def partition_cudagraphs(gm: GraphModule, inputs: Sequence[object]) -> GraphModule:
    """Make a submodule of each part of a graph that a CUDA graph can hold; `inputs` tell the devices.

    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> [node.op for node in partition_cudagraphs(traced, [torch.ones(1)]).graph.nodes]
    ['placeholder', 'call_function', 'output']
    """
    FakeTensorProp(gm).propagate(*inputs)
    return CapabilityBasedPartitioner(gm, CudaGraphsSupport(), allows_single_node_partition=True).partition_and_fuse()
