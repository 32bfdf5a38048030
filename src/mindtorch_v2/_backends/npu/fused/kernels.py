"""How a row of Ascend's own namespaces, or a composition among PyTorch's, gets an ACLNN operator as its kernel on NPUs.

    fused("npu::npu_rms_norm", "aclnnRmsNorm", "self gamma epsilon out0 out1")     in the operator's order

    @fused("npu::npu_rotary_mul", "aclnnRotaryPositionEmbedding")
    def rotary_mul(self, r1, r2, rotary_mode, rotate):                               anything else
        return None if rotate is not None else (self, r1, r2, _MODES[rotary_mode], OUT[0])

The results are made in the sizes and dtypes that the row's composition gives on meta tensors, which also holds the arguments
to what is documented; both are kept by the arguments' sizes. Where a composition reads numbers, `results=` makes them. The composition itself computes, on the device, what the
operator does not take: float64, where the function returns None, and everything where the installed CANN has no such operator,
which is said once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from .... import _C
from ...._behaviours import functional
from ...._core.dtype import DTYPES
from ...._operators.table import Row, aten, rows_of
from .. import state
from ..aclnn import operator

SYMBOLS: dict[str, str] = {}  # row of an own namespace -> the ACLNN operators that may do its work, "aclnnA, aclnnB"
_KEPT = 1024  # forms of results that are kept for each row
_Tensor = _C.TensorBase
_FLOAT64 = DTYPES["float64"]
_CONSTANTS = {"none": None, "true": True, "false": False}


class _Out:
    """Stand-in for a result of the row among the arguments of its operator."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


OUT = tuple(_Out(number) for number in range(8))


def _forms(values: Sequence[Any]) -> tuple[tuple, Any, bool]:
    """Sizes, dtypes and numbers that decide the form of the results; the device; and whether anything is float64."""
    found: list[Any] = []
    device, double = None, False
    for value in values:
        if isinstance(value, _Tensor):
            dtype = value.dtype
            if dtype is _FLOAT64:
                double = True
            if device is None and value.is_npu:
                device = value.device
            found.append(value.shape)
            found.append(dtype)
        elif value.__class__ is list or value.__class__ is tuple:
            inner, its_device, its_double = _forms(value)
            found.append(inner)
            device, double = device or its_device, double or its_double
        else:
            found.append(value)
    return tuple(found), device, double


