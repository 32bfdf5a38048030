"""Operators of the NPU beside float64: which one is further off than the CPU's own arithmetic, and where it was called.

    with PrecisionReport() as report:
        loss = model(batch).sum()
        loss.backward()
    print(report)

`python -m mindtorch_v2.npu emulate --precision report -- command`, or MINDTORCH_NPU_PRECISION=report in the environment of any
program, does this for a whole program, and prints the report when it ends.
"""

from __future__ import annotations

import atexit
import linecache
import os
import pathlib
import sys
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import state as _state
from mindtorch_v2._operators.table import facts_of
from mindtorch_v2.utils._python_dispatch import TorchDispatchMode

__all__ = ["Drift", "Numbers", "PrecisionReport"]

VARIABLE = "MINDTORCH_NPU_PRECISION"
_PACKAGE = str(pathlib.Path(__file__).parents[1]) + os.sep
_TIMES = 3  # how much further than the CPU's own arithmetic an operator may be from float64
_STEPS = 16  # and how many steps of its dtype beside that, as sums have no order that all agree on,
_SHORT_STEPS = 4  # or of a dtype of 16 bits and less, whose results are rounded once
_NEAR_ZERO = 16  # numbers that are as many times smaller than the largest are measured as if they were not


class Drift(NamedTuple):
    """The call of an operator that was further from float64 than it may be."""

    operator: str
    call: int  # of the calls that were compared, the first is 1
    where: str
    error: float  # the largest difference from float64, against the largest number, or the number itself of pointwise operators
    on_cpu: float  # the same of the CPU, in the dtype of the result
    dtype: torch.dtype
    sizes: list

    def __str__(self) -> str:
        return f"{self.operator}, call {self.call}, at {self.where}: {self.numbers()}"

    def numbers(self) -> str:
        """How far off it was, and of what."""
        return f"{self.error:.2g} from float64, on the CPU {self.on_cpu:.2g} ({self.dtype}, sizes {list(self.sizes)})"


class Numbers:
    """Calls of one operator: how many, how many drifted, and the largest error beside the CPU's."""

    def __init__(self) -> None:
        self.calls, self.drifts, self.error, self.on_cpu = 0, 0, 0.0, 0.0


def _tensors(value: Any) -> list:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [each for item in value for each in _tensors(item)]
    return []


