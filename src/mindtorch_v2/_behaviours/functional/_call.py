"""The handler of the key Functionalize: one call, carried out on the values of its functional tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ... import _C
from ..._core.torch_dispatch import no_modes
from ..._dispatch.keys import DEVICE_KEYS
from ..._dispatch.tags import Tag
from ..._operators.table import aten, facts_of
from ._levels import active_level, below, reapplies_views
from ._values import (
    Storage,
    can_be_read,
    extend,
    is_functional,
    level_of,
    made_of,
    set_chain,
    share_places,
    storage_of,
    unwrap,
    wrap,
    wrap_all,
    write,
)
from ._variants import (
    bound,
    call,
    check_results_are_new,
    functional_variant,
    is_derived,
    signature,
    variant_on_bases,
)
from ._views import Step, View


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _C.TensorBase)


def _tensors(values: Any) -> list:
    found = []
    for value in values:
        if _is_tensor(value):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [item for item in value if _is_tensor(item)]
    return found


_watchers: list[Callable[..., Any]] = []


@contextmanager
def watched(by: Callable[..., Any]) -> Iterator[None]:
    """Within the block ``by(op, args, kwargs, carry_out)`` gives the results of a call, and calls ``carry_out`` for them."""
    _watchers.append(by)
    try:
        yield
    finally:
        _watchers.remove(by)


def handle(op: Any, args: tuple, kwargs: dict) -> Any:
    """The results of ``op`` for these arguments, without a write below this key."""
    return _watchers[-1](op, args, kwargs, _carry_out) if _watchers else _carry_out(op, args, kwargs)


def _carry_out(op: Any, args: tuple, kwargs: dict) -> Any:
    values = bound(op, args, kwargs)
    tensors = _tensors(values)
    level = max([active_level(), *map(level_of, tensors)])
    own = [t for t in tensors if level and level_of(t) == level]
    if own and values[0] is own[0] and Tag.inplace_view in facts_of(op).tags:
        return _METADATA.get(op.name, _restride)(op, values, level)
    if not own:
        with below(level):
            made = op(*args, **kwargs)
        # A factory's result is part of the program; what was made of other tensors only is not written here. Level 0:
        # the key was included by hand, and no functionalization is under way.
        return made if tensors or not level else _wrapped(made, level)
    if op.mutates:
        return _mutation(op, values, level)
    if op.is_view:
        return _view(op, args, kwargs, own[0])
    with below(level):
        plain = unwrap(values, level)
        made = call(op, plain)
        if "origin" in op.__dict__:
            check_results_are_new(op, plain, made)
    return _wrapped(made, level)


def _wrapped(made: Any, level: int) -> Any:
    return tuple(wrap_all(made, level)) if isinstance(made, tuple) else wrap_all(made, level)


# ---- views ----


def _shown(op: Any, of: Any, args: tuple, kwargs: dict) -> Any:
    """The operator's own kernel on functional tensors: it only reckons with sizes and strides."""
    key = DEVICE_KEYS.get(of.device.type, "CPU")
    return op.redispatch(_C._key_bit(key) | _C._key_bit("BackendSelect"), *args, **kwargs)


def _view(op: Any, args: tuple, kwargs: dict, of: Any) -> Any:
    made = _shown(op, of, args, kwargs)
    before = made_of(of)
    if level_of(of) == active_level():
        before.storage.reapply_views = reapplies_views()
    if op.name == "as_strided" and op.namespace == "aten" and not before.storage.is_shown_whole(of):
        return made  # of the storage, whatever view it was called on
    if args and of is args[0]:
        view, several = View(op, args[1:], kwargs), isinstance(made, (list, tuple))
        steps = [
            (result, Step(view, number if several else None))
            for number, result in enumerate(made if several else [made])
            # Others were made by operators that came here themselves.
            if result is not of and is_functional(result) and _C._functional_parts(result)[1] is None
            if before.chain is not None and storage_of(result) is before.storage
        ]
        if steps:
            extend(before, steps)
    return made


# ---- changes of sizes, strides and storage: operators with the tag inplace_view ----

