"""The operator table: what a row says, and what follows from it.

A row is a call of :func:`op` (a native kernel does the work) or of :func:`composite` (its Python body is its meaning).
From the row follow the schema's binding, the function and method of that name, the in-place and ``out=`` forms, the meta
function, what autograd saves, and the derived tests.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Unpack

from ... import _C
from ..._dispatch.tags import Tag
from . import late
from .devices import place
from .facts import NO_FACTS, Facts, FactWords, check_arguments, check_dtypes, generated_tags, stated_facts, tell_core
from .formula import compile_formula, node_name
from .names import PLACES, record, record_functional
from .returns import name_returns
from .rules import Rule
from .samples import Sample
from .schemas import define_generated_out, define_inplace, define_out
from .writing import into_generated, through_functional


class Row(NamedTuple):
    """One operator as its row states it."""

    name: str  # "add.Tensor"
    schema: str
    doc: str
    bind: tuple[str, ...]
    family: str
    grad: dict[str, Any] | None
    nondiff: tuple[int, ...]  # numbers of the outputs that never require grad
    meta: Rule | Callable[..., Any] | None  # the shape rule; None where the kernel or the body makes its own results
    samples: tuple[Sample, ...]
    schema_call: bool  # whether a call for the derived tests may be made from the schema where there are no samples
    dtypes: str
    method_only: bool
    facts: Facts
    handle: Any  # _C.Operator of the functional (or only) form
    inplace: Any  # _C.Operator or None
    out: Any  # _C.Operator or None
    body: Callable[..., Any] | None

    @property
    def generated_out(self) -> Any:
        """The `out=` form that PyTorch generates, and that no function of Python takes; None of most."""
        if "generated_out" in self.bind:
            late.read()
        return _GENERATED.get(self.handle)


_GENERATED: dict[Any, Any] = {}  # a functional form -> the `out=` form that PyTorch generates of it


ROWS: dict[str, Row] = {}  # those of namespace aten
_ROWS_OF: dict[str, dict[str, Row]] = {"aten": ROWS}


def every_row() -> dict[str, Row]:
    """The rows of namespace aten, with those that are read when they are asked for."""
    late.read()
    return ROWS


def rows_of(namespace: str) -> dict[str, Row]:
    """The rows of a namespace by name: "add.Tensor" of "aten"."""
    return _ROWS_OF.setdefault(namespace, {})


_REQUIRED = object()


def row_of(handle: Any) -> Row | None:
    """The row that an operator of the framework, in whichever form, stands on; None for operators of users."""
    row: Row | None = handle.__dict__.get("row")
    return row


def facts_of(handle: Any) -> Facts:
    """Facts that the row of an operator states; of users' operators nothing is known but their tags."""
    row = handle.__dict__.get("row")
    return NO_FACTS if row is None else row.facts


def _itself(self: Any, *args: Any, **kwargs: Any) -> Any:
    return self


def _lists(schema: str) -> bool:
    """Whether the result is a list of tensors, for which an `out=` is a list too, and nothing is returned."""
    return schema.endswith("-> Tensor[]")


def _native(handle: Any, *names: str, key: str = "CPU") -> bool:
    return any(handle.impl(key, name) for name in names)


_PLACES = {*PLACES, "inplace", "out", "generated_out"}


