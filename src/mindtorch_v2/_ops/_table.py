"""The operator table: what a row says, and what follows from it.

A row is a call of :func:`op` (a native kernel does the work) or of :func:`composite` (its Python body is its meaning).
From the row follow the schema's binding, the function and method of that name, the in-place and ``out=`` forms, the meta
function, what autograd saves, and the derived tests.
"""

from __future__ import annotations

import functools
import re
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from .. import _C
from .._dispatch.tags import Tag

# ---- samples for the derived tests ----


class TensorSpec(NamedTuple):
    """A tensor argument of a sample; written ``T(3, 4, dtype="int64", low=0, high=5)``."""

    shape: tuple[int, ...]
    options: dict[str, Any]


def T(*shape: int, **options: Any) -> TensorSpec:
    """A tensor argument of a sample: its shape and how to fill it (dtype, low, high, grad)."""
    return TensorSpec(shape, options)


class Sample(NamedTuple):
    """One call of the operator: positional and keyword arguments, tensors as :class:`TensorSpec`."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def S(*args: Any, **kwargs: Any) -> Sample:
    """One call of the operator. Only ints: one tensor of that shape."""
    if args and all(type(a) is int for a in args):
        args = (T(*args),)
    return Sample(args, kwargs)


# ---- shape rules, named from the rows ----


class Rule(NamedTuple):
    name: str
    params: tuple[str, ...]


def rule(name: str, *params: str) -> Rule:
    """The native shape rule ``name``; ``params`` are the argument names that it reads."""
    return Rule(name, params)


def like(*params: str) -> Rule:
    """Output i has the sizes, dtype and dense strides of the i-th named argument."""
    return Rule("like", params)


def pointwise(*params: str, to: str = "default") -> Rule:
    """Broadcast of the named tensor or scalar arguments with PyTorch's type promotion.

    ``to``: "default" (common dtype), "float" (integers become the default float), "bool", or "noop" (dtype of the first).
    """
    return Rule("pointwise" if to == "default" else f"pointwise_{to}", params)


def reduce(*params: str, to: str = "default") -> Rule:
    """A reduction: ``reduce("self", "dim", "keepdim", "dtype")``; see csrc/core for the variants of ``to``."""
    return Rule("reduce" if to == "default" else f"reduce_{to}", params)


# ---- rows ----


class Row(NamedTuple):
    """One operator as its row states it."""

    name: str  # "add.Tensor"
    schema: str
    doc: str
    bind: tuple[str, ...]
    family: str
    grad: dict | None
    samples: tuple[Sample, ...]
    dtypes: str
    handle: Any  # _C.Operator of the functional (or only) form
    inplace: Any  # _C.Operator or None
    out: Any  # _C.Operator or None
    body: Callable | None
    extra: dict[str, Any]


ROWS: dict[str, Row] = {}
_PLACES = ("function", "method", "nn", "linalg", "special", "fft")
_BOUND: dict[str, dict[str, list]] = {place: {} for place in ("aten", *_PLACES)}  # place -> name -> operators
_NODE_NUMBERS: dict[str, dict[str, int]] = {}  # operator's name -> overload -> number in its node's name
_REQUIRED = object()


class _Namespace:
    """Every operator by name, called with Python's binding rules: ``aten.add(x, 1)``."""

    def __getattr__(self, name: str):
        ops = _BOUND["aten"].get(name)
        if ops is None:
            raise AttributeError(f"no operator is called '{name}'")
        function = _C.Function(name, _in_order(ops))
        setattr(self, name, function)
        return function


aten = _Namespace()


def conj(x):
    """The conjugate of a tensor or number; ``x`` itself when it is real."""
    if isinstance(x, (int, float, complex)):
        return x.conjugate()
    return aten.conj_physical(x) if x.is_complex() else x


_SCHEMA = re.compile(r"^\s*([A-Za-z_]\w*)(?:\.(\w+))?\((.*)\)\s*->\s*(.*?)\s*$", re.S)


def _parts(schema: str) -> tuple[str, str, str, str]:
    match = _SCHEMA.match(schema)
    if match is None:
        raise ValueError(f"not a schema: {schema!r}")
    return match[1], match[2] or "", match[3], match[4]


