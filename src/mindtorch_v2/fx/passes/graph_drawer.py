"""Graphs as pictures in Graphviz's language, by the library pydot where it is installed."""

from __future__ import annotations

import hashlib
from itertools import chain
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx._naming import qualified_name, type_text
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.operator_schemas import normalize_function
from mindtorch_v2.fx.passes.shape_prop import TensorMetadata

if TYPE_CHECKING:
    from mindtorch_v2.fx.node import Node

try:
    import pydot

    HAS_PYDOT = True
except ModuleNotFoundError:
    HAS_PYDOT = False
    pydot = None

__all__ = ["FxGraphDrawer"]

_COLORS = {"placeholder": "AliceBlue", "call_module": "LemonChiffon1", "get_param": "Yellow2",
           "get_attr": "LightGrey", "output": "PowderBlue"}  # fmt: skip
_FUNCTION_COLORS = ("CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite", "Khaki1", "LavenderBlush1",
                    "LightSkyBlue", "MistyRose1", "MistyRose2", "PaleTurquoise2", "PeachPuff1", "Salmon", "Thistle1",
                    "Thistle3", "Wheat1")  # fmt: skip
_FRAME = {"shape": "record", "fillcolor": "#CAFFE3", "style": '"filled,rounded"', "fontcolor": "#000000"}


