"""The base of passes over graph modules, and what a pass returns."""

from __future__ import annotations

import abc
from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...graph_module import GraphModule


__all__ = ["PassBase", "PassResult"]

PassResult = namedtuple("PassResult", ["graph_module", "modified"])
PassResult.__doc__ = (
    "The result of a pass: the graph module, and whether the pass changed it.\n\n"
    ">>> from mindtorch_v2.fx.passes.infra.pass_base import PassResult\n"
    ">>> result = PassResult(torch.fx.symbolic_trace(torch.nn.ReLU()), modified=False)\n"
    ">>> result.modified, len(result.graph_module.graph.nodes)\n"
    "(False, 3)\n"
)


class PassBase(abc.ABC):
    """A pass: calling it checks `requires`, runs `call`, checks `ensures`.

    >>> from mindtorch_v2.fx.passes.infra.pass_base import PassBase, PassResult
    >>> class Recount(PassBase):
    ...     def call(self, graph_module):
    ...         print(len(graph_module.graph.nodes), "nodes")
    ...         return PassResult(graph_module, False)
    >>> Recount()(torch.fx.symbolic_trace(torch.nn.ReLU())).modified
    3 nodes
    False
    """

    def __call__(self, graph_module: GraphModule) -> Any:
        self.requires(graph_module)
        result = self.call(graph_module)
        self.ensures(graph_module)
        return result

    @abc.abstractmethod
    def call(self, graph_module: GraphModule) -> Any:
        """Transform `graph_module`; returns a PassResult, or None if nothing changed."""

    def requires(self, graph_module: GraphModule) -> None:  # a pass may need nothing
        """Check what the pass needs."""

    def ensures(self, graph_module: GraphModule) -> None:  # or promise nothing
        """Check what the pass promises."""