def _inplace_schema(name: str, overload: str, args: str) -> str:
    first, _, rest = args.partition(",")
    if not first.startswith("Tensor "):
        raise ValueError(f"{name}: an in-place form needs a Tensor as first argument, not {first!r}")
    dotted = f"{name}_.{overload}" if overload else f"{name}_"
    return f"{dotted}(Tensor(a!) {first[7:]}{',' + rest if rest else ''}) -> Tensor(a!)"


def _out_schema(name: str, overload: str, args: str, returns: str) -> str:
    # "clamp" and "clamp.Tensor" both have one: the first stated is called out, the other Tensor_out, as PyTorch's are.
    plain = overload in ("", "self") or (overload == "Tensor" and name not in ROWS)
    dotted = f"{name}.{'out' if plain else overload + '_out'}"
    kinds = [r.strip() for r in returns.strip("()").split(",")]
    names = ["out"] if len(kinds) == 1 else [f"out{i}" for i in range(len(kinds))]
    letters = "abcdefgh"
    outs = ", ".join(f"Tensor({letters[i]}!) {n}" for i, n in enumerate(names))
    star = "" if re.search(r"(^|,)\s*\*\s*,", args) else "*, "
    head = f"{args}, {star}{outs}" if args else f"*, {outs}"
    result = ", ".join(f"Tensor({letters[i]}!)" for i in range(len(names)))
    return f"{dotted}({head}) -> {result if len(names) == 1 else '(' + result + ')'}"


def _camel(name: str) -> str:
    """`max_pool2d` -> `MaxPool2D`: a letter after a digit begins a word too."""
    return re.sub(r"(?:^|_+|(?<=\d))([A-Za-z0-9])", lambda match: match[1].upper(), name.strip("_"))


def _node_name(name: str, overload: str) -> str:
    base = name.rstrip("_") if not name.startswith("__") else name
    numbers = _NODE_NUMBERS.setdefault(base, {})
    number = numbers.setdefault("" if overload in ("Tensor", "Scalar") else overload, len(numbers))
    return f"{_camel(base)}Backward{number}"


_GRAD = re.compile(r"^grad(\d*)$")
_RESULT = re.compile(r"^result(\d*)$")
_KIND_GRAD, _KIND_GRADS, _KIND_INPUT, _KIND_RESULT, _KIND_NEEDS, _KIND_SIZES, _KIND_LIST_SIZES = range(7)


def _compile_formula(handle, grad: dict) -> tuple[list, list[int], list[int], list[int], list[int]]:
    """The derivative formulas of a row as ``set_formula`` takes them: which arguments they give gradients for and what
    they read. It holds for the in-place form too, which has the same arguments.

    ``x_sizes`` gives the sizes of the differentiable tensor (or of each tensor of the list) ``x`` without keeping its data;
    ``x_geometry`` the tuple of a tensor's sizes, strides and storage offset.
    """
    arguments = handle.arguments
    names = [a["name"] for a in arguments]
    types = [a["type"] for a in arguments]
    saved_sizes: list[int] = []
    saved_inputs: list[int] = []
    saved_results: list[int] = []
    plans = []
    differentiable = set()
    for key, fn in grad.items():
        targets = key if isinstance(key, tuple) else (key,)
        for target in targets:
            if target not in names:
                raise ValueError(f"{handle.name}: a formula is given for '{target}', which is no argument")
        positions = [names.index(t) for t in targets]
        differentiable.update(positions)
        code = fn.__code__
        params = []
        for param in code.co_varnames[: code.co_argcount]:
            if match := _GRAD.match(param):
                params.append((_KIND_GRAD, int(match[1] or 0)))
            elif param == "grads":
                params.append((_KIND_GRADS, 0))
            elif param == "needs":
                params.append((_KIND_NEEDS, 0))
            elif param in names:
                position = names.index(param)
                if position not in saved_inputs:
                    saved_inputs.append(position)
                params.append((_KIND_INPUT, position))
            elif param.endswith("_sizes") and param.removesuffix("_sizes") in names:
                position = names.index(param.removesuffix("_sizes"))
                if types[position] in ("Tensor", "Tensor?"):
                    params.append((_KIND_SIZES, position))
                else:
                    if position not in saved_sizes:
                        saved_sizes.append(position)
                    params.append((_KIND_LIST_SIZES, position))
            elif param.endswith("_geometry") and param.removesuffix("_geometry") in names:
                position = names.index(param.removesuffix("_geometry"))
                if position not in saved_sizes:
                    saved_sizes.append(position)
                params.append((_KIND_LIST_SIZES, position))
            elif match := _RESULT.match(param):
                position = int(match[1] or 0)
                if position not in saved_results:
                    saved_results.append(position)
                params.append((_KIND_RESULT, position))
            else:
                raise ValueError(f"{handle.name}: a formula reads '{param}', which is no argument, result or grad")
        plans.append((positions, fn, params, isinstance(key, tuple)))
    saved_inputs.sort()
    saved_results.sort()
    place = {(_KIND_INPUT, p): i for i, p in enumerate(saved_inputs)}
    place |= {(_KIND_RESULT, p): len(saved_inputs) + i for i, p in enumerate(saved_results)}
    kept = len(saved_inputs) + len(saved_results)
    place |= {(_KIND_LIST_SIZES, p): kept + i for i, p in enumerate(saved_sizes)}
    parts = [
        (positions, fn, [(kind, place.get((kind, index), index)) for kind, index in params], many)
        for positions, fn, params, many in plans
    ]
    return parts, sorted(differentiable), saved_inputs, saved_results, saved_sizes


