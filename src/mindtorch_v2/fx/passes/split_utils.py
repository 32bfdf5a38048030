"""Cutting a graph into submodules by tags that its nodes bear."""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node, map_arg
from mindtorch_v2.fx.passes.tools_common import CALLABLE_NODE_OPS, is_node_output_tensor
from mindtorch_v2.fx.passes.utils.common import lift_subgraph_as_module

if TYPE_CHECKING:
    from mindtorch_v2.fx.passes.splitter_base import Subgraph

__all__ = ["Component", "getattr_recursive", "move_non_tensor_nodes_on_boundary", "setattr_recursive", "split_by_tags"]


@compatibility(is_backward_compatible=False)
def getattr_recursive(obj: Any, name: str) -> Any:
    """The attribute at a dotted path; None if a part of it is missing.

    >>> getattr_recursive(torch.nn.Sequential(torch.nn.Linear(1, 2)), "0.out_features")
    2
    """
    for part in name.split("."):
        if not hasattr(obj, part):
            return None
        obj = getattr(obj, part)
    return obj


@compatibility(is_backward_compatible=False)
def setattr_recursive(obj: Any, attr: str, value: Any) -> None:
    """Set the attribute at a dotted path. AttributeError if the way there does not exist.

    >>> model = torch.nn.Sequential(torch.nn.Dropout())
    >>> setattr_recursive(model, "0.p", 0.25)
    >>> model[0].p
    0.25
    """
    *folder, last = attr.split(".")
    for part in folder:
        obj = getattr(obj, part)
    setattr(obj, last, value)


@compatibility(is_backward_compatible=False)
@dataclass
class Component:
    """A part that is being made: its graph, its place and name, and how it hangs together with the old graph.

    >>> Component(Graph(), 0, "first").orig_inputs
    []
    """

    graph: Graph
    order: int
    name: str
    input_placeholders: list[Node] = field(default_factory=list)
    orig_inputs: list[Node] = field(default_factory=list)
    orig_outputs: list[Node] = field(default_factory=list)
    getattr_maps: dict[Node, Node] = field(default_factory=dict)
    constructor_args: list[str] = field(default_factory=list)
    gm: GraphModule | None = None


class _Cut:
    """A graph module as it is cut: parts by their tags, and where each old node went."""

    def __init__(self, gm: GraphModule, tags: list[str]) -> None:
        self.gm = gm
        self.parts = [Component(Graph(), order, tag) for order, tag in enumerate(tags)]
        self.by_tag = dict(zip(tags, self.parts))
        self.home: dict[Node, Component] = {}
        self.copies: dict[Node, Node] = {}

    def put(self, node: Node) -> None:
        """Copy a node into its part."""
        if not hasattr(node, "tag"):
            raise AssertionError(f"Node does not have tag attribute: {node.format_node()}")
        part = self.by_tag[node.tag]
        above = [self.home[each] for each in node.all_input_nodes if each in self.home]
        late = max((each.order for each in above), default=-1)
        if late > part.order:
            raise AssertionError(
                f"Component {part.name} order must be >= max of its upstream components, got order={part.order}, "
                f"upstream max={late}"
            )
        self.home[node] = part
        self.copies[node] = part.graph.node_copy(node, lambda each: self._input(part, each))

    def _input(self, part: Component, node: Node) -> Node:
        if node.op == "get_attr":
            if node not in part.getattr_maps:
                part.getattr_maps[node] = part.graph.get_attr(node.target, type_expr=node.type)
                part.getattr_maps[node].meta = copy.copy(node.meta)
            return part.getattr_maps[node]
        if node.op != "placeholder" and self.home[node] is part:
            return self.copies[node]
        if node not in part.orig_inputs:
            part.orig_inputs.append(node)
            made = part.graph.placeholder(node.name, type_expr=node.type)
            made.meta = copy.copy(node.meta)
            part.input_placeholders.append(made)
        return part.input_placeholders[part.orig_inputs.index(node)]

    def note_outputs(self, output: Node | None) -> None:
        """Say of each part which of its values others take, the result of the whole among them."""
        wanted = set(output.all_input_nodes) if output is not None else set()
        for node, part in self.home.items():
            if node in wanted or any(node in other.orig_inputs for other in self.parts if other is not part):
                part.orig_outputs.append(node)


