"""Backward of a stage in two parts: to its inputs first, which the stage before waits for, and to its weights later.

What the second part starts from are the nodes of the graph where paths to weights leave the paths to the inputs: the gradients that
reach them are kept by the first part.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.autograd.graph import GradientEdge, get_gradient_edge

__all__ = ["stage_backward", "stage_backward_input", "stage_backward_weight"]


def stage_backward(
    stage_output: Any, output_grads: Any, input_values: Sequence[Any], outputs_with_grads_idxs: Any = None
) -> tuple[torch.Tensor | None, ...]:
    """Whole backward of outputs (or of a loss, whose gradient is None); the gradients of the inputs.

    Args:
        stage_output: a tensor, or several.
        output_grads: their gradients.
        input_values: tensors whose gradients are asked for; None is returned for what is no tensor.
        outputs_with_grads_idxs: accepted as PyTorch did before.
    """
    outputs = [stage_output] if isinstance(stage_output, torch.Tensor) else list(stage_output)
    gradients = [output_grads] if output_grads is None or isinstance(output_grads, torch.Tensor) else list(output_grads)
    pairs = [(each, own) for each, own in zip(outputs, gradients, strict=True) if _is_differentiable(each)]
    tensors = [each for each in input_values if isinstance(each, torch.Tensor)]
    for each in tensors:
        if each.requires_grad and not each.is_leaf:
            each.retain_grad()
    torch.autograd.backward([each for each, _ in pairs], [own for _, own in pairs])
    return tuple(each.grad if isinstance(each, torch.Tensor) else None for each in input_values)


def _is_differentiable(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and (value.requires_grad or value.grad_fn is not None)


class _Graph:
    """The nodes behind some outputs: which lead to the inputs, and who is before whom."""

    def __init__(self, roots: Iterable[Any], inputs: set[Any]) -> None:
        self.parents: dict[Any, list[Any]] = collections.defaultdict(list)
        self.nodes: list[Any] = []  # each before those that it leads to
        self.on_path: set[Any] = set()
        seen: set[Any] = set()
        for root in roots:
            stack = [(root, False)]
            while stack:
                node, through = stack.pop()
                if through:
                    self.nodes.append(node)
                    followers = [each for each, _ in node.next_functions if each is not None]
                    for each in followers:
                        self.parents[each].append(node)
                    if node in inputs or any(each in self.on_path for each in followers):
                        self.on_path.add(node)
                elif node not in seen:
                    seen.add(node)
                    stack.append((node, True))
                    stack += [(each, False) for each, _ in node.next_functions if each is not None]

    def boundary(self, node: Any) -> frozenset[Any]:
        """The nodes on the paths to the inputs, or roots, from which the node is reached beside those paths."""
        found, seen, stack = set(), {node}, [node]
        while stack:
            here = stack.pop()
            if here in self.on_path or not self.parents[here]:
                found.add(here)
                continue
            for each in self.parents[here]:
                if each not in seen:
                    seen.add(each)
                    stack.append(each)
        return frozenset(found)

    def nested(self, nodes: frozenset[Any]) -> bool:
        """Whether one of the nodes is reached from another."""
        for node in nodes:
            seen, stack = set(), [each for each, _ in node.next_functions if each is not None]
            while stack:
                here = stack.pop()
                if here in nodes:
                    return True
                if here in self.on_path and here not in seen:
                    seen.add(here)
                    stack += [each for each, _ in here.next_functions if each is not None]
        return False


def stage_backward_input(
    stage_outputs_or_loss: Sequence[torch.Tensor],
    output_grads: Sequence[torch.Tensor | None] | None,
    input_values: Sequence[Any],
    weights: Iterable[torch.nn.Parameter],
) -> tuple[tuple[torch.Tensor | None, ...], list[dict[str, Any]]]:
    """(gradients of the inputs, what `stage_backward_weight` needs); the weights' gradients are not computed.

    Args:
        stage_outputs_or_loss: what backward starts from.
        output_grads: gradients of these; None for losses.
        input_values: tensors; None is returned for what needs no gradient.
        weights: parameters.
    """
    gradients = [None] * len(stage_outputs_or_loss) if output_grads is None else list(output_grads)
    pairs = [
        (each, own) for each, own in zip(stage_outputs_or_loss, gradients, strict=True) if _is_differentiable(each)
    ]
    outputs = [each for each, _ in pairs]
    starts = [torch.ones_like(each) if own is None else own for each, own in pairs]
    wanted = [each for each in input_values if _is_differentiable(each)]
    roots = [get_gradient_edge(each) for each in outputs]
    graph = _Graph([each.node for each in roots], {get_gradient_edge(each).node for each in wanted})
    groups: dict[frozenset[Any], list[Any]] = collections.defaultdict(list)
    known = set(graph.nodes)
    for weight in weights:
        if weight.requires_grad and get_gradient_edge(weight).node in known:
            groups[graph.boundary(get_gradient_edge(weight).node)].append(weight)
    at_once = [weight for nodes, members in groups.items() if graph.nested(nodes) for weight in members]
    later = {nodes: members for nodes, members in groups.items() if not graph.nested(nodes)}
    kept: dict[Any, tuple] = {}
    for edge, start in zip(roots, starts, strict=True):
        if edge.node not in graph.on_path:
            kept[edge.node] = _with(kept.get(edge.node, ()), edge.output_nr, start)
    hooks = [
        node.register_prehook(lambda grads, node=node: kept.__setitem__(node, tuple(grads)))
        for node in set().union(*later)
        if node in graph.on_path
    ]
    found: Sequence[Any] = ()
    if wanted or at_once:
        found = torch.autograd.grad(outputs, [*wanted, *at_once], starts, retain_graph=True, allow_unused=True)
    for hook in hooks:
        hook.remove()
    given = iter(found)
    inputs = tuple(next(given) if _is_differentiable(each) else None for each in input_values)
    made: list[dict[str, Any]] = []
    if at_once:
        made.append({"params": at_once, "intermediates": [], "grads": list(given)})
    for nodes, members in later.items():
        starts_of = [
            (GradientEdge(node, place), grad)
            for node in nodes
            for place, grad in enumerate(kept.get(node, ()))
            if grad is not None
        ]
        edges, grads = [each for each, _ in starts_of], [grad for _, grad in starts_of]
        made.append({"params": members, "intermediates": edges, "grads": grads})
    return inputs, made


def _with(values: tuple, place: int, value: Any) -> tuple:
    listed = list(values) + [None] * (place + 1 - len(values))
    listed[place] = value if listed[place] is None else listed[place] + value
    return tuple(listed)


def stage_backward_weight(
    weights: Iterable[torch.nn.Parameter], param_groups: list[dict[str, Any]], retain_graph: bool = False
) -> tuple[torch.Tensor | None, ...]:
    """Compute the gradients that `stage_backward_input` left, and add them to the weights'; they are returned, in order."""
    found: dict[int, Any] = {}
    for group in param_groups:
        members, edges, grads = group["params"], group["intermediates"], group["grads"]
        if edges:
            # Parts of the graph may be another group's too.
            grads = torch.autograd.grad(edges, members, grads, retain_graph=True, allow_unused=True)
        elif len(grads) != len(members):
            continue
        for weight, grad in zip(members, grads, strict=True):
            if grad is not None:
                found[id(weight)] = grad
                weight.grad = grad if weight.grad is None else weight.grad + grad
        if not retain_graph:
            group["intermediates"], group["grads"] = [], []
    return tuple(found.get(id(weight)) for weight in weights)
