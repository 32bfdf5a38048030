"""Attention to chosen blocks of a paged cache, against its definition token by token in NumPy."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import torch_npu

BLOCK, WIDTH, HEADS, KV_HEADS, TOP = 128, 16, 4, 2, 3


def _defined(
    q: Any, k: Any, v: Any, chosen: Any, counts: Any, table: Any, lengths: Any, kv_lengths: Any, scale: float
) -> Any:
    out, first = np.zeros(q.shape), 0
    for b, (length, keys) in enumerate(zip(lengths, kv_lengths)):
        for t in range(length):
            own = keys - length + t
            for head in range(q.shape[1]):
                kv = head // (q.shape[1] // k.shape[2])
                blocks = [int(x) for x in chosen[kv, first + t][: counts[kv, first + t]] if x >= 0]
                places = [p for x in blocks for p in range(x * BLOCK, (x + 1) * BLOCK) if p <= own]
                if not places:
                    continue
                rows = [(table[b, p // BLOCK], p % BLOCK) for p in places]
                scores = np.array([q[first + t, head] @ k[i, j, kv] for i, j in rows]) * scale
                weights = np.exp(scores - scores.max())
                out[first + t, head] = (weights / weights.sum()) @ np.array([v[i, j, kv] for i, j in rows])
        first += length
    return out


def _case() -> tuple[dict[str, Any], list[int], list[int]]:
    draw = np.random.default_rng(0)
    lengths, kv_lengths = [5, 3], [400, 130]
    tokens = sum(lengths)
    chosen = np.full((KV_HEADS, tokens, TOP), -1)
    counts = np.zeros((KV_HEADS, tokens), dtype=np.int64)
    for kv in range(KV_HEADS):
        for t in range(tokens):
            blocks = 4 if t < 5 else 2
            counts[kv, t] = (kv + t) % 4
            picked = draw.permutation(blocks)[:TOP]
            chosen[kv, t, : len(picked)] = picked
    return (
        {
            "q": draw.normal(size=(tokens, HEADS, WIDTH)), "k": draw.normal(size=(6, BLOCK, KV_HEADS, WIDTH)),
            "v": draw.normal(size=(6, BLOCK, KV_HEADS, WIDTH)), "chosen": chosen, "counts": counts,
            "table": np.array([[3, 0, 5, 1], [4, 2, 0, 0]]),
        },
        lengths,
        kv_lengths,
    )  # fmt: skip


def _call(case: dict[str, Any], lengths: list[int], kv_lengths: list[int], **named: Any) -> Any:
    tensors = {name: torch.tensor(x) for name, x in case.items()}
    given: dict[str, Any] = {
        "select_num_idx": tensors["counts"].int(), "actual_seq_lengths": torch.tensor(lengths),
        "actual_seq_lengths_kv": torch.tensor(kv_lengths), "num_key_value_heads": KV_HEADS, "scale_value": 0.25, "top_k": TOP,
    }  # fmt: skip
    return torch_npu.npu_sparse_attention_score(
        tensors["q"], tensors["k"], tensors["v"], tensors["chosen"].int(), tensors["table"].int(), **{**given, **named}
    )


def test_queries_see_their_blocks_up_to_their_place() -> None:
    case, lengths, kv_lengths = _case()
    expected = _defined(*case.values(), lengths, kv_lengths, 0.25)
    np.testing.assert_allclose(_call(case, lengths, kv_lengths).numpy(), expected, rtol=1e-12, atol=1e-14)
    assert (expected == 0).all(-1).any()  # a query that names no block


def test_scales_of_blocks_are_those_of_their_sequence() -> None:
    case, lengths, kv_lengths = _case()
    draw = np.random.default_rng(1)
    of_q, of_k, of_v = draw.uniform(0.5, 2, (2, HEADS, 4, 1)), *draw.uniform(0.5, 2, (2, 2, KV_HEADS, 4, 1))
    scaled: dict[str, Any] = {**case, "q": case["q"].copy()}
    places = [(0, 395 + t) for t in range(5)] + [(1, 127 + t) for t in range(3)]
    for t, (b, place) in enumerate(places):
        scaled["q"][t] *= of_q[b, :, place // BLOCK]
    expected = np.zeros(case["q"].shape)
    for b in range(2):  # each sequence with its own scales of the blocks that its table names
        keys, values = case["k"].copy(), case["v"].copy()
        for logical, physical in enumerate(case["table"][b][: (4, 2)[b]]):
            keys[physical] *= of_k[b, :, logical]
            values[physical] *= of_v[b, :, logical]
        made = _defined(*{**scaled, "k": keys, "v": values}.values(), lengths, kv_lengths, 0.25)
        rows = slice(0, 5) if b == 0 else slice(5, 8)
        expected[rows] = made[rows]
    scales = {f"{name}_dequant_scale": torch.tensor(x) for name, x in (("q", of_q), ("k", of_k), ("v", of_v))}
    np.testing.assert_allclose(_call(case, lengths, kv_lengths, **scales).numpy(), expected, rtol=1e-12, atol=1e-14)


def test_eight_bits_give_halves_and_wrong_arguments_are_named() -> None:
    case, lengths, kv_lengths = _case()
    small = {name: torch.tensor(case[name]).to(torch.float8_e4m3fn) for name in ("q", "k", "v")}
    plain: dict[str, Any] = {**case, **{name: x.double().numpy() for name, x in small.items()}}
    tensors = [torch.tensor(case["chosen"]).int(), torch.tensor(case["table"]).int()]
    given: dict[str, Any] = {
        "select_num_idx": torch.tensor(case["counts"]), "actual_seq_lengths": torch.tensor(lengths),
        "actual_seq_lengths_kv": torch.tensor(kv_lengths), "num_key_value_heads": KV_HEADS, "scale_value": 0.25, "top_k": TOP,
    }  # fmt: skip
    made = torch_npu.npu_sparse_attention_score(*small.values(), *tensors, **given)
    assert made.dtype == torch.float16
    np.testing.assert_allclose(made.numpy(), _defined(*plain.values(), lengths, kv_lengths, 0.25), rtol=1e-3, atol=1e-3)
    for named, text in (
        ({"block_size": 64}, "block_size must be one of 128, but it is 64"),
        ({"top_k": 2}, r"select_idx must be \(2, 8, 2\)"),
        ({"num_key_value_heads": 3}, "num_key_value_heads must divide the 4 heads"),
        ({"actual_seq_lengths": None}, "actual_seq_lengths and actual_seq_lengths_kv are needed"),
        ({"actual_seq_lengths": torch.tensor([5, 2])}, "the former the sum 8"),
        ({"actual_seq_lengths_kv": torch.tensor([4, 130])}, "sequence 0 has 5 queries, but only 4 keys"),
    ):
        with pytest.raises(RuntimeError, match=text):
            _call(case, lengths, kv_lengths, **named)
