"""Chains of element-wise calls as one kernel: the rows' expressions one after the other, each element in registers.

Between two steps a value has its own dtype, as if it had been in memory: results are those of single kernels to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..common.chains import Maker, Place, Run, Step, register
from .pointwise import KERNELS, RENAMED, Pointwise, assigned, constant, given
from .table import element

_MOST = 11  # tensors of a launch, for which csrc/cuda/pointwise.cpp has room
_CAST = "_to_copy"


def _kernel(step: Step) -> Pointwise | None:
    name, overload = step.target._handle.name, step.target._handle.overload
    return KERNELS.get(f"{name}.{overload}" if overload else name)


def _computed(kernel: Pointwise, step: Step, dtypes: Mapping[int, Any]) -> str | None:
    """The element type that the kernel computes in; None where only a launch can tell."""
    if kernel.compute == "out":
        return element(step.results[0])
    if kernel.compute == "common":
        return None if step.common is None else element(step.common)
    argument = step.given.get(kernel.compute)
    return element(dtypes[argument]) if isinstance(argument, Place) else None


def takes(step: Step, dtypes: Mapping[int, Any]) -> bool:
    """Whether a chain may have this call."""
    try:
        for dtype in (*dtypes.values(), *step.results):
            element(dtype)
        if step.target._handle.name == _CAST:
            return True
        kernel = _kernel(step)
        return kernel is not None and _computed(kernel, step, dtypes) is not None
    except NotImplementedError:
        return False


def make(name: str, inputs: Sequence[Any], steps: Sequence[Step], outputs: Sequence[int]) -> Run:
    """Give what launches the kernel of a chain."""
    return kernel_of(name, inputs, steps, outputs).launcher.run


def kernel_of(name: str, inputs: Sequence[Any], steps: Sequence[Step], outputs: Sequence[int]) -> Pointwise:
    """The kernel of a chain, an argument `v0`, `v1`, ... for each tensor that it reads."""
    dtypes = dict(enumerate(inputs))
    lines = []
    for number, step in enumerate(steps):
        made = range(len(dtypes), len(dtypes) + len(step.results))
        lines += _lines(step, dtypes, made, number)
        dtypes.update(zip(made, step.results))
    lines += [f"r{k} = to<math_of<{element(dtypes[place])}>::type>(v{place});" for k, place in enumerate(outputs)]
    names = [f"v{place}" for place in range(len(inputs))]
    return Pointwise(name, len(outputs), names, "\n    ".join(lines), raw=tuple(names), listed=False)


def _lines(step: Step, dtypes: Mapping[int, Any], made: range, number: int) -> list[str]:
    """The C++ of a step, which declares its results `v<place>`."""
    results = {place: element(dtype) for place, dtype in zip(made, step.results)}
    declared = [f"{kind} v{place};" for place, kind in results.items()]
    if step.target._handle.name == _CAST:
        (place,) = made
        return [*declared, f"v{place} = to<{results[place]}>(v{step.given['self']});"]
    kernel = _kernel(step)
    assert kernel is not None  # as `takes` said
    body = [f"typedef math_of<{_computed(kernel, step, dtypes)}>::type T;"]
    statics: dict[str, Any] = {}
    for name, value in step.given.items():
        name = RENAMED.get(name, name)
        raw = name in kernel.raw
        if isinstance(value, Place):
            kind = f"math_of<{element(dtypes[value])}>::type" if raw else "T"
            body.append(given(kind, name, f"v{int(value)}"))
        elif isinstance(value, bool) or not isinstance(value, (int, float, complex)):
            statics[name] = value if isinstance(value, (bool, str)) else None
            if value is None or isinstance(value, bool):
                body.append(constant(name, value))
        else:
            of, text = _literal(value)
            kind = of if raw else "T"
            body.append(given(kind, name, text))
    expression = kernel.expression if isinstance(kernel.expression, str) else kernel.expression(statics)
    body += [f"math_of<{kind}>::type r{k};" for k, kind in enumerate(results.values())]
    body.append(assigned(expression))
    body += [f"v{place} = to<{kind}>(r{k});" for k, (place, kind) in enumerate(results.items())]
    return [*declared, f"{{  // {number}: {step.target}", *(f"    {line}" for line in body), "}"]


def _literal(value: complex) -> tuple[str, str]:
    """(type, text) of a number in C++."""
    if isinstance(value, int):
        return "int64_t", f"int64_t({value}LL)" if value != -(1 << 63) else "int64_t(1ull << 63)"
    if isinstance(value, float):
        if math.isfinite(value):
            return "double", f"double({value.hex()})"
        return "double", "double(NAN)" if math.isnan(value) else f"double({'-' if value < 0 else ''}INFINITY)"
    return "c128", f"c128({_literal(value.real)[1]}, {_literal(value.imag)[1]})"


def offer() -> None:
    """Tell the compiler."""
    register("cuda", Maker(takes, make, _MOST))
