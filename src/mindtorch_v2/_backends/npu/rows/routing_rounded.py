"""Tokens laid out by expert and rounded at once."""

from __future__ import annotations

from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten, namespace
from .checks import composite, no_gradient, require_choice

npu = namespace("npu")
_KINDS = {0: 1, 1: 0, 2: 1}  # none, ends or counts -> what npu_moe_init_routing_v2 calls ends and counts


@composite(
    "npu::npu_moe_init_routing_quant(Tensor x, Tensor expert_idx, *, Tensor? scale=None, Tensor? offset=None, int active_num=1024, int "
    "expert_capacity=0, int expert_num=256, int drop_pad_mode=0, int expert_tokens_num_mode=0, bool "
    "expert_tokens_before_capacity_flag=False, int quant_mode=1) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    "npu_moe_init_routing_v2 of all experts, rounded: rows, places, ends (expert_tokens_num_mode 1) or counts (2) of the experts, their "
    "counts before any is full, and the rows' scales.",
    explicit=True,
    grad=no_gradient("npu_moe_init_routing_quant", "x", "scale", "offset"),
)
def npu_moe_init_routing_quant(
    x: Any, expert_idx: Any, *, scale: Any = None, offset: Any = None, active_num: int = 1024, expert_capacity: int = 0,
    expert_num: int = 256, drop_pad_mode: int = 0, expert_tokens_num_mode: int = 0,
    expert_tokens_before_capacity_flag: bool = False, quant_mode: int = 1,
) -> tuple:  # fmt: skip
    operator = "npu_moe_init_routing_quant"
    require_choice(operator, "quant_mode", quant_mode, (0, 1))
    require_choice(operator, "expert_tokens_num_mode", expert_tokens_num_mode, tuple(_KINDS))
    padded = drop_pad_mode == 1
    rows, places, counts, scales = npu.npu_moe_init_routing_v2(
        x, expert_idx, scale=scale, offset=offset, active_num=active_num, expert_capacity=expert_capacity,
        expert_num=expert_num, drop_pad_mode=drop_pad_mode,
        expert_tokens_num_type=1 if padded else _KINDS[expert_tokens_num_mode], expert_tokens_num_flag=True,
        quant_mode=quant_mode,
    )  # fmt: skip
    counts = counts.to(DTYPES["int32"])
    nothing = aten.empty([0], dtype=counts.dtype, device=x.device)
    told = expert_tokens_num_mode > 0 and not padded
    before = padded and expert_tokens_before_capacity_flag
    return rows, places, counts if told else nothing, counts if before else aten.empty_like(nothing), scales
