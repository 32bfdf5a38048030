"""`torch.fx`: programs as graphs that can be looked at, changed and run, and that are Python code again."""

from mindtorch_v2.fx import immutable_collections
from mindtorch_v2.fx._symbolic_trace import PH, ProxyableClassMeta, Tracer, is_fx_tracing, symbolic_trace, wrap
from mindtorch_v2.fx.graph import CodeGen, Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.interpreter import Interpreter, Transformer
from mindtorch_v2.fx.node import Node, has_side_effect, map_arg
from mindtorch_v2.fx.proxy import Proxy
from mindtorch_v2.fx.subgraph_rewriter import replace_pattern

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]
