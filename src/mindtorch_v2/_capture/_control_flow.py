"""Control flow by tensors: `torch.cond` and the loops, each one node whose functions are graphs.

The functions are run once, as any of the program is, and their nodes stand in line until the graph is finished (`fx._regions`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._core.torch_function import DisableTorchFunction
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder

__all__ = ["handlers"]


@functools.cache
def handlers() -> dict[Any, Callable[..., Any]]:
    """The public functions -> handler(trace, *args, **kwargs)."""
    found: dict[Any, Callable[..., Any]] = {torch.cond: _cond, torch.while_loop: _while_loop}
    loops: Any = vars(torch)["_higher_order_ops"]  # which the first two have loaded
    return {**found, loops.scan: _scan, loops.map.map: _map, loops.wrap.wrap: _wrap}


def _cond(trace: Recorder, pred, true_fn, false_fn, operands=()):
    if not isinstance(pred, torch.Tensor):
        return trace.calls.call(true_fn if pred else false_fn, *trace.iteration.over(operands))
    if pred.numel() != 1:
        trace.refuse("torch.cond by a tensor of several elements", "cond")
    operands = trace.values.deep(operands)
    leaves = _tensors(trace, "torch.cond", operands)
    forms: list[Any] = []
    functions = [
        (label, _flat(trace, function, lambda _, operands=operands: operands, forms))
        for label, function in (("cond_true", true_fn), ("cond_false", false_fn))
    ]

    def results(found: list[list[Any]]) -> list[Any]:
        _same_form(trace, "torch.cond", found[0], found[1], forms[0] == forms[1])
        return found[0]

    made = _record(trace, "cond", (pred,), functions, (), (leaves,), results)
    return pytree.tree_unflatten(made, forms[0])


def _while_loop(trace: Recorder, cond_fn, body_fn, carried_inputs):
    carried_inputs = tuple(trace.values.deep(carried_inputs))
    leaves = _tensors(trace, "torch.while_loop", carried_inputs)
    form = pytree.tree_structure(carried_inputs)
    forms: list[Any] = []

    def values(given: Sequence[Any]) -> Any:
        return pytree.tree_unflatten(given, form)

    def results(found: list[list[Any]]) -> list[Any]:
        _same_form(trace, "torch.while_loop", found[1], leaves, forms[-1] == form or len(leaves) == 1)
        return found[1]

    functions = [
        ("cond_fn", _flat(trace, cond_fn, values, forms)),
        ("body_fn", _flat(trace, body_fn, values, forms)),
    ]
    made = _record(trace, "while_loop", (), functions, leaves, (leaves, ()), results)
    return pytree.tree_unflatten(made, form)


def _scan(trace: Recorder, combine_fn, init, xs, *, dim=0, reverse=False):
    init, xs = trace.values.deep(init), trace.values.deep(xs)
    start, leaves = _tensors(trace, "scan", init), _tensors(trace, "scan", xs)
    carry_form, form = pytree.tree_structure(init), pytree.tree_structure(xs)
    if dim or reverse or not leaves:
        trace.refuse("scan along another dimension than the first, or from its end", "scan")
    forms: list[Any] = []

    def pair(given: Sequence[Any]) -> Any:
        return pytree.tree_unflatten(given[: len(start)], carry_form), pytree.tree_unflatten(given[len(start) :], form)

    def results(found: list[list[Any]]) -> list[Any]:
        carry, ys = found[0][: len(start)], found[0][len(start) :]
        _same_form(trace, "scan", carry, start, forms[0].child(0) == carry_form)
        return [*carry, *(_stacked(y, len(leaves[0])) for y in ys)]

    functions = [("scan_combine_fn", _flat(trace, combine_fn, pair, forms))]
    slices = [_slice(trace, x) for x in leaves]
    made = _record(trace, "scan", (), functions, (*start, *slices), (start, leaves, ()), results)
    return (
        pytree.tree_unflatten(made[: len(start)], carry_form),
        pytree.tree_unflatten(made[len(start) :], forms[0].child(1)),
    )


def _map(trace: Recorder, f, xs, *args):
    xs, args = trace.values.deep(xs), trace.values.deep(args)
    leaves, form = _tensors(trace, "map", xs), pytree.tree_structure(xs)
    if not leaves or any(x.dim() == 0 or len(x) != len(leaves[0]) or not len(x) for x in leaves):
        trace.refuse("map over tensors of several first sizes, or none", "map")
    forms: list[Any] = []

    def arguments(given: Sequence[Any]) -> Any:
        return (pytree.tree_unflatten(given, form), *args)

    def results(found: list[list[Any]]) -> list[Any]:
        return [_stacked(each, len(leaves[0])) for each in found[0]]

    functions = [("map_body", _flat(trace, f, arguments, forms))]
    made = _record(trace, "map_impl", (), functions, [_slice(trace, x) for x in leaves], (leaves, ()), results)
    return pytree.tree_unflatten(made, forms[0])


def _wrap(trace: Recorder, function, *args, **kwargs):
    """A call of one function, which may write to what it is given and give it back."""
    graph = trace.graph
    due = trace.writes.due()
    begin, _ = graph.begin_region("wrap_body", ())
    leaves, form = pytree.tree_flatten(trace.values.deep(trace.calls.call(function, *args, **kwargs)))
    if trace.writes.due() != due:
        trace.refuse("a function of torch.ops.higher_order.wrap that writes to objects outside of it", "write")
    places = [place for place, each in enumerate(leaves) if isinstance(each, torch.Tensor)]
    nodes = [graph.node_of(leaves[place]) for place in places]
    made = graph.end_regions("wrap", (), [(begin, nodes)], (), [leaves[place] for place in places])
    for place, each in zip(places, made):
        leaves[place] = each
    return pytree.tree_unflatten(leaves, form)


# ---- what they share ----


def _tensors(trace: Recorder, of, tree) -> list[Any]:
    """The tensors of a tree that holds nothing else."""
    leaves = pytree.tree_leaves(tree)
    if not all(isinstance(each, torch.Tensor) for each in leaves):
        trace.refuse(f"{of} of values that are no tensors", "operand")
    return leaves


def _flat(trace: Recorder, function, arguments, forms):
    """A function of what is carried that gives the leaves of the program's function; the form of its result goes to `forms`."""

    def of_leaves(carried: Sequence[Any]) -> list[Any]:
        found, form = pytree.tree_flatten(trace.values.deep(trace.calls.call(function, *arguments(carried))))
        forms.append(form)
        return found

    return of_leaves


