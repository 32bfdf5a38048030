"""Facts about an operator that its schema does not tell, as its row states them; whoever needs one reads it here."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from ... import _C
from ..._core.dtype import DTYPES
from ..._dispatch.tags import Tag

__all__ = [
    "EXACT_OUT",
    "NO_FACTS",
    "FactWords",
    "Facts",
    "check_arguments",
    "check_dtypes",
    "flops_of",
    "generated_tags",
    "stated_facts",
    "tell_core",
]


class FactWords(TypedDict, total=False):
    """The words of a row for facts; all may be left out.

    tags: PyTorch's tags of the operator, names of `torch.Tag`; the forms `inplace` and `out` and pt2_compliant_tag follow.
    inplace_tags, out_tags: those of the derived forms, where they are not what follows from `tags`.
    elementwise: whether an element of a result depends on the elements at its place alone; the tag `pointwise` says so too.
    draws: whether a call draws random numbers; those with the tag `nondeterministic_seeded` do.
    linear: arguments in which, together, the results are linear. Views are linear in their first argument.
    multilinear: arguments in each of which the result is linear while the others stay.
    tangent: the forward formula, by name: `self` is an argument, `self_t` its tangent.
    flops: the floating point operations of a call, a function of its arguments by their names, for the counter of them. Operators of
        PyTorch have theirs in `utils/_flop_formulas.py`, as PyTorch's counter has.
    cheap: whether computing it again costs about as much as reading its arguments; element-wise operators do.
    sizes_by_values: whether sizes of results depend on values of tensors, or a function of the arguments that tells.
    gives_value: whether a result is a Python value read from a tensor.
    raises_by_values: whether values decide if a call raises, so that programs catch it.
    gives_back: whether a result may be its argument itself, as in `x.contiguous() is x`; where PyTorch's tag
        `maybe_aliasing_or_mutating` says so it may.
    unfilled: whether elements of the result are what the memory held before.
    keeps_zero: whether zero becomes zero, so that sparse tensors map their values alone.
    lifts: whether it makes a tensor from outside a tensor of the program.
    takes_numbers: whether the Python function takes a number for the first tensor, or the method for the other one, and
        torch.ops for each tensor. PyTorch decides that by the name: all overloads of the name say so.
    unlisted: whether PyTorch's Python functions have no form like it, so that errors do not show it; for its further names they
        have one. `out=` forms with the tag `generated` never have one.
    old_order: the orders of its arguments that PyTorch has given up but still takes in the function, apart by commas: "self alpha
        other" of `add(x, 2, y)`. The method has its tensor before them.
    autocast: "lower", "float32" or "promote": what autocast does to its inputs.
    devices: which tensor arguments need not lie on the device of the others, by name: on "any" device, on the "host" too, as
        a "number" (a tensor of the host without dimensions) too. One word stands for all arguments; it is "number" where the
        shape rule broadcasts.
    batching: the rule of vmap that it shares with others: "dims" (its arguments count dimensions), "dims+1" (of a tensor with
        one more), "reduction", "matrix" and "stack" (takes stacks of its first, of all its tensors), "planes" (each item of
        the first dimension for itself), "whole" (takes its first tensor as a whole), "body" (its body does), "refused" (the
        slices' results have sizes of their own). Element-wise operators need none.
    sharding: how a reduction of sharded tensors is made of those of their pieces: "sum", "avg", "max", "min" or "product" of them,
        or as a "norm" of norms. All else follows from the words above, or is a rule of `_behaviours/sharded`.
    reads_elements: whether kernels read or write elements. Views, factories and in-place views do not, all others do.
    crosses_devices: whether its result may lie on another device than its tensor, so that the gradient comes back from there.
    underived: whether it has a gradient whose formula nobody wrote (`grad=None`): asking for it raises.
    seen_as: the overload that modes, classes and graphs see instead where a program gives a number: PyTorch's Python functions
        have no form for it, and call that one with the number. After it that of the in-place form, if it is another.
    edges: "Node: arguments, ...": the arguments in the order in which `next_functions` of a node of that name has them, "-" for a number
        of which PyTorch makes a tensor. Where `seen_as` names an overload, that follows from it.
    written_twice: where the in-place form may write to an expanded tensor, with a warning, how Python spells that.
    quiet_out: whether an `out=` of another size takes the result's without a warning, and so does the tensor in place.
    out_apart: the arguments with which an `out=` may share no memory.
    out_dtype: what an `out=` of another dtype than the result's is refused with, whose names stand in the text as {out} and
        {result} ("Double"), {out_cpp} and {result_cpp} ("double"); "exact" and "found" are the usual two. Without it the
        result is cast where it can be.
    """

    tags: str
    inplace_tags: str
    out_tags: str
    elementwise: bool
    draws: bool
    linear: str
    multilinear: str
    tangent: Callable[..., Any]
    flops: Callable[..., int]
    cheap: bool
    sizes_by_values: bool | Callable[..., bool]
    gives_value: bool
    raises_by_values: bool
    gives_back: bool
    unfilled: bool
    keeps_zero: bool
    lifts: bool
    takes_numbers: bool
    old_order: str
    unlisted: bool
    autocast: str
    devices: str | dict[str, str]
    batching: str
    sharding: str
    reads_elements: bool
    crosses_devices: bool
    underived: bool
    seen_as: str
    edges: str
    written_twice: str
    quiet_out: bool
    out_apart: str
    out_dtype: str


class Facts(NamedTuple):
    """The facts of a row, each with its value; see `FactWords`."""

    tags: tuple[Tag, ...] = ()
    inplace_tags: tuple[Tag, ...] = ()
    out_tags: tuple[Tag, ...] = ()
    elementwise: bool = False
    draws: bool = False
    linear: tuple[str, ...] = ()
    multilinear: tuple[str, ...] = ()
    tangent: Callable[..., Any] | None = None
    flops: Callable[..., int] | None = None
    cheap: bool = False
    sizes_by_values: bool | Callable[..., bool] = False
    gives_value: bool = False
    raises_by_values: bool = False
    gives_back: bool = False
    unfilled: bool = False
    keeps_zero: bool = False
    lifts: bool = False
    takes_numbers: bool = False
    old_order: str = ""
    unlisted: bool = False
    autocast: str = ""
    devices: str | dict[str, str] = ""
    batching: str = ""
    sharding: str = ""
    reads_elements: bool | None = None
    crosses_devices: bool = False
    underived: bool = False
    seen_as: str = ""
    edges: str = ""
    written_twice: str = ""
    quiet_out: bool = False
    out_apart: tuple[str, ...] = ()
    out_dtype: str = ""


NO_FACTS = Facts()
_RESOLVED: dict[tuple[Any, ...], Facts] = {}
_POLICIES = ("", "lower", "float32", "promote")
_BATCHING = ("", "dims", "dims+1", "reduction", "matrix", "stack", "planes", "whole", "body", "refused")
_SHARDING = ("", "sum", "avg", "max", "min", "product", "norm")
EXACT_OUT = "Expected out tensor to have dtype {result_cpp}, but got {out_cpp} instead"
_OUT_DTYPES = {"exact": EXACT_OUT, "found": "Found dtype {out} but expected {result}"}
_OUT_PLACES = {"out", "result", "out_cpp", "result_cpp"}
_DTYPE_SETS = {"float", "floating", "real", "all", "integer", "complex", "bool"}
# What the value of a word is: of words for flags True or False, of most others a text.
_KINDS: dict[str, tuple[type, ...]] = {
    name: (dict, str) if name == "devices" else (bool,) if isinstance(default, bool | None) else (str,)
    for name, default in Facts._field_defaults.items()
}
# Tags of one form, which say nothing of what it computes.
_OF_ONE_FORM = {Tag.core, Tag.generated, Tag.maybe_aliasing_or_mutating}
_FOLLOWING = {Tag.inplace, Tag.out, Tag.pt2_compliant_tag}


@functools.cache
def _tags(words: str) -> tuple[Tag, ...]:
    try:
        found = tuple(Tag[word] for word in words.split())
    except KeyError as error:
        raise ValueError(f"tags={words!r}: no torch.Tag is called {error}") from None
    if not _FOLLOWING.isdisjoint(found):
        raise ValueError(f"tags={words!r}: inplace, out and pt2_compliant_tag follow from the schema")
    return found


@functools.cache
def _shared(tags: tuple[Tag, ...]) -> tuple[Tag, ...]:
    return tuple(tag for tag in tags if tag not in _OF_ONE_FORM)


def stated_facts(schema: str, words: Any) -> Facts:
    """The facts that a row's words state. TypeError for a word that is none, ValueError for one without that meaning."""
    if not words:
        return NO_FACTS
    if "devices" in words:
        return _resolved(schema, words)
    key = tuple(words.items())  # few combinations, and many rows
    found = _RESOLVED.get(key)
    if found is None:
        found = _RESOLVED[key] = _resolved(schema, words)
    return found


def _check_kinds(schema: str, words: Any) -> None:
    """TypeError for a word whose value is of another type than the word takes."""
    for name, value in words.items():
        if name in ("tangent", "flops") or (name == "sizes_by_values" and callable(value)):
            if not hasattr(value, "__code__"):
                raise TypeError(f"{schema}: {name}={value!r} is no function of Python")
        elif type(value) not in _KINDS[name]:
            wanted = " or ".join(kind.__name__ for kind in _KINDS[name])
            raise TypeError(f"{schema}: {name}={value!r} is a {type(value).__name__}, and has to be a {wanted}")


def _check_texts(schema: str, stated: Facts) -> None:
    """ValueError for a text that says nothing: neither one of the short words for it, nor a sentence."""
    refusal = stated.out_dtype
    if refusal and refusal not in _OUT_DTYPES:
        unknown = sorted(set(re.findall(r"\{(.*?)\}", refusal)) - _OUT_PLACES)
        if " " not in refusal or unknown:
            raise ValueError(
                f"{schema}: out_dtype={refusal!r} is neither one of {sorted(_OUT_DTYPES)} nor a sentence"
                f" with the places {sorted(_OUT_PLACES)}"
            )
    if stated.written_twice and "] = " not in stated.written_twice:
        raise ValueError(
            f"{schema}: written_twice={stated.written_twice!r} is no assignment like 'tensor[mask] = scalar'"
        )


@functools.cache
def check_dtypes(words: str) -> None:
    """ValueError if one of the words of `dtypes=` is neither a set of dtypes nor the name of one."""
    for word in words.replace("+", " ").split():
        if word not in _DTYPE_SETS and word not in DTYPES:
            raise ValueError(f"dtypes={words!r}: {word!r} is neither a dtype nor one of {sorted(_DTYPE_SETS)}")


def _resolved(schema: str, words: Any) -> Facts:
    stated = Facts(**words)
    _check_kinds(schema, words)
    _check_texts(schema, stated)
    tags = _tags(stated.tags or "")
    elementwise = words.get("elementwise", Tag.pointwise in tags)
    draws = words.get("draws", Tag.nondeterministic_seeded in tags)
    if stated.autocast not in _POLICIES:
        raise ValueError(f"{schema}: autocast={stated.autocast!r} is none of {_POLICIES[1:]}")
    if stated.batching not in _BATCHING:
        raise ValueError(f"{schema}: batching={stated.batching!r} is none of {_BATCHING[1:]}")
    if stated.sharding not in _SHARDING:
        raise ValueError(f"{schema}: sharding={stated.sharding!r} is none of {_SHARDING[1:]}")
    return stated._replace(
        tags=tags,
        inplace_tags=_tags(words["inplace_tags"]) if "inplace_tags" in words else _shared(tags),
        out_tags=_tags(words["out_tags"]) if "out_tags" in words else _shared(tags),
        elementwise=elementwise,
        draws=draws,
        linear=tuple(words.get("linear", "").split()),
        multilinear=tuple(words.get("multilinear", "").split()),
        out_apart=tuple(words.get("out_apart", "").split()),
        cheap=words.get("cheap", elementwise and not draws),
        sizes_by_values=words.get("sizes_by_values", Tag.dynamic_output_shape in tags),
        gives_value=words.get("gives_value", Tag.data_dependent_output in tags),
        gives_back=words.get("gives_back", Tag.maybe_aliasing_or_mutating in tags),
        out_dtype=_OUT_DTYPES.get(stated.out_dtype, stated.out_dtype),
    )


def generated_tags(facts: Facts) -> tuple[Tag, ...]:
    """The tags of the `out=` form that PyTorch generates."""
    return (Tag.generated, *(tag for tag in (Tag.nondeterministic_seeded, Tag.view_copy) if tag in facts.tags))


def tell_core(form: Any, facts: Facts, tags: tuple[Tag, ...]) -> None:
    """Give the native operator the facts that it acts on itself, before a kernel is bound."""
    in_place = form.form == "inplace"
    said: dict[str, Any] = {}
    if Tag.inplace_view in tags:
        said |= {"inplace_view": True, "reads_elements": False}
    if facts.reads_elements is not None:
        said["reads_elements"] = facts.reads_elements
    if facts.crosses_devices:
        said["crosses_devices"] = True
    if facts.underived:
        said["underived"] = True
    if facts.takes_numbers:
        said["takes_numbers"] = True
    if facts.unlisted or (form.form == "out" and Tag.generated in tags):
        said["unlisted"] = True
    if facts.written_twice and in_place:
        said["written_twice"] = facts.written_twice
    if facts.quiet_out and (form.form == "out" or in_place):
        said["quiet_out"] = True
    if facts.out_apart and form.form == "out":
        names = [each["name"] for each in form.arguments]
        said["out_apart"] = sum(1 << names.index(name) for name in facts.out_apart)
    if facts.out_dtype and form.form == "out":
        said["out_dtype"] = facts.out_dtype
    if said:
        form.state(**said)
    if facts.seen_as and form.form != "out":
        seen = facts.seen_as.split()[-1 if in_place else 0]
        if _C._find_operator(f"{form.namespace}::{form.name}", "" if seen == "default" else seen) is None:
            raise ValueError(
                f"{form.namespace}::{form.name}: no overload above this row is called {seen!r}, which seen_as= names"
            )
        form.__dict__["seen_as"] = seen
        form.show_edges("", _edges_as_seen(form, seen))
    for each in filter(None, facts.edges.split(",")):
        node, _, arguments = each.partition(":")
        names = [argument["name"] for argument in form.arguments]
        form.show_edges(node.strip(), tuple(-1 if name == "-" else names.index(name) for name in arguments.split()))


def _edges_as_seen(form: Any, overload: str) -> tuple[int, ...]:
    """The positions of the arguments that another overload has as tensors; -1 where this one has a number."""
    name = f"{form.namespace}::{form.name}"
    seen = _C._find_operator(name, "" if overload == "default" else overload)
    tensors = {each["name"] for each in seen.arguments if each["type"] == "Tensor"}
    positions = enumerate(form.arguments)
    return tuple(i if each["type"] == "Tensor" else -1 for i, each in positions if each["name"] in tensors)


def needed_by(function: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a function that have no default."""
    code, given = function.__code__, len(function.__defaults__ or ())
    return code.co_varnames[: code.co_argcount - given]


def flops_of(handle: Any, facts: Facts, args: tuple[Any, ...], kwargs: dict[str, Any]) -> int | None:
    """The floating point operations of a call, as the row states them; None where it states none."""
    if facts.flops is None:
        return None
    values = {argument["name"]: argument["default"] for argument in handle.arguments}
    values.update(zip(values, args))
    values.update(kwargs)
    code = facts.flops.__code__
    return facts.flops(**{name: values[name] for name in code.co_varnames[: code.co_argcount] if name in values})


def check_arguments(handle: Any, facts: Facts) -> None:
    """ValueError where a fact names an argument that the operator has not."""
    if not (facts.linear or facts.multilinear or facts.out_apart or facts.old_order or facts.tangent or facts.flops):
        return
    names = {argument["name"] for argument in handle.arguments}
    for name in (*facts.linear, *facts.multilinear, *facts.out_apart):
        if name not in names:
            raise ValueError(f"{handle.name}: it is stated to be linear in '{name}', which is no argument")
    for order in facts.old_order.split(","):
        for name in order.split():
            if name not in names:
                raise ValueError(f"{handle.name}: old_order= names '{name}', which is no argument")
    if facts.flops is not None:
        for name in needed_by(facts.flops):
            if name not in names:
                raise ValueError(f"{handle.name}: flops= reads '{name}', which is no argument")
    if facts.tangent is not None:
        code = facts.tangent.__code__
        for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
            if name not in names and not (name.endswith("_t") and name[:-2] in names):
                raise ValueError(
                    f"{handle.name}: tangent= reads '{name}', which is neither an argument nor the tangent of one"
                )
