"""Every operator of this host's NPU beside the CPU: what `python -m mindtorch_v2.npu verify` does, and the report that it writes.

The calls are the samples of the operators' rows, and `CALLS`. Each runs on the device, on the CPU, and on the CPU in float64
(`precision.PrecisionReport`), so that what a kernel of this SoC and this CANN does wrong shows by name. The report says what the
host has and names neither the host nor its files.
"""

from __future__ import annotations

import pathlib
import platform
import zlib
from collections import Counter
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import rows as _own_rows
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._operators.table import ROWS, Row, rows_of
from mindtorch_v2._operators.table.samples import Sample, TensorSpec, samples_of

from . import _calls_of_inference, _calls_of_main, _calls_of_rounding
from ._calls import CALLS as _OWN
from ._calls import placed
from .precision import Numbers, PrecisionReport

__all__ = ["Finding", "findings", "main"]

CALLS = {**_OWN, **_calls_of_inference.CALLS, **_calls_of_rounding.CALLS, **_calls_of_main.CALLS}

_SETS = {"floating": ("float32", "float16", "bfloat16"), "float": ("float32",), "real": ("float32", "float16", "bfloat16", "int64"),
         "integer": ("int64", "int32"), "all": ("float32", "float16", "bfloat16", "int64"), "bool": ("bool",), "complex": ()}  # fmt: skip


class Finding(NamedTuple):
    """The outcome for one operator."""

    operator: str
    verdict: str  # "agrees", "drifts", "fails", "runs" (it is random), or "no sample"
    calls: int
    error: float  # from float64
    on_cpu: float
    note: str

    def __str__(self) -> str:
        numbers = f"{self.calls:>4} calls  {self.error:8.2g}  CPU {self.on_cpu:8.2g}" if self.calls else ""
        return f"{self.verdict:<9}  {self.operator:<52}  {numbers}  {self.note}".rstrip()


def _rows() -> dict[str, Row]:
    """The rows that have a kernel for NPUs, or are compositions of those that have."""
    assert _own_rows is not None  # its import makes the rows of Ascend's namespaces
    found = {f"aten::{name}": row for name, row in ROWS.items() if "NPU" in row.handle.kernels()}
    for space in ("npu", "atb"):
        found.update({f"{space}::{name}": row for name, row in rows_of(space).items()})
    return found


def _dtypes(row: Row) -> list[str]:
    """The dtypes that a row claims, as far as they say something about the device."""
    return list(
        dict.fromkeys(name for word in row.dtypes.replace("+", " ").split() for name in _SETS.get(word, (word,)))
    )


def _filled(spec: TensorSpec, dtype: str, generator: Any) -> Any:
    """The tensor that a sample describes, on the CPU."""
    options = spec.options
    if "data" in options:
        made = torch.tensor(options["data"])
        return made.to(getattr(torch, str(options["dtype"]).rpartition(".")[2])) if "dtype" in options else made
    kind = getattr(torch, str(options.get("dtype", dtype)).rpartition(".")[2])
    if kind == torch.bool:
        return torch.randint(0, 2, spec.shape, generator=generator).to(kind)
    if kind.is_floating_point:
        low, high = options.get("low", -2.0), options.get("high", 2.0)
        return (torch.rand(spec.shape, generator=generator, dtype=torch.float64) * (high - low) + low).to(kind)
    low = max(int(options.get("low", -4)), 0 if not kind.is_signed else -(1 << 62))
    return torch.randint(low, max(int(options.get("high", 6)), low + 1), spec.shape, generator=generator).to(kind)


def _built(value: Any, dtype: str, generator: Any) -> Any:
    if isinstance(value, TensorSpec):
        return _filled(value, dtype, generator)
    if isinstance(value, (list, tuple)):
        return type(value)(_built(each, dtype, generator) for each in value)
    return value


def _there(value: Any) -> Any:
    """A copy of an argument, tensors on the device."""
    if isinstance(value, torch.Tensor):
        return value.to("npu")
    if isinstance(value, torch.Generator):
        return torch.Generator("npu").manual_seed(value.initial_seed())
    return type(value)(map(_there, value)) if isinstance(value, (list, tuple)) else value


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone()
    return type(value)(map(_copied, value)) if isinstance(value, (list, tuple)) else value


def _leaves(values: Any) -> list:
    if isinstance(values, torch.Tensor):
        return [values] if values.is_floating_point() else []
    return [leaf for each in values for leaf in _leaves(each)] if isinstance(values, (list, tuple)) else []


def has_gradient(row: Row) -> bool:
    """Whether autograd has a way through a row: not where it writes, nor where its formula says that there is none."""
    formula = next(iter((row.grad or {}).values()), None)
    if "!" in row.schema or "no_gradient" in getattr(formula, "__qualname__", ""):
        return False
    return row.grad is not None or "CompositeImplicitAutograd" in row.handle.kernels()


def _run(row: Row, args: list, kwargs: dict, gradient: bool) -> None:
    """The operator, and its gradient where that is asked for."""
    for leaf in _leaves([*args, *kwargs.values()]) if gradient else []:
        leaf.requires_grad_()
    with torch.enable_grad():
        results = [each for each in _leaves(row.handle(*args, **kwargs)) if each.requires_grad]
    if results:
        torch.autograd.backward(results, [torch.ones_like(each) for each in results])


