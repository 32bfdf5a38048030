"""A part of a graph as a module of its own, and whether two graphs are the same."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["HolderModule", "compare_graphs", "lift_subgraph_as_module"]


@compatibility(is_backward_compatible=False)
class HolderModule(torch.nn.Module):
    """A module that only holds the submodules of a dict, by their names.

    >>> [name for name, _ in HolderModule({"act": torch.nn.ReLU()}).named_children()]
    ['act']
    """

    def __init__(self, d: dict[str, torch.nn.Module | None]) -> None:
        super().__init__()
        for name, module in d.items():
            self.add_module(name, module)


@compatibility(is_backward_compatible=False)
def lift_subgraph_as_module(
    gm: GraphModule, subgraph: Graph, comp_name: str = "", class_name: str = "GraphModule"
) -> tuple[GraphModule, dict[str, str]]:
    """A GraphModule of `subgraph` that shares the parameters and submodules of `gm`.

    Also a dict from the path of each within the new module, behind `comp_name`, to its path in `gm`.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> made, paths = lift_subgraph_as_module(traced, traced.graph, comp_name="part")
    >>> made(torch.tensor([-1.0])), paths
    (tensor([0.]), {'part.0': '0'})
    """
    shared = HolderModule({})
    paths: dict[str, str] = {}
    for node in subgraph.nodes:
        if node.op not in ("call_module", "get_attr") or not isinstance(node.target, str):
            continue
        *folder, last = node.target.split(".")
        source: torch.nn.Module = gm
        into: torch.nn.Module = shared
        for name in folder:
            source = getattr(source, name)
            if not hasattr(into, name):
                into.add_module(name, HolderModule({}))
            into = getattr(into, name)
        value = getattr(source, last)
        if not hasattr(into, last):
            setattr(into, last, value)
        paths[f"{comp_name}.{node.target}" if comp_name else node.target] = node.target
    return GraphModule(shared, subgraph, class_name), paths


@compatibility(is_backward_compatible=False)
def compare_graphs(left: Graph, right: Graph) -> bool:
    """Whether one graph is the other but for names.

    >>> first, second = (torch.fx.symbolic_trace(program).graph for program in (lambda x: x * 2, lambda x: x * 3))
    >>> compare_graphs(first, first), compare_graphs(first, second)
    (True, False)
    """
    return bool(SubgraphMatcher(left, match_output=True, match_placeholder=True).match(right))
