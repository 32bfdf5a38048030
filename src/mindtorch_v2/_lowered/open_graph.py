"""A graph of operators for many sizes, made of the graphs for some: numbers, and kernels made for them, become its arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._lowered.fused_program import FusedKernel
from mindtorch_v2._lowered.layers import LayerKernel
from mindtorch_v2._sizes.templates import NoTemplate, Numbers, filled, fitted, slots
from mindtorch_v2.fx import Graph, GraphModule, Node

__all__ = ["OpenGraph", "same_attribute", "templates_of"]


def same_attribute(modules: Sequence[GraphModule], name: str) -> None:
    """NoTemplate unless a value that graphs hold is the same in each."""
    first, *others = (operator.attrgetter(name)(module) for module in modules)
    for each in others:
        if each is first:
            continue
        tensors = isinstance(each, torch.Tensor) and isinstance(first, torch.Tensor)
        if not tensors or each.dtype != first.dtype or each.device != first.device or not torch.equal(each, first):
            raise NoTemplate(f"{name}, which the graph holds, became another")


def _target(nodes: Sequence[Node], numbers: Numbers) -> Any:
    """The target of a call: the same in each graph, or the template of a kernel's recipe."""
    targets = [node.target for node in nodes]
    if all(each is targets[0] or each == targets[0] for each in targets):
        return targets[0]
    if all(type(each) is FusedKernel for each in targets):
        return _Recipe(fitted([each.recipe for each in targets], numbers), targets[0].__name__)
    if all(type(each) is LayerKernel and each.recipe == targets[0].recipe for each in targets):
        return targets[-1]
    raise NoTemplate(f"{targets[0]} became {targets[1]}")


class _Recipe:
    """A kernel's recipe for all sizes."""

    def __init__(self, template: Any, name: str) -> None:
        self.template, self.name = template, name

    def kernel(self, numbers: Sequence[int]) -> FusedKernel:
        """The kernel for some."""
        try:
            return FusedKernel.made_by(filled(self.template, numbers.__getitem__), self.name)
        except IndexError:  # (an operator that hands in fewer loops)
            raise NoTemplate(f"{self.name} is another program for other sizes") from None


def templates_of(modules: Sequence[GraphModule], numbers: Numbers) -> list[tuple[Node, Any, Any]]:
    """For each node, as it stands in the first graph, what is called and the template of its arguments.

    NoTemplate unless the graphs are the same but for numbers.
    """
    found = []
    graphs = [list(module.graph.nodes) for module in modules]
    if any(len(each) != len(graphs[0]) for each in graphs):
        raise NoTemplate(f"{len(graphs[0])} nodes became {[len(each) for each in graphs[1:]]}")
    for nodes in zip(*graphs):
        first = nodes[0]
        if any((node.op, node.name) != (first.op, first.name) for node in nodes):
            raise NoTemplate(f"{first.format_node()} became {nodes[1].format_node()}")
        if first.op == "get_attr":
            same_attribute(modules, first.target)
        target = _target(nodes, numbers)
        found.append((first, target, fitted([(node.args, dict(node.kwargs)) for node in nodes], numbers)))
    return found


class OpenGraph:
    """The graph. `at(numbers)` gives a callable of its tensors, where `numbers` are those of the template."""

    def __init__(self, modules: Sequence[GraphModule], numbers: Numbers) -> None:
        found = templates_of(modules, numbers)
        graph = Graph()
        copies = {node: graph.placeholder(node.target) for node, _, _ in found if node.op == "placeholder"}
        places: dict[int, Node] = {}  # of a number among all -> the argument that it is here
        for place in dict.fromkeys(place for _, _, template in found for place in slots(template)):
            places[place] = graph.placeholder(f"number_{place}")
        self._places = list(places)
        self._recipes = [target for _, target, _ in found if isinstance(target, _Recipe)]
        kernels = iter([graph.placeholder(each.name) for each in self._recipes])
        for node, target, template in found:
            args, kwargs = filled(template, places.__getitem__, copies.__getitem__)
            if node.op == "output":
                graph.output(*args)
            elif isinstance(target, _Recipe):
                copies[node] = graph.call_function(operator.call, (next(kernels), *args), kwargs)
            elif node.op != "placeholder":
                copies[node] = graph.create_node(node.op, target, args, kwargs)
        self._run = GraphModule(modules[0], graph).forward

    def at(self, numbers: Sequence[int]) -> Callable[..., Any]:
        """The graph for some numbers; NoTemplate if a kernel of it is another one for these."""
        run, rest = self._run, [numbers[place] for place in self._places]
        rest += [each.kernel(numbers) for each in self._recipes]
        return lambda *tensors: run(*tensors, *rest)
