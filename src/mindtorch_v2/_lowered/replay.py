"""Graphs, run again in other orders and beside the program: `MINDTORCH_GRAPH_CHECK=1` does it for every lowered graph."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._lowered.verify import GraphError, verify, written
from mindtorch_v2.fx import Node
from mindtorch_v2.fx.node import draws
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph_module import GraphModule


__all__ = ["check_against_program", "check_order", "is_asked_for"]

_TOLERANCE = {"rtol": 1e-4, "atol": 1e-5, "equal_nan": True}


def is_asked_for() -> bool:
    """Whether the variable `MINDTORCH_GRAPH_CHECK` is set."""
    return os.environ.get("MINDTORCH_GRAPH_CHECK", "") not in ("", "0")


def _tensors(tree) -> list:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def _copy(x):
    """A tensor of its own with the same elements and strides; other values as they are."""
    if not isinstance(x, torch.Tensor):
        return x
    if _overlaps(x):
        return x.detach().clone()
    with torch.no_grad():
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=x.device).copy_(x)


def _overlaps(x) -> bool:
    return any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape))


def _snapshot(tree):
    return pytree.tree_map(lambda x: x.detach().clone() if isinstance(x, torch.Tensor) else x, tree)


def _same(one, other, exact) -> bool:
    ours, theirs = pytree.tree_leaves(one), pytree.tree_leaves(other)
    if len(ours) != len(theirs):
        return False
    for a, b in zip(ours, theirs):
        if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
            return False
        if not isinstance(a, torch.Tensor):
            continue
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if a.dtype.is_floating_point or a.dtype.is_complex:
            if not torch.allclose(a, b, **(_TOLERANCE if not exact else {"rtol": 0, "atol": 0, "equal_nan": True})):
                return False
        elif not torch.equal(a, b):
            return False
    return True


def _is_random(node):
    return hasattr(node.target, "_handle") and draws(node.target)


def _in_some_order(graph, seed):
    """The nodes in an order that data flow allows. Random numbers are drawn in their order, and copies at the end stay there."""
    draw = random.Random(seed)  # an order, not a secret
    nodes = [node for node in graph.nodes if node.op != "output" and not written(node)]
    last = [node for node in graph.nodes if node.op != "output" and written(node)]
    waiting = {node: len({n for n in node.all_input_nodes if not written(n)}) for node in nodes}
    drawing = [node for node in nodes if _is_random(node)]
    for before, after in zip(drawing, drawing[1:]):
        waiting[after] += before not in after.all_input_nodes
    following = dict(zip(drawing, drawing[1:]))
    ready = [node for node in nodes if not waiting[node]]
    order = []
    while ready:
        node = ready.pop(draw.randrange(len(ready)))
        order.append(node)
        freed = [user for user in node.users if user in waiting]
        after = following.get(node)
        if after is not None and node not in after.all_input_nodes:
            freed.append(after)
        for user in freed:
            waiting[user] -= 1
            if not waiting[user]:
                ready.append(user)
    return order + last


def _run(module, args, order, watch):
    """Each node's value, copied when it was made. With `watch`, what an operator does to its arguments is looked at."""
    given = iter(args)
    values: dict[Any, Any] = {}
    kept: dict[Any, Any] = {}
    placeholders = {node: next(given) for node in module.graph.find_nodes(op="placeholder")}
    with torch.no_grad():
        for node in order:
            if node.op == "placeholder":
                value = placeholders[node]
            elif node.op == "get_attr":
                value = module
                for name in node.target.split("."):
                    value = getattr(value, name)
            else:
                node_args = torch.fx.node.map_arg(node.args, lambda n: values[n])
                node_kwargs = torch.fx.node.map_arg(node.kwargs, lambda n: values[n])
                before = _snapshot((node_args, node_kwargs)) if watch else None
                if node.op == "call_module":
                    value = module.get_submodule(node.target)(*node_args, **node_kwargs)
                elif node.op == "call_method":
                    value = getattr(node_args[0], node.target)(*node_args[1:], **node_kwargs)
                else:
                    value = node.target(*node_args, **node_kwargs)
                if "empty" in getattr(node.target, "__name__", ""):
                    value.zero_()  # what was in that memory before is nobody's business
                if watch and not written(node) and not _same(before, (node_args, node_kwargs), exact=True):
                    raise GraphError(
                        f"node '{node.name}': {node.target} writes to an argument, and its schema does not say so: "
                        f"{getattr(node.target, '_schema', '')}. In a graph whoever reads the argument may run before it or "
                        "after it. Mark what it writes: Tensor(a!)"
                    )
            values[node] = value
            kept[node] = _snapshot(value)
    return kept


