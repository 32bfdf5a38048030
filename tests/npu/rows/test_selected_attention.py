"""Attention to selected blocks of keys beside a definition in NumPy, query by query, in double precision."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu


def _x(*sizes: int, seed: int) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=sizes))


def _expected(q: Any, k: Any, v: Any, chosen: Any, scale: float, size: int, q_ends: Any, k_ends: Any, seen: Any) -> Any:
    q, k, v, chosen = (x.numpy() for x in (q, k, v, chosen))
    heads, kv_heads = q.shape[1], k.shape[1]
    out, most, total = (np.zeros((*q.shape[:2], n)) for n in (v.shape[2], 1, 1))
    for token in range(q.shape[0]):
        number = next(i for i, end in enumerate(q_ends) if token < end)
        first, start = ([0, *ends][number] for ends in (q_ends, k_ends))
        for head in range(heads):
            of = head * kv_heads // heads
            places = [block * size + i for block in chosen[token, of] for i in range(size)]
            places = [p for p in places if p < k_ends[number] - start and seen(token - first, p)]
            if not places:
                continue
            scores = np.array([q[token, head] @ k[start + p, of] for p in places]) * scale
            p = np.exp(scores - scores.max())
            out[token, head] = p / p.sum() @ v[[start + place for place in places], of]
            most[token, head], total[token, head] = scores.max(), p.sum()
    return out, most, total


@pytest.mark.parametrize("masked", ["all", "later", "some"])
def test_each_query_sees_its_blocks(masked: str) -> None:
    q, k, v = _x(7, 4, 6, seed=0), _x(11, 2, 6, seed=1), _x(11, 2, 5, seed=2)
    chosen = torch.tensor(np.random.default_rng(3).integers(0, 2, (7, 2, 2)), dtype=torch.int32)
    hidden = torch.tensor(np.random.default_rng(4).integers(0, 2, (4, 6)), dtype=torch.bool)
    mask = {"all": None, "later": torch.ones(2048, 2048, dtype=torch.bool).triu(1), "some": hidden}[masked]

    def seen(row: int, place: int) -> bool:
        return mask is None or (place <= row if masked == "later" else not hidden[row, place])

    ends = {"actual_seq_qlen": [3, 7], "actual_seq_kvlen": [5, 11]}
    made = npu.npu_nsa_select_attention(q, k, v, chosen, 0.7, 4, 3, 2, atten_mask=mask, **ends)
    expected = _expected(q, k, v, chosen, 0.7, 3, [3, 7], [5, 11], seen)
    for found, right in zip(made, expected, strict=True):
        right = np.broadcast_to(right, found.shape)
        np.testing.assert_allclose(found.double().numpy(), right, rtol=1e-6, atol=1e-6)
    assert all(x.shape == (7, 4, 8) and x.dtype == torch.float32 for x in made[1:])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_in_sixteen_bits(dtype: Any) -> None:
    q, k, v = (_x(*sizes, seed=i).to(dtype) for i, sizes in enumerate([(5, 2, 16), (128, 1, 16), (128, 1, 8)]))
    chosen = torch.tensor([[[0, 1]]] * 5, dtype=torch.int32)
    made = npu.npu_nsa_select_attention(q, k, v, chosen, 0.25, 2, 64, 2)[0]
    right = _expected(*(x.double() for x in (q, k, v)), chosen, 0.25, 64, [5], [128], lambda *_: True)[0]
    assert made.dtype == dtype
    np.testing.assert_allclose(made.double().numpy(), right, atol=4e-3 if dtype == torch.bfloat16 else 5e-4)


def test_what_does_not_fit_is_refused() -> None:
    q, k, v = _x(3, 4, 6, seed=0), _x(8, 2, 6, seed=1), _x(8, 2, 5, seed=2)
    chosen = torch.zeros(3, 2, 2, dtype=torch.int32)
    wrong: list[tuple[list[Any], dict[str, Any], str]] = [
        ([q, k, v, chosen, 1.0, 3, 4, 2], {}, "head_num must be the query's 4 heads and a multiple of the 2"),
        ([q, k, v, chosen, 1.0, 4, 4, 3], {}, r"topk_indices must be \(3, 2, 3\).*its sizes are \[3, 2, 2\]"),
        ([q, k.half(), v, chosen, 1.0, 4, 4, 2], {}, "key is .*float16, but query is .*float64"),
        (
            [q, k, v, chosen, 1.0, 4, 4, 2],
            {"actual_seq_qlen": [2]},
            r"ends of sequences, up to 3 and 8, but they are \[2\]",
        ),
        ([q, k, v, chosen, 1.0, 4, 4, 2], {"atten_mask": torch.ones(2, 8, dtype=torch.bool)}, r"at least \(3, 8\)"),
    ]
    for args, kwargs, text in wrong:
        with pytest.raises(RuntimeError, match=f"npu_nsa_select_attention.*{text}"):
            npu.npu_nsa_select_attention(*args, **kwargs)
