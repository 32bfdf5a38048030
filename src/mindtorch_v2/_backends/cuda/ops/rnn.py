"""All steps of one direction of an LSTM layer: a product of matrices and one pass over the gates for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...._operators.table import aten
from ..pointwise import Pointwise
from ..table import CONTIGUOUS, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor

# The gates are i, f, g, o, before and after their functions.
_STEP = Pointwise(
    "_lstm_scan",
    6,
    ["i", "f", "g", "o", "cell"],
    "r2 = sigmoid(i); r3 = sigmoid(f); r4 = tanh(g); r5 = sigmoid(o); r0 = r3 * cell + r2 * r4; r1 = r5 * tanh(r0);",
)
_BACK_OF_CELL = Pointwise(
    "_lstm_scan_backward",
    2,
    ["o", "cell", "dh", "dc"],
    "const T t = tanh(cell); r0 = dc + dh * o * (T(1) - t * t); r1 = dh * t * o * (T(1) - o);",
)
_BACK_OF_GATES = Pointwise(
    "_lstm_scan_backward",
    4,
    ["i", "f", "g", "before", "slope"],
    "r0 = slope * g * i * (T(1) - i); r1 = slope * before * f * (T(1) - f); r2 = slope * i * (T(1) - g * g); r3 = slope * f;",
)


@kernel("_lstm_scan", flags=CONTIGUOUS)
def lstm_scan(
    gates: Tensor,
    hx: Tensor,
    cx: Tensor,
    w_hh: Tensor,
    reverse: bool,
    output: Tensor,
    last: Tensor,
    cells: Tensor,
    after: Tensor,
) -> None:
    steps = range(gates.shape[0])
    h, c, weight = hx, cx, w_hh.t()
    for t in reversed(steps) if reverse else steps:
        before = aten.addmm(gates[t], h, weight).chunk(4, -1)
        _STEP.launcher.run((cells[t], output[t], *after[t].chunk(4, -1)), (*before, c))
        h, c = output[t], cells[t]
    aten.copy_(last, c)


@kernel("_lstm_scan_backward", flags=CONTIGUOUS)
def lstm_scan_backward(
    grad_output: Tensor | None,
    grad_cell: Tensor | None,
    hx: Tensor,
    cx: Tensor,
    w_hh: Tensor,
    output: Tensor,
    cells: Tensor,
    gates: Tensor,
    reverse: bool,
    slopes: Tensor,
    dh: Tensor,
    dc: Tensor,
    dw: Tensor,
) -> None:
    steps = gates.shape[0]
    dh.zero_()
    dc.zero_() if grad_cell is None else aten.copy_(dc, grad_cell)
    for k in reversed(range(steps)):
        t = steps - 1 - k if reverse else k
        before = cx if k == 0 else cells[t + 1 if reverse else t - 1]
        total = dh if grad_output is None else dh + grad_output[t]
        *inner, o = gates[t].chunk(4, -1)
        *to_inner, to_o = slopes[t].chunk(4, -1)
        _BACK_OF_CELL.launcher.run((dc, to_o), (o, cells[t], total, dc))
        _BACK_OF_GATES.launcher.run((*to_inner, dc), (*inner, before, dc))
        aten.copy_(dh, aten.mm(slopes[t], w_hh))
    # Each step's slopes meet the state before it; all but the first state are outputs, one step apart.
    earlier = aten.cat([output[1:], hx.unsqueeze(0)] if reverse else [hx.unsqueeze(0), output[:-1]])
    aten.copy_(dw, aten.mm(slopes.flatten(0, 1).t(), earlier.flatten(0, 1)))
