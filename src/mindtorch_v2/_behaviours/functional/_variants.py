"""For every operator that writes, one that does not: `functional_variant` says which, and why that one."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import Any, NamedTuple

from ... import _C
from ..._dispatch.schema import schema_of
from ..._operators.table import aten

_MARK = re.compile(r"\((?:[\w|*]+)!?(?: -> [\w|*]+)?\)")


class Signature(NamedTuple):
    """The facts of a schema about writes."""

    names: tuple[str, ...]
    defaults: tuple[Any, ...]
    optional: tuple[bool, ...]  # whether there is a default
    positional: int
    written: tuple[int, ...]  # positions of the arguments that are written
    returned: tuple[int | None, ...]  # of each result: the position of the argument that it is; None for a new one


@functools.cache
def signature(op: Any) -> Signature:
    """The facts of the schema of a handle about its arguments and writes."""
    arguments = op.arguments
    written = tuple(i for i, a in enumerate(arguments) if a["is_write"])
    place = {arguments[i]["alias"]: i for i in written}
    returned = tuple(place.get(r["alias"]) if r["is_write"] else None for r in op.returns)
    positional = sum(not a["kwarg_only"] for a in arguments)
    return Signature(
        tuple(a["name"] for a in arguments),
        tuple(a["default"] for a in arguments),
        tuple(a["has_default"] for a in arguments),
        positional,
        written,
        returned,
    )


def bound(op: Any, args: tuple, kwargs: dict) -> list:
    """The arguments of a call in the schema's order; what a schema's `...` takes stands behind them."""
    found = signature(op)
    named, more = args[: found.positional], args[found.positional :]
    left = zip(found.names[len(named) :], found.defaults[len(named) :], strict=True)
    return [*named, *(kwargs.get(name, default) for name, default in left), *more]


def _same(value: Any, default: Any) -> bool:
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return len(value) == len(default) and all(map(_same, value, default))
    return value is default or (
        type(value) is type(default) and not isinstance(value, _C.TensorBase) and value == default
    )


def call(op: Any, values: list) -> Any:
    """The operator on arguments in the schema's order. Defaults go unsaid, as they do in a program."""
    found = signature(op)
    named, more = values[: len(found.names)], values[len(found.names) :]
    said = [not (o and _same(v, d)) for v, d, o in zip(named, found.defaults, found.optional, strict=True)]
    n = found.positional
    while n and not said[n - 1]:
        n -= 1
    left = range(found.positional, len(named))
    return op(*named[:n], *more, **{found.names[i]: named[i] for i in left if said[i]})


def written_without_kernel(op: Any, values: list) -> list | None:
    """The results of an operator that has no Meta kernel and needs none: it gives nothing, or the arguments that it writes.

    A write that says no more leaves shapes as they are. None where the schema does not say all of the results.
    """
    found = signature(op)
    if not found.written or None in found.returned or op.has_kernel("Meta"):
        return None
    results = [values[place] for place in found.returned]  # type: ignore[index]  # (the variant is there)
    return results if all(isinstance(result, _C.TensorBase) for result in results) else None


class Variant(NamedTuple):
    """An operator without side effects that stands for one with them.

    ``takes`` are the positions of the arguments that it is given; it gets what stands behind the first ``named`` besides.
    Its results are ``fresh`` results of the original, then the new values of the written arguments.
    """

    op: Any
    takes: tuple[int, ...]
    fresh: int
    named: int

    def run(self, values: list) -> tuple[list, list]:
        """The new results, and the new value of each written argument, of a call with these values."""
        given = [values[i] for i in self.takes] + values[self.named :]
        made = call(self.op, given)
        if "origin" in self.op.__dict__:
            check_results_are_new(self.op, given, made)
        several = len(self.op.returns) != 1
        results = list(made) if several else [made]
        return results[: self.fresh], results[self.fresh :]


def _memory(value: Any) -> list:
    if isinstance(value, (list, tuple)):
        return [place for item in value for place in _memory(item)]
    return [value.untyped_storage()._cdata] if isinstance(value, _C.TensorBase) and value.numel() else []


def check_results_are_new(op: Any, values: list, made: Any) -> None:
    """RuntimeError if an operator that a user declared to be functional gives its own arguments back.

    A graph takes results and arguments for different things: a write to one would not be seen in the other.
    """
    results = made if isinstance(made, tuple) and len(op.returns) != 1 else (made,)
    rest = {"name": "...", "alias": ""}
    for argument, value in zip_longest(op.arguments, values, fillvalue=rest):
        places = set(_memory(value))
        for number, (declared, result) in enumerate(zip_longest(op.returns, results, fillvalue=rest)):
            if not declared["alias"] and places.intersection(_memory(result)):
                raise RuntimeError(
                    f"{op.namespace}::{op.name}: result {number} shares memory with the argument '{argument['name']}', and the "
                    f"schema says that it is new: {op.schema}. Return a clone of it, or, if the operator writes to the "
                    f"argument, declare that: Tensor(a!) {argument['name']}"
                )


