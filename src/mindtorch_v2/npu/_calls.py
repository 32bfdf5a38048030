"""Calls of the rows of Ascend's namespaces that their samples do not make, for `verify` and for tests of the emulator."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

npu: Any = torch.ops.npu


def _x(*sizes: int, seed: int = 0, dtype: Any = None) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(dtype or torch.float32)


def _whole(*sizes: int, high: int, dtype: Any = torch.int32) -> torch.Tensor:
    return torch.randint(high, sizes, generator=torch.Generator().manual_seed(1)).to(dtype)


def placed(value: Any, device: str, dtype: torch.dtype) -> Any:
    """An argument on a device in the dtype of a case: float32 stands for it, float64 for what is float32 beside any."""
    if isinstance(value, torch.Tensor):
        to = {torch.float32: dtype, torch.float64: torch.float32}.get(value.dtype, value.dtype)
        return value.to(device, to, copy=True)
    if isinstance(value, list):
        return [placed(each, device, dtype) for each in value]
    return value


def _zeros(*sizes: int) -> torch.Tensor:
    return torch.zeros(*sizes)


def _causal(size: int = 2048) -> torch.Tensor:
    return torch.ones(size, size).triu(1).to(torch.bool)


def _statistics(*args: Any, **kwargs: Any) -> dict[str, Any]:
    """Statistics and result that a forward pass leaves for its gradient, computed on the CPU in float32."""
    out, top, total, *_ = npu.npu_fusion_attention(*args, **kwargs)
    return {"softmax_max": top.double(), "softmax_sum": total.double(), "attention_in": out}


_Q, _K, _V, _DY = (_x(2, tokens, 8, seed=seed) for seed, tokens in enumerate((5, 6, 6, 5)))
_PQ, _PK, _PV, _PDY = (_x(tokens, 4, 8, seed=seed) for seed, tokens in enumerate((7, 9, 9, 7)))
_ENDS = {"actual_seq_qlen": [3, 7], "actual_seq_kvlen": [4, 9]}
_MASK = _whole(5, 6, high=2, dtype=torch.bool)
_EXPERTS = _whole(6, 2, high=4)
_SORTED = torch.argsort(_EXPERTS.flatten().long(), stable=True)
_PLACES = torch.argsort(_SORTED).to(torch.int32)
_DROPPED = torch.where(_PLACES == 3, -1, _PLACES)


_PAGES = {"block_table": torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), "block_size": 16}
_PK_CACHE, _PV_CACHE = (_x(4, 16, 8, seed=seed) for seed in (5, 6))
_INT8 = {"dtype": torch.int8}
_GROUPS = torch.tensor([2, 5])
_TABLE, _SLOTS = torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), torch.tensor([5, 11, 2], dtype=torch.int32)
_CACHE, _LENGTHS = _x(4, 4, 2, 8, seed=7), torch.tensor([3, 4], dtype=torch.int32)
_BOXES = torch.tensor([[1.0, 1.0, 5.0, 6.0], [2.0, 3.0, 9.0, 8.0], [0.0, 2.0, 4.0, 4.0]])

_ROUTES = _whole(6, 4, high=2, dtype=torch.bool)
_ROUTED, _ROUTED_PROBS, _ROUTED_PLACES = npu.npu_moe_token_permute_with_routing_map(
    _x(6, 8), _ROUTES, probs=_x(6, 4).abs(), num_out_tokens=int(_ROUTES.sum())
)
_CODED = [0.0, 0.1, 0.0, 0.1, 0.1, 0.1, 0.2, 0.2]

# By row: arguments, and keywords. float32 stands for any of the dtypes, float64 for float32 beside any.
CALLS: dict[str, list[tuple[list[Any], dict[str, Any]]]] = {
    "npu::npu_batch_nms": [([_BOXES.view(1, 3, 1, 4), _x(1, 3, 2).sigmoid(), 0.1, 0.5, 3, 4], {})],
    "npu::npu_bounding_box_encode": [([_BOXES, _BOXES + 1, *_CODED], {})],
    "npu::npu_format_cast": [([_x(4, 8), 2], {})],
    "npu::npu_fusion_attention_grad_v2": [
        ([_Q, _K, _V, _DY, 2, "BSH"], {**_statistics(_Q, _K, _V, 2, "BSH", scale=0.5), "scale_value": 0.5}),
    ],
    "npu::npu_grouped_matmul.List": [
        ([[_x(3, 4), _x(2, 4)], [_x(4, 5, seed=1), _x(4, 5, seed=2)]], {"group_type": -1}),
    ],
    "npu::npu_iou": [([_BOXES, _BOXES[:2]], {}), ([_BOXES, _BOXES[:2]], {"mode": 1})],
    "npu::npu_moe_token_permute_with_routing_map": [
        ([_x(6, 8), _ROUTES], {"probs": _x(6, 4).abs(), "num_out_tokens": int(_ROUTES.sum())}),
    ],
    "npu::npu_moe_token_unpermute_with_routing_map": [
        ([_ROUTED, _ROUTED_PLACES, [6, 8]], {"probs": _x(6, 4).abs(), "routing_map": _ROUTES}),
    ],
    "npu::npu_ptiou": [([_BOXES, _BOXES[:2]], {})],
    "npu::npu_slice.out": [([_x(4, 5), [1, 0], [2, 3]], {"out": _zeros(2, 3)})],
    "npu::npu_trans_quant_param": [([_x(8).abs().double()], {})],
    "npu::npu_yolo_boxes_encode": [([_BOXES, _BOXES + 0.5, torch.tensor([2, 4, 8], dtype=torch.int32)], {})],
    "npu::npu_add_rms_norm_dynamic_quant": [
        ([_x(3, 8), _x(3, 8, seed=1), _x(8, seed=2)], {"smooth_scale1": _x(8, seed=3), "smooth_scale2": _x(8, seed=4)}),
        (
            [_x(3, 8), _x(3, 8, seed=1), _x(8, seed=2)],
            {"beta": _x(8, seed=3), "smooth_scale2": _x(8, seed=4), "output_mask": [True, True]},
        ),
    ],
    "npu::npu_add_rms_norm_quant": [
        ([_x(3, 8), _x(3, 8, seed=1), _x(8, seed=2), _x(8, seed=3).abs() + 0.5, None], {}),
        (
            [_x(3, 8), _x(3, 8, seed=1), _x(8, seed=2), _x(8, seed=3).abs() + 0.5, _x(8).round(), _x(8, seed=4)],
            {"scales2": _x(8, seed=5).abs() + 0.5, "div_mode": False},
        ),
    ],
    "npu::npu_clipped_swiglu": [([_x(5, 8)], {"group_index": torch.tensor([1, 2]), "limit": 0.5})],
    "npu::npu_dynamic_quant": [([_x(6, 8)], {"smooth_scales": _x(2, 8), "group_index": torch.tensor([2, 6])})],
    "npu::npu_fusion_attention": [
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _MASK, "scale": 0.5}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _MASK, "pre_tockens": 2, "next_tockens": 1}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _causal(), "sparse_mode": 2}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _causal(), "sparse_mode": 3}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _causal(), "sparse_mode": 4, "pre_tockens": 3, "next_tockens": 0}),
        ([_Q, _K, _V, 2, "BSH"], {"atten_mask": _MASK, "sparse_mode": 1}),
        (
            [_Q, _K, _V, 2, "BSH"],
            {"keep_prob": 0.5, "dropout_mask": _whole(16, high=256, dtype=torch.uint8), "atten_mask": _MASK},
        ),
        (
            [_Q.reshape(2, 5, 2, 4), _K.reshape(2, 6, 2, 4)[:, :, :1], _V.reshape(2, 6, 2, 4)[:, :, :1], 2, "BSND"],
            {"pse": _x(1, 2, 5, 6)},
        ),
        ([_PQ, _PK, _PV, 4, "TND"], {**_ENDS, "atten_mask": _causal(), "sparse_mode": 3, "scale": 0.4}),
        ([_PQ, _PK[:, :2], _PV[:, :2], 4, "TND"], {**_ENDS, "atten_mask": _causal(), "sparse_mode": 2}),
    ],
    "npu::npu_fusion_attention_grad": [
        ([_Q, _K, _V, _DY, 2, "BSH"], {**_statistics(_Q, _K, _V, 2, "BSH", scale=0.5), "scale_value": 0.5}),
        (
            [_Q, _K, _V, _DY, 2, "BSH"],
            {**_statistics(_Q, _K, _V, 2, "BSH", _x(1, 2, 1, 6), atten_mask=_MASK), "pse": _x(1, 2, 1, 6)}
            | {"atten_mask": _MASK},
        ),
        (
            [_PQ, _PK[:, :2], _PV[:, :2], _PDY, 4, "TND"],
            {
                **_statistics(_PQ, _PK[:, :2], _PV[:, :2], 4, "TND", **_ENDS, atten_mask=_causal(), sparse_mode=3),
                **_ENDS,
                "atten_mask": _causal(),
                "sparse_mode": 3,
            },
        ),
    ],
    "npu::npu_fused_infer_attention_score": [
        ([_Q, _K, _V], {"num_heads": 2, "scale": 0.5, "atten_mask": _MASK, "softmax_lse_flag": True}),
        ([_Q, _K, _V], {"num_heads": 2, "actual_seq_lengths": [5, 3], "actual_seq_lengths_kv": [6, 2]}),
        (
            [_Q[:, :1], _PK_CACHE, _PV_CACHE],
            {**_PAGES, "num_heads": 2, "actual_seq_lengths_kv": [20, 3], "softmax_lse_flag": True},
        ),
        (
            [_PQ, _PK[:, :2], _PV[:, :2]],
            {"num_heads": 4, "num_key_value_heads": 2, "input_layout": "TND", "actual_seq_lengths": [3, 7]}
            | {"actual_seq_lengths_kv": [4, 9], "atten_mask": _causal(), "sparse_mode": 3, "softmax_lse_flag": True},
        ),
        (
            [_x(2, 2, 3, 8), _x(2, 1, 5, 8), _x(2, 1, 5, 8, seed=1)],
            {"num_heads": 2, "num_key_value_heads": 1, "input_layout": "BNSD", "pse_shift": _x(1, 2, 3, 5)}
            | {"query_rope": _x(2, 2, 3, 4), "key_rope": _x(2, 1, 5, 4)},
        ),
    ],
    "npu::npu_fused_infer_attention_score_v2": [
        ([_Q, _K, _V], {"num_query_heads": 2, "softmax_scale": 0.5, "return_softmax_lse": True}),
        (
            [_x(2, 3, 2, 8), _x(2, 5, 2, 8), _x(2, 5, 2, 8, seed=1)],
            {"num_query_heads": 2, "input_layout": "BSND", "query_rope": _x(2, 3, 2, 4), "key_rope": _x(2, 5, 2, 4)},
        ),
    ],
    "npu::npu_grouped_matmul": [
        ([[_x(3, 8), _x(5, 8)], [_x(8, 4), _x(8, 6)]], {"bias": [_x(4), _x(6)], "group_type": -1}),
        ([[_x(7, 8)], [_x(2, 8, 4)]], {"group_list": _GROUPS, "group_type": 0, "split_item": 2}),
        (
            [[_x(7, 8)], [_x(2, 8, 4)]],
            {"bias": [_x(2, 4)], "group_list": _GROUPS, "group_type": 0, "split_item": 3, "group_list_type": 1},
        ),
        ([[_x(8, 7)], [_x(7, 4)]], {"group_list": torch.tensor([2, 7]), "group_type": 2, "split_item": 3}),
        (
            [[_whole(7, 8, high=9, **_INT8)], [_whole(2, 8, 4, high=9, **_INT8)]],
            {"scale": [_x(2, 4).double()], "per_token_scale": [_x(7).double()], "group_list": _GROUPS, "group_type": 0}
            | {"split_item": 2, "output_dtype": 15},
        ),
    ],
    "npu::npu_quant_matmul": [
        ([_whole(5, 8, high=9, **_INT8), _whole(8, 4, high=9, **_INT8), _x(4).abs().double()], {"output_dtype": 5}),
        (
            [_whole(5, 8, high=9, **_INT8), _whole(8, 4, high=9, **_INT8), _x(4).abs().double()],
            {"pertoken_scale": _x(5).double(), "bias": _whole(4, high=9), "output_dtype": 15},
        ),
        (
            [_whole(5, 8, high=9, **_INT8), _whole(8, 4, high=9, **_INT8), (_x(4).abs() / 9).double()],
            {"offset": _x(4).double()},
        ),
    ],
    "npu::npu_incre_flash_attention": [
        ([_Q[:, :1], _K, _V], {"num_heads": 2, "scale_value": 0.5, "actual_seq_lengths": [6, 4]}),
        ([_Q[:, :1], _PK_CACHE, _PV_CACHE], {**_PAGES, "num_heads": 2, "actual_seq_lengths": [20, 3]}),
    ],
    "npu::npu_prompt_flash_attention": [
        ([_Q, _K, _V], {"num_heads": 2, "scale_value": 0.5, "next_tokens": 2147483647, "atten_mask": _MASK}),
    ],
    "npu::npu_moe_compute_expert_tokens": [([_whole(9, high=5).sort()[0], 5], {})],
    "npu::npu_moe_finalize_routing": [
        ([_x(12, 8), _x(6, 8, seed=1), None, _x(4, 8, seed=2), _x(6, 2, seed=3), _PLACES, _EXPERTS], {}),
        ([_x(12, 8), None, None, None, _x(6, 2, seed=3), _PLACES, None], {"drop_pad_mode": 2}),
        ([_x(3, 4, 8), None, None, None, _x(6, 2, seed=3), _DROPPED, None], {"drop_pad_mode": 1}),
        ([_x(3, 4, 8), None, None, None, _x(6, 2, seed=3), _DROPPED, None], {"drop_pad_mode": 3}),
    ],
    "npu::npu_moe_gating_top_k": [
        ([_x(5, 8), 3], {"bias": _x(8, seed=1), "norm_type": 1, "routed_scaling_factor": 2.5, "out_flag": True}),
        ([_x(5, 8), 2], {"k_group": 1, "group_count": 2, "out_flag": True}),
    ],
    "npu::npu_moe_gating_top_k_softmax": [([_x(5, 8), torch.tensor([True, False, False, True, False]), 2], {})],
    "npu::npu_moe_init_routing": [
        ([_x(6, 8), torch.arange(12, dtype=torch.int32).reshape(2, 6).T.contiguous(), _EXPERTS, 5], {})
    ],
    "npu::npu_moe_token_permute": [([_x(6, 8), _EXPERTS], {}), ([_x(6, 8), _EXPERTS, 7], {})],
    "npu::npu_moe_token_permute_grad": [([_x(6, 8), _x(7, 8), _EXPERTS, _PLACES], {})],
    "npu::npu_moe_token_unpermute": [([_x(12, 8), _PLACES, _x(6, 2)], {}), ([_x(12, 8), _PLACES], {})],
    "npu::npu_moe_token_unpermute_grad": [([_x(12, 8), _x(6, 8), _PLACES, _x(6, 2)], {})],
    "npu::npu_quantize": [
        ([_x(3, 8), _x(8, seed=1).abs() + 0.1, _x(8).round(), 1, -1], {}),
        ([_x(3, 8) * 9, _x(1, seed=1).abs() + 0.1, None, 13, 0], {}),
        ([_x(3, 8), _x(8, seed=1).abs() + 9, None, 1, -1, False], {}),
    ],
    "npu::npu_ring_attention_update": [
        (
            [_x(5, 2, 8), *[_x(2, 2, 5, 1, seed=s).abs().expand(2, 2, 5, 8).double() for s in (1, 2)]]
            + [_x(5, 2, 8, seed=3), *[_x(2, 2, 5, 1, seed=s).abs().expand(2, 2, 5, 8).double() for s in (4, 5)]],
            {},
        ),
        (
            [_x(7, 4, 8), *[_x(7, 4, 1, seed=s).abs().expand(7, 4, 8).double() for s in (1, 2)]]
            + [_x(7, 4, 8, seed=3), *[_x(7, 4, 1, seed=s).abs().expand(7, 4, 8).double() for s in (4, 5)]],
            {"input_layout": "TND"},
        ),
    ],
    "npu::npu_scaled_masked_softmax_backward": [
        ([_x(2, 2, 32, 32), _x(2, 2, 32, 32), _whole(2, 1, 32, 32, high=2, dtype=torch.bool), 0.5, False], {}),
        ([_x(2, 2, 32, 32), _x(2, 2, 32, 32), _whole(2, 1, 32, 32, high=2, dtype=torch.bool), 0.5, True], {}),
    ],
    # ---- rows without an operator of their own ----
    "atb::_npu_flash_attention": [
        ([_PQ, _PK[:7], _PV[:7], _causal(7).double() * -1e4, _LENGTHS, 0.5, 4, 4, _zeros(7, 4, 8)], {}),
    ],
    "atb::_npu_flash_attention_unpad": [([_PQ, _PK[:7], _PV[:7], _LENGTHS, 0.5, 4, 4, _zeros(7, 4, 8)], {})],
    "atb::_npu_matmul_add_fp32": [([_x(4, 3), _x(4, 5, seed=1), _x(3, 5, seed=2).double()], {})],
    "atb::_npu_paged_attention": [
        (
            [_x(2, 4, 8), _CACHE, _CACHE, 2, 4, 0.5, _TABLE, torch.tensor([5, 3], dtype=torch.int32), _zeros(2, 4, 8)],
            {},
        ),
    ],
    "atb::_npu_reshape_and_cache": [([_x(3, 2, 8), _x(3, 2, 8, seed=1), _CACHE, _CACHE.clone(), _SLOTS], {})],
    "atb::_npu_reshape_and_cache_siso": [([_x(3, 2, 8), _CACHE, _SLOTS], {})],
    "atb::_npu_rotary_embedding": [
        ([torch.tensor([0, 2, 1]), _x(3, 16), _x(3, 8, seed=1), 8, _x(4, 8, seed=2), style], {})
        for style in (True, False)
    ],
    "npu::npu_add_quant_gmm_": [
        (
            [
                _x(2, 4, 6).double(),
                _whole(4, 5, high=9, **_INT8),
                _whole(5, 6, high=9, **_INT8),
                _x(2, 6).abs().double(),
                _GROUPS,
            ],
            {},
        ),
    ],
    "npu::npu_add_quant_matmul_": [
        ([_x(4, 6).double(), _whole(4, 5, high=9, **_INT8), _whole(5, 6, high=9, **_INT8), _x(6).abs().double()], {}),
    ],
    "npu::npu_anchor_response_flags": [([_x(5, 4).abs() * 16, [4, 4], [8, 8], 3], {})],
    "npu::npu_apply_adam.out": [
        (
            [0.9, 0.99, 0.1, 0.9, 0.99, 1e-6, _x(4, 6), False, nesterov],
            {"var": _x(4, 6, seed=1), "m": _x(4, 6, seed=2), "v": _x(4, 6, seed=3).abs()},
        )
        for nesterov in (False, True)
    ],
    "npu::npu_anti_quant": [
        ([_whole(3, 16, high=99, **_INT8), _x(16).double()], {"offset": _x(16, seed=1).double()}),
        ([_whole(3, 2, high=1 << 30), _x(16).double()], {}),
    ],
    "npu::npu_apply_fused_ema_adamw": [
        (
            [_x(4, 6).double(), _x(4, 6, seed=1).double(), _x(4, 6, seed=2).double(), _x(4, 6, seed=3).abs().double()]
            + [_x(4, 6, seed=4).double(), torch.tensor([3]), 0.1, 0.9, 0.8, 0.99, 1e-6, mode, True, 0.01],
            {},
        )
        for mode in (0, 1)
    ],
    "npu::npu_groupmatmul_add_fp32": [([_x(5, 4), _x(5, 6, seed=1), _GROUPS, _x(8, 6, seed=2).double()], {})],
    "npu::npu_matmul_add_fp32": [([_x(5, 4), _x(5, 6, seed=1), _x(4, 6, seed=2).double()], {})],
    "npu::npu_bert_apply_adam.out": [
        (
            [0.1, 0.9, 0.99, 1e-6, _x(4, 6), limit, 2.0, 0.01],
            {"var": _x(4, 6, seed=1), "m": _x(4, 6, seed=2), "v": _x(4, 6, seed=3).abs()},
        )
        for limit in (-1.0, 0.5)
    ],
    "npu::npu_apply_adam_w.out": [
        (
            [0.9, 0.99, 0.1, 0.01, 0.9, 0.99, 1e-6, _x(4, 6), None, False, False],
            {"var": _x(4, 6, seed=1), "m": _x(4, 6, seed=2), "v": _x(4, 6, seed=3).abs()},
        ),
    ],
    "npu::npu_attention_update": [
        ([[_x(5), _x(5, seed=1)], [_x(5, 8), _x(5, 8, seed=1)], kind], {}) for kind in (0, 1)
    ],
    "npu::npu_bounding_box_decode": [([_BOXES, _x(3, 4), 0, 0, 0, 0, 1, 1, 1, 1, [20, 20], 0.1], {})],
    "npu::npu_ciou": [([_BOXES.T.contiguous(), (_BOXES + 1).T.contiguous(), True, False], {})],
    "npu::npu_convert_weight_to_int4pack": [([_whole(4, 16, high=7)], {})],
    "npu::npu_gather_pa_kv_cache": [
        (
            [_CACHE, _CACHE, _TABLE, torch.tensor([5, 3], dtype=torch.int32), _zeros(8, 2, 8), _zeros(8, 2, 8)],
            {},
        ),
    ],
    "npu::npu_grouped_matmul_add_": [([_x(2, 4, 6).double(), _x(5, 4), _x(5, 6, seed=1), _GROUPS], {})],
    "npu::npu_grouped_matmul_swiglu_quant": [
        (
            [_whole(5, 8, high=9, **_INT8), _whole(2, 8, 12, high=9, **_INT8), _GROUPS]
            + [_x(2, 12).abs().double(), _x(5).abs().double()],
            {},
        ),
    ],
    "npu::npu_grouped_matmul_swiglu_quant_v2": [
        (
            [_whole(5, 8, high=9, **_INT8), [_whole(2, 8, 12, high=9, **_INT8)], [_x(2, 12).abs().double()]]
            + [_x(5).abs().double(), _GROUPS],
            {},
        ),
    ],
    "npu::npu_kronecker_quant": [([_x(2, 4, 8), _x(4, 4, seed=1), _x(8, 8, seed=2), 0.9], {})],
    "npu::npu_kv_rmsnorm_rope_cache": [
        (
            [_x(2, 1, 5, 48), _x(32, seed=1), _x(2, 1, 5, 16, seed=2), _x(2, 1, 5, 16, seed=3)]
            + [torch.tensor([[3, 4, 0, -1, 6], [0, 1, 2, 3, 4]]), _zeros(2, 1, 7, 16), _zeros(2, 1, 7, 32)],
            {},
        ),
    ],
    "npu::npu_lightning_indexer": [
        (
            [_x(2, 3, 4, 8), _x(2, 5, 1, 8, seed=1), _x(2, 3, 4, seed=2).abs()],
            {"sparse_count": 3, "return_value": True},
        ),
    ],
    "npu::npu_moe_init_routing_v2": [
        (
            [_x(6, 8), _EXPERTS],
            {"expert_num": 4, "expert_tokens_num_flag": True, "expert_tokens_num_type": 1, "quant_mode": mode},
        )
        for mode in (-1, 1)
    ]
    + [
        (
            [_x(6, 8), _EXPERTS],
            {
                "expert_num": 4,
                "expert_tokens_num_flag": True,
                "expert_tokens_num_type": kind,
                "active_num": active,
                "active_expert_range": [1, 3],
                "row_idx_type": 1 - kind,
                "scale": _x(6).double(),
            },
        )
        for kind, active in ((0, -1), (1, 3), (1, 9))
    ],
    "npu::npu_moe_re_routing": [
        ([_x(7, 8), torch.tensor([[2, 0, 1], [1, 3, 0]])], {"per_token_scales": _x(7).double()})
    ],
    "npu::npu_mrope": [
        (
            [_whole(3, 4, high=20).long(), _x(4, 64), _x(4, 64, seed=1), _x(20, 24, seed=2), 32],
            {"mrope_section": [6, 3, 3]},
        ),
    ],
    "npu::npu_ps_roi_pooling": [
        (
            [
                _x(1, 8, 6, 6),
                torch.tensor([[0, 1, 1, 6, 6], [0, 0, 0, 7, 4]], dtype=torch.float32).t()[None],
                0.5,
                2,
                2,
            ],
            {},
        ),
    ],
    "npu::npu_quant_grouped_matmul_dequant": [
        ([_x(5, 8), _whole(2, 6, 8, high=9, **_INT8), _x(2, 6, seed=1).abs().double(), _GROUPS], {}),
    ],
    "npu::npu_roi_align": [
        ([_x(1, 3, 8, 8), torch.tensor([[0, 1, 1, 6, 6], [0, 2, 0, 7, 4]], dtype=torch.float32), 1.0, 2, 2, 2, 0], {}),
    ],
    "npu::npu_scatter_pa_cache.value": [([_x(3, 2, 8), _SLOTS], {"key_cache": _CACHE})],
    "npu::npu_scatter_pa_kv_cache": [
        ([_x(3, 2, 8), _x(3, 2, 8, seed=1), _CACHE, _CACHE.clone(), _SLOTS], {"cache_mode": "Norm"}),
    ],
    "npu::npu_scatter_nd_update": [
        ([_x(5, 6, 3), torch.tensor([[[1, 2], [0, 5]], [[4, 0], [3, 3]]]), _x(2, 2, 3, seed=1)], {}),
    ],
    "npu::npu_sign_bits_pack": [([_x(16), 1], {})],
    "npu::npu_sign_bits_unpack": [([_whole(4, high=256, dtype=torch.uint8), 2, torch.float32], {})],
    "npu::npu_top_k_top_p": [
        ([_x(3, 17)], {"k": torch.tensor([3, 17, 1], dtype=torch.int32)}),
        ([_x(3, 17)], {"p": torch.tensor([0.3, 0.9, 0.01])}),
        ([_x(3, 17)], {"p": torch.tensor([0.3, 0.9, 1.0]), "k": torch.tensor([3, 9, 2], dtype=torch.int32)}),
    ],
    "npu::npu_transpose_batchmatmul": [
        ([_x(3, 2, 4), _x(2, 4, 5, seed=1)], {"perm_x1": [1, 0, 2], "perm_y": [1, 0, 2]}),
        ([_x(2, 3, 4), _x(2, 5, 4, seed=1)], {"perm_x2": [0, 2, 1], "perm_y": [2, 0, 1]}),
        ([_x(2, 3, 4), _x(2, 4, 5, seed=1)], {"perm_y": [0, 1, 2]}),
        ([_x(2, 3, 4), _x(2, 4, 5, seed=1)], {}),
    ],
    "npu::npu_transpose_quant_batchmatmul": [
        (
            [_whole(3, 2, 4, high=9, **_INT8), _whole(2, 4, 6, high=9, **_INT8), 5],
            {"perm_x1": [1, 0, 2], "perm_y": [1, 0, 2], "x2_scale": _x(6).abs().double()},
        ),
    ],
    "npu::npu_weight_quant_batchmatmul": [
        ([_x(4, 8), _whole(8, 6, high=9, **_INT8), _x(6, seed=1), _x(6, seed=2)], {"bias": _x(6, seed=3)}),
        ([_x(4, 64), _whole(64, 6, high=9, **_INT8), _x(2, 6, seed=1)], {"antiquant_group_size": 32}),
    ],
}
