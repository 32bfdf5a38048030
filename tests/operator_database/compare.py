"""Whether two results are the same, up to the last digits of their dtype."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from tests.operator_database.portable import Bare, Raised, Sparse, Strided, flat

# Relative and absolute, of each number: what PyTorch's `assert_close` allows where nothing is said.
TOLERANCES: Mapping[str, tuple[float, float]] = {
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "complex32": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
}


_LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38, "float32": 3.403e38, "complex64": 3.403e38}


def unlike(
    ours: Any,
    theirs: Any,
    strides: bool = False,
    values: bool = True,
    allowed: Mapping[str, tuple[float, float]] = TOLERANCES,
) -> str:
    """Where the results of a call differ, in words; "" where they do not."""
    ours, theirs = flat(ours), flat(theirs)
    if len(ours) != len(theirs):
        return f"{len(ours)} results for {len(theirs)}"
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if problem := _unlike_one(one, other, strides, values, allowed):
            return f"result {place}: {problem}"
    return ""


def _shown(value: Any) -> str:
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, Strided | Bare) else repr(value)[:80]


def _unlike_one(ours: Any, theirs: Any, strides: bool, values: bool, allowed: Mapping[str, tuple[float, float]]) -> str:
    if ours is None or theirs is None:  # no gradient is a gradient of zeros
        given = theirs if ours is None else ours
        zero = given is None or (isinstance(given, Strided) and not given.array().astype(bool).any())
        return "" if zero else f"{_shown(ours)} for {_shown(theirs)}"
    if type(ours) is not type(theirs):
        return f"{_shown(ours)} for {_shown(theirs)}"
    if isinstance(theirs, Strided | Bare):
        if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
            return f"{_shown(ours)} for {_shown(theirs)}"
        if strides and _steps(ours) != _steps(theirs):
            return f"strides {ours.stride} for {theirs.stride}"
        if isinstance(theirs, Bare):
            return "" if ours.device == theirs.device else f"on {ours.device} for {theirs.device}"
        return _unlike_numbers(theirs.dtype, _resolved(ours), _resolved(theirs), allowed) if values else ""
    if isinstance(theirs, Sparse):
        if (ours.layout, ours.shape, len(ours.parts)) != (theirs.layout, theirs.shape, len(theirs.parts)):
            return f"{ours.layout} {ours.shape} for {theirs.layout} {theirs.shape}"
        return next(
            filter(
                None,
                (_unlike_one(*pair, strides, values, allowed) for pair in zip(ours.parts, theirs.parts, strict=True)),
            ),
            "",
        )
    if isinstance(theirs, float | complex):
        return _unlike_numbers("float64", numpy.array(ours), numpy.array(theirs), allowed)
    return "" if ours == theirs else f"{_shown(ours)} for {_shown(theirs)}"


def _steps(value: Any) -> list[int]:
    """The strides that matter: of dimensions of more than one element."""
    return [] if 0 in value.shape else [step for size, step in zip(value.shape, value.stride, strict=True) if size > 1]


def _resolved(value: Strided) -> numpy.ndarray:
    found = value.array()
    found = found.conj() if value.flags[0] else found
    return -found if value.flags[1] else found


def _unlike_numbers(
    dtype: str, ours: numpy.ndarray, theirs: numpy.ndarray, allowed: Mapping[str, tuple[float, float]]
) -> str:
    if dtype not in allowed:
        return "" if numpy.array_equal(ours, theirs) else "other numbers"
    size = _sizes(theirs)
    ours, theirs = (_reals(each) for each in (ours, theirs))
    finite = numpy.isfinite(theirs)
    if not numpy.array_equal(finite, numpy.isfinite(ours)) or not numpy.array_equal(
        ours[~finite], theirs[~finite], equal_nan=True
    ):
        return "inf or nan elsewhere"
    return _too_far(ours[finite], theirs[finite], size[finite], *allowed[dtype])


def _too_far(ours: numpy.ndarray, right: numpy.ndarray, size: numpy.ndarray, relative: float, absolute: float) -> str:
    apart, room = numpy.abs(ours - right), absolute + relative * size
    if (apart <= room).all():
        return ""
    worst = int(numpy.argmax(apart - room))
    return f"off by {apart[worst]:.3g}, {room[worst]:.2g} allowed"


def as_near(ours: Any, theirs: Any, exact: Any, allowed: Mapping[str, tuple[float, float]] = TOLERANCES) -> bool:
    """Whether results are as near as PyTorch's to the exact ones, of the same call in double precision."""
    if isinstance(ours, Raised):
        return False
    rows = [flat(each) for each in (ours, theirs, exact)]
    return len({len(each) for each in rows}) == 1 and all(
        _as_near_one(*each, allowed) for each in zip(*rows, strict=True)
    )


def _as_near_one(ours: Any, theirs: Any, exact: Any, allowed: Mapping[str, tuple[float, float]]) -> bool:
    if not _unlike_one(ours, theirs, False, True, allowed):
        return True
    if not all(isinstance(each, Strided) for each in (ours, theirs, exact)):
        return False
    if (ours.dtype, ours.shape, exact.shape) != (theirs.dtype, theirs.shape, theirs.shape):
        return False
    if ours.dtype not in allowed or exact.dtype not in ("float64", "complex128"):
        return False
    mine, other, right = (_reals(_resolved(each)) for each in (ours, theirs, exact))
    size, largest = _sizes(_resolved(exact)), _LARGEST.get(ours.dtype, numpy.inf)
    right = numpy.where(numpy.abs(right) > largest, numpy.copysign(numpy.inf, right), right)
    found = _distance(mine, right)
    if found == numpy.inf:
        return False
    finite = numpy.isfinite(right)
    return found <= _distance(other, right) or not _too_far(
        mine[finite], right[finite], size[finite], *allowed[ours.dtype]
    )


def _distance(found: numpy.ndarray, right: numpy.ndarray) -> float:
    """The largest difference; infinite where one is finite, or a number, and the other not."""
    same = (found == right) | (numpy.isnan(found) & numpy.isnan(right))
    with numpy.errstate(invalid="ignore"):
        apart = numpy.where(same, 0.0, numpy.abs(found - right))
    return float(numpy.nan_to_num(apart, nan=numpy.inf, posinf=numpy.inf).max(initial=0.0))


def _reals(array: numpy.ndarray) -> numpy.ndarray:
    if array.dtype.kind == "c":
        array = numpy.ascontiguousarray(array).reshape(-1)
        array = array.view(array.real.dtype)
    return array.astype(numpy.float64).ravel()


def _sizes(array: numpy.ndarray) -> numpy.ndarray:
    """For each of the real numbers of an array its size; a complex number's, where that is finite, for either part."""
    parts = numpy.abs(_reals(array))
    if array.dtype.kind != "c":
        return parts
    whole = numpy.repeat(numpy.hypot(parts[::2], parts[1::2]), 2)
    return numpy.where(numpy.isfinite(whole), whole, parts)


def judge(
    ours: Any,
    theirs: Any,
    strides: bool = False,
    values: bool = True,
    allowed: Mapping[str, tuple[float, float]] = TOLERANCES,
) -> str:
    """Say what differs between the outcomes of a call: results, or that which it raised here."""
    if isinstance(ours, Raised):
        return f"{ours.kinds[0]}: {ours.text}"
    return unlike(ours, theirs, strides, values, allowed)
