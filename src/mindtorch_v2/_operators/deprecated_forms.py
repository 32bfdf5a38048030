"""Orders of arguments that PyTorch has given up but still takes: `x.add_(2, y)` for `x.add_(y, alpha=2)`.

Asked only where a call fits no overload, so that calls in today's order cost nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from .. import _C
from .._core.warn_once import is_due

# The tensors of each after the first, as the warning names them.
_TENSORS = {
    "add": ("other",),
    "sub": ("other",),
    "addcdiv": ("tensor1", "tensor2"),
    "addcmul": ("tensor1", "tensor2"),
    "addbmm": ("batch1", "batch2"),
    "addmm": ("mat1", "mat2"),
    "addmv": ("mat", "vec"),
    "addr": ("vec1", "vec2"),
    "baddbmm": ("batch1", "batch2"),
}
# For each function, which numbers stand in which order of numbers (n) and tensors (t).
_SCALED_SUM: dict[str, tuple[str, ...]] = {"tnt": ("alpha",)}
_SCALED_TERM: dict[str, tuple[str, ...]] = {"tntt": ("value",)}
_PRODUCT: dict[str, tuple[str, ...]] = {"ntntt": ("beta", "alpha"), "nttt": ("beta",)}
_PRODUCT_METHOD: dict[str, tuple[str, ...]] = {"tnntt": ("beta", "alpha"), "tntt": ("beta",)}

_functions: Mapping[str, Any] = {}


def _orders(name: str, is_method: bool) -> dict[str, tuple[str, ...]]:
    if name in ("add", "sub"):
        return _SCALED_SUM
    if name in ("addcdiv", "addcmul"):
        return _SCALED_TERM
    return _PRODUCT_METHOD if is_method else _PRODUCT


def _kind(value: Any) -> str:
    if isinstance(value, _C.TensorBase):
        return "t"
    return "n" if isinstance(value, int | float | complex) else "?"


def _warn(name: str, is_method: bool, kinds: str, numbers: tuple[str, ...]) -> None:
    """Once in a process, whichever function comes first, as PyTorch does."""
    if not is_due("deprecated order of arguments"):
        return
    tensors = [f"Tensor {tensor}" for tensor in ("input", *_TENSORS[name.removesuffix("_")])]
    values = [f"Number {number}" for number in numbers]
    from_tensors, from_numbers = iter(tensors), iter(values)
    old = [next(from_tensors if kind == "t" else from_numbers) for kind in kinds]
    new = [*tensors, "*", *(f"{value} = 1" for value in values)]
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
    if name.removesuffix("_") not in _TENSORS:
        return NotImplemented
    kinds = "".join(map(_kind, args))
    numbers = _orders(name.removesuffix("_"), is_method).get(kinds)
    if numbers is None:
        return NotImplemented
    _warn(name, is_method, kinds, numbers)
    tensors = [value for value, kind in zip(args, kinds, strict=True) if kind == "t"]
    scales = [value for value, kind in zip(args, kinds, strict=True) if kind == "n"]
    kwargs |= zip(numbers, scales, strict=True)
    return getattr(tensors[0], name)(*tensors[1:], **kwargs) if is_method else _functions[name](*tensors, **kwargs)


def install(functions: Mapping[str, Any]) -> None:
    """Have calls that fit no overload asked about here; `functions` are those of torch, by name."""
    global _functions
    _functions = functions
    _C._set_deprecated_forms(_deprecated_form)