def functional_variant(op: Any) -> Variant:
    """The operator that computes what ``op`` writes without writing it.

    In this order, the first that is there with the same arguments, by name and type, and a result for each write:

    1. the out-of-place operator of PyTorch's naming: `add` for `add_`, `mul.Tensor` for `mul.out`, `_foreach_add` for
       `_foreach_add_`, and `foo` for `foo_out`. The same overload counts before others;
    2. `name_functional`, as PyTorch calls those of operators that write to several arguments or return something besides:
       `_native_batch_norm_legit_functional`, or a user's `my_inplace_functional`. Its results are those results of the
       original that are no written arguments, then the new values of the written ones;
    3. else an operator of that name is defined here (PyTorch's `auto_functionalized`): it clones what is written, calls
       ``op`` on the clones, and returns its results and the clones. It works wherever ``op`` does, on the meta device too.
    """
    if schema_of(op).is_varret:
        raise NotImplementedError(
            f"{op.namespace}::{op.name} writes to its arguments and gives results that its schema does not name ('...'): it has "
            "no functional form. Name the results in its schema"
        )
    kept = op.__dict__.get("functional_variant")
    if kept is not None and _C._find_operator(_full(kept.op), kept.op.overload) is kept.op:
        return kept
    made = _named(op) or _suffixed(op) or _derived(op)
    op.__dict__["functional_variant"] = made
    return made


def _full(op: Any) -> str:
    return f"{op.namespace}::{op.name}"


def _overloads(namespace: str, name: str) -> list:
    return [op for op in _C._all_operators() if op.namespace == namespace and op.name == name]


def _plain(arguments: list) -> list[tuple]:
    return [(a["name"], a["type"].replace("SymInt", "int")) for a in arguments]


def _is_pure(op: Any) -> bool:
    return not op.mutates and not op.is_view


def _named(op: Any) -> Variant | None:
    """The out-of-place form."""
    found = signature(op)
    arguments = op.arguments
    if op.form == "out":
        takes = tuple(i for i in range(len(arguments)) if i not in found.written)
        names = [op.name, op.name.removesuffix("_out")]
    elif op.name.endswith("_") and not op.name.endswith("__"):
        takes = tuple(range(len(arguments)))
        names = [op.name[:-1]]
    else:
        return None
    if any(place is None for place in found.returned):
        return None
    wanted = _plain([arguments[i] for i in takes])
    candidates = [
        other
        for name in dict.fromkeys(names)
        for other in _overloads(op.namespace, name)
        if _is_pure(other) and _plain(other.arguments) == wanted and len(other.returns) == len(found.written)
    ]
    if not candidates:
        return None
    best = min(candidates, key=lambda other: (other.overload != op.overload, other.sequence))
    return Variant(best, takes, 0, len(arguments))


def _functional_name(op: Any) -> str:
    return f"{op.name.rstrip('_')}_functional"


def _counts(op: Any) -> tuple[int, int]:
    """How many results are new, and how many arguments are written."""
    found = signature(op)
    return sum(place is None for place in found.returned), len(found.written)


def _suffixed(op: Any) -> Variant | None:
    """An operator `name_functional` that somebody registered."""
    fresh, written = _counts(op)
    wanted = _plain(op.arguments)
    others = [o for o in _overloads(op.namespace, _functional_name(op)) if "functional_form_of" not in o.__dict__]
    for other in others:
        if _is_pure(other) and _plain(other.arguments) == wanted and len(other.returns) == fresh + written:
            return Variant(other, tuple(range(len(wanted))), fresh, len(wanted))
    if others and "origin" in op.__dict__:
        raise RuntimeError(
            f"{op.namespace}::{others[0].name} is by its name the functional form of {op.namespace}::{op.name}, and its schema is "
            f"not: {others[0].schema}. It should be: {_functional_schema(op, _functional_name(op), op.overload)}"
        )
    return None


def _derived(op: Any) -> Variant:
    """`name_functional`, defined here."""
    fresh, _ = _counts(op)
    takes = tuple(range(len(op.arguments)))
    derived = _defined(op, _functional_name(op), _functional_schema, _on_clones(op))
    return Variant(derived, takes, fresh, len(takes))


def is_derived(variant: Variant) -> bool:
    """Whether it was defined here for want of another."""
    return "functional_form_of" in variant.op.__dict__