def check_order(module: GraphModule, args: Sequence[torch.Tensor], orders: int = 3) -> GraphModule:
    """Run a graph without writes in its own order, and in `orders` others that its data flow allows; returns it.

    GraphError, which names the first node that differs, or an operator that writes to an argument without saying so.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> from mindtorch_v2.graph import check_order
    >>> x = torch.ones(2)
    >>> _ = check_order(make_fx(lambda x: x.sin() + x.cos())(x), (x,))
    """
    verify(module, functional=True)
    state = torch.get_rng_state()
    plain = [node for node in module.graph.nodes if node.op != "output"]
    try:
        expected = _run(module, [_copy(each) for each in args], plain, watch=True)
        for seed in range(orders):
            torch.set_rng_state(state)
            found = _run(module, [_copy(each) for each in args], _in_some_order(module.graph, seed), watch=False)
            for node in plain:
                if not _same(expected[node], found[node], exact=False):
                    _report(node)
    finally:
        torch.set_rng_state(state)
    return module


def _report(node) -> None:
    sources = ", ".join(f"'{each.name}'" for each in node.all_input_nodes if isinstance(each, Node)) or "nothing"
    raise GraphError(
        f"node '{node.name}' ({node.target}) gives something else when the graph runs in another order that its data flow "
        f"allows. It reads {sources}: an operator that writes there without a mark in its schema, Tensor(a!), or that keeps "
        "state outside of its arguments, is the cause"
    )


def check_against_program(
    function: Callable[..., Any], run: Callable[..., Any], inputs: Sequence[torch.Tensor], describe: Callable[..., Any]
) -> None:
    """Whether `run(*inputs)` gives what `function(*inputs)` does: results, what is written to arguments, and gradients.

    Both run on copies, with the same random numbers. GraphError says what differs; `describe()` tells of the graph.
    """
    memories = [each.untyped_storage()._cdata for each in inputs if isinstance(each, torch.Tensor)]
    if len(set(memories)) != len(memories):
        return  # copies would not share memory as these do
    state = torch.get_rng_state()
    try:
        expected = _outcome(function, inputs)
        torch.set_rng_state(state)
        found = _outcome(run, inputs)
    finally:
        torch.set_rng_state(state)
    for what, ours, theirs in zip(("results", "written arguments", "gradients"), found, expected):
        if len(ours) != len(theirs):
            raise GraphError(f"the graph gives {len(ours)} {what}, the program {len(theirs)}")
        for number, (one, other) in enumerate(zip(ours, theirs)):
            if not _same(one, other, exact=False):
                raise GraphError(
                    f"the graph differs from the program in number {number} of its {what}. {describe()}\nAn operator whose "
                    "Meta or Functionalize kernel does not do what its other kernels do is the usual cause: torch.library.opcheck finds it"
                )


def _outcome(function, inputs):
    given = []
    for each in inputs:
        copied = _copy(each)
        if isinstance(each, torch.Tensor) and each.requires_grad:
            copied.requires_grad_()
            with torch.enable_grad():
                given.append((copied, copied if each.is_leaf else copied.clone()))
        else:
            given.append((copied, copied))
    results = list(function(*[each for _, each in given]))
    leaves = [leaf for leaf, _ in given if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
    gradients: Sequence[Any] = ()
    outputs = [r for r in results if isinstance(r, torch.Tensor) and r.requires_grad]
    if leaves and outputs and torch.is_grad_enabled():
        gradients = torch.autograd.grad([r.sum() for r in outputs], leaves, allow_unused=True)
    arguments = [each for _, each in given]
    return _snapshot(results), _snapshot(arguments), _snapshot(list(gradients))