def _record(trace: Recorder, operator, before, functions, anew, after, results) -> list[Any]:
    """The results of a call of an operator of control flow, whose functions are recorded."""
    graph = trace.graph
    writes, known = trace.writes.due(), [*(x for group in after for x in group), *(each.fake for each in graph.inputs)]
    versions, memories = [x._version for x in known], {x.untyped_storage()._cdata for x in known}
    regions, found = [], []
    for label, function in functions:
        begin, carried = graph.begin_region(label, anew)
        leaves = function(carried)
        own = memories | {x.untyped_storage()._cdata for x in carried}
        if not all(isinstance(each, torch.Tensor) for each in leaves):
            trace.refuse(f"a function of torch.ops.higher_order.{operator} gives what is no tensor", "cond")
        if any(each.untyped_storage()._cdata in own for each in leaves):
            trace.refuse(
                f"a function of torch.ops.higher_order.{operator} gives an operand or a view of one back", "aliasing"
            )
        regions.append((begin, [graph.node_of(each) for each in leaves]))
        found.append(leaves)
    if trace.writes.due() != writes or [x._version for x in known] != versions:
        trace.refuse(f"a function of torch.ops.higher_order.{operator} that writes", "write")
    with DisableTorchFunction():
        made = results(found)
    return graph.end_regions(operator, before, regions, after, made)


def _same_form(trace: Recorder, of, first, second, same_structure) -> None:
    """Refuse results that look different."""

    def facts(x: Any) -> tuple:
        return tuple(x.shape), x.dtype, x.device

    if not same_structure or len(first) != len(second) or any(facts(a) != facts(b) for a, b in zip(first, second)):
        trace.refuse(f"{of}: its functions give values of different structure, shape or dtype", "cond")


def _slice(trace: Recorder, x):
    return trace.graph.record("call_method", "select", (x, 0, 0), {})


def _stacked(y, count):
    return y.detach().expand(count, *y.shape).clone().requires_grad_(y.requires_grad)