class ReturnType(tuple):
    """Several named results: a tuple whose items are also attributes."""

    __slots__ = ()
    _fields: tuple[str, ...] = ()

    def __repr__(self) -> str:
        items = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
        return f"torch.return_types.{type(self).__name__}(\n{items})"

    def __reduce__(self):
        return (tuple, (tuple(self),))


def _make_item(i: int):
    return property(lambda self: self[i])


_RETURN_TYPES: dict[tuple[str, tuple[str, ...]], type] = {}


def return_type(name: str, fields: tuple[str, ...]) -> type:
    """The class of an operator's named results."""
    made = _RETURN_TYPES.get((name, fields))
    if made is None:
        items = {f: _make_item(i) for i, f in enumerate(fields)}
        made = type(name, (ReturnType,), {"__slots__": (), "_fields": fields, "n_fields": len(fields), **items})
        made.__module__ = "torch.return_types"
        _RETURN_TYPES[name, fields] = made
    return made


def _name_returns(handle, out, name: str) -> None:
    fields = tuple(r["name"] for r in handle.returns)
    if len(fields) > 1 and all(fields):
        made = return_type(name.lstrip("_"), fields)
        handle.set_return_type(made)
        if out is not None:
            out.set_return_type(made)


def _itself(self, *args, **kwargs):
    return self


def _native(handle, *names: str, key: str = "CPU") -> bool:
    return any(handle.impl(key, name) for name in names)


_CLASSES = {
    "uint8": "Byte",
    "int8": "Char",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "float16": "Half",
    "float32": "Float",
    "float64": "Double",
    "bool": "Bool",
    "bfloat16": "BFloat16",
    "complex32": "ComplexHalf",
    "complex64": "ComplexFloat",
    "complex128": "ComplexDouble",
}


def class_name(dtype: Any) -> str:
    """What PyTorch's messages call a dtype: "Float" for float32."""
    short = str(dtype).rpartition(".")[2]
    return _CLASSES.get(short, short)


def fill(out: Any, value: Any) -> Any:
    """Puts `value` into `out`, which takes its sizes; an `out` that held something warns, as PyTorch does."""
    if not _C.can_cast(value.dtype, out.dtype):
        raise RuntimeError(
            f"result type {class_name(value.dtype)} can't be cast to the desired output type {class_name(out.dtype)}"
        )
    if out.shape != value.shape:
        if out.numel() != 0:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
                f"match the required output shape {list(value.shape)}. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse "
                "an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
                UserWarning,
                stacklevel=2,
            )
        aten.resize_(out, value.shape)
    return aten.copy_(out, value)


def _through_functional(functional, form: str):
    """The in-place or out= form of an operator whose kernel makes its own result: compute, then copy."""
    if form == "inplace":

        def run(self, *args, **kwargs):
            # What the functional form saves of its input must outlive the write.
            source = aten.clone(self) if self.requires_grad and _C.is_grad_enabled() else self
            return aten.copy_(self, functional(source, *args, **kwargs))

    else:

        def run(*args, **kwargs):
            outs = []
            while "out" in kwargs or f"out{len(outs)}" in kwargs:
                outs.append(kwargs.pop("out") if "out" in kwargs else kwargs.pop(f"out{len(outs)}"))
            results = functional(*args, **kwargs)
            many = isinstance(results, (tuple, list))
            for out, result in zip(outs, results if many else (results,), strict=True):
                fill(out, result)
            return tuple(outs) if many else outs[0]

    return run