@compatibility(is_backward_compatible=False)
class FxGraphDrawer:
    """A drawing of a graph module: boxes that say what a node does, and arrows for its values.

    `get_dot_graph()` is a `pydot.Dot`, with `write_svg`, `write_png` and so on, which call Graphviz; its submodules that
    are graph modules are drawn too: `get_all_dot_graphs()`, by their names. RuntimeError without pydot; `python -m
    mindtorch_v2.graph` draws without either.
    """

    def __init__(
        self,
        graph_module: GraphModule,
        name: str,
        ignore_getattr: bool = False,
        ignore_parameters_and_buffers: bool = False,
        skip_node_names_in_args: bool = True,
        parse_stack_trace: bool = False,
        dot_graph_shape: str | None = None,
        normalize_args: bool = False,
    ) -> None:
        if not HAS_PYDOT:
            raise RuntimeError("FxGraphDrawer requires the pydot package to be installed: pip install pydot")
        self._name = name
        self.dot_graph_shape = dot_graph_shape or "record"
        self.normalize_args = normalize_args
        self._options = (ignore_getattr, ignore_parameters_and_buffers, skip_node_names_in_args, parse_stack_trace)
        self._dot_graphs = {name: self._drawn(graph_module, name)}
        for node in graph_module.graph.nodes:
            if node.op != "call_module":
                continue
            leaf = graph_module.get_submodule(str(node.target))
            if isinstance(leaf, GraphModule):
                self._dot_graphs[f"{name}_{node.target}"] = self._drawn(leaf, f"{name}_{node.target}")

    def get_dot_graph(self, submod_name: str | None = None) -> Any:
        """The drawing of the whole, or of the submodule `<name>_<path>`."""
        return self.get_main_dot_graph() if submod_name is None else self.get_submod_dot_graph(submod_name)

    def get_main_dot_graph(self) -> Any:
        """The drawing of the whole."""
        return self._dot_graphs[self._name]

    def get_submod_dot_graph(self, submod_name: str) -> Any:
        """The drawing of a submodule; KeyError if there is none."""
        return self._dot_graphs[f"{self._name}_{submod_name}"]

    def get_all_dot_graphs(self) -> dict[str, Any]:
        """All drawings by their names."""
        return self._dot_graphs

    def _drawn(self, module: GraphModule, name: str) -> Any:
        drop_attributes, drop_parameters, _, parse = self._options
        made = pydot.Dot(name, rankdir="TB")
        clusters: dict[str, Any] = {}
        for node in module.graph.nodes:
            if drop_attributes and node.op == "get_attr":
                continue
            box = pydot.Node(node.name, label=self._label(module, node), **self._style(node))
            place = made
            if parse and node.meta.get("stack_trace"):
                place = self._cluster(made, clusters, node.meta["stack_trace"])
            place.add_node(box)
            if not drop_parameters and node.op == "call_module":
                self._draw_members(made, module.get_submodule(str(node.target)), node)
        for node in module.graph.nodes:
            if drop_attributes and node.op == "get_attr":
                continue
            for user in node.users:
                made.add_edge(pydot.Edge(node.name, user.name))
        for each in clusters.values():
            made.add_subgraph(each)
        return made

    @staticmethod
    def _cluster(made: Any, clusters: dict[str, Any], trace: str) -> Any:
        name = trace.strip().splitlines()[-1].strip()
        if name not in clusters:
            clusters[name] = pydot.Cluster(str(len(clusters)), label=name)
        return clusters[name]

    def _draw_members(self, made: Any, module: torch.nn.Module, node: Node) -> None:
        for name, value in chain(module.named_parameters(), module.named_buffers()):
            kind = "parameter" if isinstance(value, torch.nn.Parameter) else "buffer"
            label = f"{{{node.name}.{name}|op_code=get_{kind}|{self._tensor_label(value)}}}"
            made.add_node(pydot.Node(f"{node.name}.{name}", label=label, **self._style(node)))
            made.add_edge(pydot.Edge(f"{node.name}.{name}", node.name))

    def _style(self, node: Node) -> dict[str, str]:
        style = {**_FRAME, "shape": self.dot_graph_shape}
        if node.op in _COLORS:
            style["fillcolor"] = _COLORS[node.op]
        else:
            digest = hashlib.md5(self._target(node).encode(), usedforsecurity=False).hexdigest()
            style["fillcolor"] = _FUNCTION_COLORS[int(digest, 16) % len(_FUNCTION_COLORS)]
        return style

    @staticmethod
    def _target(node: Node) -> str:
        return qualified_name(node.target) if node.op == "call_function" else str(node.target)

    def _label(self, module: GraphModule, node: Node) -> str:
        rows = [f"name=%{node.name}", f"op_code={node.op}"]
        if node.op == "call_module":
            leaf = module.get_submodule(str(node.target))
            rows.append(type_text(type(leaf)))
            rows += [f"{name}: {getattr(leaf, name)}" for name in getattr(leaf, "__constants__", ())]
        else:
            rows.append(f"target={self._target(node)}")
            args, kwargs = node.args, dict(node.kwargs)
            if self.normalize_args and node.op == "call_function":
                found = normalize_function(node.target, args, kwargs, normalize_to_only_use_kwargs=True)
                args, kwargs = found if found is not None else (args, kwargs)
            if args:
                rows.append(f"args={self._arguments(args)}")
            if kwargs:
                rows.append(f"kwargs={self._arguments(kwargs)}")
            rows.append(f"num_users={len(node.users)}")
        meta = node.meta.get("tensor_meta", node.meta.get("val"))
        if meta is not None:
            rows.append(self._tensor_label(meta))
        if self.dot_graph_shape != "record":
            return "\\n".join(rows)
        return "{" + "|".join(_escaped(row) for row in rows) + "}"

    def _arguments(self, value: Any) -> str:
        text = str(value)
        if self._options[2] and len(text) > 64:
            return text[:61] + "..."
        return text

    def _tensor_label(self, value: Any) -> str:
        if isinstance(value, (TensorMetadata, torch.Tensor)):
            stride = value.stride if isinstance(value, TensorMetadata) else value.stride()
            rows = [f"dtype={value.dtype}", f"shape={tuple(value.shape)}", f"stride={tuple(stride)}"]
            return "\\n".join(row.replace("mindtorch_v2.", "torch.") for row in rows)
        if isinstance(value, dict):
            return "\\n".join(f"{key}: {self._tensor_label(each)}" for key, each in value.items())
        if isinstance(value, (list, tuple)):
            return "\\n".join(self._tensor_label(each) for each in value)
        return ""


def _escaped(text: str) -> str:
    for mark in "{}<>|":
        text = text.replace(mark, "\\" + mark)
    return text
