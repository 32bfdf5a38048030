"""New tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from ...common.creation import register_uninitialised
from ..table import CONTIGUOUS, MAY_ALIAS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_ARANGE = Source("creation.cuh", "arange")
_LINSPACE = Source("creation.cuh", "linspace")
_EYE = Source("creation.cuh", "eye")


register_uninitialised(kernel, flags=MAY_ALIAS)


@kernel("zeros", "zeros_like", "new_zeros")
def zeros(*arguments: Any) -> None:
    aten.fill_(arguments[-1], 0)


@kernel("ones", "ones_like", "new_ones")
def ones(*arguments: Any) -> None:
    aten.fill_(arguments[-1], 1)


@kernel("full", "full_like")
def full(shape: Any, value: Any, *rest: Any) -> None:
    aten.fill_(rest[-1], value)


@kernel("new_full")
def new_full(self: Tensor, size: Sequence[int], value: Any, *rest: Any) -> None:
    aten.fill_(rest[-1], value)


@kernel("scalar_tensor")
def scalar_tensor(value: Any, *rest: Any) -> None:
    aten.fill_(rest[-1], value)


def _launch(source: Source, out: Tensor, *numbers: Any, columns: int = 1, whole: bool = False) -> None:
    if out.numel():
        start, end, step, whole_start, whole_step = (*numbers, 0, 0, 0, 0, 0)[:5]
        wide = "float" if element(out.dtype) in ("float", "f16", "bf16") else "double"
        words = (("OUT", element(out.dtype)), ("WIDE", wide), ("WHOLE", str(int(whole))))
        arguments = pack(out.numel(), columns, out, float(start), float(end), float(step), whole_start, whole_step)
        source.launch(out.device.index, words, (blocks(out.numel(), 256),), (256,), arguments)


def _arange(start: Any, step: Any, out: Tensor) -> None:
    whole = isinstance(start, int) and isinstance(step, int)
    wide = aten.empty(out.shape, dtype=out.dtype, device=out.device) if not out.is_contiguous() else out
    numbers = (start, 0, step, start, step) if whole else (start, 0, step)
    _launch(_ARANGE, wide, *numbers, whole=whole)
    if wide is not out:
        aten.copy_(out, wide)


@kernel("arange", flags=CONTIGUOUS)
def arange(end: Any, *rest: Any) -> None:
    _arange(0, 1, rest[-1])


@kernel("arange.start", flags=CONTIGUOUS)
def arange_start(start: Any, end: Any, *rest: Any) -> None:
    _arange(start, 1, rest[-1])


@kernel("arange.start_step", flags=CONTIGUOUS)
def arange_step(start: Any, end: Any, step: Any, *rest: Any) -> None:
    _arange(start, step, rest[-1])


@kernel("eye", flags=CONTIGUOUS)
def eye(n: int, *rest: Any) -> None:
    _launch(_EYE, rest[-1], columns=n)


@kernel("eye.m", flags=CONTIGUOUS)
def eye_m(n: int, m: int, *rest: Any) -> None:
    _launch(_EYE, rest[-1], columns=m)


@kernel("linspace", flags=CONTIGUOUS)
def linspace(start: Any, end: Any, steps: int, *rest: Any) -> None:
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    if steps == 1:
        aten.fill_(rest[-1], start)
    else:
        _launch(_LINSPACE, rest[-1], start, end, step)


@kernel("logspace", flags=CONTIGUOUS)
def logspace(start: Any, end: Any, steps: int, base: float, *rest: Any) -> None:
    powers = aten.linspace(start, end, steps, dtype=DTYPES["float64"], device=rest[-1].device)
    aten.copy_(rest[-1], aten.pow(base, powers))
