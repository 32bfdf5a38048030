"""One call with batched arguments: its levels, its arguments as rules want them, and which rule answers it."""

from __future__ import annotations

import functools
import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ... import _C
from ..._core.autograd import batched
from ..._core.autograd.function import through_vmap
from ..._operators.table import ROWS, every_row, facts_of
from ._levels import active_levels, outside_vmap, past_vmaps, size_of

_parts = batched.parts


def is_tensor(value: Any) -> bool:
    return isinstance(value, _C.TensorBase)


class Batch:
    """The levels that a call is mapped over, and tensors in terms of them.

    Every level of the call is a leading dimension of what a rule works on: ``n`` of them, of ``sizes``.
    """

    def __init__(self, op: Any, tensors: Iterable[Any]) -> None:
        self.op = op
        self.levels: tuple[int, ...] = tuple(sorted({level for t in tensors for level in batched.levels_of(t)}))
        self.sizes = tuple(size_of(level) for level in self.levels)
        self.n = len(self.levels)
        self.count = math.prod(self.sizes)

    def aligned(self, x: Any) -> Any:
        """``x`` with every level as a leading dimension, of size one where it is not mapped over it: a view."""
        tensor, levels = _parts(x) or (x, ())
        if levels == self.levels:
            return tensor
        for place, level in enumerate(self.levels):
            if level not in levels:
                tensor = tensor.unsqueeze(place)
        return tensor

    def full(self, x: Any) -> Any:
        """``x`` with every level as a leading dimension of its full size: a view."""
        tensor = self.aligned(x)
        if batched.levels_of(x) == self.levels:
            return tensor
        return tensor.expand(*self.sizes, *x.shape)

    def flat(self, x: Any) -> Any:
        """``x`` with one leading dimension for all levels together."""
        tensor = self.full(x)
        return tensor if self.n == 1 else tensor.reshape(self.count, *x.shape)

    def unflat(self, x: Any) -> Any:
        """The result of a rule that worked on one leading dimension."""
        return self.wrap(x if self.n == 1 else x.reshape(*self.sizes, *x.shape[1:]))

    def wrap(self, x: Any) -> Any:
        """A result with every level leading, as the caller sees it."""
        return batched.wrap(x, self.levels)


