"""Captured graphs by the module that torch_npu has them in."""

from mindtorch_v2._backends.common.graphed import graphed_callables
from mindtorch_v2._backends.npu.graph import NPUGraph, graph, graph_pool_handle, is_current_stream_capturing
from mindtorch_v2._backends.npu.task_groups import (
    graph_task_group_begin,
    graph_task_group_end,
    graph_task_update_begin,
    graph_task_update_end,
)

__all__ = [
    "NPUGraph",
    "graph",
    "graph_pool_handle",
    "graph_task_group_begin",
    "graph_task_group_end",
    "graph_task_update_begin",
    "graph_task_update_end",
    "is_current_stream_capturing",
    "make_graphed_callables",
]

make_graphed_callables = graphed_callables("npu", "NPUGraph")
