"""`torch.fx` by its names: graphs of a program are not captured here yet.

The classes can be named, subclassed and asked for in `isinstance`; making one raises NotImplementedError.
"""

from mindtorch_v2._unavailable import unavailable_function
from mindtorch_v2.fx._symbolic_trace import Tracer, is_fx_tracing, symbolic_trace, wrap
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.interpreter import Interpreter, Transformer
from mindtorch_v2.fx.node import Node, has_side_effect, map_arg
from mindtorch_v2.fx.proxy import Proxy

__all__ = [
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "is_fx_tracing",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

replace_pattern = unavailable_function("torch.fx.replace_pattern")