class _Moved:
    """The arguments of one call on the CPU; a tensor that is given twice is one there too."""

    def __init__(self, wide: bool) -> None:
        self.wide = wide
        self.known: dict[int, torch.Tensor] = {}

    def dtype(self, dtype: torch.dtype) -> torch.dtype:
        if not self.wide:
            return dtype
        return torch.float64 if dtype.is_floating_point else torch.complex128 if dtype.is_complex else dtype

    def __call__(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if id(value) not in self.known:
                moved = value.detach().to("cpu", copy=True)
                self.known[id(value)] = moved.to(self.dtype(moved.dtype))
            return self.known[id(value)]
        if isinstance(value, torch.dtype):
            return self.dtype(value)
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if isinstance(value, (list, tuple)):
            return type(value)(map(self, value))
        return value


def _place() -> str:
    """File and line of the program that calls."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]  # (None ends the loop)
    if frame is None:
        return "(no line of the program)"
    source = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return f'"{frame.f_code.co_filename}", line {frame.f_lineno}' + (f" ({source})" if source else "")


def _error(found: torch.Tensor, exact: torch.Tensor, own: torch.Tensor, by_element: bool) -> float:
    """How far numbers are from the exact ones; infinity where what is not finite is not the same."""
    found, own = found.to(torch.float64), own.to(torch.float64)
    finite = exact.isfinite()
    wrong = (found.isnan() != exact.isnan()) | (exact.isinf() & (found != exact))
    if bool((wrong | (finite & own.isfinite() & ~found.isfinite())).any()):
        return float("inf")
    apart = torch.where(finite & found.isfinite(), (found - exact).abs(), 0.0)
    size = torch.where(finite, exact.abs(), 0.0)
    size = torch.maximum(size, size.amax() / _NEAR_ZERO) if by_element else size.amax()
    return float(torch.where(apart == 0, 0.0, apart / size).amax())


class PrecisionReport(TorchDispatchMode):
    """A context in which each operator whose results lie on an NPU is computed in float64 on the CPU as well, from the same arguments.

    An operator drifts if it is more than three times as far from float64 as the CPU is in the dtype of the result, and some steps of
    that dtype more; whole numbers have to be the CPU's, unless they come beside others, and so have the numbers of operators that
    take no float64, up to those steps. Random operators, and what a graph
    records, are not compared. `first` is the first `Drift`, or None; `rows` are the `Numbers` of each operator, which the text of
    the report has a line for.

    It is for one thread, with its backward passes, and much slower than the program alone.
    """

    sees_parts = False

    def __init__(self) -> None:
        self.first: Drift | None = None
        self.calls = 0
        self.rows: dict[str, Numbers] = {}
        self._without: dict[str, str] = {}  # operator -> why it could not be compared

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not self._compared(func, args, kwargs):
            return func(*args, **kwargs)
        own, wide = _Moved(wide=False), _Moved(wide=True)
        given = [([move(each) for each in args], {k: move(v) for k, v in kwargs.items()}) for move in (own, wide)]
        result = func(*args, **kwargs)
        found = _tensors(result)
        for number, argument in enumerate(func._schema.arguments):
            if argument.alias_info is not None and argument.alias_info.is_write:
                found += _tensors(args[number] if number < len(args) else kwargs.get(argument.name))
        found = [each for each in found if each.device.type == "npu"]
        if found:
            self._compare(func, found, result, (own, wide), given)
        return result

    def _compared(self, func: Any, args: tuple, kwargs: dict) -> bool:
        """Whether an operator's numbers follow from its arguments."""
        facts = facts_of(func._handle)
        if facts.unfilled or facts.draws or torch.Tag.nondeterministic_seeded in func.tags:
            return False
        if torch.Tag.inplace_view in func.tags:
            return False
        if any(each.alias_info is not None and not each.alias_info.is_write for each in func._schema.returns):
            return False  # views
        by_name = {argument.name: value for argument, value in zip(func._schema.arguments, args)} | kwargs
        if by_name.get("keep_prob", 1) < 1 or by_name.get("generator") is not None:
            return False
        return not (_state.started() and _state.get().runtime.thread.draws is not None)

    def _compare(self, func: Any, found: list, result: Any, moved: tuple, given: list) -> None:
        results: list[Any] = []
        for move, (args, kwargs) in zip(moved, given, strict=True):
            try:
                made = _tensors(func(*args, **kwargs))
            except (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError) as error:
                if not results:
                    self._without.setdefault(str(func), str(error).partition("\n")[0])
                    return
                results.append(
                    results[0]
                )  # it takes no float64: the CPU's own numbers are what there is to compare with
                continue
            made += [move.known[id(each)] for each in found if id(each) in move.known]
            results.append(made)
        self.calls += 1
        row = self.rows.setdefault(str(func), Numbers())
        row.calls += 1
        floats = any(each.dtype.is_floating_point or each.dtype.is_complex for each in found)
        for each, own, exact in zip(found, *results, strict=False):
            self._judge(func, row, each.detach().cpu(), own, exact, floats)

    def _judge(
        self, func: Any, row: Numbers, found: torch.Tensor, own: torch.Tensor, exact: torch.Tensor, floats: bool
    ) -> None:
        found, own, exact = (each if each.layout == torch.strided else each.to_dense() for each in (found, own, exact))
        if found.shape != own.shape:
            error, on_cpu, allowed = float("inf"), 0.0, 0.0
        elif found.numel() == 0:
            return
        elif found.dtype.is_floating_point or found.dtype.is_complex:
            eps = torch.finfo(found.dtype).eps
            if found.dtype.is_complex:
                found, own, exact = (torch.view_as_real(each.resolve_conj()) for each in (found, own, exact))
            by_element = torch.Tag.pointwise in func.tags
            error = _error(found, exact.to(torch.float64), own, by_element)
            on_cpu = _error(own, exact.to(torch.float64), own, by_element)
            allowed = _TIMES * on_cpu + (_STEPS if found.dtype.itemsize > 2 else _SHORT_STEPS) * eps
        elif floats:
            return
        else:
            error, on_cpu, allowed = float((found != own).to(torch.float64).mean()), 0.0, 0.0
        if error > row.error:
            row.error, row.on_cpu = error, on_cpu
        if error > allowed:
            row.drifts += 1
            if self.first is None:
                self.first = Drift(str(func), self.calls, _place(), error, on_cpu, found.dtype, list(found.shape))

    def __str__(self) -> str:
        lines = [
            f"NPU precision: {self.calls} calls of {len(self.rows)} operators were compared with float64",
            f"the first that drifts: {self.first}" if self.first else "none drifts",
        ]
        if self.rows:
            lines.append(f"{'operator':<48} {'calls':>7} {'drifts':>7} {'error':>10} {'on the CPU':>10}")
        for name, row in sorted(self.rows.items(), key=lambda each: (-each[1].drifts, -each[1].error, each[0])):
            lines.append(f"{name:<48} {row.calls:>7} {row.drifts:>7} {row.error:>10.2g} {row.on_cpu:>10.2g}")
        lines += [f"not compared: {name}: {why}" for name, why in sorted(self._without.items())]
        return "\n".join(lines)


def read_environment() -> None:
    """Compare the rest of the program where the environment says so. ValueError for a value that is no mode."""
    value = os.environ.get(VARIABLE, "")
    if value not in ("", "report"):
        raise ValueError(f"{VARIABLE} is {value!r}; it is 'report' to compare each operator with float64, or not set")
    if value:
        report = PrecisionReport()
        report.__enter__()
        atexit.register(lambda: print(report, file=sys.stderr))
