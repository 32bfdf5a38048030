"""Floating numbers packed without loss: the bytes of their exponents apart from the others."""

from __future__ import annotations

import math
from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .checks import HALF_AND_FLOAT, composite, require, require_dtype
from .numbers import has_numbers

_UINT8 = DTYPES["uint8"]
_HEAD = 8  # bytes of `fixed` that hold how many numbers there are


def _bytes(x):
    """The memory of a tensor as bytes; a view, so that what is written there is written to it."""
    require(x.is_contiguous(), "npu_hans", "the tensors must be contiguous")
    return x.reshape(-1).view(_UINT8)


def _apart(x) -> tuple:
    """Of each number its sign and exponent, but for the lowest bit of those of eight, and the bytes below."""
    rows = _bytes(x).reshape(-1, x.element_size())
    return rows[:, -1], rows[:, :-1].reshape(-1)


@composite(
    "npu::npu_hans_encode.out(Tensor input, bool statistic=False, bool reshuff=False, *, Tensor(a!) pdf, Tensor(b!) "
    "mantissa, Tensor(c!) fixed, Tensor(d!) var) -> (Tensor(a!), Tensor(b!), Tensor(c!), Tensor(d!))",
    "The highest byte of each number to `fixed`, and what does not fit there to `var`; the others to `mantissa`; "
    "`pdf` counts the highest bytes if `statistic`. Nothing is lost, and npu_hans_decode reads it; the chip's own "
    "packing is another.",
    explicit=True,
)
def npu_hans_encode(
    input: Any, statistic: bool = False, reshuff: bool = False, *, pdf: Any, mantissa: Any, fixed: Any, var: Any,
) -> tuple:  # fmt: skip
    operator = "npu_hans_encode"
    require_dtype(operator, "input", input, HALF_AND_FLOAT[:3])
    high, low = _apart(aten.contiguous(input))
    count = high.numel()
    places = [_bytes(each) for each in (fixed, var, mantissa)]
    require(
        places[2].numel() >= low.numel(),
        operator,
        f"mantissa must hold {low.numel()} bytes, but it has {places[2].numel()}",
    )
    room = places[0].numel() - _HEAD
    require(
        room >= 0 and room + places[1].numel() >= count,
        operator,
        f"fixed and var must hold {count + _HEAD} bytes together, but they have {places[0].numel() + places[1].numel()}",
    )
    if statistic and has_numbers(high):
        aten.copy_(pdf, aten.bincount(high.to(DTYPES["int64"]), minlength=256).to(pdf.dtype).reshape(pdf.shape))
    first = min(count, room)
    head = aten.arange(_HEAD, device=input.device) * 8
    aten.copy_(places[0][:_HEAD], ((aten.full([_HEAD], count, device=input.device) >> head) & 255).to(_UINT8))
    aten.copy_(places[0][_HEAD : _HEAD + first], high[:first])
    aten.copy_(places[1][: count - first], high[first:])
    aten.copy_(places[2][: low.numel()], low)
    return pdf, mantissa, fixed, var


@composite(
    "npu::npu_hans_decode.out(Tensor mantissa, Tensor fixed, Tensor var, Tensor pdf, bool reshuff=False, *, "
    "Tensor(a!) out) -> Tensor(a!)",
    "The numbers that npu_hans_encode packed.",
    explicit=True,
)
def npu_hans_decode(mantissa: Any, fixed: Any, var: Any, pdf: Any, reshuff: bool = False, *, out: Any) -> Any:
    operator = "npu_hans_decode"
    places = [_bytes(each) for each in (fixed, var, mantissa)]
    count = math.prod(out.shape)
    if has_numbers(fixed):
        count = sum(int(n) << (8 * i) for i, n in enumerate(places[0][:_HEAD].tolist()))
    require(
        count == math.prod(out.shape),
        operator,
        f"out must have the {count} numbers that were packed, but it has {math.prod(out.shape)}",
    )
    first = min(count, places[0].numel() - _HEAD)
    high = aten.cat([places[0][_HEAD : _HEAD + first], places[1][: count - first]])
    size = out.element_size()
    low = places[2][: count * (size - 1)].reshape(count, size - 1)
    aten.copy_(_bytes(out), aten.cat([low, high.unsqueeze(-1)], 1).reshape(-1))
    return out
