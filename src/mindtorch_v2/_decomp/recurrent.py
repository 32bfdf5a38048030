"""Layers over time in terms of one step after another."""

from __future__ import annotations

import mindtorch_v2 as torch
from mindtorch_v2._decomp._registry import register_decomposition

aten = torch.ops.aten

__all__: list[str] = []


@register_decomposition(aten._lstm_scan.default)
def lstm_scan(
    gates: torch.Tensor, hx: torch.Tensor, cx: torch.Tensor, w_hh: torch.Tensor, reverse: bool
) -> tuple[torch.Tensor, ...]:
    width, steps = w_hh.shape[1], range(gates.shape[0])
    outputs: list[torch.Tensor] = []
    cells: list[torch.Tensor] = []
    opened: list[torch.Tensor] = []
    for step in reversed(steps) if reverse else steps:
        together = gates[step] + torch.mm(hx, w_hh.t())
        taken, kept, new, shown = (torch.narrow(together, 1, place * width, width) for place in range(4))
        taken, kept, new, shown = torch.sigmoid(taken), torch.sigmoid(kept), torch.tanh(new), torch.sigmoid(shown)
        cx = kept * cx + taken * new
        hx = shown * torch.tanh(cx)
        outputs.append(hx)
        cells.append(cx)
        opened.append(torch.cat([taken, kept, new, shown], 1))
    if reverse:
        outputs, cells, opened = outputs[::-1], cells[::-1], opened[::-1]
    return torch.stack(outputs), cx, torch.stack(cells), torch.stack(opened)
