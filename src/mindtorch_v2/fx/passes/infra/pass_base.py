"""The base of passes over graph modules, and what a pass returns."""

from __future__ import annotations

import abc
from collections import namedtuple
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ...graph_module import GraphModule


__all__ = ["PassBase", "PassResult"]

PassResult = namedtuple("PassResult", ["graph_module", "modified"])
PassResult.__doc__ = "What a pass returns: the graph module, and whether the pass changed it."


class PassBase(abc.ABC):
    """A pass: calling it checks `requires`, runs `call`, checks `ensures`."""

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