def _on_meta(value: Any) -> Any:
    if isinstance(value, _Tensor):
        return aten.empty(list(value.shape), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return [_on_meta(each) for each in value]
    return value


def _by_tokens(row: Row, tokens: str) -> Callable[..., tuple]:
    names = [argument["name"] for argument in row.handle.arguments]
    places: list[tuple[bool, Any]] = []
    for token in tokens.split():
        if token in names:
            places.append((True, names.index(token)))
        elif token in _CONSTANTS:
            places.append((False, _CONSTANTS[token]))
        elif token.startswith("out") and token[3:].isdigit():
            places.append((False, OUT[int(token[3:])]))
        elif token.lstrip("-").isdigit():
            places.append((False, int(token)))
        else:
            raise ValueError(f"{row.name}: '{token}' is no argument, result or constant")

    def arrange(*values: Any) -> tuple:
        return tuple(values[place] if of_row else place for of_row, place in places)

    return arrange


class _Binding:
    """The arguments of a row in the order of its schema, with defaults, from a call; and back into one."""

    def __init__(self, row: Row) -> None:
        self.arguments = row.handle.arguments
        self.defaults = [argument["default"] for argument in self.arguments]
        self.places = {argument["name"]: place for place, argument in enumerate(self.arguments)}

    def values(self, args: tuple, kwargs: dict[str, Any]) -> list[Any]:
        found = [*args, *self.defaults[len(args) :]]
        for name, value in kwargs.items():
            found[self.places[name]] = value
        return found

    def call(self, body: Callable, values: Sequence[Any]) -> Any:
        positional, named = [], {}
        for argument, value in zip(self.arguments, values, strict=True):
            if argument["kwarg_only"]:
                named[argument["name"]] = value
            else:
                positional.append(value)
        return body(*positional, **named)


def _made(form: Any, device: Any) -> Any:
    """A result of a form: a tensor, a number, or a list of them."""
    if isinstance(form, list):
        return [_made(each, device) for each in form]
    if not isinstance(form, tuple):
        return form
    sizes, dtype = form
    return aten.empty(sizes, dtype=dtype, device=device)


def _form_of_result(value: Any) -> Any:
    if isinstance(value, _Tensor):
        return list(value.shape), value.dtype
    if isinstance(value, (list, tuple)):
        return [_form_of_result(each) for each in value]
    return value


class _Present:
    """Whether the installed CANN has an operator; where it has not, that is said once."""

    def __init__(self) -> None:
        self.known: dict[str, bool] = {}

    def __call__(self, row: Row, symbol: str) -> bool:
        found = self.known.get(symbol)
        if found is None:
            op = operator(symbol)
            libraries = state.get().runtime.libraries
            found = op.bound or libraries.operator(f"{symbol}GetWorkspaceSize") is not None
            self.known[symbol] = found
            if not found:
                warnings.warn(
                    f"{row.handle.namespace}::{row.name}: this CANN has no {symbol}; a composition of other operators "
                    "does its work on the device",
                    stacklevel=4,
                )
        return found


present = _Present()


def _run(
    row: Row, symbol: str, arrange: Callable[..., Any], make: Callable[..., list[Any]] | None
) -> Callable[..., Any]:
    binding, kept = _Binding(row), dict[Any, Any]()
    body = row.body
    assert body is not None
    # What a row that writes returns: the arguments that it wrote to.
    written = [
        next(place for place, argument in enumerate(row.handle.arguments) if argument["alias"] == of["alias"])
        if of["alias"]
        else None
        for of in row.handle.returns
    ]

    def compute(*args: Any, **kwargs: Any) -> Any:
        values = binding.values(args, kwargs)
        key, device, double = _forms(values)
        arranged = None if double else arrange(*values)
        if arranged is None:
            return body(*args, **kwargs)
        chosen, *ordered = arranged if isinstance(arranged[0], Use) else (symbol, *arranged)
        name = chosen.symbol if isinstance(chosen, Use) else chosen
        if not present(row, name):
            return body(*args, **kwargs)
        if make is not None:
            results = make(*values)
        else:
            form = kept.get(key)
            if form is None:
                form = _form_of_result(binding.call(body, _on_meta(values)))
                if len(kept) >= _KEPT:
                    kept.clear()
                kept[key] = form
            results = [
                _made(each, device) if place is None else values[place]
                for each, place in zip([form] if len(written) == 1 else form or [], written, strict=True)
            ]
        operator(name).run(*[results[value.number] if isinstance(value, _Out) else value for value in ordered])
        return None if not results else results[0] if len(results) == 1 else tuple(results)

    return compute


class Use:
    """Another operator than the one that the row states first: the first of what its function returns."""

    __slots__ = ("symbol",)

    def __init__(self, symbol: str) -> None:
        self.symbol = symbol


def _differentiable(row: Row, body: Callable) -> Callable[..., Any]:
    """The way through autograd of a row whose composition autograd sees: that composition, where a gradient is wanted."""

    def route(*args: Any, **kwargs: Any) -> Any:
        if _C.is_grad_enabled() and _wanted((*args, *kwargs.values())):
            return body(*args, **kwargs)
        return row.handle.below_autograd(*args, **kwargs)

    return route


def _kept(row: Row, body: Callable) -> Callable[..., Any]:
    """The way through functionalization of such a row: on NPUs it stays one operator, so that graphs have it."""

    def route(*args: Any, **kwargs: Any) -> Any:
        _, device, _ = _forms((*args, *kwargs.values()))
        return body(*args, **kwargs) if device is None else functional.handle(row.handle, args, kwargs)

    return route


def _wanted(values: Sequence[Any]) -> bool:
    return any(
        value.requires_grad if isinstance(value, _Tensor) else isinstance(value, (list, tuple)) and _wanted(value)
        for value in values
    )


def _register(
    name: str,
    symbol: str,
    arrange: Callable[..., Any],
    others: Sequence[str] = (),
    results: Callable[..., list[Any]] | None = None,
) -> None:
    space, _, rest = name.partition("::")
    row = rows_of(space)[rest]
    assert row.body is not None
    row.handle.impl("NPU", _run(row, symbol, arrange, results))
    composition = row.handle.kernels().get("CompositeImplicitAutograd")
    if composition is not None:
        row.handle.impl("AutogradNPU", _differentiable(row, composition))
        row.handle.impl("Functionalize", _kept(row, composition))
    if space != "aten":
        SYMBOLS[name] = ", ".join((symbol, *others))


def fused(
    name: str,
    symbol: str,
    arguments: str | None = None,
    *,
    others: Sequence[str] = (),
    results: Callable[..., list[Any]] | None = None,
) -> Any:
    """State that an ACLNN operator does the work of a row on NPUs.

    Args:
        name: "npu::npu_rms_norm".
        symbol: "aclnnRmsNorm".
        arguments: names of the row's arguments, `out0 out1`, whole numbers, `none`, `true` and `false`, in the operator's order;
            left out, this decorates a function that takes the row's arguments and returns the operator's, in which `OUT[n]`
            stands for a result, or None where the composition is to compute.
        others: further operators that the function may choose, by `Use(symbol)` before the arguments.
        results: makes the results from the row's arguments, where the composition cannot say their form on meta tensors.
    """
    if arguments is not None:
        space, _, rest = name.partition("::")
        _register(name, symbol, _by_tokens(rows_of(space)[rest], arguments), others, results)
        return None

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        _register(name, symbol, function, others, results)
        return function

    return decorate
