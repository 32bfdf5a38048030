"""Parts of a graph that depend on parameters only, computed once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx import Graph, GraphModule, Node
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.passes.split_module import split_module

__all__ = ["FoldedGraphModule", "get_unique_attr_name_in_module", "split_const_subgraphs"]


@compatibility(is_backward_compatible=False)
class FoldedGraphModule(GraphModule):
    """A graph module whose constant part runs at the first call, or by `run_folding()`; its results are attributes.

    `const_subgraph_module` computes them, None where there is nothing to fold; `fx_const_folded_attrs_name` is the
    attribute that holds the result, the results numbered behind it if there are several.

    >>> class Doubled(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.Parameter(torch.tensor([2.0]))
    ...     def forward(self, x):
    ...         return x * (self.weight + 1)
    >>> folded = split_const_subgraphs(Doubled())
    >>> folded.has_folding_been_run, folded(torch.tensor([2.0])).item(), folded.has_folding_been_run
    (False, 6.0, True)
    """

    def __init__(
        self,
        root: torch.nn.Module,
        graph: Graph,
        const_subgraph: Graph | None = None,
        fx_const_folded_attrs_name: str | None = None,
        device_for_folded_attrs: str = "cuda",
    ) -> None:
        super().__init__(root, graph)
        self.const_subgraph_module = None if const_subgraph is None else GraphModule(root, const_subgraph)
        self.has_folding_been_run = False
        self.fx_const_folded_attrs_name = fx_const_folded_attrs_name
        self.device_for_folded_attrs = device_for_folded_attrs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.has_folding_been_run:
            self.run_folding()
        return super().__call__(*args, **kwargs)

    def run_folding(self) -> None:
        """Compute the constant part."""
        if self.const_subgraph_module is None or self.fx_const_folded_attrs_name is None:
            return
        if self.has_folding_been_run:
            raise AssertionError("Folding has already been run")
        self.has_folding_been_run = True
        found = self.const_subgraph_module()

        def parameter(value: Any) -> Any:
            made = value if isinstance(value, torch.Tensor) else torch.tensor(value)
            made = made.to(self.device_for_folded_attrs) if self.device_for_folded_attrs else made
            return (
                torch.nn.Parameter(made, requires_grad=value.requires_grad) if isinstance(value, torch.Tensor) else made
            )

        name = self.fx_const_folded_attrs_name
        held: Any = (
            torch.nn.ParameterList([parameter(each) for each in found])
            if isinstance(found, tuple)
            else parameter(found)
        )
        setattr(self, name, held)


@compatibility(is_backward_compatible=False)
def get_unique_attr_name_in_module(mod_traced: GraphModule, name: str) -> str:
    """A name for an attribute that the module does not have, made of `name`.

    >>> get_unique_attr_name_in_module(torch.fx.symbolic_trace(torch.nn.ReLU()), "training")
    'training_1'
    """
    name = re.sub("[^0-9a-zA-Z_]+", "_", name)
    if name[:1].isdigit():
        name = f"_{name}"
    while hasattr(mod_traced, name):
        base, _, number = name.rpartition("_")
        name = f"{base}_{int(number) + 1}" if base and number.isdigit() else f"{name}_1"
    return name


def _inline(gm: GraphModule, name: str) -> None:
    """Put the nodes of a submodule in the place of the node that calls it."""
    module = gm.get_submodule(name)
    if not isinstance(module, GraphModule):
        raise AssertionError(f"Expected a GraphModule at {name}, got {type(module)}")
    call = next(node for node in gm.graph.nodes if node.op == "call_module" and node.target == name)
    given = iter(call.args)
    copies: dict[Node, Any] = {node: next(given) for node in module.graph.nodes if node.op == "placeholder"}
    with gm.graph.inserting_before(call):
        for node in module.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                copies[node] = gm.graph.node_copy(node, lambda each: copies[each])
                copies[node].target = f"{name}.{node.target}"
            elif node.op not in ("placeholder", "output"):
                copies[node] = gm.graph.node_copy(node, lambda each: copies[each])
    result = torch.fx.map_arg(module.graph.output_node().args[0], lambda each: copies[each])
    _replace(gm, call, result)


def _replace(gm: GraphModule, call: Node, result: Any) -> None:
    if isinstance(result, Node):
        call.replace_all_uses_with(result)
    else:
        for user in list(call.users):  # a choice out of several
            user.replace_all_uses_with(result[user.args[1]])
            gm.graph.erase_node(user)
    gm.graph.erase_node(call)


def _foldable(gm: GraphModule, skip: Callable[[Node], bool] | None) -> set[Node]:
    """The nodes that nothing given and nothing random goes into."""
    found: set[Node] = set()
    for node in gm.graph.nodes:
        if node.op in ("placeholder", "output"):
            continue
        if node.op != "get_attr" and not (node.all_input_nodes and set(node.all_input_nodes) <= found):
            continue
        if (skip is not None and skip(node)) or (node.op != "get_attr" and node.is_impure()):
            continue
        found.add(node)
    return found


@compatibility(is_backward_compatible=False)
def split_const_subgraphs(
    module: torch.nn.Module | GraphModule,
    skip_folding_node_fn: Callable[[Node], bool] | None = None,
    device_for_folded_attrs: str = "cpu",
) -> FoldedGraphModule:
    """The module with what depends on its parameters only computed apart, once, at the first call.

    `skip_folding_node_fn(node)` says of which nodes not.

    >>> class Scaled(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    ...     def forward(self, x):
    ...         return x * (self.weight.exp() + 1)
    >>> folded = split_const_subgraphs(Scaled())
    >>> [node.op for node in folded.graph.nodes]
    ['placeholder', 'get_attr', 'call_function', 'output']
    """
    traced = module if isinstance(module, GraphModule) else torch.fx.symbolic_trace(module)
    constant = _foldable(traced, skip_folding_node_fn)
    if not any(node.op != "get_attr" for node in constant):
        return FoldedGraphModule(traced, traced.graph)
    with_placeholders = {node for node in traced.graph.nodes if node.op == "placeholder"}
    split = split_module(traced, module, lambda node: 0 if node in constant else 1)
    parts = {name: child for name, child in split.named_children() if re.fullmatch(r"submod_[01]", name)}
    const_part: Any = parts["submod_0"]
    name = get_unique_attr_name_in_module(split, "_FX_CONST_FOLDED_ATTRS")
    call = next(node for node in split.graph.nodes if node.op == "call_module" and node.target == "submod_0")
    outputs = const_part.graph.output_node().args[0]
    # What the constant part takes are parameters of the whole.
    given = iter(call.args)
    for node in [node for node in const_part.graph.nodes if node.op == "placeholder"]:
        source: Any = next(given)
        with const_part.graph.inserting_before(node):
            attribute = const_part.graph.create_node("get_attr", source.target)
        node.replace_all_uses_with(attribute)
        const_part.graph.erase_node(node)
    setattr(split, name, torch.nn.ParameterList() if isinstance(outputs, tuple) else torch.nn.Parameter(torch.empty(0)))
    with split.graph.inserting_before(call):
        held = split.graph.create_node("get_attr", name)
    if not isinstance(outputs, tuple):
        held.meta = dict(outputs.meta)
    call.replace_all_uses_with(held)
    split.graph.erase_node(call)
    if "submod_1" in parts:
        _inline(split, "submod_1")
    split.graph.eliminate_dead_code()
    _name_placeholders(split, with_placeholders)
    for node in const_part.graph.nodes:
        if node.op in ("get_attr", "call_module") and not _has(split, node.target):
            torch.fx.graph_module._copy_attribute(const_part, split, node.target)
    del split._modules["submod_0"]
    return FoldedGraphModule(split, split.graph, const_part.graph, name, device_for_folded_attrs)


def _has(module: torch.nn.Module, path: str) -> bool:
    for part in path.split("."):
        if not hasattr(module, part):
            return False
        module = getattr(module, part)
    return True


def _name_placeholders(gm: GraphModule, old: set[Node]) -> None:
    by_name = {node.name: node for node in old}
    for node in gm.graph.nodes:
        if node.op == "placeholder" and node.name in by_name:
            node.meta = dict(by_name[node.name].meta)
