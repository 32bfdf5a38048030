"""Transforms of functions, `torch.vmap` and those of `torch.func`: a call of what they make is one node, whose function is a graph.

The function is run once on what looks like the tensors that it will be given (its nodes stand in line until the graph is finished, `fx._regions`), and
the finished graph calls one of the functions below with it, which transforms it. A back end that lowers the graph finds the
operators that this runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._frame import Frame
from mindtorch_v2._core.torch_function import DisableTorchFunction
from mindtorch_v2.fx import _regions
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._capture._recording import Recorder

__all__ = ["differentiated", "handlers", "jacobians", "mapped", "of_wrapper", "pulled_back", "pushed_forward"]


# ---- what stands in graphs ----


def _closed(function: Any, operands: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    return lambda *given: tuple(function(*given, *operands))


def _split(count: int, function: Any, operands: Sequence[Any]) -> Callable[..., Any]:
    """The first `count` results of a function, and the others."""
    closed = _closed(function, operands)

    def split(*given: Any) -> Any:
        found = closed(*given)
        return found[:count], found[count:]

    return split


def mapped(
    in_dims: Any, out_dims: Any, randomness: str, chunk_size: int | None, function: Any, leaves: Any, operands: Any
) -> Any:
    """The results of a function of slices, `torch.vmap`."""
    over = torch.vmap(_closed(function, operands), in_dims, out_dims, randomness, chunk_size=chunk_size)
    return over(*leaves)


def differentiated(function: Any, leaves: Any, operands: Any) -> Any:
    """The gradients of a function's first result by its tensors, and all its results."""
    closed = _closed(function, operands)

    def scalar_and_all(*given: Any) -> Any:
        found = closed(*given)
        return found[0], found

    every = tuple(range(len(leaves)))
    gradients, (_, results) = torch.func.grad_and_value(scalar_and_all, every, has_aux=True)(*leaves)
    return (*gradients, *results)


def pulled_back(function: Any, leaves: Any, cotangents: Any, operands: Any) -> Any:
    """The cotangents of a function's tensors for those of its results."""
    return torch.func.vjp(_closed(function, operands), *leaves)[1](tuple(cotangents))


def pushed_forward(count: int, function: Any, leaves: Any, tangents: Any, operands: Any) -> Any:
    """The results of a function, of which `count` have tangents, then the tangents."""
    split = _split(count, function, operands)
    results, directions, others = torch.func.jvp(split, tuple(leaves), tuple(tangents), has_aux=True)
    return (*results, *others, *directions)


def jacobians(transform: str, count: int, settings: Any, function: Any, leaves: Any, operands: Any) -> Any:
    """`torch.func.<transform>` of a function by all its tensors, one tensor for each way through the results and tensors.

    Behind those come the results after the first `count`, which are not differentiated.
    """
    split = _split(count, function, operands)
    every = tuple(range(len(leaves)))
    if transform == "hessian":
        return pytree.tree_leaves(torch.func.hessian(lambda *given: split(*given)[0], every)(*leaves))
    found, others = getattr(torch.func, transform)(split, every, has_aux=True, **dict(settings))(*leaves)
    return (*pytree.tree_leaves(found), *others)


# ---- what their results look like ----


def _shown(like: Any, shape: Sequence[Any], history: Any = None) -> Any:
    """A stand-in for a tensor, of another shape, that wants a gradient where `history` does."""
    return like.detach().new_empty(shape).requires_grad_((like if history is None else history).requires_grad)


def _like_mapped(before: Any, found: Any, after: Any) -> list[Any]:
    where, wanted, *_ = before
    count = after[0][0].shape[where[0]]
    return [_shown(y, (*y.shape[:dim], count, *y.shape[dim:])) for dim, y in zip(wanted, found)]


def _like_gradients(before: Any, found: Any, after: Any) -> list[Any]:
    return [*(_shown(x, x.shape, found[0]) for x in after[0]), *(_shown(y, y.shape) for y in found)]


def _like_cotangents(before: Any, found: Any, after: Any) -> list[Any]:
    return [_shown(x, x.shape) for x in after[0]]


