"""Pictures of graphs as SVG: a box a node, in layers from the inputs down, shapes on edges, writes in red."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._lowered.verify import written
from mindtorch_v2.fx import Graph, GraphModule
from mindtorch_v2.fx.node import DTYPE_NAMES, described_value, shape_text

if TYPE_CHECKING:
    from mindtorch_v2.fx.node import Node


__all__ = ["svg"]

_CHARACTER, _LINE, _PAD, _GAP, _LAYER = 7.0, 15, 8, 24, 74  # pixels
_FILL = {"placeholder": "#dbe9f6", "get_attr": "#ece4f4", "output": "#e3f1df"}


def _value_text(node: Node) -> str:
    value: Any = described_value(node.meta)
    if isinstance(value, torch.Tensor) or type(value).__name__ == "TensorMetadata":
        return DTYPE_NAMES[value.dtype] + shape_text(value.shape)
    return ""


def _lines(node) -> list:
    if node.op in ("placeholder", "output"):
        return [node.name]
    return [node.name, node._pretty_print_target(node.target)]


class _Box:
    """Where a node stands: the middle of its upper edge, and its size."""

    def __init__(self, node: Node) -> None:
        self.node, self.lines = node, _lines(node)
        self.width = max(map(len, self.lines)) * _CHARACTER + 2 * _PAD
        self.height = len(self.lines) * _LINE + _PAD
        self.x = self.y = 0.0


def _layers(graph):
    """The boxes by layer: each below all that it uses. A write comes below earlier uses of what it writes to."""
    depth: dict[Node, int] = {}
    uses: dict[Node, list[Node]] = {}
    layers: dict[int, list[_Box]] = {}
    for node in graph.nodes:
        before = [depth[used] + 1 for used in node.all_input_nodes]
        for target in written(node):
            before += [depth[user] + 1 for user in uses.get(target, ())]
        depth[node] = max(before, default=0)
        for used in node.all_input_nodes:
            uses.setdefault(used, []).append(node)
        layers.setdefault(depth[node], []).append(_Box(node))
    return [layers[level] for level in sorted(layers)]


def _place(layers):
    boxes: dict[Node, _Box] = {}
    width = max(sum(box.width + _GAP for box in layer) for layer in layers) + _GAP
    for level, layer in enumerate(layers):

        def wanted(box: _Box) -> float:
            above = [boxes[used].x for used in box.node.all_input_nodes if used in boxes]
            return sum(above) / len(above) if above else 0.0

        if level:
            layer.sort(key=wanted)
        x = (width - sum(box.width + _GAP for box in layer) + _GAP) / 2
        for box in layer:
            box.x, box.y = x + box.width / 2, level * _LAYER + 40.0
            x += box.width + _GAP
            boxes[box.node] = box
    return boxes, width, len(layers) * _LAYER + 40


def _drawn(box, writes):
    color = "#c22" if writes else "#555"
    fill = _FILL.get(box.node.op, "#fff")
    parts = [
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height}" rx="4" '
        f'fill="{fill}" stroke="{color}" stroke-width="{2 if writes else 1}"/>'
    ]
    for place, line in enumerate(box.lines):
        weight = ' font-weight="bold"' if place == 0 else ""
        parts.append(
            f'<text x="{box.x:.1f}" y="{box.y + _LINE * (place + 1) - 1:.1f}" text-anchor="middle"{weight}>'
            f"{html.escape(line)}</text>"
        )
    return parts


def _edge(above, below, writes):
    x1, y1, x2, y2 = above.x, above.y + above.height, below.x, below.y
    color = "#c22" if writes else "#888"
    middle = (y1 + y2) / 2
    parts = [
        f'<path d="M{x1:.1f},{y1:.1f} C{x1:.1f},{middle:.1f} {x2:.1f},{middle:.1f} {x2:.1f},{y2:.1f}" fill="none" '
        f'stroke="{color}" marker-end="url(#{"write" if writes else "use"})"/>'
    ]
    said = _value_text(above.node)
    if said:
        parts.append(
            f'<text x="{(x1 + x2) / 2 + 4:.1f}" y="{middle:.1f}" fill="{color}" font-size="10">{html.escape(said)}</text>'
        )
    return parts


def _arrow(name, color) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{color}"/></marker>'
    )


def svg(graphs: dict[str, Any] | int | Graph | GraphModule) -> str:
    """A picture of an fx.Graph or GraphModule, or of several side by side (a dict from titles), as SVG text.

    TypeError for something else, ValueError for an empty graph.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> from mindtorch_v2.graph import svg
    >>> picture = svg({"relu": traced})
    >>> picture.startswith("<svg"), picture.count("<rect")
    (True, 3)
    """
    titled = graphs if isinstance(graphs, dict) else {"": graphs}
    drawn, left, tallest = [], 0.0, 0.0
    for title, each in titled.items():
        graph = each.graph if isinstance(each, GraphModule) else each
        if not isinstance(graph, Graph):
            raise TypeError(f"svg(): expected an fx.Graph or GraphModule, got {type(graph).__name__}")
        if not len(graph.nodes):
            raise ValueError("svg(): the graph has no nodes")
        boxes, width, height = _place(_layers(graph))
        parts = [f'<text x="{width / 2:.1f}" y="20" text-anchor="middle" font-size="14">{html.escape(title)}</text>']
        for node, box in boxes.items():
            targets = written(node)
            for used in node.all_input_nodes:
                parts += _edge(boxes[used], box, used in targets)
        for node, box in boxes.items():
            parts += _drawn(box, bool(written(node)))
        drawn.append(f'<g transform="translate({left:.1f},0)">{"".join(parts)}</g>')
        left, tallest = left + width, max(tallest, height)
    style = 'font-family="monospace" font-size="11"'
    arrows = _arrow("use", "#888") + _arrow("write", "#c22")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left:.0f}" height="{tallest:.0f}" {style}>'
        f"<defs>{arrows}</defs>{''.join(drawn)}</svg>\n"
    )