def _define(
    schema: str,
    doc: str,
    *,
    family: str,
    bind: str,
    grad: dict[str, Any] | None,
    nondiff: tuple[int, ...],
    node: str | None = None,
    alias: str = "",
    functional: str = "",
    out_overload: str = "",
    inplace_overload: str = "",
    meta: Rule | Callable[..., Any] | None = None,
    samples: Iterable[Sample] | None = (),
    dtypes: str = "floating",
    method_only: bool = False,
    body: Callable[..., Any] | None = None,
    words: FactWords,
) -> Row:
    places = tuple(bind.split())
    if unknown := set(places) - _PLACES:
        raise ValueError(f"{schema}: unknown bind words {sorted(unknown)}")
    check_dtypes(dtypes)
    facts = stated_facts(schema, words)
    namespace, separator, rest = schema.partition("(")[0].rpartition("::")
    namespace = namespace if separator else "aten"
    rows = rows_of(namespace)
    handle = _C._define(namespace, schema.removeprefix(f"{namespace}::"))
    check_arguments(handle, facts)
    handle.__doc__ = doc
    name, overload = handle.name, handle.overload
    dotted = f"{name}.{overload}" if overload else name
    aliases = tuple(alias.split())
    record(handle, name, places, aliases)
    if functional:
        record_functional(name, functional, doc)
    inplace = out = None
    if "inplace" in places:
        inplace = define_inplace(handle, inplace_overload)
        where = tuple(w for w in places if w in ("function", "method", "nn", "special"))
        record(inplace, name + "_", where, tuple(a + "_" for a in aliases))
    if "out" in places:
        out = (
            define_generated_out(handle) if _lists(schema) else define_out(handle, out_overload, first=name not in rows)
        )
        record(out, name, tuple(w for w in places if w in ("function", "nn", "linalg", "special", "fft")), aliases)
    if "function" in places or "linalg" in places or (handle.namespace == "aten" and name.startswith("_")):
        name_returns(handle, out, name)
    if grad:
        label = node or node_name(name, overload)
        formula = (*compile_formula(handle, grad), sum(1 << i for i in nondiff), label)
        handle.set_formula(*formula)
        if inplace is not None:
            inplace.set_formula(*formula)
    row = rows[dotted] = Row(
        name=dotted,
        schema=schema.replace("=Mean", "=1"),
        doc=doc,
        bind=places,
        family=family,
        grad=grad,
        nondiff=nondiff,
        meta=meta,
        samples=tuple(samples or ()),
        schema_call=samples is not None,
        dtypes=dtypes,
        method_only=method_only,
        facts=facts,
        handle=handle,
        inplace=inplace,
        out=out,
        body=body,
    )
    devices = facts.devices or ("number" if isinstance(meta, Rule) and meta.broadcasts else "")
    for form, tags in ((handle, facts.tags), (inplace, facts.inplace_tags), (out, facts.out_tags)):
        if form is not None:
            _tell(form, row, tags, devices)
    if "generated_out" in places:
        late.when_asked(functools.partial(_generate_out, row, devices))
    return row


def _tell(form: Any, row: Row, tags: tuple[Tag, ...], devices: str | dict[str, str]) -> None:
    form.row = row
    if devices:
        place(form, devices)
    if tags:
        form.tags = tags
    if row.facts.draws:
        form.random = True
    tell_core(form, row.facts, tags)


def _generate_out(row: Row, devices: str | dict[str, str]) -> None:
    form = _GENERATED[row.handle] = define_generated_out(row.handle)
    form.impl("CompositeExplicitAutograd", into_generated(row.handle, form))
    record(form, form.name, (), ())
    _tell(form, row, generated_tags(row.facts), devices)


def op(
    schema: str,
    doc: str,
    *,
    bind: str = "",
    meta: Rule | Callable[..., Any] | None = None,
    grad: Any = _REQUIRED,
    nondiff: tuple[int, ...] = (),
    kernel: str | None = None,
    key: str | None = None,
    alias: str = "",
    functional: str = "",
    out_overload: str = "",
    inplace_overload: str = "",
    samples: Iterable[Sample] | None = (),
    dtypes: str = "floating",
    node: str | None = None,
    meta_kernel: Callable[..., Any] | None = None,
    unmarked: str = "",
    method_only: bool = False,
    **facts: Unpack[FactWords],
) -> None:
    """State a native operator.

    Args:
        schema: PyTorch's schema, overload name included; with "npu::" before it in that namespace, else in aten. The
            default Mean is 1 for operators and 0 for functions of torch, as it is in PyTorch.
        doc: one sentence for the user.
        bind: where Python finds it: ``function method nn linalg special fft``, and the derived forms ``inplace out``; ``generated_out``
            is an `out=` form that PyTorch generates, and that no Python function takes.
        meta: the shape rule; without one the kernel makes its own results.
        grad: formulas by argument name (or tuple of names); None if not differentiable.
        nondiff: numbers of the outputs that never require grad.
        kernel: name of the native kernel where it is not the operator's.
        key: the dispatch key of the kernel; "CPU", for views every device.
        alias: further names, separated by spaces.
        functional: what of it torch.nn.functional has: ``"gelu"``, ``"relu(input, inplace=False) relu_"``; see
            ``_operators/functional.py``.
        out_overload: the name of the `out=` overload where it is not out, and after it the names of what is written where they
            are not the results'.
        inplace_overload: that of the in-place form where it is not the operator's.
        samples: calls for the derived tests; ``dtypes`` is what they are swept over. None: nor can one be made from the schema.
        meta_kernel: for operators without a shape rule, a Python function that returns meta tensors.
        method_only: PyTorch has no operator of that name or schema, only the method.
        unmarked: arguments that PyTorch's schema keeps quiet about, although they are written or aliased.
        facts: see :class:`FactWords`.
    """
    if grad is _REQUIRED:
        raise ValueError(f"{schema}: the row says neither grad={{...}} nor grad=None")
    family = _family()
    row = _define(
        schema,
        doc,
        bind=bind,
        grad=grad,
        alias=alias,
        functional=functional,
        out_overload=out_overload,
        inplace_overload=inplace_overload,
        samples=samples,
        dtypes=dtypes,
        nondiff=nondiff,
        node=node,
        family=family,
        meta=meta,
        method_only=method_only,
        words=facts,
    )
    handle = row.handle
    if unmarked:
        handle.excuse()
    candidates = (kernel,) if kernel else (row.name, handle.name)
    if isinstance(meta, Rule):
        handle.set_shape(meta.name, meta.params)
    elif meta is not None:
        handle.set_shape(meta)
    where = key or ("CompositeExplicitAutograd" if handle.is_view else "CPU")
    if not _native(handle, *candidates, key=where):
        raise ImportError(f"{row.name}: the CPU library has no kernel called {' or '.join(candidates)}")
    if meta_kernel is not None:
        handle.impl("Meta", meta_kernel)
    elif meta is None and where == "CPU" and handle.form == "inplace":
        handle.impl("Meta", _itself)  # written in place: without data nothing is left to do
    structured = meta is not None
    for derived in (row.inplace, row.out):
        if derived is None:
            continue
        if structured:
            if isinstance(meta, Rule):
                derived.set_shape(meta.name, meta.params)
            else:
                derived.set_shape(meta)
            _native(derived, *candidates, key=where)
        else:
            derived.impl("CompositeImplicitAutograd", through_functional(handle, derived, row.facts))