# A rule: (batch, operator, arguments in the schema's order) -> results as the caller sees them.
Rule = Callable[[Batch, Any, list], Any]
RULES: dict[Any, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a rule for the rows of these names ("sum.dim_IntList"), and for their in-place forms ("sum_")."""

    def register(made: Rule) -> Rule:
        for name in names:
            row = ROWS[name]
            for handle in (row.handle, row.inplace):
                if handle is not None:
                    RULES[handle] = made if handle.form == "functional" else _written_checked(made)
        return made

    return register


DRAWN: dict[Any, Rule] = {}  # of operators that draw, for slices that have numbers of their own


def drawn(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of operators that draw, and do not draw for each element of their first argument alone."""

    def register(made: Rule) -> Rule:
        DRAWN.update((ROWS[name].handle, made) for name in names)
        return made

    return register


SHARED: dict[str, Rule] = {}


def shared(word: str) -> Callable[[Rule], Rule]:
    """Make the decorated rule that of the rows that say so: `batching=` with this word."""

    def register(made: Rule) -> Rule:
        SHARED[word] = made
        return made

    return register


def register_shared() -> None:
    """Give each row whose facts name its rule that rule; element-wise ones need not name theirs."""
    for row in every_row().values():
        facts = row.facts
        if facts.batching:
            rule(row.name)(SHARED[facts.batching])
        if facts.elementwise and row.meta is not None:
            for handle in (row.handle, row.inplace, row.out):
                if handle is not None:
                    RULES.setdefault(handle, SHARED["elementwise"])


@functools.cache
def _arguments(op: Any) -> tuple[list, int]:
    listed = op.arguments
    return [(a["name"], a["default"]) for a in listed], sum(not a["kwarg_only"] for a in listed)


def _bound(op: Any, args: tuple, kwargs: dict) -> list:
    named, positional = _arguments(op)
    given, more = args[:positional], args[positional:]  # what a schema's `...` takes stands behind the others
    return [*given, *(kwargs.get(name, default) for name, default in named[len(given) :]), *more]


def call(op: Any, values: list) -> Any:
    """The operator on arguments in the schema's order."""
    named, positional = _arguments(op)
    if len(values) == positional:
        return op(*values)
    keywords = {name: v for (name, _), v in zip(named[positional:], values[positional:])}
    return op(*values[:positional], *values[len(named) :], **keywords)


def tensors_of(values: Iterable[Any]) -> list:
    found = []
    for value in values:
        if is_tensor(value):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [v for v in value if is_tensor(v)]
    return found


def _handle(op: Any, args: tuple, kwargs: dict) -> Any:
    values = _bound(op, args, kwargs)
    tensors = tensors_of(values)
    if op.random:
        return _random(op, values, tensors)
    batch = Batch(op, tensors)
    if not batch.levels:  # a composite with a rule, called within vmap on tensors that it does not map over
        with outside_vmap():
            return call(op, values)
    own = op.__dict__.get("vmap_rules")  # from torch.library.register_vmap, the one that counts last
    if own:
        return _by_user(*own[-1], op, args, kwargs, batch.levels[-1])  # type: ignore[call-arg]  # (the pair of function and level)
    found = RULES.get(op)
    return by_slices(op, values) if found is None else found(batch, op, values)


def check_written(batch: Batch, op: Any, values: list) -> None:
    """RuntimeError for a tensor that is to be written to and has not an element for each slice."""
    for argument, value in zip(op.arguments, values, strict=True):
        if argument["is_write"] and is_tensor(value) and batched.levels_of(value) != batch.levels:
            raise RuntimeError(
                f"vmap: {op.namespace}::{op.name}(self, *extra_args) is not possible because there exists a Tensor `other` in "
                "extra_args that has more elements than `self`. This happened due to `other` being vmapped over but `self` not "
                f"being vmapped over in a vmap. Please try to use out-of-place operators instead of {op.name}. If said operator "
                "is being called inside the PyTorch framework, please file a bug report instead."
            )


def _written_checked(made: Rule) -> Rule:
    @functools.wraps(made)
    def run(batch: Batch, op: Any, values: list) -> Any:
        check_written(batch, op, values)
        return made(batch, op, values)

    return run


def of_no_slices(made: Rule) -> Rule:
    """For a rule that lays the slices side by side: where there is none, results of the shapes that a slice's would have."""

    def bare(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [bare(each) for each in value]
        return _new(value.shape, value.dtype, "meta") if is_tensor(value) else value

    @functools.wraps(made)
    def run(batch: Batch, op: Any, values: list) -> Any:
        if batch.count:
            return made(batch, op, values)
        device = tensors_of(values)[0].device
        shown = call(op, bare(values))
        results = [
            each if each is None else batch.wrap(_new([*batch.sizes, *each.shape], each.dtype, device))
            for each in ((shown,) if is_tensor(shown) else shown)
        ]
        return results[0] if is_tensor(shown) else tuple(results)

    return run


def _new(size: Any, dtype: Any, device: Any) -> Any:
    return ROWS["empty.memory_format"].handle(size, dtype=dtype, device=device)


class VmapInfo(NamedTuple):
    """The facts that a user's rule is told: the number of slices, and what random numbers are to do."""

    batch_size: int
    randomness: str


def _by_user(own: Callable, op: Any, args: tuple, kwargs: dict, number: int) -> Any:
    """A rule ``own(info, in_dims, *args, **kwargs) -> (results, out_dims)`` of a user, for the innermost level."""
    level = next(each for each in active_levels() if each.number == number)

    def dim(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(dim, value))
        return 0 if is_tensor(value) and number in batched.levels_of(value) else None

    def whole(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(whole, value))
        return value if dim(value) is None else batched.show(value, number, level.size)

    def back(value: Any, place: Any) -> Any:
        if isinstance(value, (list, tuple)):
            places = place if isinstance(place, (list, tuple)) else (place,) * len(value)
            return type(value)(map(back, value, places))
        return value if place is None else batched.hide(value, place, number)

    made = own(
        VmapInfo(level.size, level.randomness),
        tuple(map(dim, args)),
        *map(whole, args),
        **{k: whole(v) for k, v in kwargs.items()},
    )
    if not isinstance(made, tuple) or len(made) != 2:
        raise RuntimeError(
            f"{op.namespace}::{op.name}: a vmap rule returns (results, out_dims), got {type(made).__name__}"
        )
    return back(*made)


# ---- random numbers ----


def _random(op: Any, values: list, tensors: list) -> Any:
    batch = Batch(op, tensors)  # an error for tensors that outlived their vmap
    level = active_levels()[-1]
    if any(each.randomness == "error" for each in active_levels()):
        if through_vmap.get():
            raise RuntimeError(
                "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations "
                "outside of vmap as a workaround"
            )
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
            "randomness flags on vmap or perform the randomness operation out of vmap"
        )
    if not batch.levels and all(each.randomness == "same" for each in active_levels()):
        with outside_vmap():
            return call(op, values)
    if op.form == "inplace":
        check_written(batch, op, values)
        if level.randomness == "different" and level.number not in batch.levels:
            raise RuntimeError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same "
                "randomness. If this is necessary for your usage, please file an issue with functorch."
            )
    return _drawn(op, values, tensors, level)