def _like_tangents(before: Any, found: Any, after: Any) -> list[Any]:
    return [_shown(y, y.shape) for y in (*found, *found[: before[0]])]


def _like_jacobians(before: Any, found: Any, after: Any) -> list[Any]:
    transform, count, _ = before
    tails: list[Any] = [x.shape for x in after[0]]
    if transform == "hessian":
        tails = [(*a, *b) for a in tails for b in tails]
    looks = [_shown(y, (*y.shape, *tail)) for y in found[:count] for tail in tails]
    return [*looks, *(_shown(y, y.shape) for y in found[count:])]


_LOOKS: dict[Any, Callable[..., list[Any]]] = {
    mapped: _like_mapped,
    differentiated: _like_gradients,
    pulled_back: _like_cotangents,
    pushed_forward: _like_tangents,
    jacobians: _like_jacobians,
}
_regions.TRANSFORMS.update({f.__name__: (f, look) for f, look in _LOOKS.items()})


# ---- how they come there ----


@functools.cache
def handlers() -> dict[Any, Callable[..., Any]]:
    """The public functions -> handler(trace, *args, **kwargs)."""
    func = torch.func
    jacobian = {f: functools.partial(_jacobian, f.__name__) for f in (func.jacrev, func.jacfwd, func.hessian)}
    return {
        **dict.fromkeys((torch.vmap, func.vmap), _vmap),
        func.grad: functools.partial(_gradient, False),
        func.grad_and_value: functools.partial(_gradient, True),
        func.vjp: _vjp,
        func.jvp: _jvp,
        **jacobian,
    }


@functools.cache
def _wrappers() -> dict[Any, tuple[Any, tuple[str, ...]]]:
    """The code of what a transform makes -> the transform, and its parameters as variables that the code closes over."""
    func = torch.func
    return {
        made.__code__: (transform, made.__code__.co_freevars)
        for transform, made in (
            (torch.vmap, torch.vmap(abs)),
            (func.grad_and_value, func.grad_and_value(abs)),
            (func.jacrev, func.jacrev(abs)),
            (func.jacfwd, func.jacfwd(abs)),
        )
    }


def of_wrapper(trace: Recorder, f: Any) -> Callable[..., Any] | None:
    """The action at a call of a function that a transform has made outside of the program; None for other functions."""
    found = _wrappers().get(f.__code__)
    if found is None:
        return None
    transform, names = found
    frame = Frame(trace, f, trace.sources.source_of(f))
    made = handlers()[transform](trace, **{name: frame.read_cell(name) for name in names})
    return lambda trace, *args, **kwargs: made(*args, **kwargs)


