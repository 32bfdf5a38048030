"""Calls of rows of inference, packing and routing for `verify`, as those of `_calls`."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from ._calls import _whole, _x, _zeros

__all__ = ["CALLS"]

npu: Any = torch.ops.npu

_PAGED = [_x(4, 4, 2, 8, seed=7), _x(4, 4, 2, 8, seed=8)]
_SMALL = [_whole(4, 4, 2, 8, high=9, dtype=torch.int8), _whole(4, 4, 2, 8, high=7, dtype=torch.int8)]
_TABLE, _CONTEXT = torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), torch.tensor([6, 7], dtype=torch.int32)
_PACKED = [_x(7, 4, 8), _x(7, 2, 8, seed=1), _x(7, 2, 8, seed=2)]
_LENGTHS = torch.tensor([3, 4], dtype=torch.int32)
_LATER = torch.ones(16, 16).triu(1) * -1e4  # what comes later is hidden

_LATENT = [
    _x(2, 4, 16),
    _x(2, 4, 8, seed=1),
    _x(4, 4, 1, 16, seed=2),
    _x(4, 4, 1, 8, seed=3),
    _TABLE,
    [6, 7],
    4,
    0.5,
    1,
]

_SELECTED = [_x(7, 4, 6), _x(9, 2, 6, seed=1), _x(9, 2, 5, seed=2), _whole(7, 2, 2, high=2)]
_SELECTED_ENDS = {"actual_seq_qlen": [3, 7], "actual_seq_kvlen": [5, 9]}
_SELECTED_OUT, *_SELECTED_SUMS = npu.npu_nsa_select_attention(*_SELECTED, 0.5, 4, 3, 2, **_SELECTED_ENDS)

_BLOCKS, _TAKEN = (
    [_x(2, 4, 5, 8), _x(2, 2, 6, 8, seed=1), _x(2, 2, 6, 8, seed=2)],
    torch.ones(2, 4, 1, 1, dtype=torch.int8),
)
_BLOCKS_OUT, _BLOCKS_SUMS = npu.npu_block_sparse_attention(
    *_BLOCKS, _TAKEN, [128, 128], q_input_layout="BNSD", kv_input_layout="BNSD", num_key_value_heads=2, scale_value=0.5,
    softmax_lse_flag=1,
)  # fmt: skip

_QUERY, _KEY = _x(2, 3, 8), _x(2, 5, 8, seed=1)
_CHOSEN = torch.tensor([[[[0, 2]], [[1, 2]], [[0, 1]]], [[[1, 0]], [[2, 0]], [[2, 1]]]], dtype=torch.int32)
_INDEXED = [_x(2, 3, 4, 8), _x(2, 5, 1, 8, seed=1)]
_TOP, _TOTAL = npu.npu_sparse_flash_attention(*_INDEXED, _INDEXED[1], _CHOSEN, 0.3, return_softmax_lse=True)[1:]

_WIDTH, _ROPE, _TILE = 16, 4, 8  # of rows that hold whole numbers, then float16, then the scales of tiles in float32
_ROWS = torch.cat(
    [
        _whole(1, 9, 1, _WIDTH, high=99, dtype=torch.int8),
        _x(1, 9, 1, _ROPE, seed=2).half().view(torch.int8),
        _x(1, 9, 1, _WIDTH // _TILE, seed=3).abs().view(torch.int8),
    ],
    -1,
)

_LAID: list[Any] = [
    _x(3, 8),
    _x(8, 6),
    _x(6, 18),
    _x(2, 5, 16),
    _x(8, 20),
    _x(6).abs(),
    _x(16).abs(),
    _x(3, 4),
    _x(3, 4, seed=1),
]
_CACHES = [_zeros(2, 4, 1, 16), _zeros(2, 4, 1, 4)]
_SLOTS = torch.tensor([5, 0, 2])

_PLAIN, _COUNTS = _x(7, 9).half(), torch.zeros(256, dtype=torch.int32)
_CODED = {name: torch.zeros(size, dtype=torch.half) for name, size in (("mantissa", 32), ("fixed", 20), ("var", 63))}
npu.npu_hans_encode.out(_PLAIN, True, False, pdf=_COUNTS, **_CODED)

_ROUTES = _whole(6, 4, high=2, dtype=torch.bool)
_SENT = int(_ROUTES.sum())
_, _, _SORTED = npu.npu_moe_token_permute_with_routing_map(_x(6, 8), _ROUTES, num_out_tokens=_SENT)
_BACK = npu._npu_moe_token_unpermute_with_routing_map(
    _x(_SENT, 8), _SORTED, [6, 8], probs=_x(6, 4).abs(), routing_map=_ROUTES
)

_MOVED = [
    _x(2, 4, 5, 5),
    _x(3, 4, 3, 3),
    _x(2, 27, 5, 5).abs() * 0.3 + 0.1,
]  # pictures, weights, and where to read them
_READ = npu.npu_deformable_conv2d(*_MOVED, None, [3, 3], [1, 1, 1, 1], [1, 1, 1, 1])


def _statistics(*args: Any, **kwargs: Any) -> dict[str, Any]:
    out, top, total, *_ = npu.npu_fusion_attention(*args, **kwargs)
    return {"softmax_max": top.double(), "softmax_sum": total.double(), "attention_in": out}


CALLS: dict[str, list[tuple[list[Any], dict[str, Any]]]] = {
    "atb::_npu_flash_attention_prefix_v2.out": [
        (
            [_x(5, 4, 8), *_PAGED, _TABLE, _LATER, [2, 3], [6, 7]],
            {"mask_type": 3, "num_kv_heads": 2, "num_heads": 4, "scale_value": 0.5, "out": _zeros(5, 4, 8)},
        )
    ],
    "atb::_npu_flash_attention_unpad_v2": [([*_PACKED, _LENGTHS, 0.5, 4, 2], {"out": _zeros(7, 4, 8)})],
    "atb::_npu_flash_attention_v2.out": [
        (
            [*_PACKED, [3, 4]],
            {"mask": _LATER, "scale_value": 0.5, "num_heads": 4, "num_kv_heads": 2, "out": _zeros(7, 4, 8)},
        )
    ],
    "atb::_npu_flash_attention_v3": [
        ([*_PACKED, _LATER.reshape(1, 1, 16, 16), _LENGTHS, 0.5, 4, 2], {"out": _zeros(7, 4, 8)}),
    ],
    "atb::_npu_paged_attention_get_workspace": [
        ([_x(2, 4, 8), *_PAGED, 2, 4, 0.5, _TABLE, _CONTEXT, _zeros(2, 4, 8)], {})
    ],
    "atb::_npu_paged_attention_mla": [
        ([_x(2, 4, 8), _x(4, 4, 1, 8, seed=7), 1, 4, 0.5, _TABLE, _CONTEXT, 6, _zeros(2, 4, 6)], {})
    ],
    "atb::_npu_paged_attention_quant": [
        (
            [_x(2, 4, 8).half(), *_SMALL, 2, 4, 0.5, _TABLE, _CONTEXT, 1, 1]
            + [_x(16, seed=9).abs().double(), _x(16, seed=10).abs().double(), _zeros(2, 4, 8).half()],
            {},
        ),
        (
            [_whole(2, 4, 8, high=9, dtype=torch.int8), *_SMALL, 2, 4, 0.5, _TABLE, _CONTEXT, 3, 1]
            + [_x(4, seed=9).abs().double() * 0.01, _x(4, seed=10).abs().double(), _zeros(2, 4, 8).half()],
            {},
        ),
    ],
    "atb::npu_paged_cache_load": [
        ([*_PAGED, _TABLE, _LENGTHS], {"seq_starts": torch.tensor([0, 4], dtype=torch.int32)}),
        ([*_PAGED, _TABLE, torch.tensor([0, 6, 9], dtype=torch.int32)], {"cumsum": True}),
    ],
    "atb::npu_paged_cache_load.out": [
        ([*_PAGED, _TABLE, _LENGTHS], {"key": _zeros(7, 2, 8), "value": _zeros(7, 2, 8)}),
    ],
    "npu::npu_attn_softmax_": [([_x(2, 3, 5)], {})],
    "npu::npu_attn_softmax_backward_": [([_x(2, 3, 5).softmax(-1), _x(2, 3, 4), _x(2, 5, 4, seed=1)], {})],
    "npu::npu_masked_softmax_with_rel_pos_bias": [
        ([_x(1, 2, 3, 4, 4), _x(2, 4, 4, seed=1), _x(3, 4, 4, seed=2), 0.5], {}),
        ([_x(2, 3, 4, 4), None, _x(3, 4, 4, seed=2)], {}),
    ],
    "atb::_npu_paged_attention_splitfuse": [
        (
            [
                _x(5, 4, 8),
                *_PAGED,
                _TABLE,
                _CONTEXT,
                _LATER,
                torch.tensor([2, 3], dtype=torch.int32),
                2,
                4,
                0.5,
                _zeros(5, 4, 8),
            ],
            {},
        ),
    ],
    "atb::_npu_paged_attention_splitfuse_v2": [
        (
            [_x(5, 4, 8), *_PAGED, _TABLE, _CONTEXT, _LATER, torch.tensor([2, 3], dtype=torch.int32), 2, 4, 0.5],
            {"out": _zeros(5, 4, 8)},
        ),
    ],
    "atb::_npu_paged_attention_v2.out": [
        (
            [_x(2, 4, 8), _PAGED[0], _TABLE, [6, 7]],
            {"value_cache": _PAGED[1], "num_kv_heads": 2, "num_heads": 4, "scale_value": 0.5, "out": _zeros(2, 4, 8)},
        )
    ],
    "atb::_npu_paged_attention_v2_get_workspace": [
        (
            [_x(2, 4, 8), _PAGED[0], _TABLE, [6, 7]],
            {"value_cache": _PAGED[1], "num_kv_heads": 2, "num_heads": 4, "out": _zeros(2, 4, 8)},
        )
    ],
    "atb::npu_multi_head_latent_attention": [(_LATENT, {})],
    "atb::npu_multi_head_latent_attention.lse": [([*_LATENT, True], {})],
    "atb::npu_multi_head_latent_attention.lse_out": [
        ([*_LATENT, True], {"output": _zeros(2, 4, 16), "lse": _zeros(2, 4, 1)})
    ],
    "atb::npu_multi_head_latent_attention.out": [(_LATENT, {"output": _zeros(2, 4, 16)})],
    "atb::_npu_multi_head_latent_attention_get_workspace.lse": [([*_LATENT, True], {})],
    "npu::_npu_dropout_gen_mask.Tensor": [([_x(3), [4, 6], 0.4, 7, 0], {})],
    "npu::_npu_fused_infer_attention_score_get_max_workspace": [([_QUERY, _KEY, _KEY], {"num_heads": 2})],
    "npu::_npu_fused_infer_attention_score_v2_get_max_workspace": [([_QUERY, _KEY, _KEY], {"num_query_heads": 2})],
    "npu::npu_chunk_gated_delta_rule": [
        (
            [_x(9, 2, 8) / 3, _x(9, 2, 8, seed=1) / 3, _x(9, 4, 6, seed=2)],
            {"beta": _x(9, 4, seed=3).sigmoid(), "initial_state": _x(2, 4, 6, 8, seed=4), "scale": 0.4}
            | {"g": -_x(9, 4, seed=5).abs().double(), "actual_seq_lengths": torch.tensor([4, 5], dtype=torch.int32)},
        )
    ],
    "npu::npu_format_cast_.acl_format": [([_x(4, 8), 2], {})],
    "npu::npu_fused_infer_attention_score.out": [
        (
            [_QUERY, _KEY, _KEY],
            {"num_heads": 2, "attention_out": _zeros(2, 3, 8), "softmax_lse": torch.zeros(0).double()},
        )
    ],
    "npu::npu_fused_infer_attention_score_v2.out": [
        (
            [_QUERY, _KEY, _KEY],
            {"num_query_heads": 2, "attention_out": _zeros(2, 3, 8), "softmax_lse": torch.zeros(0).double()},
        )
    ],
    "npu::npu_deformable_conv2dbk": [
        ([_MOVED[0], _x(2, 3, 5, 5, seed=5), _READ[1], *_MOVED[1:], [3, 3], [1, 1, 1, 1], [1, 1, 1, 1]], {})
    ],
    "npu::npu_dequant_swiglu_quant": [
        (
            [_whole(5, 8, high=99, dtype=torch.int32)],
            {
                "weight_scale": _x(2, 8).abs(),
                "activation_scale": _x(5).abs(),
                "bias": _whole(2, 8, high=9, dtype=torch.int32),
                "group_index": torch.tensor([2, 3]),
                "quant_mode": 1,
                "activate_left": True,
            },
        )
    ],
    "npu::npu_dynamic_block_quant": [
        ([_x(5, 200).half()], {}),
        ([_x(2, 5, 200).half()], {"row_block_size": 2, "min_scale": 0.01}),
    ],
    "npu::npu_fusion_attention_grad_v3": [
        (
            [_QUERY, _KEY, _KEY, _x(2, 3, 8, seed=4), 2, "BSH"],
            {**_statistics(_QUERY, _KEY, _KEY, 2, "BSH", scale=0.5), "scale_value": 0.5},
        ),
    ],
    "npu::npu_grouped_dynamic_mx_quant": [([_x(150, 64), torch.tensor([10, 10, 150])], {"dst_type": 296})],
    "npu::npu_hans_decode.out": [
        ([_CODED["mantissa"], _CODED["fixed"], _CODED["var"], _COUNTS], {"out": torch.zeros(7, 9).half()})
    ],
    "npu::npu_hans_encode.out": [
        ([_PLAIN, True], {"pdf": torch.zeros(256, dtype=torch.int32)} | {k: v.clone() for k, v in _CODED.items()}),
    ],
    "npu::npu_kv_quant_sparse_flash_attention": [
        (
            [
                _x(1, 2, 3, _WIDTH + _ROPE).half(),
                _ROWS,
                _ROWS,
                torch.tensor([[[[0, 3, 7]], [[8, 1, 2]]]], dtype=torch.int32),
                0.2,
                2,
                2,
            ],
            {"attention_mode": 2, "tile_size": _TILE, "rope_head_dim": _ROPE, "sparse_mode": 0},
        ),
    ],
    "npu::npu_mla_prolog_v2": [([*_LAID, _SLOTS, *_CACHES], {})],
    "npu::npu_mla_prolog_v3": [([*_LAID, *_CACHES], {"cache_index": _SLOTS, "query_norm_flag": True})],
    "npu::npu_moe_token_permute_with_routing_map_grad": [([_x(_SENT, 8), None, _SORTED, _ROUTES, 4, 6, False], {})],
    "npu::_npu_moe_token_unpermute_with_routing_map": [
        ([_x(_SENT, 8), _SORTED, [6, 8]], {"probs": _x(6, 4).abs(), "routing_map": _ROUTES}),
    ],
    "npu::npu_moe_token_unpermute_with_routing_map_grad": [
        ([_x(6, 8), _SORTED, _BACK[2], _ROUTES, _x(_SENT, 8), _x(6, 4).abs(), False, [6, 8]], {})
    ],
    "npu::npu_block_sparse_attention_backward": [
        (
            [_x(2, 4, 5, 8, seed=3), *_BLOCKS, _BLOCKS_OUT, _BLOCKS_SUMS.double(), _TAKEN, [128, 128], None, None]
            + ["BNSD", "BNSD", 2, 0.5],
            {},
        )
    ],
    "npu::npu_nsa_select_attention_grad": [
        (
            [_x(7, 4, 5, seed=3), *_SELECTED[:3], _SELECTED_OUT, *(x.double() for x in _SELECTED_SUMS), _SELECTED[3]]
            + [0.5, 4, 3, 2],
            _SELECTED_ENDS,
        )
    ],
    "npu::npu_quant_lightning_indexer": [
        (
            [
                _whole(1, 3, 4, 8, high=99, dtype=torch.int8),
                _whole(1, 9, 1, 8, high=99, dtype=torch.int8),
                _x(1, 3, 4).half(),
            ]
            + [_x(1, 3, 4, seed=1).abs().half(), _x(1, 9, 1, seed=2).abs().half(), 0, 0],
            {"sparse_count": 4},
        )
    ],
    "npu::npu_quant_scatter": [
        ([_zeros(2, 5, 32).to(torch.int8), torch.tensor([4, 1]), _x(2, 1, 32) * 9, _x(32, seed=1).abs() + 0.1], {}),
    ],
    "npu::npu_quant_scatter_": [
        ([_zeros(2, 5, 32).to(torch.int8), torch.tensor([4, 1]), _x(2, 1, 32) * 9, _x(32, seed=1).abs() + 0.1], {}),
    ],
    "npu::npu_random_choice_with_mask": [([_ROUTES, 3, 1, 2], {})],
    "npu::npu_sparse_attention_score": [
        (
            [_x(7, 4, 8), _x(4, 128, 2, 8, seed=1), _x(4, 128, 2, 8, seed=2)]
            + [torch.tensor([[[0, 1]] * 7, [[1, -1]] * 7], dtype=torch.int32), _TABLE],
            {
                "select_num_idx": torch.full((2, 7), 2, dtype=torch.int32),
                "actual_seq_lengths": _LENGTHS,
                "actual_seq_lengths_kv": torch.tensor([200, 140], dtype=torch.int32),
                "num_key_value_heads": 2,
                "top_k": 2,
            },
        )
    ],
    "npu::npu_sparse_flash_attention": [
        ([*_INDEXED, _INDEXED[1], _CHOSEN, 0.3], {"return_softmax_lse": True}),
    ],
    "npu::npu_sparse_lightning_indexer_grad_kl_loss": [
        ([*_INDEXED, _x(2, 3, 2, 6), _x(2, 5, 1, 6), _x(2, 3, 2), _CHOSEN, _TOP.double(), _TOTAL.double(), 0.3], {}),
    ],
}
