"""Calls of rows that round, or multiply what was rounded, and of gradients and states, for `verify`, as those of `_calls`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ._calls import _whole, _x, _zeros
from ._calls_of_inference import _CHOSEN, _INDEXED, _LAID, _SLOTS, _TOP, _TOTAL

__all__ = ["CALLS"]

npu: Any = torch.ops.npu

_INT8 = {"dtype": torch.int8}
_LEFT, _RIGHT = _whole(4, 16, high=9, **_INT8), _whole(16, 6, high=9, **_INT8)
_BY_ROW, _BY_COLUMN = _x(4, seed=1).abs().double(), _x(6, seed=2).abs().double()
_RUNS = torch.tensor([2, 5])
_WORDS = [npu.npu_dynamic_dual_level_mx_quant(_x(*sizes).half()) for sizes in ((4, 544), (6, 544))]
_INDEX = torch.tensor([[3, 4, 0, -1, 6], [0, 1, 2, 3, 4]])
_OUT = npu.npu_sparse_flash_attention(*_INDEXED, _INDEXED[1], _CHOSEN, 0.3)[0]

CALLS: dict[str, list[tuple[list[Any], dict[str, Any]]]] = {
    "npu::npu_add_quant_gmm": [
        (
            [_x(2, 4, 6).double(), _whole(4, 5, high=9, **_INT8), _whole(5, 6, high=9, **_INT8)]
            + [_x(2, 6).abs().double(), _RUNS],
            {"x1_scale": _x(2, 1).abs().double()},
        )
    ],
    "npu::npu_add_quant_matmul": [
        ([_x(4, 6).double(), _whole(4, 5, high=9, **_INT8), _whole(5, 6, high=9, **_INT8), _x(6).abs().double()], {})
    ],
    "atb::_npu_quantize_per_tensor": [
        (
            [
                _x(3, 4) * 9,
                _x(4, seed=1).abs() + 0.1,
                torch.tensor([1, -2, 0, 3]).to(torch.int8),
                _whole(3, 4, high=9, **_INT8),
            ],
            {},
        )
    ],
    "npu::npu_anti_mx_quant": [([*npu.npu_dynamic_mx_quant(_x(3, 64))], {"dst_type": 6, "src_type": 296})],
    "npu::npu_dequant_bias": [([_whole(4, 6, high=99), _BY_COLUMN, _BY_ROW, _whole(6, high=9)], {})],
    "npu::npu_dual_level_quant_matmul": [
        (
            [_WORDS[0][0], _WORDS[1][0], _WORDS[0][1].double(), _WORDS[1][1].T.double(), _WORDS[0][2], _WORDS[1][2]],
            {"bias": _x(6).double()},
        )
    ],
    "npu::npu_dynamic_dual_level_mx_quant": [([_x(3, 544).half()], {})],
    "npu::npu_group_quant": [([_x(5, 8) * 9, _x(2, 8, seed=1), _RUNS], {})],
    "npu::npu_grouped_matmul_add": [([_x(2, 4, 6).double(), _x(5, 4), _x(5, 6, seed=1), _RUNS], {})],
    "npu::npu_grouped_matmul_finalize_routing": [
        (
            [_whole(5, 16, high=9, **_INT8), _whole(2, 16, 6, high=9, **_INT8), torch.tensor([2, 3])],
            {
                "scale": _x(2, 6).abs().double(),
                "pertoken_scale": _x(5).abs().double(),
                "shared_input": _x(2, 6).double(),
                "logit": _x(5, seed=3).double(),
                "row_index": torch.tensor([0, 2, 2, 1, 0]),
                "output_bs": 3,
            },
        )
    ],
    "npu::npu_kv_rmsnorm_rope_cache_v2": [
        (
            [_x(2, 1, 5, 48), _x(32, seed=1), _x(2, 1, 5, 16, seed=2), _x(2, 1, 5, 16, seed=3)]
            + [_INDEX, _zeros(2, 1, 7, 16), _zeros(2, 1, 7, 32)],
            {"is_output_kv": True},
        )
    ],
    "npu::npu_lightning_indexer_grad": [
        ([_x(2, 3, 4, 8), _x(2, 5, 1, 8, seed=1), _x(2, 3, 1, 2, seed=2), _CHOSEN, _x(2, 3, 4, seed=3)], {}),
    ],
    "npu::npu_mla_prolog": [([*_LAID, _SLOTS, _zeros(2, 4, 1, 16), _zeros(2, 4, 1, 4)], {})],
    "npu::npu_moe_gating_top_k_backward": [
        ([_x(5, 8).softmax(-1).double(), _x(5, 2, seed=1), _whole(5, 2, high=8)], {"norm_type": norm})
        for norm in (0, 1)
    ],
    "npu::npu_moe_init_routing_quant": [
        ([_x(5, 8), _whole(5, 2, high=6)], {"expert_num": 6, "active_num": 0, "expert_tokens_num_mode": mode})
        for mode in (1, 2)
    ],
    "npu::npu_quant_matmul_dequant": [([_x(4, 16), _RIGHT.T.contiguous(), _BY_COLUMN], {})],
    "npu::npu_quant_matmul_gelu": [([_LEFT, _RIGHT, _BY_ROW, _BY_COLUMN], {"bias": _whole(6, high=9)})],
    "npu::npu_quant_matmul_reduce_sum": [
        (
            [_whole(3, 4, 16, high=9, **_INT8), _whole(3, 16, 6, high=9, **_INT8)],
            {"x1_scale": _x(3, 4).abs().double(), "x2_scale": _x(6).abs().bfloat16()},
        )
    ],
    "npu::npu_recurrent_gated_delta_rule": [
        (
            [_x(5, 2, 8), _x(5, 2, 8, seed=1) * 0.3, _x(5, 4, 6, seed=2), _x(7, 4, 6, 8, seed=3)],
            {
                "beta": torch.sigmoid(_x(5, 4, seed=4)),
                "scale": 0.3,
                "actual_seq_lengths": torch.tensor([2, 3], dtype=torch.int32),
                "ssm_state_indices": torch.tensor([6, 0, 2, 3, 5], dtype=torch.int32),
                "num_accepted_tokens": torch.tensor([1, 2], dtype=torch.int32),
                "g": -_x(5, 4, seed=5).abs().double(),
            },
        )
    ],
    "npu::npu_rms_norm_quant": [
        ([_x(5, 16), _x(16, seed=1), _x(16, seed=2), _x(1).abs() * 9, torch.tensor([3], dtype=torch.int8)], {})
    ],
    "npu::npu_rms_norm_quant_v2": [([_x(5, 16), _x(16, seed=1), _x(16, seed=2).abs() + 0.1], {"beta": _x(16, seed=3)})],
    "npu::npu_sparse_flash_attention_grad": [
        (
            [*_INDEXED, _INDEXED[1], _CHOSEN, _x(2, 3, 4, 8, seed=5), _OUT, _TOP.double(), _TOTAL.double(), 0.3, 1],
            {},
        )
    ],
}