_WORDS = {*_PLACES, "inplace", "out"}


def _record(handle, name: str, bind: tuple[str, ...], alias: tuple[str, ...], schema: str) -> None:
    _BOUND["aten"].setdefault(name, []).append(handle)
    for word in bind:
        if word in ("inplace", "out"):
            continue
        for n in (name, *alias):
            short = n.removeprefix(word + "_") if word in ("linalg", "special", "fft") else n
            _BOUND[word].setdefault(short, []).append(handle)


# They draw from the global generator, though their schemas have none.
_DRAWS = frozenset(
    "rand rand_like randint randint_like randn randn_like randperm dropout dropout_ native_dropout alpha_dropout "
    "alpha_dropout_ feature_dropout feature_dropout_ feature_alpha_dropout feature_alpha_dropout_ _fused_sdp_choice "
    "scaled_dot_product_attention _scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu".split()
)


def _define(
    schema: str, doc: str, *, bind: str, grad, alias, samples, dtypes, nondiff, node, family, body, extra
) -> Row:
    name, overload, args, returns = _parts(schema)
    words = tuple(bind.split())
    if unknown := set(words) - _WORDS:
        raise ValueError(f"{name}: unknown bind words {sorted(unknown)}")
    handle = _C._define("aten", schema)
    handle.__doc__ = doc
    dotted = f"{name}.{overload}" if overload else name
    if dotted in ROWS:
        raise ValueError(f"{dotted}: defined twice")
    aliases = tuple(alias.split())
    _record(handle, name, words, aliases, schema)
    inplace = out = None
    if "inplace" in words:
        inplace = _C._define("aten", _inplace_schema(name, overload, args))
        where = tuple(w for w in words if w in ("function", "method", "nn", "special"))
        _record(inplace, name + "_", where, tuple(a + "_" for a in aliases), schema)
    if "out" in words:
        out = _C._define("aten", _out_schema(name, overload, args, returns))
        _record(
            out, name, tuple(w for w in words if w in ("function", "nn", "linalg", "special", "fft")), aliases, schema
        )
    if returns.startswith("(") and ("function" in words or "linalg" in words):
        _name_returns(handle, out, name)
    if grad:
        label = node or _node_name(name, overload)
        formula = (*_compile_formula(handle, grad), sum(1 << i for i in nondiff), label)
        handle.set_formula(*formula)
        if inplace is not None:
            inplace.set_formula(*formula)
    if "Generator" in args or name in _DRAWS:
        for form in (handle, inplace, out):
            if form is not None:
                form.tags = (Tag.nondeterministic_seeded,)
    row = Row(dotted, schema, doc, words, family, grad, tuple(samples), dtypes, handle, inplace, out, body, extra)
    ROWS[dotted] = row
    return row