@compatibility(is_backward_compatible=False)
def split_by_tags(
    gm: GraphModule,
    tags: list[str],
    return_fqn_mapping: bool = False,
    return_tuple: bool = False,
    GraphModuleCls: type[GraphModule] = GraphModule,
) -> Any:
    """A graph module with a submodule for each tag, in the order of `tags`, of the nodes whose attribute `tag` it is.

    Placeholders, parameters and the output need no tag. `return_fqn_mapping` gives also a dict from the old path of
    each module and parameter to its new one; with `return_tuple` a submodule of one result gives a tuple of it.
    AssertionError for a node without tag, and for one that needs a value of a later part.

    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> for node in traced.graph.nodes:
    ...     node.tag = "first" if node.name == "add" else "second"
    >>> split = split_by_tags(traced, ["first", "second"])
    >>> [name for name, _ in split.named_children()], split(torch.tensor([-3.0]))
    (['first', 'second'], tensor([0.]))
    """
    cut = _Cut(gm, tags)
    placeholders = [node for node in gm.graph.nodes if node.op == "placeholder"]
    output = None
    for node in gm.graph.nodes:
        if node.op in CALLABLE_NODE_OPS:
            cut.put(node)
        elif node.op == "output":
            output = node
        elif node.op not in ("placeholder", "get_attr"):
            raise AssertionError(f"Unexpected op {node.op} of node {node}")
    cut.note_outputs(output)

    main = Graph()
    values: dict[Node, Node] = {}
    for node in placeholders:
        values[node] = main.placeholder(node.name, type_expr=node.type)
        values[node].meta = copy.copy(node.meta)
    for node in gm.graph.nodes:
        if node.op == "get_attr":
            values[node] = main.node_copy(node)
    root = torch.nn.Module()
    mapping: dict[str, str] = {}
    for part in cut.parts:
        results = tuple(cut.copies[node] for node in part.orig_outputs)
        single = len(results) == 1 and not return_tuple
        part.graph.output(results[0] if single else results)
        part.gm, moved = lift_subgraph_as_module(gm, part.graph, comp_name=part.name)
        mapping.update({old: new for new, old in moved.items()})
        root.add_module(part.name, part.gm)
        call = main.call_module(part.name, tuple(values[node] for node in part.orig_inputs))
        for place, node in enumerate(part.orig_outputs):
            values[node] = call if single else main.call_function(operator.getitem, (call, place))
    if output is not None:
        main.output(map_arg(output.args[0], lambda node: values[node]))
    main._codegen = copy.deepcopy(gm.graph._codegen)
    for node in gm.graph.nodes:
        if node.op == "get_attr":
            if values[node].users:
                setattr_recursive(_with_folders(root, node.target), node.target, getattr_recursive(gm, node.target))
            else:
                main.erase_node(values[node])
    made = GraphModuleCls(root, main)
    return (made, mapping) if return_fqn_mapping else made


def _with_folders(root: torch.nn.Module, path: str) -> torch.nn.Module:
    place = root
    for part in path.split(".")[:-1]:
        if not hasattr(place, part):
            place.add_module(part, torch.nn.Module())
        place = getattr(place, part)
    return root


@compatibility(is_backward_compatible=False)
def move_non_tensor_nodes_on_boundary(subgraphs: list[Subgraph]) -> None:
    """Move nodes whose value is no tensor and leaves an accelerator's part into the part that takes it.

    The parts, in order, are changed. Only nodes move that nobody in their own part needs.

    >>> from mindtorch_v2.fx.passes.splitter_base import Subgraph
    >>> traced = torch.fx.symbolic_trace(lambda x: x.view(x.size(0), 1))
    >>> x, size, view, output = traced.graph.nodes
    >>> size.meta["type"] = int
    >>> parts = [Subgraph(True, [size]), Subgraph(False, [view])]
    >>> move_non_tensor_nodes_on_boundary(parts)
    >>> [part.nodes for part in parts]
    [[], [size, view]]
    """
    owner = {node: part for part in subgraphs for node in part.nodes}

    def movable(node: Node, part: Subgraph) -> Any:
        if node.op not in CALLABLE_NODE_OPS or "type" not in node.meta or is_node_output_tensor(node):
            return None
        targets = [owner.get(user) for user in node.users]
        if not targets or any(each is None or each is part for each in targets):
            return None
        first = targets[0]
        return first if all(each is first for each in targets) else None

    for part in subgraphs:
        if not part.is_acc:
            continue
        changed = True
        while changed:
            changed = False
            for node in reversed(part.nodes):
                target = movable(node, part)
                if target is not None:
                    part.nodes.remove(node)
                    target.nodes.insert(0, node)
                    owner[node] = target
                    changed = True
                    break