def composite(
    schema: str,
    doc: str,
    *,
    bind: str = "",
    explicit: bool = False,
    grad: Any = None,
    nondiff: tuple[int, ...] = (),
    alias: str = "",
    functional: str = "",
    out_overload: str = "",
    samples: Iterable[Sample] | None = (),
    dtypes: str = "floating",
    node: str | None = None,
    **facts: Unpack[FactWords],
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """State an operator whose Python body is its definition.

    Implicit by default: autograd sees the operators of the body. ``explicit=True`` makes the body a kernel for every device,
    with its own formulas in ``grad``. An implicit one with ``node`` is an operator for which PyTorch records one node of that
    name: the last node of the body carries it.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        row = _define(
            schema,
            doc,
            bind=bind,
            grad=grad,
            alias=alias,
            functional=functional,
            out_overload=out_overload,
            samples=samples,
            dtypes=dtypes,
            nondiff=nondiff,
            node=node,
            family=_family_of(body),
            body=body,
            words=facts,
        )
        key = "CompositeExplicitAutograd" if explicit else "CompositeImplicitAutograd"
        last = None if grad else node
        row.handle.impl(key, body if last is None else _naming_its_node(body, last))
        for derived in (row.inplace, row.out):
            if derived is None:
                continue
            if derived is row.out and _lists(schema):
                derived.impl("CompositeImplicitAutograd", into_generated(row.handle, derived))
                continue
            through = through_functional(row.handle, derived, row.facts)
            if derived is row.inplace and last is not None:
                through = _naming_its_node(through, last)
            derived.impl("CompositeImplicitAutograd", through)
        return body

    return decorate


def _naming_its_node(body: Callable[..., Any], node: str) -> Callable[..., Any]:
    @functools.wraps(body)
    def named(*args: Any, **kwargs: Any) -> Any:
        begin = _C._next_sequence_nr()
        result = body(*args, **kwargs)
        _C._name_last_node(result, begin, node)
        return result

    return named


def declare(
    schema: str,
    doc: str,
    *,
    bind: str = "",
    grad: Any = None,
    nondiff: tuple[int, ...] = (),
    **facts: Unpack[FactWords],
) -> None:
    """State an operator that has kernels for some layouts only; ``_sparse`` registers them."""
    _define(
        schema,
        doc,
        family=_family(),
        bind=bind,
        grad=grad,
        nondiff=nondiff,
        samples=None,
        words=facts,
    )


def _family() -> str:
    return str(sys._getframe(2).f_globals["__name__"]).rpartition(".")[2]


def _family_of(body: Callable[..., Any]) -> str:
    return body.__module__.rpartition(".")[2]