_RESIZE = _C._find_operator("aten::resize_", "")
_METADATA: dict[str, Callable[[Any, list, int], Any]] = {}


def _of_metadata(*names: str) -> Callable[[Callable], Callable]:
    """The decorated function carries out these operators; all others of the tag make a view."""

    def register(made: Callable) -> Callable:
        _METADATA.update(dict.fromkeys(names, made))
        return made

    return register


def _restride(op: Any, values: list, level: int) -> Any:
    """`transpose_` and the like: the tensor itself becomes a view of what it was."""
    self = values[0]
    chain = made_of(self).chain
    _shown(op, self, tuple(values), {})
    if op.name == "as_strided_" or chain is None:
        set_chain(self, None)
        return self
    name = op.name[:-1]
    overload = "int" if name == "transpose" else op.overload
    view = View(_C._find_operator(f"aten::{name}", overload), tuple(values[1:]), {})
    set_chain(self, (*chain, Step(view, None)))
    return self


@_of_metadata("resize_", "resize_as_")
def _resize(op: Any, values: list, level: int) -> Any:
    self = values[0]
    storage = storage_of(self)
    assert storage is not None
    before = tuple(self.shape), self.stride()
    _shown(op, self, tuple(values[:2]), {"memory_format": values[2]})
    elements = self.untyped_storage().nbytes() // storage.value.element_size()
    if elements > storage.elements:
        with below(level):
            storage.grow(elements)
        set_chain(self, None)
    elif (tuple(self.shape), self.stride()) != before:
        set_chain(self, None)
    return self


@_of_metadata("set_")
def _set(op: Any, values: list, level: int) -> Any:
    """`set_`: another storage. One with memory of its own becomes the value behind a new one."""
    self, *rest = values
    chain: tuple | None = None
    if not rest:
        with below(level):
            empty = aten.new_empty(unwrap(self, level), [0])
        op = _C._find_operator("aten::set_", "source_Tensor")
        source = wrap(empty, level)
        rest, chain = [source], ()
    elif _is_tensor(rest[0]):
        source = rest[0] if level_of(rest[0]) == level else wrap(rest[0], level)
        if op.overload == "source_Tensor":
            chain = made_of(source).chain
        rest = [source, *rest[1:]]
    elif _C._functional_storage(rest[0]) is None:
        with below(level):
            whole = aten.set_(aten.new_empty(unwrap(self, level), [0]), rest[0])
        source = wrap(whole, level)
        rest = [source.untyped_storage(), *rest[1:]]
    _shown(op, self, (self, *rest), {})
    _C._refresh_keys(self)
    set_chain(self, chain)
    return self


# ---- writes ----


def _mutation(op: Any, values: list, level: int) -> Any:
    found = signature(op)
    written = [values[i] for i in found.written]
    tensors = _tensors(written)
    foreign = [t for t in tensors if level_of(t) != level]
    if foreign:
        return _into_others(op, values, level, len(foreign) == len(tensors))
    variant = functional_variant(op)
    _check_overlap(op, values, tensors)
    # An operator whose out-of-place form somebody wrote reads what was there before.
    read = [values[i] for i in range(len(values)) if i not in found.written] if is_derived(variant) else []
    if _overlap(tensors, _tensors(read)):
        return _mutation_on_bases(op, values, tensors, level)
    with below(level):
        fresh, new = variant.run(unwrap(values, level))
    for target, value in zip(written, new, strict=True):
        if target is None:
            continue
        pairs = zip(target, value, strict=True) if isinstance(target, (list, tuple)) else [(target, value)]
        for tensor, result in pairs:
            if tensor is not None:
                _store(op, values, tensor, result, level)
    remaining = iter(_wrapped(fresh, level))
    results = [next(remaining) if place is None else values[place] for place in found.returned]
    return results[0] if len(results) == 1 else tuple(results)


def _overlap(written: list, read: list) -> bool:
    """Whether a tensor that is written shares elements with another argument, or is itself given twice."""
    for number, tensor in enumerate(written):
        others = written[:number] + read
        if any(storage_of(other) is storage_of(tensor) and share_places(other, tensor) for other in others):
            return True
    return False


