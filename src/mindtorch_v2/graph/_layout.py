"""Where the boxes of a picture stand and how the edges between them run: by Graphviz where it is installed, else by layers.

All numbers are pixels; edges are chains of cubic curves, a list of 3n + 1 points.
"""

from __future__ import annotations

import math
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from mindtorch_v2._lowered.verify import written

if TYPE_CHECKING:
    from mindtorch_v2.fx import Graph
    from mindtorch_v2.fx.node import Node

__all__ = ["Box", "Edge", "Picture", "by_graphviz", "by_layers"]

Point = tuple[float, float]
_GAP, _BELOW, _MARGIN, _TITLE = 24.0, 40.0, 20.0, 40.0
_DOT = 72.0  # Graphviz counts in inches
_SECONDS = 20  # longer than this nobody waits for a picture


class Box:
    """A node's place: the middle of its upper edge, and its size."""

    def __init__(self, node: Node, width: float, height: float) -> None:
        self.node, self.width, self.height = node, width, height
        self.x = self.y = 0.0


class Edge(NamedTuple):
    """A value's way to its use: its label stands at `label`."""

    above: Node
    below: Node
    points: list[Point]
    label: Point


class Picture(NamedTuple):
    """Boxes and edges, and how large they are together."""

    boxes: dict[Node, Box]
    edges: list[Edge]
    width: float
    height: float


