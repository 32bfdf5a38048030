"""Orders of arguments that PyTorch has given up but still takes: `x.add_(2, y)` for `x.add_(y, alpha=2)`. And options beside `out` (`out_options.py`).

Asked only where a call fits no overload, so that calls in today's order cost nothing.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from typing import Any

from .. import _C
from .._core.warn_once import is_due
from .out_options import with_out_options
from .table import ROWS, Row

_functions: Mapping[str, Any] = {}


@functools.cache
def _rows() -> dict[str, Row]:
    """The operators that take another order, by name."""
    return {row.handle.name: row for row in ROWS.values() if row.facts.old_order}


@functools.cache
def _orders(name: str, is_method: bool) -> dict[str, list[str]]:
    """The orders that a function or method takes as well: kinds of values, tensors (t) and numbers (n) -> the arguments."""
    row = _rows().get(name.removesuffix("_"))
    if row is None:
        return {}
    kinds = {argument["name"]: "t" if argument["type"] == "Tensor" else "n" for argument in row.handle.arguments}
    orders = [order.split() for order in row.facts.old_order.split(",")]
    if is_method:
        orders = [["self", *(each for each in order if each != "self")] for order in orders]
    return {"".join(kinds[each] for each in order): order for order in orders}


def _kind(value: Any) -> str:
    if isinstance(value, _C.TensorBase):
        return "t"
    return "n" if isinstance(value, int | float | complex) else "?"


def _warn(name: str, is_method: bool, order: list[str]) -> None:
    """Once in a process, whichever function comes first, as PyTorch does."""
    if not is_due("deprecated order of arguments"):
        return
    shown = {
        argument["name"]: ("Number " if argument["kwarg_only"] else "Tensor ")
        + argument["name"].replace("self", "input")
        for argument in _rows()[name.removesuffix("_")].handle.arguments
    }
    old = [shown[each] for each in order]
    numbers = [f"{each} = 1" for each in shown.values() if each.startswith("Number")]
    new = [*(each for each in shown.values() if each.startswith("Tensor")), "*", *numbers]
    if is_method:
        old, new = old[1:], new[1:]
    else:
        old, new = [*old, "*", "Tensor out = None"], [*new, "Tensor out = None"]
    warnings.warn(
        f"This overload of {name} is deprecated:\n\t{name}({', '.join(old)})\n"
        f"Consider using one of the following signatures instead:\n\t{name}({', '.join(new)})",
        stacklevel=3,
    )


def _deprecated_form(name: str, is_method: bool, *args: Any, **kwargs: Any) -> Any:
    """The result of the call with its arguments in today's order; NotImplemented if they are in no order given up."""
    if not is_method and "out" in kwargs:
        made = with_out_options(_functions, name, args, kwargs)
        if made is not NotImplemented:
            return made
    kinds = "".join(map(_kind, args))
    order = _orders(name, is_method).get(kinds)
    if order is None:
        return NotImplemented
    _warn(name, is_method, order)
    tensors = [value for value, kind in zip(args, kinds, strict=True) if kind == "t"]
    kwargs |= {each: value for each, value, kind in zip(order, args, kinds, strict=True) if kind == "n"}
    return getattr(tensors[0], name)(*tensors[1:], **kwargs) if is_method else _functions[name](*tensors, **kwargs)


def install(functions: Mapping[str, Any]) -> None:
    """Have calls that fit no overload asked about here; `functions` are those of torch, by name."""
    global _functions
    _functions = functions
    _C._set_deprecated_forms(_deprecated_form)
