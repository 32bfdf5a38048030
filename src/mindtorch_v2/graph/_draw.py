"""Pictures of graphs as SVG: a box a node, in layers from the inputs down, shapes on edges, writes in red."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._lowered.verify import written
from mindtorch_v2.fx import Graph, GraphModule
from mindtorch_v2.fx.node import DTYPE_NAMES, described_value, shape_text

from ._layout import Box, Edge, Picture, by_graphviz, by_layers

if TYPE_CHECKING:
    from mindtorch_v2.fx.node import Node


__all__ = ["svg"]

_CHARACTER, _LINE, _PAD = 7.0, 15, 8  # pixels
_SMALL = 6.2  # a character of the texts at edges
_FILL = {"placeholder": "#dbe9f6", "get_attr": "#ece4f4", "output": "#e3f1df"}


def _value_text(node: Node) -> str:
    value: Any = described_value(node.meta)
    if isinstance(value, torch.Tensor) or type(value).__name__ == "TensorMetadata":
        return DTYPE_NAMES[value.dtype] + shape_text(value.shape)
    return ""


def _lines(node: Node) -> list[str]:
    if node.op in ("placeholder", "output"):
        return [node.name]
    return [node.name, node._pretty_print_target(node.target)]


def _box(node: Node) -> Box:
    lines = _lines(node)
    return Box(node, max(map(len, lines)) * _CHARACTER + 2 * _PAD, len(lines) * _LINE + _PAD)


def _picture(graph: Graph, layout: str) -> Picture:
    boxes = {node: _box(node) for node in graph.nodes}
    picture = None
    if layout != "layers":
        labels = {node: len(_value_text(node)) * _SMALL for node in graph.nodes}
        picture = by_graphviz(graph, boxes, labels)
    if picture is None:
        if layout == "graphviz":
            raise RuntimeError(
                "svg(): layout='graphviz' needs the program `dot`, which is not there or failed: install graphviz"
            )
        picture = by_layers(graph, boxes)
    return picture


def _drawn(box: Box, writes: bool) -> list[str]:
    color = "#c22" if writes else "#555"
    fill = _FILL.get(box.node.op, "#fff")
    parts = [
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height}" rx="4" '
        f'fill="{fill}" stroke="{color}" stroke-width="{2 if writes else 1}"/>'
    ]
    for place, line in enumerate(_lines(box.node)):
        weight = ' font-weight="bold"' if place == 0 else ""
        parts.append(
            f'<text x="{box.x:.1f}" y="{box.y + _LINE * (place + 1) - 1:.1f}" text-anchor="middle"{weight}>'
            f"{html.escape(line)}</text>"
        )
    return parts


def _edge(edge: Edge, writes: bool) -> list[str]:
    color = "#c22" if writes else "#888"
    (x, y), *others = edge.points
    way = " ".join(f"{x:.1f},{y:.1f}" for x, y in others)
    parts = [
        f'<path d="M{x:.1f},{y:.1f} C{way}" fill="none" stroke="{color}" '
        f'marker-end="url(#{"write" if writes else "use"})"/>'
    ]
    said = _value_text(edge.above)
    if said:
        x, y = edge.label
        parts.append(
            f'<text x="{x:.1f}" y="{y + 3:.1f}" text-anchor="middle" fill="{color}" font-size="10" paint-order="stroke" '
            f'stroke="#fff" stroke-width="3">{html.escape(said)}</text>'
        )
    return parts


def _arrow(name: str, color: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z" fill="{color}"/></marker>'
    )


def svg(graphs: dict[str, Any] | int | Graph | GraphModule, layout: str = "best") -> str:
    """A picture of an fx.Graph or GraphModule, or of several side by side (a dict from titles), as SVG text.

    `layout` is "graphviz" (the program `dot`), "layers" (our own), or "best": Graphviz's where it is installed. In no
    layout an edge runs through a box. TypeError for something else than a graph, ValueError for an empty one or another
    layout, RuntimeError for Graphviz where it is not there.

    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> from mindtorch_v2.graph import svg
    >>> picture = svg({"relu": traced})
    >>> picture.startswith("<svg"), picture.count("<rect")
    (True, 3)
    """
    if layout not in ("best", "graphviz", "layers"):
        raise ValueError(f"svg(): layout is best, graphviz or layers, not {layout!r}")
    titled = graphs if isinstance(graphs, dict) else {"": graphs}
    drawn, left, tallest = [], 0.0, 0.0
    for title, each in titled.items():
        graph = each.graph if isinstance(each, GraphModule) else each
        if not isinstance(graph, Graph):
            raise TypeError(f"svg(): expected an fx.Graph or GraphModule, got {type(graph).__name__}")
        if not len(graph.nodes):
            raise ValueError("svg(): the graph has no nodes")
        boxes, edges, width, height = _picture(graph, layout)
        parts = [f'<text x="{width / 2:.1f}" y="20" text-anchor="middle" font-size="14">{html.escape(title)}</text>']
        for edge in edges:
            parts += _edge(edge, edge.above in written(edge.below))
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
