"""The same few lines run on our library and on PyTorch, results compared: dtype, shape, strides, numbers, or the error."""

import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy
import reference
from comparison import difference
from samples import to_array

import mindtorch_v2

Program = Callable[[ModuleType], Any]
_STORED_ONLY = ("complex32",)


def agree(program: Program, *, layout: bool = True, factor: float = 1.0) -> None:
    """Assert that `program(torch)` gives the same with both libraries; skips where PyTorch is not installed."""
    theirs_library = reference.pytorch()
    ours, theirs = _outcome(mindtorch_v2, program), _outcome(theirs_library, program)
    if isinstance(theirs, Exception) or isinstance(ours, Exception):
        assert type(ours).__name__ == type(theirs).__name__, f"ours: {ours!r}; PyTorch's: {theirs!r}"
        return
    assert len(ours) == len(theirs)
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        _same(place, one, other, layout, factor)


def agree_on_error(program: Program) -> None:
    """Assert that both libraries raise the same class with the same first line."""
    theirs_library = reference.pytorch()
    ours, theirs = _outcome(mindtorch_v2, program), _outcome(theirs_library, program)
    assert isinstance(theirs, Exception), f"PyTorch raises nothing and gives {theirs}"
    assert isinstance(ours, Exception), f"raised nothing; PyTorch: {theirs!r}"
    assert type(ours).__name__ == type(theirs).__name__
    assert str(ours).partition("\n")[0] == str(theirs).partition("\n")[0]


def _outcome(torch: ModuleType, program: Program) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(_flat(program(torch)))
    except (RuntimeError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        return error


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _same(place: int, ours: Any, theirs: Any, layout: bool, factor: float) -> None:
    if not hasattr(theirs, "dtype"):
        assert ours == theirs or str(ours) == str(theirs), f"result {place}: {ours}, expected {theirs}"
        return
    assert str(ours.dtype) == str(theirs.dtype), f"result {place}"
    assert tuple(ours.shape) == tuple(theirs.shape), f"result {place}"
    if layout:
        assert ours.stride() == theirs.stride(), f"result {place}"
    name = str(theirs.dtype).rpartition(".")[2]
    if name in _STORED_ONLY:  # NumPy lacks them
        ours, theirs = ours.to(mindtorch_v2.complex64), theirs.to(reference.pytorch().complex64)
        name = "float16"
    with numpy.errstate(invalid="ignore"):  # PyTorch's NaN of an 8-bit float is a signalling one
        problem = difference(
            numpy.asarray(to_array(ours.detach())), numpy.asarray(to_array(theirs.detach())), name, factor
        )
    assert problem is None, f"result {place}: {problem}"
