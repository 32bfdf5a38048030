"""Cutting a graph module into submodules that are called one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx.graph import Graph
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import map_arg
from mindtorch_v2.fx.proxy import Proxy

__all__ = ["Partition", "split_module"]


class Partition:
    """One part: its nodes, what it takes and gives, and the parts before and after it.

    >>> from mindtorch_v2.fx.passes.split_module import Partition
    >>> Partition("0").submod_name, list(Partition("0").inputs)
    ('submod_0', [])
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names: list[Any] = []
        self.inputs: dict[Any, Any] = {}
        self.outputs: dict[Any, Any] = {}
        self.dependencies: dict[Any, Any] = {}
        self.dependents: dict[Any, Any] = {}
        self.graph = Graph()
        self.environment: dict[Any, Any] = {}
        self.targets: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return (
            f"name: {self.name},\n nodes: {self.node_names},\n inputs: {list(self.inputs)},\n"
            f" outputs: {list(self.outputs)},\n partitions depended on: {list(self.dependencies)},\n"
            f" partition dependents: {list(self.dependents)}"
        )


def _reach(module, path):
    for part in path.split("."):
        if not hasattr(module, part):
            raise AttributeError(f"Node target {path} not found!")
        module = getattr(module, part)
    return module


def split_module(
    m: torch.nn.Module,
    root_m: torch.nn.Module,
    split_callback: Callable[..., Any],
    qualname_map: dict[str, str] | None = None,
    keep_original_order: bool = False,
    keep_original_node_name: bool = False,
    keep_original_input_name: bool = True,
    *,
    partition_affix: str | None = None,
    tuple_return: bool = False,
) -> GraphModule:
    """A GraphModule that calls `submod_<n>` for each part of the GraphModule `m`; `split_callback(node)` says which.

    `qualname_map` gets the old path of each module that is moved. Parts are called in an order that their values allow, by
    `keep_original_order` in that of their first nodes. RuntimeError if two parts need each other.

    >>> from mindtorch_v2.fx.passes.split_module import split_module
    >>> traced = torch.fx.symbolic_trace(lambda x: x.relu().sin())
    >>> parts = split_module(traced, traced, lambda node: int(node.target == "sin"))
    >>> [node.target for node in parts.graph.nodes if node.op == "call_module"], parts(torch.tensor([0.0]))
    (['submod_0', 'submod_1'], tensor([0.]))
    """
    parts: dict[Any, Any] = {}
    place_of: dict[Any, Any] = {}
    by_name = {node.name: node for node in m.graph.nodes}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        if node.target is torch._C._set_grad_enabled:
            raise NotImplementedError("split_module(): a graph that switches grad mode is not supported")
        name = str(split_callback(node))
        name = name if partition_affix is None else f"{partition_affix}_{name}"
        part = parts.setdefault(name, Partition(name))
        part.node_names.append(node.name)
        place_of[node] = part
    for node in m.graph.nodes:
        if node.op not in ("placeholder", "get_attr"):
            map_arg(
                (node.args, node.kwargs),
                lambda used, node=node: _note_use(place_of.get(used), place_of.get(node), used),
            )
    order = _sorted(parts)
    for part in order:
        _make_inputs(part, m, by_name, keep_original_input_name)
    for node, part in place_of.items():
        _copy_node(node, part, m, qualname_map, keep_original_node_name)
    base, values, attributes = _base_inputs(m)
    for part in parts.values() if keep_original_order else order:
        _call_part(part, root_m, base, values, attributes, by_name, tuple_return)
    for node in m.graph.nodes:
        if node.op == "output":
            base.output(map_arg(node.args[0], lambda used: values[used.name])).meta = node.meta.copy()
    made = GraphModule(attributes, base)
    made.meta.update(m.meta)
    return made


def _note_use(defined, used, node) -> None:
    if defined is used:
        return
    if defined is not None:
        defined.outputs.setdefault(node.name)
        if used is not None:
            defined.dependents.setdefault(used.name)
    if used is not None:
        used.inputs.setdefault(node.name)
        if defined is not None:
            used.dependencies.setdefault(defined.name)


def _sorted(parts):
    missing = {name: set(part.dependencies) for name, part in parts.items()}
    ready = [name for name in parts if not missing[name]]
    order = []
    while ready:
        name = ready.pop()
        order.append(parts[name])
        for after in parts[name].dependents:
            missing[after].discard(name)
            if not missing[after]:
                ready.append(after)
    if len(order) != len(parts):
        raise RuntimeError("cycle exists between partitions!")
    return order


def _make_inputs(part, m, by_name, keep_names) -> None:
    def is_module(name: str) -> bool:
        node = by_name[name]
        return node.op == "get_attr" and isinstance(_reach(m, node.target), torch.nn.Module)

    inputs = [name for name in part.inputs if not is_module(name)]
    for place, name in enumerate(inputs):
        made = part.graph.placeholder(name if keep_names else f"arg_{place}", type_expr=by_name[name].type)
        made.meta = by_name[name].meta.copy()
        part.environment[by_name[name]] = made
    for name in filter(is_module, part.inputs):
        node = by_name[name]
        part.environment[node] = part.graph.get_attr(node.target)
        part.targets[node.target] = _reach(m, node.target)
    part.inputs = dict.fromkeys(inputs)


def _copy_node(node, part, m, qualname_map, keep_name) -> None:
    target = node.target
    if node.op == "call_module":
        target = node.target.replace(".", "_")
        part.targets[target] = _reach(m, node.target)
        if qualname_map is not None:
            qualname_map[f"{part.submod_name}.{target}"] = node.target
    args, kwargs = (map_arg(each, lambda used: part.environment[used]) for each in (node.args, node.kwargs))
    name = node.name if keep_name else None
    made = part.graph.create_node(node.op, target, args, kwargs, name, node.type)
    made.meta = node.meta.copy()
    part.environment[node] = made


def _base_inputs(m) -> tuple:
    base, values, attributes = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            made = base.create_node("placeholder", node.target, node.args, type_expr=node.type)
        elif node.op == "get_attr":
            made = base.get_attr(node.target)
            attributes[node.target] = _reach(m, node.target)
        else:
            continue
        made.meta = node.meta.copy()
        values[node.name] = made
    return base, values, attributes


def _call_part(part, root, base, values, attributes, by_name, tuple_return) -> None:
    results = tuple(part.environment[by_name[name]] for name in part.outputs)
    single = len(results) == 1 and not tuple_return
    if results:
        part.graph.output(results[0] if single else results)
    attributes[part.submod_name] = GraphModule(part.targets, part.graph)
    call = base.call_module(part.submod_name, tuple(values[name] for name in part.inputs))
    if single:
        values[next(iter(part.outputs))] = call
    else:
        proxy = Proxy(call)
        for place, name in enumerate(part.outputs):
            values[name] = proxy[place].node
            values[name].meta = by_name[name].meta.copy()