def by_graphviz(graph: Graph, boxes: dict[Node, Box], labels: dict[Node, float]) -> Picture | None:
    """The layout of Graphviz's `dot`; None where that is not installed, fails or takes too long.

    `labels` are the widths of the texts at the edges of each node.
    """
    dot = shutil.which("dot")
    if dot is None:
        return None
    names = {node: f"n{place}" for place, node in enumerate(boxes)}
    lines = ['digraph { node [shape=box fixedsize=true label=""]; edge [arrowhead=none]; nodesep=0.35; ranksep=0.4;']
    lines += [
        f"{names[node]} [width={box.width / _DOT:.4f} height={box.height / _DOT:.4f}];" for node, box in boxes.items()
    ]
    used = [(above, node) for node in graph.nodes for above in node.all_input_nodes]
    for above, node in used:
        # A label of its width, in place of the text: what dot thinks of fonts does not matter.
        wide = (
            f'<<TABLE BORDER="0" FIXEDSIZE="TRUE" WIDTH="{labels[above]:.0f}" HEIGHT="12"><TR><TD></TD></TR></TABLE>>'
        )
        label = f" [label={wide}]" if labels[above] else ""
        lines.append(f"{names[above]} -> {names[node]}{label};")
    lines += [f"{names[reader]} -> {names[writer]} [style=invis];" for reader, writer in _before_writes(graph)]
    text = "\n".join([*lines, "}"])
    try:
        done = subprocess.run(
            [dot, "-Tplain"], input=text, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return _read_plain(done.stdout, {name: node for node, name in names.items()}, boxes)


def _before_writes(graph: Graph) -> list[tuple[Node, Node]]:
    """The uses of what is written to later, each with the node that writes."""
    uses: dict[Node, list[Node]] = {}
    found = []
    for node in graph.nodes:
        found += [(user, node) for target in written(node) for user in uses.get(target, ())]
        for used in node.all_input_nodes:
            uses.setdefault(used, []).append(node)
    return found


def _read_plain(text: str, named: dict[str, Node], boxes: dict[Node, Box]) -> Picture:
    edges: list[Edge] = []
    width = height = 0.0

    def place(x: str, y: str) -> Point:
        return float(x) * _DOT + _MARGIN, height - float(y) * _DOT + _TITLE  # dot counts from below

    for line in text.splitlines():
        kind, *words = line.split(" ")
        if kind == "graph":
            width, height = float(words[1]) * _DOT, float(words[2]) * _DOT
        elif kind == "node":
            box = boxes[named[words[0]]]
            box.x, middle = place(words[1], words[2])
            box.y = middle - box.height / 2
        elif kind == "edge" and words[-2] != "invis":
            count = int(words[2])
            points = [place(*words[3 + 2 * each : 5 + 2 * each]) for each in range(count)]
            after = words[3 + 2 * count :]
            above, below = named[words[0]], named[words[1]]
            label = place(*after[-4:-2]) if len(after) > 2 else points[len(points) // 2]  # after a text of any form
            edges.append(Edge(above, below, points, label))
    return Picture(boxes, edges, width + 2 * _MARGIN, height + _TITLE + _MARGIN)


class _Bend:
    """Where an edge passes a layer between its ends: as a box without width, so that no box stands in its way."""

    def __init__(self, above: Node, below: Node) -> None:
        self.ends = above, below
        self.width = 2.0
        self.x = 0.0


def _layers(graph: Graph, boxes: dict[Node, Box]) -> tuple[list[list[Box | _Bend]], dict[Node, int]]:
    """The boxes by layer: each below all that it uses. A write comes below earlier uses of what it writes to."""
    depth: dict[Node, int] = {}
    readers: dict[Node, list[Node]] = {}
    for reader, writer in _before_writes(graph):
        readers.setdefault(writer, []).append(reader)
    layers: list[list[Box | _Bend]] = []
    for node in graph.nodes:
        before = [depth[each] + 1 for each in (*node.all_input_nodes, *readers.get(node, ()))]
        depth[node] = max(before, default=0)
        while len(layers) <= depth[node]:
            layers.append([])
        for used in node.all_input_nodes:
            for level in range(depth[used] + 1, depth[node]):
                layers[level].append(_Bend(used, node))
        layers[depth[node]].append(boxes[node])
    return layers, depth


def by_layers(graph: Graph, boxes: dict[Node, Box]) -> Picture:
    """Layers from the inputs down, each row in the order of what it hangs on; edges pass beside the boxes between."""
    layers, depth = _layers(graph, boxes)
    width = max(sum(item.width + _GAP for item in layer) for layer in layers) + _GAP
    bends: dict[tuple[Node, Node], list[tuple[float, float, float]]] = {}
    y = _TITLE
    bottoms: list[float] = []

    def wanted(item: Box | _Bend) -> float:
        """The middle of what stands above it, of a bend where the edge was last."""
        if isinstance(item, _Bend):
            passed = bends.get(item.ends)
            return passed[-1][0] if passed else boxes[item.ends[0]].x
        above = [
            bends[used, item.node][-1][0] if (used, item.node) in bends else boxes[used].x
            for used in item.node.all_input_nodes
        ]
        return sum(above) / len(above) if above else 0.0

    for level, layer in enumerate(layers):
        if level:
            layer.sort(key=wanted)
        tallest = max((item.height for item in layer if isinstance(item, Box)), default=0.0)
        x = (width - sum(item.width + _GAP for item in layer) + _GAP) / 2
        for item in layer:
            item.x = x + item.width / 2
            x += item.width + _GAP
            if isinstance(item, Box):
                item.y = y
            else:
                bends.setdefault(item.ends, []).append((item.x, y, y + tallest))
        bottoms.append(y + tallest)
        y += tallest + _BELOW
    edges = []
    for node in graph.nodes:
        for used in node.all_input_nodes:
            edges.append(_through(boxes[used], boxes[node], bends.get((used, node), []), bottoms[depth[used]]))
    return Picture(boxes, edges, width, y)


def _through(above: Box, below: Box, bends: list[tuple[float, float, float]], bottom: float) -> Edge:
    """Down beside the taller boxes of its row, then in curves from row to row, straight through each between."""
    points: list[Point] = [(above.x, above.y + above.height)]

    def straight(x: float, y: float) -> None:
        x0, y0 = points[-1]
        points.extend([(x0, y0 + (y - y0) / 3), (x, y0 + 2 * (y - y0) / 3), (x, y)])

    def curve(x: float, y: float) -> None:
        x0, y0 = points[-1]
        points.extend([(x0, (y0 + y) / 2), (x, (y0 + y) / 2), (x, y)])

    straight(above.x, bottom)
    label = (points[-1][0] + (bends[0][0] if bends else below.x)) / 2, bottom + _BELOW / 2
    for x, top, end in bends:
        curve(x, top)
        straight(x, end)
    curve(below.x, below.y)
    return Edge(above.node, below.node, points, label)


def crossings(picture: Picture) -> list[tuple[Edge, Box]]:
    """The edges that run through a box that is neither of their ends; for tests."""
    found = []
    for edge in picture.edges:
        for box in picture.boxes.values():
            if box.node in (edge.above, edge.below):
                continue
            left, right = box.x - box.width / 2, box.x + box.width / 2
            for x, y in _samples(edge.points):
                if left < x < right and box.y < y < box.y + box.height:
                    found.append((edge, box))
                    break
    return found


def _samples(points: list[Point]) -> list[Point]:
    found: list[Point] = []
    for start in range(0, len(points) - 3, 3):
        parts = points[start : start + 4]
        for step in range(33):
            t = step / 32
            weights = [math.comb(3, each) * t**each * (1 - t) ** (3 - each) for each in range(4)]
            found.append((sum(w * p[0] for w, p in zip(weights, parts)), sum(w * p[1] for w, p in zip(weights, parts))))
    return found
