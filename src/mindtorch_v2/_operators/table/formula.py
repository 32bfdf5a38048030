"""Derivative formulas: what their parameter names ask for, compiled to what the native engine calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NoReturn

from .names import aten

_NODE_NUMBERS: dict[str, dict[str, int]] = {}  # operator's name -> overload -> number in its node's name


def conj(x: Any) -> Any:
    """The conjugate of a tensor or number; ``x`` itself when it is real."""
    if isinstance(x, (int, float, complex)):
        return x.conjugate()
    return aten._conj_physical(x) if x.is_complex() else x


def not_derived(what: str) -> Callable[..., Any]:
    """A formula for an argument that has a gradient which PyTorch does not compute either: asking for it raises."""
    return _refusing(NotImplementedError(f"the derivative for '{what}' is not implemented."))


def not_recorded(name: str) -> Callable[..., Any]:
    """The same for an operator of which PyTorch does not say whether it has a gradient: its node is "NotImplemented"."""
    return _refusing(RuntimeError(f"derivative for aten::{name} is not implemented"))


def _refusing(error: Exception) -> Callable[..., Any]:
    def formula(grads: Any) -> NoReturn:
        raise type(error)(*error.args)

    formula.refuses = True  # type: ignore[attr-defined]  # (forward mode asks before it calls)
    return formula


def _camel(name: str) -> str:
    """`max_pool2d` -> `MaxPool2D`: a letter after a digit begins a word too."""
    return re.sub(r"(?:^|_+|(?<=\d))([A-Za-z0-9])", lambda match: match[1].upper(), name.strip("_"))


def node_name(name: str, overload: str) -> str:
    base = name.rstrip("_") if not name.startswith("__") else name
    numbers = _NODE_NUMBERS.setdefault(base, {})
    number = numbers.setdefault("" if overload in ("Tensor", "Scalar") else overload, len(numbers))
    return f"{_camel(base)}Backward{number}"


GRAD = re.compile(r"^grad(\d*)$")
RESULT = re.compile(r"^result(\d*)$")
_KIND_GRAD, _KIND_GRADS, _KIND_INPUT, _KIND_RESULT, _KIND_NEEDS, _KIND_SIZES, _KIND_LIST_SIZES = range(7)


def compile_formula(handle: Any, grad: dict[str, Any]) -> tuple[list[Any], list[int], list[int], list[int], list[int]]:
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
            if match := GRAD.match(param):
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
            elif match := RESULT.match(param):
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
