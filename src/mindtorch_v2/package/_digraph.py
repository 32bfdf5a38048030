"""Which module needs which, with what is to become of each."""

from collections.abc import Iterator
from typing import Any


class DiGraph:
    """A directed graph with attributes at its nodes.

    >>> graph = DiGraph()
    >>> graph.add_edge("a", "b")
    >>> list(graph.successors("a")), list(graph.predecessors("b"))
    (['b'], ['a'])
    """

    def __init__(self) -> None:
        self._node: dict[Any, dict[str, Any]] = {}
        self._succ: dict[Any, dict[Any, None]] = {}
        self._pred: dict[Any, dict[Any, None]] = {}

    def add_node(self, n: Any, **kwargs: Any) -> None:
        """Add a node, or more attributes to it."""
        self._node.setdefault(n, {}).update(kwargs)
        self._succ.setdefault(n, {})
        self._pred.setdefault(n, {})

    def add_edge(self, u: Any, v: Any) -> None:
        """Add an edge, and its ends where they are missing."""
        self.add_node(u)
        self.add_node(v)
        self._succ[u][v] = None
        self._pred[v][u] = None

    def successors(self, n: Any) -> Iterator[Any]:
        """The ends of the edges that begin at a node; ValueError for a node that is not in the graph."""
        return iter(self._ends(self._succ, n))

    def predecessors(self, n: Any) -> Iterator[Any]:
        """The beginnings of the edges that end at a node; ValueError for a node that is not in the graph."""
        return iter(self._ends(self._pred, n))

    def _ends(self, edges, n):
        if n not in edges:
            raise ValueError(f"The node {n} is not in the digraph.")
        return edges[n]

    @property
    def edges(self) -> Iterator[tuple[Any, Any]]:
        """All edges as pairs."""
        return ((u, v) for u, ends in self._succ.items() for v in ends)

    @property
    def nodes(self) -> dict[Any, dict[str, Any]]:
        """All nodes with their attributes."""
        return self._node

    def __iter__(self) -> Iterator[Any]:
        return iter(self._node)

    def __contains__(self, n: Any) -> bool:
        try:
            return n in self._node
        except TypeError:  # it cannot be hashed
            return False

    def forward_transitive_closure(self, src: Any) -> set[Any]:
        """All nodes that are reached from one, itself among them."""
        return self._closure(self._succ, src)

    def backward_transitive_closure(self, src: Any) -> set[Any]:
        """All nodes from which one is reached, itself among them."""
        return self._closure(self._pred, src)

    def _closure(self, edges, src):
        found, left = {src}, [src]
        while left:
            for n in self._ends(edges, left.pop()):
                if n not in found:
                    found.add(n)
                    left.append(n)
        return found

    def all_paths(self, src: Any, dst: Any) -> str:
        """The part of the graph through which one node reaches another, as a text in Graphviz' language."""
        between = self.forward_transitive_closure(src) & self.backward_transitive_closure(dst)
        return self._dot((u, v) for u, v in self.edges if u in between and v in between)

    def to_dot(self) -> str:
        """The whole graph as a text in Graphviz' language."""
        return self._dot(self.edges)

    def _dot(self, edges):
        lines = "\n".join(f'"{u}" -> "{v}";' for u, v in edges)
        return f"digraph G {{\nrankdir = LR;\nnode [shape=box];\n{lines}\n}}\n"
