"""The same few lines run on our library and on PyTorch, results compared: dtype, shape, strides, numbers, or the error."""

import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy
import pytest
from comparison import difference
from recording import Sample, answer, error, matched
from samples import to_array

import mindtorch_v2

Program = Callable[[ModuleType], Any]
_STORED_ONLY = ("complex32",)


def agree(program: Program, *, layout: bool = True, factor: float = 1.0) -> None:
    """Assert that `program(torch)` gives the same with both libraries."""
    ours, theirs = _outcome(mindtorch_v2, program), answer(lambda torch: _plain(_outcome(torch, program)))
    if isinstance(theirs, dict) or isinstance(ours, Exception):
        kind = theirs["error"] if isinstance(theirs, dict) else None
        assert type(ours).__name__ == kind, f"ours: {ours!r}; PyTorch's: {theirs}"
        return
    assert len(ours) == len(theirs)
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        _same(place, one, other, layout, factor)


def agree_on_error(program: Program) -> None:
    """Assert that both libraries raise the same class with the same first line."""
    ours, theirs = _outcome(mindtorch_v2, program), answer(lambda torch: _plain(_outcome(torch, program)))
    assert isinstance(theirs, dict), f"PyTorch raises nothing and gives {theirs}"
    assert isinstance(ours, Exception), f"raised nothing; PyTorch: {theirs}"
    assert type(ours).__name__ == theirs["error"]
    assert str(ours).partition("\n")[0] == theirs["text"]


def same(program: Program, rtol: float = 0.0, atol: float = 0.0, strides: bool = False) -> None:
    """Assert that what `program(torch)` returns is the same with both libraries, lists, tuples and dicts looked into.

    Numbers may differ by the tolerances, texts by the name of the library; dtypes and shapes may not.
    """
    ours = _described(program(mindtorch_v2), strides)
    _equal(ours, answer(lambda torch: _described(program(torch), strides)), rtol, atol, "result")


def same_error(program: Program) -> None:
    """Assert that `program(torch)` raises the same class with the same text with both libraries."""
    kinds, text = error(program)
    with pytest.raises(Exception) as ours:  # its class is compared below
        program(mindtorch_v2)
    assert [kind.__name__ for kind in type(ours.value).__mro__] == kinds
    assert str(ours.value).replace("mindtorch_v2", "torch") == text


def _described(value: Any, strides: bool) -> Any:
    """Nested values with tensors as (dtype, strides or None, array); what else is no plain data as its text."""
    if isinstance(value, dict):
        return {key: _described(item, strides) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_described(item, strides) for item in value]
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | numpy.ndarray):
        return value
    if hasattr(value, "dtype"):
        return str(value.dtype), list(value.stride()) if strides else None, numpy.asarray(to_array(value))
    return str(value)


def _equal(ours: Any, theirs: Any, rtol: float, atol: float, where: str) -> None:
    if isinstance(ours, numpy.ndarray) and isinstance(theirs, numpy.ndarray | Sample):
        numpy.testing.assert_allclose(*matched(ours, theirs), rtol=rtol, atol=atol, err_msg=where)
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        assert list(ours) == list(theirs), where
        for key, item in ours.items():
            _equal(item, theirs[key], rtol, atol, f"{where}[{key!r}]")
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), where
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            _equal(one, other, rtol, atol, f"{where}[{place}]")
    elif isinstance(ours, float) and isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=rtol, abs=atol, nan_ok=True), where
    else:
        assert type(ours) is type(theirs), f"{where}: {ours!r}, expected {theirs!r}"
        said = ours.replace("mindtorch_v2", "torch") if isinstance(ours, str) else ours
        assert said == theirs, where


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


def _plain(outcome: Any) -> Any:
    """An outcome as the snapshots keep it."""
    if isinstance(outcome, Exception):
        return {"error": type(outcome).__name__, "text": str(outcome).partition("\n")[0]}
    return [
        {
            "dtype": str(item.dtype),
            "shape": list(item.shape),
            "stride": list(item.stride()),
            "data": numpy.asarray(to_array(item)),
        }
        if hasattr(item, "dtype")
        else (item if item is None or isinstance(item, bool | int | float | complex | str) else str(item))
        for item in outcome
    ]


def _same(place: int, ours: Any, theirs: Any, layout: bool, factor: float) -> None:
    if not isinstance(theirs, dict):
        assert ours == theirs or str(ours) == str(theirs), f"result {place}: {ours}, expected {theirs}"
        return
    assert str(ours.dtype) == theirs["dtype"], f"result {place}"
    assert list(ours.shape) == theirs["shape"], f"result {place}"
    if layout:
        assert list(ours.stride()) == theirs["stride"], f"result {place}"
    name = theirs["dtype"].rpartition(".")[2]
    tolerance = "float16" if name in _STORED_ONLY else name  # NumPy lacks them
    with numpy.errstate(invalid="ignore"):  # PyTorch's NaN of an 8-bit float is a signalling one
        problem = difference(*matched(numpy.asarray(to_array(ours)), theirs["data"]), tolerance, factor)
    assert problem is None, f"result {place}: {problem}"