def _mutation_on_bases(op: Any, values: list, written: list, level: int) -> Any:
    """A write to tensors that overlap with others: the memory is one value, and the arguments are views of it."""
    storages: list[Any] = list({id(s): s for s in map(storage_of, written)}.values())
    tensors = _tensors(values)
    with below(level):
        for storage in storages:
            if not all(can_be_read(storage, t) for t in tensors if storage_of(t) is storage):  # type: ignore[arg-type]  # (tensors with memory only)
                storage.flatten()
        said: list = []
        for t in tensors:
            numbers = [n for n, storage in enumerate(storages) if storage is storage_of(t)]
            said += [numbers[0], t.storage_offset() - storages[numbers[0]].offset, *t.stride()] if numbers else [-1]
        plain = unwrap(values, level)
        made = call(variant_on_bases(op), [*plain, [storage.value for storage in storages], said])
    fresh = made[:-1] if isinstance(made, tuple) else ()
    for storage, value in zip(storages, made[-1] if isinstance(made, tuple) else made, strict=True):
        storage.value = value
        storage.generation += 1
    remaining = iter(_wrapped(list(fresh), level))
    results = [next(remaining) if place is None else values[place] for place in signature(op).returned]
    return results[0] if len(results) == 1 else tuple(results)


def _into_others(op: Any, values: list, level: int, all_of_them: bool) -> Any:
    """A write to tensors that are not functional, or belong to another level."""
    if active_level() >= level or not all_of_them:
        raise RuntimeError(
            f"{op.namespace}::{op.name}: mutating a non-functional tensor with a functional tensor is not allowed. Please "
            "ensure that all of your inputs are wrapped inside of a functionalize() call."
        )
    found = signature(op)
    with below(level):
        made = call(op, unwrap(values, level))
    results = made if len(op.returns) > 1 else (made,) if op.returns else ()
    back = [
        _wrapped(r, level) if place is None else values[place] for r, place in zip(results, found.returned, strict=True)
    ]
    return back[0] if len(back) == 1 else tuple(back)


def _store(op: Any, values: list, tensor: Any, value: Any, level: int) -> None:
    """Write the result of a functional variant, in the way that the operator would have written it."""
    if value.shape != tensor.shape:
        _as_eager(op, values)
        if op.form == "out" and made_of(tensor).chain == ():
            _shown(_RESIZE, tensor, (tensor, tuple(value.shape)), {})
            made_of(tensor).storage.become(value)
            set_chain(tensor, ())
            return
        if op.form != "out":
            raise RuntimeError(
                f"output with shape {list(tensor.shape)} doesn't match the broadcast shape {list(value.shape)}"
            )
        resize = _C._find_operator("aten::resize_", "")
        _resize(resize, [tensor, tuple(value.shape), None], level)
    if value.dtype != tensor.dtype:
        _as_eager(op, values)
        with below(level):
            value = aten._to_copy(value, dtype=tensor.dtype)
    write(tensor, value)


def _check_overlap(op: Any, values: list, tensors: list) -> None:
    """Elements that several places show cannot be written: the operator itself says so."""
    if any(stride == 0 and size > 1 for t in tensors for size, stride in zip(t.shape, t.stride(), strict=True)):
        _as_eager(op, values)


def _as_eager(op: Any, values: list) -> None:
    """Let the operator check its arguments on tensors without data: its errors and warnings are the eager ones."""

    def bare(value: Any) -> Any:
        if _is_tensor(value):
            shown = aten.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device="meta")
            return shown
        if isinstance(value, (list, tuple)):
            return [bare(item) for item in value]
        return value

    if "Meta" not in op.kernels() and not op.has_kernel("Meta"):
        return
    with below(1), no_modes():  # no part of the program that somebody watches
        call(op, bare(values))


def value_storage(x: Any) -> Storage:
    """The value behind a functional tensor; RuntimeError for any other."""
    found = storage_of(x)
    if found is None:
        raise RuntimeError("expected a functional tensor, as torch._to_functional_tensor makes them")
    return found


_C._set_key_handler("Functionalize", handle)
