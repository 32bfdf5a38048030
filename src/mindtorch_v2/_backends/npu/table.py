"""The rows of NPU kernels: which ACLNN operator does the work of an operator of the table, and with which arguments.

    aclnn("softplus", "aclnnSoftplus")                              the schema's arguments in order, then the outputs
    aclnn("mm", "aclnnMm", "self mat2 out matmul_cube")                 in the order that is stated
    @kernel("linear") def linear(input, weight, bias, out): ...     anything else

A kernel fills outputs that the operator's shape rule has made; so functional, in-place and `out=` form share it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import _C
from ..._operators.table import ROWS
from ..common.draws import signed_state
from ..common.rows import MAY_ALIAS, register
from . import settings, state
from .aclnn import operator
from .complex_numbers import with_form

_PHILOX = 10  # numbers that a random operator may draw before the offset moves on, as Ascend's own adaptor counts
NAMES: dict[str, str] = {}  # row -> the ACLNN operator, or "" for a kernel of several

# Numbers that some operators want beside what the schema has.
_CONSTANTS: dict[str, Any] = {
    "none": None,
    "true": True,
    "false": False,
    "0": 0,
    "1": 1,
    "2": 2,
}

# And those that a switch decides, asked for at each call: cubeMathType of products and of convolutions.
_SWITCHED: dict[str, Callable[[], int]] = {
    "matmul_cube": settings.matmul.cube_math_type,
    "conv_cube": settings.conv.cube_math_type,
}


def call(symbol: str, *arguments: Any) -> None:
    """Enqueue an ACLNN operator with arguments in the order of its signature."""
    operator(symbol).run(*arguments)


def call_sized(symbol: str, position: int, *arguments: Any) -> tuple[int, ...]:
    """The same for an operator whose output at `position` has sizes that the data decide: waits, and returns them."""
    return operator(symbol).sized(position, *arguments)


def call_random(symbol: str, before: tuple, generator: Any, index: int, after: tuple = ()) -> None:
    """Enqueue a random operator: arguments, its seed and offset, arguments. Generators of other devices are refused.

    While this thread captures a graph, it is the operator's form that reads both from device memory, so that a replay draws new
    numbers.
    """
    if generator is None:
        generator = state.get().generators[index or 0]
    elif generator.device.type != "npu":
        raise RuntimeError(f"Expected a 'npu' device type for generator but found '{generator.device.type}'")
    draws = state.get().runtime.thread.draws
    if draws is None:
        call(symbol, *before, *signed_state(generator, _PHILOX), *after)
    else:
        call(f"{symbol}Tensor", *before, *draws.next(generator, _PHILOX), *after)


def is_capturing() -> bool:
    """Whether this thread captures a graph."""
    return state.get().runtime.thread.draws is not None


def random_state(index: int) -> tuple[int, int]:
    """(seed, offset) of a device's own generator for work that reads them on the host, which cannot be captured."""
    if is_capturing():
        raise RuntimeError(
            "random numbers of a GE graph cannot be captured in an NPUGraph: each replay would draw the same"
        )
    return signed_state(state.get().generators[index], _PHILOX)


def _places(row: Any, tokens: str | None) -> list[Any]:
    """The source of each parameter of the operator: a position among arguments and outputs, or ("constant", value)."""
    names = [a["name"] for a in row.handle.arguments]
    outputs = len(row.handle.returns)
    if tokens is None:
        return list(range(len(names) + outputs))
    places: list[Any] = []
    for token in tokens.split():
        if token in names:
            places.append(names.index(token))
        elif token in _CONSTANTS:
            places.append(("constant", _CONSTANTS[token]))
        elif token in _SWITCHED:
            places.append(("switched", _SWITCHED[token]))
        elif token.startswith("out") and (token[3:] or "0").isdigit():
            places.append(len(names) + int(token[3:] or 0))
        else:
            raise ValueError(f"{row.name}: '{token}' is no argument, output or constant")
    return places


def _marshalled(called: Any, places: list[Any]) -> Callable[..., None]:
    def compute(*values: Any) -> None:
        called(*[values[p] if type(p) is int else p[1]() if p[0] == "switched" else p[1] for p in places])

    return compute


def aclnn(name: str, symbol: str, arguments: str | None = None, *, alias: bool = False) -> None:
    """State that an ACLNN operator is the NPU kernel of a row.

    Args:
        name: the row, "softplus" or "add.Tensor".
        symbol: "aclnnSoftplus".
        arguments: names of the schema's arguments, `out` or `out0 out1`, and constants, in the operator's order; left
            out, the schema's arguments in their order and then the outputs.
        alias: the output may be the input itself.
    """
    row = ROWS[name]
    if not _C._has_shape_rule(row.handle):
        raise ValueError(f"{name} has no shape rule: state its kernel with @kernel")
    compute = operator(symbol)
    places = _places(row, arguments)
    if len(places) != len(compute.codes):
        raise ValueError(f"{name}: {symbol} takes {len(compute.codes)} parameters, the row gives {len(places)}")
    identity = places == list(range(len(places)))
    function = compute if identity else _marshalled(compute, places)
    register("NPU", name, with_form(name, function), MAY_ALIAS if alias else 0)
    NAMES[name] = symbol


def pointwise(name: str, symbol: str, arguments: str | None = None) -> None:
    """`aclnn` for an element-wise operator."""
    aclnn(name, symbol, arguments, alias=True)


def kernel(*names: str, alias: bool = False) -> Callable[[Callable], Callable]:
    """State a Python function as NPU kernel of rows.

    With a shape rule it is called with every argument in schema order and every output, and fills them; without one it is
    called as PyTorch calls kernels, and returns the results.
    """

    def decorate(function: Callable) -> Callable:
        for name in names:
            register("NPU", name, with_form(name, function), MAY_ALIAS if alias else 0)
            NAMES[name] = ""
        return function

    return decorate
