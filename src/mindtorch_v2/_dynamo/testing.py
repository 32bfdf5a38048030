"""Back ends that count."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from mindtorch_v2._dynamo.backends.registry import lookup_backend
from mindtorch_v2._dynamo.utils import counters

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = ["CompileCounter", "CompileCounterWithBackend", "reset_counters"]


class CompileCounter:
    """A back end that runs graphs as they are: `frame_count` graphs, `op_count` calls in them.

    >>> counter = torch._dynamo.testing.CompileCounter()
    >>> torch.compile(lambda x: x.sin() + 1, backend=counter)(torch.ones(2)).shape
    torch.Size([2])
    >>> counter.frame_count, counter.op_count
    (1, 2)
    """

    def __init__(self) -> None:
        self.frame_count = 0
        self.op_count = 0
        self.graphs: list[Any] = []
        self._lock = threading.Lock()

    def __call__(self, gm: GraphModule, example_inputs: Any) -> Any:
        with self._lock:
            self._count(gm)
        return gm.forward

    def _count(self, gm) -> None:
        self.frame_count += 1
        self.op_count += sum("call" in node.op for node in gm.graph.nodes)

    def clear(self) -> None:
        """Start from zero."""
        self.frame_count = self.op_count = 0
        self.graphs = []


class CompileCounterWithBackend(CompileCounter):
    """The same, with another back end (a name or a callable) behind it; `graphs` keeps what it was given."""

    def __init__(self, backend: Any) -> None:
        super().__init__()
        self.backend = backend

    def __call__(self, gm: GraphModule, example_inputs: Any) -> Any:
        with self._lock:
            self._count(gm)
            self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)


class EagerAndRecordGraphs:
    """A back end that runs graphs as they are and keeps them in `graphs`."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, gm: GraphModule, example_inputs: Any) -> Any:
        self.graphs.append(gm)
        return gm.forward


def reset_counters() -> None:
    """Empty `torch._dynamo.utils.counters`."""
    counters.clear()