def _vmap(trace: Recorder, func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    def over(*args: Any, **kwargs: Any) -> Any:
        args = trace.values.deep(args)
        leaves, form = pytree.tree_flatten(args)
        dims = pytree._broadcast_to_and_flatten(in_dims, form)
        places = [i for i, dim in enumerate(dims or ()) if dim is not None]
        if not places or any(isinstance(x, torch.Tensor) for x in pytree.tree_leaves(kwargs)):
            trace.refuse("torch.vmap with these arguments cannot be captured", "transform")
        chosen = _tensors(trace, "torch.vmap", [leaves[i] for i in places])
        if any(not -x.dim() <= dims[i] < x.dim() for i, x in zip(places, chosen)):
            trace.refuse("torch.vmap over what has no such dimension", "transform")
        where = tuple(dims[i] % x.dim() for i, x in zip(places, chosen))
        count = chosen[0].shape[where[0]]
        if not count or any(x.shape[dim] != count for x, dim in zip(chosen, where)):
            trace.refuse("torch.vmap over different sizes, or none", "transform")
        slices = [trace.graph.record("call_method", "select", (x, dim, 0), {}) for x, dim in zip(chosen, where)]

        def run(carried: Sequence[Any]) -> Any:
            filled = list(leaves)
            for place, each in zip(places, carried):
                filled[place] = each
            return trace.calls.call(func, *pytree.tree_unflatten(filled, form), **kwargs)

        def before(found: list[Any], found_form: Any) -> tuple[Any, ...]:
            single = isinstance(out_dims, tuple) and len(out_dims) == 1 and found_form.is_leaf()
            wanted = pytree._broadcast_to_and_flatten(out_dims[0] if single else out_dims, found_form)
            if wanted is None or None in wanted:
                trace.refuse("torch.vmap with these out_dims cannot be captured", "transform")
            wanted = tuple(dim % (y.dim() + 1) for dim, y in zip(wanted, found))
            return where, wanted, randomness, chunk_size

        made, result = _record(trace, mapped, run, slices, (chosen, ()), before)
        return pytree.tree_unflatten(made, result)

    return trace.functions.made(over)


def _gradient(with_value, trace: Recorder, func, argnums=0, has_aux=False):
    def gradient(*args: Any, **kwargs: Any) -> Any:
        numbers, chosen, run = _by_arguments(trace, func, argnums, args, kwargs)
        leaves, form = pytree.tree_flatten(chosen)
        leaves = _tensors(trace, "torch.func.grad", leaves)

        def before(found: list[Any], found_form: Any) -> tuple[()]:
            if found[0].dim() or found[0].is_complex() or found_form.is_leaf() is has_aux:
                trace.refuse("torch.func.grad of what gives no scalar cannot be captured", "transform")
            return ()

        def of_leaves(given: Sequence[Any]) -> Any:
            return run(form.unflatten(given))

        made, result = _record(trace, differentiated, of_leaves, leaves, (leaves, ()), before)
        gradients = form.unflatten(made[: len(leaves)])
        gradients = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        values = result.unflatten(made[len(leaves) :])
        if with_value:
            return gradients, values
        return (gradients, values[1]) if has_aux else gradients

    return trace.functions.made(gradient)


def _vjp(trace: Recorder, func, *primals, has_aux=False):
    primals = trace.values.deep(primals)
    leaves, form = pytree.tree_flatten(primals)
    leaves = _tensors(trace, "torch.func.vjp", leaves)
    result = trace.calls.call(func, *primals)
    result, aux = (*trace.iteration.over(result),) if has_aux else (result, None)
    outputs = _tensors(trace, "torch.func.vjp", pytree.tree_leaves(trace.values.deep(result)))

    def back(cotangents: Any, retain_graph: Any = True, create_graph: Any = None) -> Any:
        given = _tensors(trace, "torch.func.vjp", pytree.tree_leaves(trace.values.deep(cotangents)))
        if [x.shape for x in given] != [y.shape for y in outputs]:
            trace.refuse("cotangents of other shapes than the results", "transform")

        def run(carried: Sequence[Any]) -> Any:
            again = trace.calls.call(func, *pytree.tree_unflatten(carried, form))
            return (*trace.iteration.over(again),)[0] if has_aux else again

        made, _ = _record(trace, pulled_back, run, leaves, (leaves, given, ()), lambda *_: ())
        return pytree.tree_unflatten(made, form)

    back = trace.functions.made(back)
    return (result, back, aux) if has_aux else (result, back)


def _jvp(trace: Recorder, func, primals, tangents, *, strict=False, has_aux=False):
    primals, tangents = trace.values.deep(primals), trace.values.deep(tangents)
    leaves, form = pytree.tree_flatten(primals)
    directions, other_form = pytree.tree_flatten(tangents)
    leaves, directions = _tensors(trace, "torch.func.jvp", leaves), _tensors(trace, "torch.func.jvp", directions)
    if strict or [x.shape for x in leaves] != [t.shape for t in directions] or form != other_form:
        trace.refuse("torch.func.jvp with these arguments cannot be captured", "transform")
    counts: list[int] = []

    def run(carried: Sequence[Any]) -> Any:
        return trace.calls.call(func, *pytree.tree_unflatten(carried, form))

    def before(found: list[Any], found_form: Any) -> tuple[int]:
        counts.append(found_form.child(0).num_leaves if has_aux else len(found))
        return (counts[0],)

    made, result = _record(trace, pushed_forward, run, leaves, (leaves, directions, ()), before)
    total = len(made) - counts[0]
    values = pytree.tree_unflatten(made[:total], result)
    if has_aux:
        return values[0], pytree.tree_unflatten(made[total:], result.child(0)), values[1]
    return values, pytree.tree_unflatten(made[total:], result)


def _jacobian(transform, trace: Recorder, func, argnums=0, *pair, has_aux=False, **settings):
    has_aux = pair[0] if pair else has_aux

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        numbers, chosen, run = _by_arguments(trace, func, argnums, args, kwargs)
        leaves = _tensors(trace, f"torch.func.{transform}", chosen)
        counts: list[int] = []

        def before(found: list[Any], found_form: Any) -> tuple[str, int, Any]:
            counts.append(found_form.child(0).num_leaves if has_aux else len(found))
            named = tuple((name, value) for name, value in settings.items() if not name.startswith("_"))
            return transform, counts[0], named

        made, result = _record(trace, jacobians, run, leaves, (leaves, ()), before)
        outputs = result.child(0) if has_aux else result
        each = len(leaves) ** (2 if transform == "hessian" else 1)
        parts = [made[i : i + each] for i in range(0, each * counts[0], each)]
        by_output = outputs.unflatten([_by_argument(part, argnums, len(leaves), transform) for part in parts])
        if not has_aux:
            return by_output
        return by_output, result.child(1).unflatten(made[each * counts[0] :])

    return trace.functions.made(jacobian)


# ---- what they share ----


def _tensors(trace: Recorder, of: str, values: Sequence[Any]) -> list[Any]:
    if not values or not all(isinstance(each, torch.Tensor) for each in values):
        trace.refuse(f"{of} by what is no tensor", "transform")
    return list(values)


def _by_arguments(trace: Recorder, func: Any, argnums: Any, args: Any, kwargs: Any) -> tuple[Any, list[Any], Any]:
    """The places of the arguments that a transform is by, these arguments, and the function of them alone."""
    args = trace.values.deep(args)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not all(-len(args) <= n < len(args) for n in numbers):
        trace.refuse("a transform by an argument that is not there", "transform")
    places = [n % len(args) for n in numbers]

    def run(given: Sequence[Any]) -> Any:
        filled = list(args)
        for place, each in zip(places, given):
            filled[place] = each
        return trace.calls.call(func, *filled, **kwargs)

    return places, [args[n] for n in places], run


def _by_argument(part: list[Any], argnums: Any, count: int, transform: str) -> Any:
    if isinstance(argnums, int):
        return part[0]
    if transform != "hessian":
        return tuple(part)
    return tuple(tuple(part[i : i + count]) for i in range(0, len(part), count))


def _record(
    trace: Recorder, call: Callable[..., Any], run: Any, anew: Sequence[Any], after: Sequence[Any], before: Any
) -> tuple[list[Any], Any]:
    """The results of a node that transforms a function, and the form of the function's own result.

    `run` gives that result for what looks like `anew`, `before` the node's first arguments for its leaves and form.
    """
    graph = trace.graph
    writes, known = trace.writes.due(), [*(x for group in after for x in group), *(each.fake for each in graph.inputs)]
    versions = [x._version for x in known]
    begin, carried = graph.begin_region("function", anew)
    given = [x._version for x in carried]
    leaves, form = pytree.tree_flatten(trace.values.deep(run(carried)))
    if [x._version for x in (*known[: len(versions)], *carried)] != versions + given or trace.writes.due() != writes:
        trace.refuse("a function that writes, under a transform", "write")
    memories = {x.untyped_storage()._cdata for x in (*known, *carried)}
    leaves = [
        graph.record("call_method", "clone", (each,), {}) if each.untyped_storage()._cdata in memories else each
        for each in _tensors(trace, "a transform of a function", leaves)
    ]
    first = before(leaves, form)
    with DisableTorchFunction():
        looks = _LOOKS[call](first, leaves, after)
    if any(map(graph.is_dynamic, (*carried, *leaves, *(x for group in after for x in group)))):
        graph.let_vary(looks)
    nodes = [graph.node_of(each) for each in leaves]
    return graph.end_regions(call.__name__, first, [(begin, nodes)], after, looks), form