def op(
    schema: str,
    doc: str,
    *,
    bind: str = "",
    meta: Rule | Callable | None = None,
    grad: Any = _REQUIRED,
    nondiff: tuple[int, ...] = (),
    kernel: str | None = None,
    key: str | None = None,
    alias: str = "",
    samples: Any = (),
    dtypes: str = "floating",
    node: str | None = None,
    meta_kernel: Callable | None = None,
    unmarked: str = "",
    **extra: Any,
) -> None:
    """State a native operator.

    Args:
        schema: PyTorch's schema, overload name included.
        doc: one sentence for the user.
        bind: where Python finds it: ``function method nn linalg special fft``, and the derived forms ``inplace out``.
        meta: the shape rule; without one the kernel makes its own results.
        grad: formulas by argument name (or tuple of names); None if not differentiable.
        nondiff: numbers of the outputs that never require grad.
        kernel: name of the native kernel where it is not the operator's.
        key: the dispatch key of the kernel; "CPU", for views every device.
        alias: further names, separated by spaces.
        samples: calls for the derived tests; ``dtypes`` is what they are swept over.
        meta_kernel: for operators without a shape rule, a Python function that returns meta tensors.
        unmarked: arguments that PyTorch's schema keeps quiet about, although they are written or aliased.
    """
    name, overload, _, returns = _parts(schema)
    if grad is _REQUIRED:
        raise ValueError(f"{name}: the row says neither grad={{...}} nor grad=None")
    family = _family()
    row = _define(
        schema,
        doc,
        bind=bind,
        grad=grad,
        alias=alias,
        samples=samples,
        dtypes=dtypes,
        nondiff=nondiff,
        node=node,
        family=family,
        body=None,
        extra={**extra, "meta": meta, "nondiff": nondiff},
    )
    handle = row.handle
    if unmarked:
        handle.excuse()
    candidates = (kernel,) if kernel else (row.name, name)
    if isinstance(meta, Rule):
        handle.set_shape(meta.name, meta.params)
    elif meta is not None:
        handle.set_shape(meta)
    where = key or ("CompositeExplicitAutograd" if handle.is_view else "CPU")
    if not _native(handle, *candidates, key=where):
        raise ImportError(f"{row.name}: the CPU library has no kernel called {' or '.join(candidates)}")
    if meta_kernel is not None:
        handle.impl("Meta", meta_kernel)
    elif meta is None and where == "CPU" and returns.startswith("Tensor(a!"):
        handle.impl("Meta", _itself)  # written in place: without data nothing is left to do
    structured = meta is not None
    for form, derived in (("inplace", row.inplace), ("out", row.out)):
        if derived is None:
            continue
        if structured:
            if isinstance(meta, Rule):
                derived.set_shape(meta.name, meta.params)
            else:
                derived.set_shape(meta)
            _native(derived, *candidates, key=where)
        else:
            derived.impl("CompositeImplicitAutograd", _through_functional(handle, form))


def composite(
    schema: str,
    doc: str,
    *,
    bind: str = "",
    explicit: bool = False,
    grad: Any = None,
    nondiff: tuple[int, ...] = (),
    alias: str = "",
    samples: Any = (),
    dtypes: str = "floating",
    node: str | None = None,
    **extra: Any,
) -> Callable[[Callable], Callable]:
    """State an operator whose Python body is its definition.

    Implicit by default: autograd sees the operators of the body. ``explicit=True`` makes the body a kernel for every device,
    with its own formulas in ``grad``.
    """

    def decorate(body: Callable) -> Callable:
        row = _define(
            schema,
            doc,
            bind=bind,
            grad=grad,
            alias=alias,
            samples=samples,
            dtypes=dtypes,
            nondiff=nondiff,
            node=node,
            family=_family_of(body),
            body=body,
            extra={**extra, "nondiff": nondiff},
        )
        key = "CompositeExplicitAutograd" if explicit else "CompositeImplicitAutograd"
        row.handle.impl(key, body)
        for form, derived in (("inplace", row.inplace), ("out", row.out)):
            if derived is not None:
                derived.impl("CompositeImplicitAutograd", _through_functional(row.handle, form))
        return body

    return decorate


def declare(schema: str, doc: str, *, bind: str = "", grad: Any = None, nondiff: tuple[int, ...] = ()) -> None:
    """State an operator that has kernels for some layouts only; ``_sparse`` registers them."""
    _define(
        schema,
        doc,
        bind=bind,
        grad=grad,
        alias="",
        samples=(),
        dtypes="floating",
        nondiff=nondiff,
        node=None,
        family=_family(),
        body=None,
        extra={},
    )


def _family() -> str:
    return sys._getframe(2).f_globals["__name__"].rpartition(".")[2]


def _family_of(body: Callable) -> str:
    return body.__module__.rpartition(".")[2]


@functools.cache  # a handle stands in several places, and spelling its arguments out takes its time
def _specificity(handle) -> tuple[int, int]:
    """Overloads that ask for more tensors are tried first: a 0-dim tensor would pass for a number too."""
    tensors = scalars = 0
    for argument in handle.arguments:
        if not argument["kwarg_only"]:
            tensors += argument["type"] == "Tensor" and not argument["has_default"]
            scalars += argument["type"] == "Scalar"
    return (-tensors, scalars)


def _in_order(ops: list) -> list:
    return sorted(ops, key=_specificity) if len(ops) > 1 else ops


def bound(where: str) -> dict[str, Any]:
    """The callables of one place ("function", "nn", "linalg", "special", "fft"; "method" gives method descriptors)."""
    kind = _C.Method if where == "method" else _C.Function
    return {name: kind(name, _in_order(ops)) for name, ops in _BOUND[where].items()}
