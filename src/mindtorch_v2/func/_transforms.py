"""`grad`, `vjp`, `jvp` and what is made of them: functions from functions, as often nested as one likes.

Reverse mode is autograd itself. An argument becomes a tensor of its own in the graph, so the gradient asked for is that
of this call and no other's. Under vmap autograd sees all slices together; an argument that slices share is repeated
first where their gradients differ. Forward mode puts a level of tangents on the arguments.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._behaviours.batched import active_levels
from mindtorch_v2._core.autograd import batched, tangents
from mindtorch_v2._core.autograd.backward import without_history
from mindtorch_v2._core.autograd.grad_mode import enable_grad
from mindtorch_v2._dispatch.keys import AUTOGRAD
from mindtorch_v2.func._vmap import vmap
from mindtorch_v2.utils import _pytree as pytree

if TYPE_CHECKING:
    from mindtorch_v2._behaviours.batched._levels import Level


__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp"]


_RECORDING = int(AUTOGRAD) | _C._key_bit("ADInplaceOrView")


class _State(threading.local):
    """Of each transform whose function is running on this thread, the leaves that it made."""

    def __init__(self) -> None:
        self.running: list[Any] = []


_state = _State()


@contextlib.contextmanager
def _transforming():
    """A transform under way: what its function does is recorded, also where autograd was excluded around it."""
    include, exclude = _C._tls_keys()
    _C._set_tls_keys(include, exclude & ~_RECORDING)
    _C._change_transforms(1)
    try:
        yield
    finally:
        _C._change_transforms(-1)
        _C._set_tls_keys(include, exclude)


def _tensors(values) -> list:
    return [v for v in values if isinstance(v, torch.Tensor)]


def _checked_tensor(value):
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
    if not (value.is_floating_point() or value.is_complex()):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    return value


class _Input:
    """One argument as a tensor of its own: what the function is given, and what autograd knows it by."""

    def __init__(self, value: Any, levels: Sequence[Level]) -> None:
        found = batched.parts(_checked_tensor(value))
        own = found[1] if found else ()
        self.levels = tuple(sorted({*own, *(level.number for level in levels)}))
        sizes = {level.number: level.size for level in active_levels()}
        whole = batched.show_all(value, self.levels, [sizes[number] for number in self.levels])
        if whole.requires_grad:
            self.tracked = whole.view_as(whole)
        else:
            with torch.no_grad():
                self.tracked = whole.view_as(whole)
            self.tracked.requires_grad_()
            self.tracked._transform_input = True
        self.given = batched.wrap(self.tracked, self.levels)


class _Pulled:
    """A function that has run, and the way back from its outputs to some of its inputs."""

    def __init__(
        self, run: Callable[..., Any], values: Sequence[int | torch.Tensor], others: Sequence[float | torch.Tensor] = ()
    ) -> None:
        """`run(values)` gives outputs; `others` are arguments that it uses besides."""
        self.graph_wanted = torch.is_grad_enabled()
        levels = active_levels()
        used = {number for t in _tensors([*values, *others]) for number in batched.levels_of(t)}
        self._run(run, values, [level for level in levels if level.number in used])
        missing = {n for o in _tensors(pytree.tree_leaves(self.result)) for n in batched.levels_of(o)} - used
        if missing & {level.number for level in levels}:
            # The function brought in tensors that vmap maps over: each slice has a gradient of its own after all.
            self._run(run, values, levels)

    def _run(self, run, values, levels) -> None:
        with enable_grad(), _transforming():
            self.inputs = [_Input(value, levels) for value in values]
            own = {id(each.tracked) for each in self.inputs}
            _state.running.append(own)
            try:
                self.result = run([each.given for each in self.inputs])
            finally:
                _state.running.pop()

    def _records_more(self, outputs) -> bool:
        """Whether the graph goes on behind our own inputs: then gradients are recorded too.

        It ends at leaves of the caller's, at inputs of transforms that are under way around this one, and at inputs of
        transforms that are over; the last do not count.
        """
        if not self.graph_wanted:
            return False
        outer = set().union(*_state.running)
        stack, seen = [o.grad_fn for o in outputs if o.grad_fn is not None], set()
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            for following, _ in node.next_functions:
                if following is None:
                    continue
                if type(following).__name__ == "AccumulateGrad":
                    leaf = following.variable
                    if id(leaf) in outer or not getattr(leaf, "_transform_input", False):
                        return True
                else:
                    stack.append(following)
        return False

    def gradients(
        self,
        outputs: Sequence[torch.Tensor],
        cotangents: Sequence[torch.Tensor | None],
        retain_graph: bool,
        create_graph: bool | None = None,
    ) -> Any:
        """The gradients of the inputs, as the caller of the transform sees them."""
        wholes, weights = [], []
        for output, cotangent in zip(outputs, cotangents):
            found = batched.parts(output)
            whole, levels = found or (output, ())
            if not whole.requires_grad:
                continue
            wholes.append(whole)
            if cotangent is not None:
                cotangent = batched.show_all(cotangent, levels, whole.shape[: len(levels)])
            elif levels:
                cotangent = torch.ones_like(whole)
            weights.append(cotangent)
        tracked = [each.tracked for each in self.inputs]
        if wholes:
            graph = create_graph
            if graph is None:
                followed = any(weight is not None and weight.requires_grad for weight in weights)
                graph = (followed and torch.is_grad_enabled()) or self._records_more(wholes)
            made: Any = torch.autograd.grad(
                wholes, tracked, weights, retain_graph=retain_graph or graph, create_graph=graph, allow_unused=True
            )
        else:
            made = [None] * len(tracked)
        return [
            torch.zeros_like(each.given.detach()) if gradient is None else batched.hide_all(gradient, each.levels)
            for each, gradient in zip(self.inputs, made)
        ]


def _without_own_history(pulled, value):
    """An output as the caller may use it: with the history of what lies outside of the transform, if there is any."""
    if not isinstance(value, torch.Tensor):
        return value
    whole, levels = batched.parts(value) or (value, ())
    if not whole.requires_grad or pulled._records_more([whole]):
        return value
    return batched.wrap(without_history(whole), levels)


# ---- arguments by number ----


def _check_argnum(argnum, count):
    if not isinstance(argnum, int):
        raise RuntimeError(f"argnum must be int, got: {type(argnum)}")
    if not -count <= argnum < count:
        raise RuntimeError(f"Got argnum={argnum}, but only {count} positional inputs")
    return argnum % count


def _argnums(argnums, args):
    if isinstance(argnums, int):
        return (_check_argnum(argnums, len(args)),)
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError("argnums must be non-empty")
        numbers = tuple(_check_argnum(a, len(args)) for a in argnums)
        if len(set(numbers)) != len(numbers):
            raise RuntimeError(f"argnums elements must be unique, got {numbers}")
        return numbers
    raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")


def _with(args, numbers, values):
    args = list(args)
    for number, value in zip(numbers, values):
        args[number] = value
    return args


# ---- reverse mode ----


def grad_and_value(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """The function that gives the gradient of `func`'s scalar result by the arguments `argnums`, and the result.

    With `has_aux`, `func` returns `(result, aux)` and the new function `(gradient, (result, aux))`.

    >>> torch.func.grad_and_value(torch.exp)(torch.tensor(0.0))
    (tensor(1.), tensor(1.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> tuple:
        numbers = _argnums(argnums, args)
        chosen = tuple(args[n] for n in numbers)
        leaves, spec = pytree.tree_flatten(chosen)
        others = pytree.tree_leaves([[a for i, a in enumerate(args) if i not in numbers], kwargs])
        pulled = _Pulled(lambda given: func(*_with(args, numbers, spec.unflatten(given)), **kwargs), leaves, others)
        output, aux = pulled.result, None
        if has_aux:
            if not (isinstance(output, tuple) and len(output) == 2):
                raise RuntimeError(
                    "grad_and_value(f)(*args): output of function f should be a tuple: (output, aux) if has_aux is True"
                )
            output, aux = output
        if not isinstance(output, torch.Tensor):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}")
        if output.dim() != 0:
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{output.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        if output.is_complex():
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        plain = _without_own_history(pulled, output)
        if aux is not None:
            aux = pytree.tree_map(lambda v: _without_own_history(pulled, v), aux)
        made = spec.unflatten(pulled.gradients([output], [None], retain_graph=False))
        made = made[0] if isinstance(argnums, int) else made
        return made, (plain, aux) if has_aux else plain

    return wrapper


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the gradient of `func`'s scalar result by the arguments `argnums`.

    With `has_aux`, `func` returns `(result, aux)` and the new function `(gradient, aux)`.

    >>> torch.func.grad(torch.sin)(torch.tensor(0.0))
    tensor(1.)
    """
    compute = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, result = compute(*args, **kwargs)
        return (gradient, result[1]) if has_aux else gradient

    return wrapper


def _checked_outputs(outputs, api, allow_empty=False) -> None:
    if (not outputs or outputs == [None]) and not allow_empty:
        raise RuntimeError(f"{api}: Expected f to be a function that has non-empty output (got output = {outputs})")
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            raise RuntimeError(
                f"{api}: expected f(*primals) to return only tensors, got unsupported type {type(output)}"
            )


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple:
    """The result of `func(*primals)`, and the function from a cotangent of it to those of the primals.

    With `has_aux`, `func` returns `(result, aux)` and this `(result, function, aux)`.

    >>> y, back = torch.func.vjp(torch.sin, torch.tensor(0.0))
    >>> back(torch.tensor(2.0))
    (tensor(2.),)
    """
    leaves, spec = pytree.tree_flatten(primals)
    pulled = _Pulled(lambda given: func(*spec.unflatten(given)), leaves)
    result, aux = pulled.result, None
    if has_aux:
        if not (isinstance(result, tuple) and len(result) == 2):
            raise RuntimeError(
                "vjp(f, *primals): output of function f should be a tuple: (output, aux) if has_aux is True"
            )
        result, aux = result
    outputs, out_spec = pytree.tree_flatten(result)
    _checked_outputs(outputs, "vjp(f, *primals)")
    for output in outputs:
        if not (output.is_floating_point() or output.is_complex()):
            raise RuntimeError(
                "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                f"{output.dtype}"
            )

    def back(
        cotangents: dict[str, torch.Tensor] | Sequence[torch.Tensor] | torch.Tensor,
        retain_graph: bool = True,
        create_graph: bool | None = None,
    ) -> Any:
        given, given_spec = pytree.tree_flatten(cotangents)
        if given_spec != out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {pytree.treespec_pprint(given_spec)}, primal output: {pytree.treespec_pprint(out_spec)}"
            )
        for place, (cotangent, output) in enumerate(zip(given, outputs)):
            if tuple(cotangent.shape) != tuple(output.shape):
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{place}] has a shape of {cotangent.shape} and output[{place}] has a "
                    f"shape of {output.shape}."
                )
        with _transforming():
            made = pulled.gradients(outputs, given, retain_graph, create_graph or None)
        return spec.unflatten(made)

    plain = out_spec.unflatten([_without_own_history(pulled, output) for output in outputs])
    if has_aux:
        return plain, back, pytree.tree_map(lambda v: _without_own_history(pulled, v), aux)
    return plain, back


def _check_real(api, kind, values) -> None:
    """RuntimeError for a complex tensor: a Jacobian holds derivatives by real numbers."""
    for place, value in enumerate(values):
        if isinstance(value, torch.Tensor) and value.is_complex():
            raise RuntimeError(
                f"{api}: Expected all {kind} to be real but received complex tensor at flattened input idx: {place}"
            )


def _one_hots(like, count, start, size):
    """Rows `start` to `start + size` of the identity, in the shape of `like`: a basis of its space, one a row."""
    rows = torch.zeros((count, size), dtype=like.dtype, device=like.device)
    place = torch.arange(size, device=like.device)
    rows[start + place, place] = 1
    return rows.view(count, *like.shape)


def _basis(tensors) -> list:
    """For each tensor all unit vectors of all of them together, one a row (zero where it is another's turn)."""
    sizes = [t.numel() for t in tensors]
    total = sum(sizes)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [_one_hots(t, total, start, size) for t, start, size in zip(tensors, starts, sizes)]


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """The function that gives the Jacobian of `func` by the arguments `argnums`, row by row: reverse mode under vmap.

    For each output and argument a tensor of shape `output.shape + argument.shape`.

    >>> torch.func.jacrev(torch.exp)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _argnums(argnums, args)
        chosen = [args[n] for n in numbers]
        _check_real("jacrev", "inputs", pytree.tree_leaves(chosen))
        made = vjp(lambda *given: func(*_with(args, numbers, given), **kwargs), *chosen, has_aux=has_aux)
        result, back = made[:2]
        outputs, out_spec = pytree.tree_flatten(result)
        _check_real("jacrev", "outputs", outputs)
        rows = vmap(lambda *cotangents: back(out_spec.unflatten(list(cotangents))), chunk_size=chunk_size)(
            *_basis(outputs)
        )
        leaves, spec = pytree.tree_flatten(rows)
        shapes = [leaf.shape for leaf in pytree.tree_leaves(chosen)]
        parts, start = [], 0
        for output in outputs:
            stop = start + output.numel()
            part = [leaf[start:stop].reshape((*output.shape, *shape)) for leaf, shape in zip(leaves, shapes)]
            part = spec.unflatten(part)
            parts.append(part[0] if isinstance(argnums, int) else tuple(part))
            start = stop
        jacobian = out_spec.unflatten(parts)
        return (jacobian, made[2]) if has_aux else jacobian

    return wrapper


# ---- forward mode ----


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> Any:
    """`func(*primals)` and how it changes along `tangents`: two results of the same structure.

    With `strict`, an output that does not depend on the primals raises RuntimeError.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    return _jvp(func, primals, tangents, range(len(primals)) if isinstance(primals, tuple) else None, strict, has_aux)


def _jvp(func, primals, directions, numbers, strict, has_aux) -> tuple:
    api = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{api}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    chosen = tuple(primals[n] for n in numbers)
    leaves, spec = pytree.tree_flatten(chosen)
    given, given_spec = pytree.tree_flatten(directions)
    if spec != given_spec:
        raise RuntimeError(
            f"{api}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of "
            f"3 tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {given_spec}"
        )
    for name, values in (("primals", leaves), ("tangents", given)):
        if not values:
            raise RuntimeError(f"{api}: Expected {name} to contain at least one Tensor.")
        for value in values:
            if not isinstance(value, torch.Tensor):
                raise RuntimeError(f"{api}: Expected {name} to only contain Tensors, got {type(value)}")
    level = _C._enter_forward_level()
    try:
        before = _C._set_fwd_grad_enabled(True)
        try:
            with _transforming():
                duals = [tangents.make_dual(p, t, level) for p, t in zip(leaves, given)]
                result = func(*_with(primals, numbers, spec.unflatten(duals)))
            aux = None
            if has_aux:
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True"
                    )
                result, aux = result
                aux = pytree.tree_map(lambda v: tangents.primal_of(v, level) if isinstance(v, torch.Tensor) else v, aux)
            outputs, out_spec = pytree.tree_flatten(result)
            _checked_outputs(outputs, api)
            pairs = [tangents.unpack_dual(output, level) for output in outputs]
        finally:
            _C._set_fwd_grad_enabled(before)
    finally:
        _C._exit_forward_level(level)
    if strict and any(tangent is None for _, tangent in pairs):
        raise RuntimeError(
            f"{api[:-1]}, strict=True): The output of f is independent of the inputs. This is not allowed with strict=True."
        )
    values = out_spec.unflatten([value for value, _ in pairs])
    moved = out_spec.unflatten([torch.zeros_like(value) if t is None else t for value, t in pairs])
    return (values, moved, aux) if has_aux else (values, moved)


def jacfwd(
    func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """The function that gives the Jacobian of `func` by the arguments `argnums`, column by column: forward mode under vmap.

    For each output and argument a tensor of shape `output.shape + argument.shape`.

    >>> torch.func.jacfwd(torch.exp)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        numbers = _argnums(argnums, args)
        chosen = tuple(args[n] for n in numbers)
        leaves, spec = pytree.tree_flatten(chosen)
        _check_real("jacfwd", "inputs", leaves)

        def along(*directions: torch.Tensor) -> Any:
            made = _jvp(
                lambda *given: func(*given, **kwargs), args, spec.unflatten(list(directions)), numbers, False, has_aux
            )
            return made[1:]

        out_dims = (0, None) if has_aux else (0,)
        made = vmap(along, out_dims=out_dims, randomness=randomness)(*_basis(leaves))
        columns = made[0]
        outputs, out_spec = pytree.tree_flatten(columns)
        _check_real("jacfwd", "outputs", outputs)
        parts = []
        for output in outputs:
            start, part = 0, []
            for leaf in leaves:
                stop = start + leaf.numel()
                part.append(output[start:stop].movedim(0, -1).reshape((*output.shape[1:], *leaf.shape)))
                start = stop
            part = spec.unflatten(part)
            parts.append(part[0] if isinstance(argnums, int) else tuple(part))
        jacobian = out_spec.unflatten(parts)
        return (jacobian, made[1]) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Callable[..., Any]:
    """The function that gives the second derivatives of `func` by the arguments `argnums`: forward over reverse mode.

    >>> torch.func.hessian(lambda x: x**3)(torch.tensor(2.0))
    tensor(12.)
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: torch.Tensor) -> tuple:
    """The result of `func(*primals)`, and the linear function of tangents that stands for it around there.

    `func` runs once; what its derivative needs is kept, so many tangents cost one run each of the derivative alone.

    >>> value, push = torch.func.linearize(torch.exp, torch.tensor(0.0))
    >>> push(torch.tensor(2.0))
    tensor(2.)
    """
    leaves, spec = pytree.tree_flatten(primals)
    result, back = vjp(func, *primals)
    outputs, out_spec = pytree.tree_flatten(result)
    with enable_grad():
        # The way back is linear in the cotangents: differentiated by them, it leads forward.
        seeds = [torch.zeros_like(output.detach()).requires_grad_() for output in outputs]
        pulled = pytree.tree_leaves(back(out_spec.unflatten(seeds), create_graph=True))

    def forward(*tangents: torch.Tensor) -> Any:
        given, given_spec = pytree.tree_flatten(tangents)
        if given_spec != spec:
            raise RuntimeError(f"Expected the tangents {given_spec} to have the same argspec as the primals {spec}")
        for place, (tangent, leaf) in enumerate(zip(given, leaves)):
            if tuple(tangent.shape) != tuple(leaf.shape):
                raise RuntimeError(
                    f"tangent:{place} with shape {tangent.shape} in flattened pytree doesn't match the shape {leaf.shape} "
                    "of the corresponding primal."
                )
            if tangent.dtype != leaf.dtype:
                raise RuntimeError(
                    f"tangent:{place} with dtype {tangent.dtype} in flattened pytree doesn't match the dtype {leaf.dtype} "
                    "of the corresponding primal."
                )
        pairs = [(p, t) for p, t in zip(pulled, given) if p.requires_grad]
        # A derivative of the result by the tangents is this function again.
        recorded = torch.is_grad_enabled() and any(t.requires_grad for _, t in pairs)
        made = (
            torch.autograd.grad(
                [p for p, _ in pairs],
                seeds,
                [t for _, t in pairs],
                retain_graph=True,
                create_graph=recorded,
                allow_unused=True,
                materialize_grads=True,
            )
            if pairs
            else [torch.zeros_like(seed.detach()) for seed in seeds]
        )
        return out_spec.unflatten(list(made))

    return result, forward