def _defined(op: Any, name: str, schema: Callable[[Any, str, str], str], kernel: Callable) -> Any:
    """An operator that is defined here and stands for ``op``."""
    overload = op.overload
    before = _C._find_operator(f"{op.namespace}::{name}", overload)
    if before is not None and before.__dict__.get("functional_form_of") == op.schema:
        # Of an operator that was taken away and defined again with the same schema.
        before.impl("CompositeExplicitAutograd", kernel)
        return before
    if before is not None:
        if before.__dict__.get("functional_form_of") is None:
            overload = f"{overload}_functionalized" if overload else "functionalized"
        else:
            _C._erase_operator(before)
    handle = _C._define(op.namespace, schema(op, name, overload), True)
    handle.impl("CompositeExplicitAutograd", kernel)
    handle.__dict__["functional_form_of"] = op.schema
    handle.random = op.random
    return handle


def _fresh_types(op: Any) -> list[str]:
    return [r["type"] for r, place in zip(op.returns, signature(op).returned, strict=True) if place is None]


def _unmarked(op: Any, name: str, overload: str, more: str = "") -> str:
    """The beginning of a schema with ``op``'s arguments, which are not written, and ``more`` of them."""
    text = op.schema
    inner = text[text.index("(") : text.rindex(" -> ")]
    dotted = f"{name}.{overload}" if overload else name
    return f"{dotted}{_MARK.sub('', inner)[:-1]}{more})"


def _functional_schema(op: Any, name: str, overload: str) -> str:
    results = _fresh_types(op) + [op.arguments[i]["type"].removesuffix("?") for i in signature(op).written]
    return f"{_unmarked(op, name, overload)} -> ({', '.join(results)})"


def _on_clones(op: Any) -> Any:
    """The kernel of a derived operator."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        found = signature(op)
        values = bound(op, args, kwargs)
        clones: dict[int, Any] = {}

        def cloned(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return [cloned(item) for item in value]
            if not isinstance(value, _C.TensorBase):
                return value
            if id(value) not in clones:
                clones[id(value)] = aten.clone(value)
            return clones[id(value)]

        for i in found.written:
            values[i] = cloned(values[i])
        new = _fresh(op, values, clones.values()) + [values[i] for i in found.written]
        return new[0] if len(new) == 1 else tuple(new)

    return kernel


def _fresh(op: Any, values: list, written: Iterable) -> list:
    """The results of a call of ``op`` that are none of its arguments."""
    results: Any = None
    if any(value.device.type == "meta" for value in written):
        results = written_without_kernel(op, values)
    if results is None:
        made = call(op, values)
        results = (made,) if len(op.returns) == 1 else made if op.returns else ()
    return [r for r, place in zip(results, signature(op).returned, strict=True) if place is None]


# ---- arguments that share memory ----


def variant_on_bases(op: Any) -> Any:
    """The operator that computes what ``op`` writes where what it writes overlaps with other arguments.

    It takes ``op``'s arguments, then `_all_bases`, the memories that are written, and `_views`: of each tensor among the
    arguments, in order, the number of the memory that it is a view of, its offset and its strides; or -1. It clones the
    memories, makes the views anew, calls ``op`` on them, and returns ``op``'s new results and the memories, as PyTorch's
    `auto_functionalized_v2` does.
    """
    if schema_of(op).is_vararg:
        raise NotImplementedError(
            f"{op.namespace}::{op.name}: what it writes overlaps with other arguments, and its schema takes any number of them "
            "('...'): it has no functional form for that. Clone one of them, or name the arguments in its schema"
        )
    kept = op.__dict__.get("variant_on_bases")
    if kept is not None and _C._find_operator(_full(kept), kept.overload) is kept:
        return kept
    made = _defined(op, f"{_functional_name(op)}_on_bases", _schema_on_bases, _on_bases(op))
    op.__dict__["variant_on_bases"] = made
    return made


def _schema_on_bases(op: Any, name: str, overload: str) -> str:
    star = "" if any(a["kwarg_only"] for a in op.arguments) else "*, "
    begin = _unmarked(op, name, overload, f", {star}Tensor[] _all_bases, SymInt[] _views")
    results = [*_fresh_types(op), "Tensor[]"]
    return f"{begin} -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"


def _on_bases(op: Any) -> Any:
    def kernel(*args: Any, _all_bases: list, _views: list, **kwargs: Any) -> Any:
        bases = [aten.clone(base, memory_format=_C.contiguous_format) for base in _all_bases]
        said = iter(_views)

        def again(value: Any) -> Any:
            if isinstance(value, (list, tuple)):
                return [again(item) for item in value]
            if not isinstance(value, _C.TensorBase) or (number := next(said)) < 0:
                return value
            base = bases[number]
            seen = base if base.dtype == value.dtype else aten.view(base, value.dtype)
            offset, strides = next(said), [next(said) for _ in range(value.dim())]
            return aten.as_strided(seen, tuple(value.shape), strides, offset)

        new = [*_fresh(op, [again(value) for value in bound(op, args, kwargs)], bases), bases]
        return new[0] if len(new) == 1 else tuple(new)

    return kernel