def _drawn(op: Any, values: list, tensors: list, level: Any) -> Any:
    """Each slice draws numbers of its own, or, at a "same" level, all slices those of one draw."""
    names = [name for name, _ in _arguments(op)[0]]
    mapped = any(batched.levels_of(t) for t in tensors)
    with outside_vmap():
        levels = [each for each in active_levels() if each.randomness == "different"]
        if levels and not mapped and "size" in names and op.form == "functional" and not tensors:
            # A new tensor: one draw with a dimension more for each vmap that wants numbers of its own.
            place = names.index("size")
            size = [*(each.size for each in levels), *values[place]]
            return batched.wrap(
                call(op, [*values[:place], size, *values[place + 1 :]]), tuple(e.number for e in levels)
            )
        if level.randomness == "different" and mapped and op in DRAWN:
            return DRAWN[op](Batch(op, [*tensors, *_of_level(level, tensors[0])]), op, values)
        if level.randomness == "different" and mapped and tensors[0] is values[0] and len(tensors) == 1:
            # Element by element: as many draws as there are elements in all slices.
            whole = Batch(op, [*tensors, *_of_level(level, tensors[0])])
            if op.form != "inplace" or batched.levels_of(values[0]) == whole.levels:
                target = whole.full(values[0])
                if op.form != "inplace" and "memory_format" not in names:  # the slices one after the other
                    target = target.contiguous()
                made = call(op, [target, *values[1:]])
                if op.form == "inplace":
                    return values[0]
                return whole.wrap(made) if is_tensor(made) else tuple(map(whole.wrap, made))
        if not mapped:
            made = [call(op, values) for _ in range(1 if level.randomness == "same" else level.size)]
            return made[0] if level.randomness == "same" else _stacked(made, (level.number,))
        state = _C.default_generator.get_state() if level.randomness == "same" else None
        extra = [] if state is not None else _of_level(level, tensors[0])

        def before() -> None:
            if state is not None:
                _C.default_generator.set_state(state)

        return _sliced(op, values, Batch(op, [*tensors, *extra]), before)


def _of_level(level: Any, like: Any) -> list:
    """A tensor mapped over the level, to have it take part in a call."""
    if level.number in batched.levels_of(like):
        return []
    return [batched.hide(like.unsqueeze(0).expand(level.size, *like.shape), 0, level.number)]


# ---- operators without a rule: one slice after the other ----


@shared("refused")
def _refused(batch: Batch, op: Any, values: list) -> Any:
    raise RuntimeError(
        f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{op.name}. "
        "Please file an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
    )


def by_slices(op: Any, values: list) -> Any:
    """One slice after the other, with a warning; an error where there is no slice."""
    if facts_of(op).gives_value:
        raise RuntimeError(
            "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
            "please try to rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch "
            "internals, please file a bug report."
        )
    warnings.warn(
        f"There is a performance drop because we have not yet implemented the batching rule for {op.namespace}::"
        f"{op.name}{'.' + op.overload if op.overload else ''}. The slices are computed one after the other.",
        UserWarning,
        stacklevel=2,
    )
    return _sliced(op, values, Batch(op, tensors_of(values)), lambda: None)


def _sliced(op: Any, values: list, batch: Batch, before: Callable[[], None]) -> Any:
    inplace = op.form != "functional" or op.mutates
    written = [a["is_write"] for a in op.arguments]
    if inplace:
        check_written(batch, op, values)
    whole = [
        batch.full(value)
        if is_tensor(value)
        else [batch.full(v) if is_tensor(v) else v for v in value]
        if isinstance(value, (list, tuple)) and any(is_tensor(v) for v in value)
        else value
        for value in values
    ]
    if batch.count == 0:
        raise RuntimeError(
            f"vmap: the operator {op.namespace}::{op.name} has no rule for vmap, and a dimension of size 0 has no slice to "
            "compute it on"
        )
    made = []
    for place in itertools.product(*map(range, batch.sizes)):
        before()
        slices = [
            w[place]  # type: ignore[call-overload]  # (a number or a slice)
            if is_tensor(value)
            else [part[place] if is_tensor(part) else part for part in w]
            if w is not value
            else value
            for w, value in zip(whole, values, strict=True)
        ]
        with past_vmaps(batch.n):
            made.append(call(op, slices))
    if inplace:
        written_values = [value for value, writes in zip(values, written, strict=True) if writes]
        return written_values[0] if len(written_values) == 1 else tuple(written_values)
    return _stacked(made, batch.levels, batch.sizes)


def _stacked(made: list, levels: tuple, sizes: tuple | None = None) -> Any:
    stack = ROWS["stack"].handle

    def joined(items: list) -> Any:
        if not is_tensor(items[0]):
            return items[0]
        tensor = stack(items, 0)
        if sizes is not None and len(sizes) > 1:
            tensor = tensor.reshape(*sizes, *tensor.shape[1:])
        return batched.wrap(tensor, levels)

    if isinstance(made[0], (tuple, list)):
        return [joined(list(column)) for column in zip(*made, strict=True)]
    return joined(made)


_C._set_key_handler("Batched", _handle)


def register_composites() -> None:
    """An implicit composite answers Batched by its own body; those with a rule have one that is simpler than the body."""
    for row in every_row().values():
        if row.handle in RULES and "CompositeImplicitAutograd" in row.handle.kernels():
            handle = row.handle
            handle.impl("Batched", lambda *args, _op=handle, **kwargs: _handle(_op, args, kwargs))