def _of_sample(row: Row, sample: Sample, number: int, dtype: str) -> tuple[list, dict]:
    generator = torch.Generator().manual_seed(zlib.crc32(f"{row.name}/{number}/{dtype}".encode()))
    args = [_built(each, dtype, generator) for each in sample.args]
    return args, {name: _built(each, dtype, generator) for name, each in sample.kwargs.items()}


def _runs_here(row: Row, args: list, kwargs: dict, gradient: bool) -> bool:
    """Whether the CPU makes a call, which for some arguments has no gradient."""
    try:
        _run(row, [_copied(each) for each in args], {name: _copied(each) for name, each in kwargs.items()}, gradient)
    except (RuntimeError, TypeError, ValueError, IndexError):
        return False
    return True


def _call(row: Row, args: list, kwargs: dict, dtype: str, report: PrecisionReport) -> str | None:
    """Run one call on the device; why it failed where the CPU did not, else "". None for a call that is not for the dtype."""
    gradient = has_gradient(row)
    if not _runs_here(row, args, kwargs, gradient):
        gradient = False
        if not _runs_here(row, args, kwargs, gradient):
            return None
    moved, named = [_there(each) for each in args], {name: _there(each) for name, each in kwargs.items()}
    if any(argument["name"] == "device" for argument in row.handle.arguments):
        named.setdefault("device", torch.device("npu"))
    try:
        with report:
            _run(row, moved, named, gradient)
        torch.npu.synchronize()
    except (RuntimeError, TypeError, ValueError, IndexError) as error:
        return f"{dtype}: {str(error).partition(chr(10))[0]}"
    return ""


def _between(row: Row) -> bool:
    """Whether an operator talks to other processes, whose group an argument names."""
    return any(argument["name"] in ("hcom", "group_ep") for argument in row.handle.arguments)


def _finding(name: str, row: Row) -> tuple[Finding, PrecisionReport]:
    report = PrecisionReport()
    dtypes = _dtypes(row) or ["float32"]
    made = [
        _call(row, *_of_sample(row, sample, n, dtype), dtype, report)
        for n, sample in enumerate(samples_of(row))
        for dtype in dtypes
    ]
    for args, kwargs in CALLS.get(name, ()):
        for dtype in ("float32", "float16", "bfloat16"):
            to = getattr(torch, dtype)
            made.append(
                _call(row, placed(args, "cpu", to), {k: placed(v, "cpu", to) for k, v in kwargs.items()}, dtype, report)
            )
    ran, notes = any(note is not None for note in made), [note for note in made if note]
    worst = max(report.rows.values(), key=lambda each: each.error, default=Numbers())
    verdict = "agrees" if report.calls else "runs" if ran else "no sample"
    if report.first:
        verdict = "drifts"
        notes.append(f"{report.first.operator}: {report.first.numbers()}")
    elif notes:
        verdict = "fails"
    if verdict == "no sample" and _between(row):
        notes.append("between processes")
    return Finding(name, verdict, report.calls, worst.error, worst.on_cpu, notes[0] if notes else ""), report


def findings(only: str = "") -> list[Finding]:
    """The outcome for each operator with a kernel for NPUs beside the CPU; for those alone whose names hold a text.

    Operators without samples of their own are judged by what others, and their gradients, called of them.
    """
    torch.npu.init()
    made, called = [], dict[str, Numbers]()
    for name, row in sorted(_rows().items()):
        if only not in name:
            continue
        finding, report = _finding(name, row)
        made.append(finding)
        for of, numbers in report.rows.items():
            before = called.get(of)
            if before is None or numbers.error > before.error:
                called[of] = numbers
    return [_by_others(each, called) if each.verdict == "no sample" else each for each in made]


def _by_others(finding: Finding, called: dict[str, Numbers]) -> Finding:
    """The outcome for an operator from the calls of others."""
    space, _, name = finding.operator.partition("::")
    numbers = called.get(f"{space}.{name if '.' in name else name + '.default'}")
    if numbers is None:
        return finding
    verdict = "drifts" if numbers.drifts else "agrees"
    return Finding(finding.operator, verdict, numbers.calls, numbers.error, numbers.on_cpu, "called by others")


def _host() -> list[str]:
    runtime = _runtime.get()
    acl = ".".join(map(str, runtime.version()))
    return [
        f"mindtorch_v2 {torch.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
        f"ACL {acl}, SoC {runtime.soc_name() or 'unknown'}, {runtime.device_count} devices"
        + (", on the emulator" if runtime.libraries.emulated else ""),
        f"functions that libascendcl.so lacks: {' '.join(runtime.missing) or 'none'}",
    ]


def main(output: str, only: str = "") -> int:
    """Write the report; 1 if an operator fails or drifts."""
    made = findings(only)
    counts = Counter(each.verdict for each in made)
    lines = [*_host(), ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())) or "no operator"]
    order = {"fails": 0, "drifts": 1}
    lines += map(str, sorted(made, key=lambda each: (order.get(each.verdict, 2), each.operator)))
    pathlib.Path(output).write_text("\n".join([*lines, ""]), "utf-8")
    print("\n".join(lines[:4]))
    print(f"the report is in {output}")
    return int(bool(counts["fails"] or counts["drifts"]))
