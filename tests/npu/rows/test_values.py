"""Operators of Ascend's namespaces against their definitions, written out in NumPy in double precision."""

import math
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu, atb = torch.ops.npu, torch.ops.atb


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(5)


def tensor(array: Any, dtype: Any = None) -> torch.Tensor:
    return torch.tensor(np.asarray(array)) if dtype is None else torch.tensor(np.asarray(array), dtype=dtype)


def close(ours: torch.Tensor, theirs: Any, tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(ours.detach().to(torch.float64).numpy(), theirs, rtol=tolerance, atol=tolerance)


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, seen: np.ndarray | None = None) -> np.ndarray:
    """(B, N, S, D) each; `seen` is True where a query sees a key."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = np.einsum("bnqd,bnkd->bnqk", q, k) * scale
    return softmax(s if seen is None else np.where(seen, s, -np.inf)) @ v


def test_rms_norm_and_its_kin(numbers: np.random.Generator) -> None:
    x, y, g = numbers.normal(size=(3, 8)), numbers.normal(size=(3, 8)), numbers.normal(size=8)
    root = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    out, rstd = npu.npu_rms_norm(tensor(x), tensor(g))
    close(out, x / root * g)
    close(rstd, 1 / root)
    close(npu.npu_gemma_rms_norm(tensor(x), tensor(g))[0], x / root * (1 + g))
    total = x + y
    root = np.sqrt((total * total).mean(-1, keepdims=True) + 1e-6)
    out, rstd, added = npu.npu_add_rms_norm(tensor(x), tensor(y), tensor(g))
    close(out, total / root * g)
    close(added, total)
    first, second = tensor(x), tensor(y)
    rstd, norm, total = npu.npu_add_rms_norm_v2_functional(first, second, tensor(g))
    close(rstd, 1 / root)
    assert [x.tolist() for x in (norm, total)] == [
        x.tolist() for x in npu.npu_add_rms_norm(first, second, tensor(g))[::2]
    ]
    close(npu.npu_add_rms_norm_v2(first, second, tensor(g)), 1 / root)
    close(first, total / root * g)
    close(second, total)


def test_half_precision_is_rounded_once() -> None:
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]], dtype=torch.bfloat16)
    out, rstd = npu.npu_rms_norm(x, torch.tensor([1.1, 1.2, 1.3, 1.4], dtype=torch.bfloat16))
    gain = torch.tensor([1.1, 1.2, 1.3, 1.4], dtype=torch.bfloat16).to(torch.float64).numpy()
    exact = np.array([1.0, 2.0, 3.0, 4.0]) / math.sqrt(7.5 + 1e-6) * gain
    assert out.dtype == torch.bfloat16 and rstd.dtype == torch.float32
    assert out.tolist() == [torch.tensor(exact, dtype=torch.bfloat16).tolist()]


def test_gated_activations(numbers: np.random.Generator) -> None:
    x = numbers.normal(size=(3, 8)) * 4
    a, b = x[:, :4], x[:, 4:]
    close(npu.npu_swiglu(tensor(x)), a * sigmoid(a) * b)
    even, odd = np.minimum(x[:, ::2], 2), np.clip(x[:, 1::2], -2, 2)
    close(npu.npu_clipped_swiglu(tensor(x), limit=2.0), even * sigmoid(1.702 * even) * (odd + 1))
    few = npu.npu_clipped_swiglu(tensor(x), limit=2.0, group_index=torch.tensor([1, 1]))
    close(few[:2], (even * sigmoid(1.702 * even) * (odd + 1))[:2])
    assert few[2].tolist() == [0.0] * 4
    gelu = 0.5 * b * (1 + np.tanh(math.sqrt(2 / math.pi) * (b + 0.044715 * b**3)))
    out, active = npu.npu_geglu(tensor(x))
    close(out, a * gelu)
    close(active, gelu)
    close(npu.npu_fast_gelu(tensor(x)), x / (1 + np.exp(-1.702 * x)))


def test_scaled_masked_softmax(numbers: np.random.Generator) -> None:
    x, mask = numbers.normal(size=(2, 3, 32, 64)), numbers.random((2, 1, 32, 64)) < 0.3
    out = npu.npu_scaled_masked_softmax(tensor(x), tensor(mask), 0.5)
    close(out, softmax(np.where(mask, -10000.0, x * 0.5)))
    with pytest.raises(RuntimeError, match=r"multiples of 32 from 32 to 4096, but they are \[32, 60\]"):
        npu.npu_scaled_masked_softmax(tensor(x[..., :60]), tensor(mask[..., :60]), 0.5)


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotation_is_one_of_complex_numbers(numbers: np.random.Generator, mode: str) -> None:
    x, angle = numbers.normal(size=(2, 3, 2, 8)), numbers.normal(size=(1, 3, 1, 4))
    pairs = x[..., :4] + 1j * x[..., 4:] if mode == "half" else x[..., ::2] + 1j * x[..., 1::2]
    turned = pairs * np.exp(1j * angle)
    both = np.concatenate([angle, angle], -1) if mode == "half" else np.repeat(angle, 2, -1)
    out = npu.npu_rotary_mul(tensor(x), tensor(np.cos(both)), tensor(np.sin(both)), mode)
    expected = np.empty_like(x)
    if mode == "half":
        expected[..., :4], expected[..., 4:] = turned.real, turned.imag
    else:
        expected[..., ::2], expected[..., 1::2] = turned.real, turned.imag
    close(out, expected)


def test_rotary_embedding_by_positions(numbers: np.random.Generator) -> None:
    cache, positions = numbers.normal(size=(10, 8)), np.array([3, 0, 7])
    q, k = numbers.normal(size=(3, 2 * 8)), numbers.normal(size=(3, 8))
    cos, sin = cache[positions][:, :4], cache[positions][:, 4:]

    def turned(x: np.ndarray, heads: int) -> np.ndarray:
        h = x.reshape(3, heads, 8)
        a, b, c, s = h[..., :4], h[..., 4:], cos[:, None], sin[:, None]
        return np.concatenate([a * c - b * s, b * c + a * s], -1).reshape(x.shape)

    query, key = tensor(q), tensor(k)
    atb._npu_rotary_embedding(tensor(positions), query, key, 8, tensor(cache), True)
    close(query, turned(q, 2))
    close(key, turned(k, 1))


SEES = {
    # mode: whether query i of 5 sees key j of 7
    2: lambda i, j: j <= i,
    3: lambda i, j: j <= i + 2,
    4: lambda i, j: i + 2 - 3 <= j <= i + 2 + 1,
    6: lambda i, j: j <= i + 2 or j < 4,
}


@pytest.mark.parametrize("mode", sorted(SEES))
def test_attention_by_modes(numbers: np.random.Generator, mode: int) -> None:
    q, k, v = (numbers.normal(size=(2, n, s, 4)) for n, s in ((4, 5), (2, 7), (2, 7)))
    seen = np.array([[SEES[mode](i, j) for j in range(7)] for i in range(5)])
    small = torch.ones(3072 if mode == 6 else 2048, 2048, dtype=torch.bool).triu(1)
    out, top, total, *_ = npu.npu_fusion_attention(
        tensor(q), tensor(k), tensor(v), 4, "BNSD", scale=0.6, atten_mask=small, sparse_mode=mode, pre_tockens=3,
        next_tockens=1, prefix=[4, 4] if mode == 6 else None,
    )  # fmt: skip
    close(out, attention(q, k, v, 0.6, seen))
    scores = np.where(seen, np.einsum("bnqd,bnkd->bnqk", q, np.repeat(k, 2, 1)) * 0.6, -np.inf)
    assert top.shape == total.shape == (2, 4, 5, 8)
    close(top[..., 3], scores.max(-1))
    close(total[..., 0], np.exp(scores - scores.max(-1, keepdims=True)).sum(-1))


@pytest.mark.parametrize("layout", ["BSH", "SBH", "BSND", "BNSD"])
def test_attention_by_layouts(numbers: np.random.Generator, layout: str) -> None:
    q, k, v = (numbers.normal(size=(2, n, s, 4)) for n, s in ((4, 5), (2, 7), (2, 7)))

    def laid(x: np.ndarray) -> np.ndarray:
        moved = {"BNSD": x, "BSND": x.transpose(0, 2, 1, 3), "BSH": x.transpose(0, 2, 1, 3)}.get(layout)
        if moved is None:
            moved = x.transpose(2, 0, 1, 3)
        return moved.reshape(*moved.shape[:2], -1) if layout in ("BSH", "SBH") else moved

    out = npu.npu_fusion_attention(*(tensor(laid(x)) for x in (q, k, v)), 4, layout, scale=0.6)[0]
    close(out, laid(attention(q, k, v, 0.6)))


def test_long_attention_holds_no_score_matrix(numbers: np.random.Generator) -> None:
    q = torch.tensor(numbers.normal(size=(1, 1, 600, 4)))
    small = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    out = npu.npu_fusion_attention(q, q, q, 1, "BNSD", scale=0.5, atten_mask=small, sparse_mode=3)[0]
    close(out, attention(*(q.numpy(),) * 3, 0.5, np.tril(np.ones((600, 600), dtype=bool))))


def test_a_row_that_sees_nothing_is_zero() -> None:
    q = torch.ones(1, 1, 2, 4, dtype=torch.float64)
    mask = torch.tensor([[True, True], [False, True]])
    out = npu.npu_fusion_attention(q, q, q, 1, "BNSD", atten_mask=mask, sparse_mode=1)[0]
    assert out[0, 0].tolist() == [[0.0] * 4, [1.0] * 4]


def test_packed_sequences_and_a_sink(numbers: np.random.Generator) -> None:
    q, k, v = (numbers.normal(size=(n, h, 4)) for n, h in ((7, 4), (9, 2), (9, 2)))
    sink = numbers.normal(size=4)
    out = npu.npu_fusion_attention(
        tensor(q), tensor(k), tensor(v), 4, "TND", scale=0.6, actual_seq_qlen=[3, 7], actual_seq_kvlen=[4, 9],
        sink=tensor(sink),
    )[0]  # fmt: skip
    for rows, keys in ((slice(0, 3), slice(0, 4)), (slice(3, 7), slice(4, 9))):
        kk, vv = (np.repeat(x[keys], 2, 1) for x in (k, v))
        s = np.einsum("qnd,knd->nqk", q[rows], kk) * 0.6
        e, at_sink = np.exp(s), np.exp(sink)[:, None, None]
        close(out[rows], np.einsum("nqk,knd->qnd", e / (e.sum(-1, keepdims=True) + at_sink), vv))


def test_dropout_is_the_same_forward_and_backward(numbers: np.random.Generator) -> None:
    q = torch.tensor(numbers.normal(size=(1, 2, 6, 4)), requires_grad=True)
    v = torch.eye(6, dtype=torch.float64).expand(1, 2, 6, 6).clone().requires_grad_()
    out, *_, seed, offset, count = npu.npu_fusion_attention(q, q, v, 2, "BNSD", keep_prob=0.5)
    assert count == 2 * 6 * 6 and seed != 0
    p = attention(q.detach().numpy(), q.detach().numpy(), v.detach().numpy(), 1.0)
    kept = out.detach().numpy() != 0
    assert 0.2 < kept.mean() < 0.8
    close(out, np.where(kept, p * 2, 0))
    out.sum().backward()
    close(v.grad, np.broadcast_to(np.where(kept, p * 2, 0).sum(2)[..., None], (1, 2, 6, 6)))


def test_a_broadcast_mask_is_refused() -> None:
    q = torch.ones(2, 1, 3, 4)
    with pytest.raises(
        RuntimeError, match=r"must end in sizes 3 and 3|of at least 3 and 3; its sizes are \[2, 1, 1, 3\]"
    ):
        npu.npu_fusion_attention(q, q, q, 1, "BNSD", atten_mask=torch.zeros(2, 1, 1, 3, dtype=torch.bool))
    with pytest.raises(RuntimeError, match=r"takes the compressed atten_mask of sizes \(2048, 2048\)"):
        npu.npu_fusion_attention(q, q, q, 1, "BNSD", atten_mask=torch.zeros(3, 3, dtype=torch.bool), sparse_mode=2)


def test_paged_and_plain_inference_agree(numbers: np.random.Generator) -> None:
    key, value = numbers.normal(size=(6, 4, 2, 8)), numbers.normal(size=(6, 4, 2, 8))
    table, lengths = np.array([[0, 1], [2, 4]], dtype=np.int32), [5, 7]
    q = numbers.normal(size=(2, 4, 8))
    expected = np.empty_like(q)
    for i, length in enumerate(lengths):
        k, v = (x[table[i]].reshape(8, 2, 8)[:length] for x in (key, value))
        expected[i] = attention(q[i][None, :, None], k.transpose(1, 0, 2)[None], v.transpose(1, 0, 2)[None], 0.3)[
            0, :, 0
        ]
    out = torch.zeros(2, 4, 8, dtype=torch.float64)
    caches = (tensor(key), tensor(value))
    atb._npu_paged_attention(
        tensor(q), *caches, 2, 4, 0.3, tensor(table), torch.tensor(lengths, dtype=torch.int32), out
    )
    close(out, expected)
    made, lse = npu.npu_fused_infer_attention_score(
        tensor(q).reshape(2, 1, 32), *(c.reshape(6, 4, 16) for c in caches), block_table=tensor(table),
        actual_seq_lengths_kv=lengths, num_heads=4, num_key_value_heads=2, scale=0.3, block_size=4, softmax_lse_flag=True,
    )  # fmt: skip
    close(made.reshape(2, 4, 8), expected)
    assert lse.shape == (2, 4, 1, 1)
    rows = [torch.zeros(12, 2, 8, dtype=torch.float64) for _ in range(2)]
    npu.npu_gather_pa_kv_cache(*caches, tensor(table), torch.tensor(lengths, dtype=torch.int32), *rows)
    packed, _ = npu.npu_fused_infer_attention_score(
        tensor(q), *rows, actual_seq_lengths=[1, 2], actual_seq_lengths_kv=[5, 12], num_heads=4, num_key_value_heads=2,
        scale=0.3, input_layout="TND",
    )  # fmt: skip
    close(packed, expected)


@pytest.mark.parametrize("folded", [False, True])
def test_pages_of_sequences_that_are_as_long_as_each_other(numbers: np.random.Generator, folded: bool) -> None:
    """They are read together, others one by one."""
    caches = [tensor(numbers.normal(size=(6, 2, 4, 8))) for _ in range(2)]  # (blocks, heads, block, width)
    if folded:
        caches = [x.transpose(1, 2).reshape(6, 4, 16) for x in caches]
    table, q = (
        torch.tensor([[4, 1, 0], [2, 5, 3], [0, 0, 0]], dtype=torch.int32),
        tensor(numbers.normal(size=(2, 1, 32))),
    )
    mask = tensor(numbers.integers(0, 2, (2, 1, 12))).bool()
    given: dict[str, Any] = {
        "num_heads": 4, "num_key_value_heads": 2, "block_table": table[:2], "block_size": 4, "softmax_lse_flag": True,
    }  # fmt: skip

    def ours(lengths: list[int], places: slice) -> Any:
        rows = {**given, "block_table": table[:2][places], "atten_mask": mask[places], "actual_seq_lengths_kv": lengths}
        return npu.npu_fused_infer_attention_score(q[places], *caches, **rows)

    together = ours([9, 9], slice(None))
    apart = [ours([9], slice(i, i + 1)) for i in range(2)]
    assert torch.equal(together[0], torch.cat([each[0] for each in apart]))
    assert torch.equal(together[1], torch.cat([each[1] for each in apart]))
    for dtype in (torch.int8, torch.uint8):
        whole = npu.npu_fused_infer_attention_score(
            q, *caches, **given | {"atten_mask": mask.to(dtype)}, actual_seq_lengths_kv=[9, 9]
        )
        assert torch.equal(whole[0], together[0])
    with pytest.raises(RuntimeError, match="atten_mask must be one of bool, int8, uint8, but it is int32"):
        npu.npu_fused_infer_attention_score(
            q, *caches, **given | {"atten_mask": mask.int()}, actual_seq_lengths_kv=[9, 9]
        )
    uneven = ours([9, 5], slice(None))[0]
    assert torch.equal(uneven[:1], apart[0][0]) and not torch.equal(uneven[1:], apart[1][0])
    k, v = (x if folded else x.transpose(1, 2).reshape(6, 4, 16) for x in caches)
    rows = [x[table[1].long()].reshape(12, 2, 8).numpy()[:9].transpose(1, 0, 2)[None] for x in (k, v)]
    expected = attention(q[1].reshape(1, 4, 1, 8).numpy(), *rows, 1.0, ~mask[1].numpy()[:, :9])
    close(together[0][1].reshape(1, 4, 1, 8), expected)


def test_slots_of_a_cache(numbers: np.random.Generator) -> None:
    key = tensor(numbers.normal(size=(3, 2, 4)))
    cache, other = torch.zeros(4, 2, 2, 4, dtype=torch.float64), torch.zeros(4, 2, 2, 4, dtype=torch.float64)
    atb._npu_reshape_and_cache(key, key * 2, cache, other, torch.tensor([5, -1, 0], dtype=torch.int32))
    assert cache[2, 1].equal(key[0]) and cache[0, 0].equal(key[2]) and other[2, 1].equal(key[0] * 2)
    assert cache.count_nonzero() == 16


def test_partial_attentions_join(numbers: np.random.Generator) -> None:
    q, k, v = (numbers.normal(size=(2, 2, s, 4)) for s in (3, 10, 10))
    whole = npu.npu_fusion_attention(tensor(q), tensor(k), tensor(v), 2, "BNSD", scale=0.7)
    parts = [
        npu.npu_fusion_attention(tensor(q), tensor(k[:, :, a:b]), tensor(v[:, :, a:b]), 2, "BNSD", scale=0.7)
        for a, b in ((0, 4), (4, 10))
    ]

    def as_sbh(x: torch.Tensor) -> torch.Tensor:
        return x.permute(2, 0, 1, 3).reshape(3, 2, 8)

    (o1, m1, s1, *_), (o2, m2, s2, *_) = parts
    out, top, total = npu.npu_ring_attention_update(as_sbh(o1), m1, s1, as_sbh(o2), m2, s2)
    close(out, as_sbh(whole[0]).numpy())
    close(top, whole[1].numpy())
    close(total, whole[2].numpy())
    logs = [(m + s.log())[..., 0].reshape(-1) for _, m, s, *_ in parts]
    joined, lse = npu.npu_attention_update(logs, [o.reshape(-1, 4) for o, *_ in parts], 1)
    close(joined, whole[0].reshape(-1, 4).numpy())
    close(lse, (whole[1] + whole[2].log())[..., 0].reshape(-1).numpy())


def test_grouped_products(numbers: np.random.Generator) -> None:
    x, w = numbers.normal(size=(10, 4)), numbers.normal(size=(3, 4, 5))
    (rows,) = npu.npu_grouped_matmul([tensor(x)], [tensor(w)], group_list=[3, 3, 8], split_item=2, group_type=0)
    close(rows, np.concatenate([x[:3] @ w[0], x[3:8] @ w[2], np.zeros((2, 5))]))
    counts = torch.tensor([3, 0, 5])
    (again,) = npu.npu_grouped_matmul(
        [tensor(x)], list(tensor(w)), group_list=counts, split_item=3, group_type=0, group_list_type=1
    )
    assert again.equal(rows)
    g = numbers.normal(size=(10, 5))
    (weights,) = npu.npu_grouped_matmul([tensor(x.T)], [tensor(g)], group_list=[3, 3, 8], split_item=3, group_type=2)
    close(weights, np.stack([x[:3].T @ g[:3], np.zeros((4, 5)), x[3:8].T @ g[3:8]]))
    apart = npu.npu_grouped_matmul([tensor(x), tensor(x)], [tensor(w[0]), tensor(w[1])], group_type=-1)
    close(apart[1], x @ w[1])
    with pytest.raises(RuntimeError, match=r"group_list must not fall, but it is \[3, 2, 8\]"):
        npu.npu_grouped_matmul([tensor(x)], [tensor(w)], group_list=[3, 2, 8], split_item=2, group_type=0)


def test_quantised_products_are_exact(numbers: np.random.Generator) -> None:
    a, b = numbers.integers(-128, 128, (3, 300)), numbers.integers(-128, 128, (300, 4))
    scale, by_row = np.array([0.5, 0.25, 2.0, 1.0]), np.array([1.0, 0.5, 4.0])
    left, right = tensor(a, torch.int8), tensor(b, torch.int8)
    out = npu.npu_quant_matmul(
        left, right, tensor(scale, torch.float32), pertoken_scale=tensor(by_row, torch.float32), output_dtype=6
    )
    close(out, (a @ b) * scale * by_row[:, None])
    packed = npu.npu_trans_quant_param(tensor(scale, torch.float32))
    assert packed.dtype == torch.int64
    close(npu.npu_quant_matmul(left, right, packed, output_dtype=6), (a @ b) * scale)


def test_an_offset_goes_with_the_scale_in_one_number(numbers: np.random.Generator) -> None:
    scale, offset = np.array([0.5, 0.25, 2.0, 1.0]) / 1024, np.array([3.4, -7.6, 300.0, -300.0])
    packed = npu.npu_trans_quant_param(tensor(scale, torch.float32), tensor(offset, torch.float32))
    held = np.array([3, -8, 255, -256])
    bits = scale.astype(np.float32).view(np.uint32).astype(np.int64) & 0xFFFFE000
    assert packed.tolist() == (bits | (1 << 46) | ((held & 0x1FF) << 37)).tolist()
    a, b = numbers.integers(-128, 128, (3, 30)), numbers.integers(-128, 128, (30, 4))
    made = npu.npu_quant_matmul(tensor(a, torch.int8), tensor(b, torch.int8), packed, output_dtype=1)
    assert made.tolist() == np.clip(np.rint((a @ b) * scale + held), -128, 127).tolist()


def test_rows_are_rounded_by_their_largest(numbers: np.random.Generator) -> None:
    x = numbers.normal(size=(4, 8))
    y, scale = npu.npu_dynamic_quant(tensor(x))
    assert y.dtype == torch.int8 and scale.dtype == torch.float32
    close(scale, np.abs(x).max(-1) / 127, 1e-6)
    assert np.abs(y.numpy() * (np.abs(x).max(-1) / 127)[:, None] - x).max() <= np.abs(x).max() / 254 + 1e-9
    y, scale, offset = npu.npu_dynamic_quant_asymmetric(tensor(x))
    assert y.amax(-1).tolist() == [127] * 4 and y.amin(-1).tolist() == [-128] * 4
    assert npu.npu_quantize(tensor([[1.0, 2.6], [-3.5, 90.0]]), tensor([0.5]), None, 1, -1).tolist() == [
        [2, 5],
        [-7, 127],
    ]


def test_four_bits_eight_to_a_word() -> None:
    weight = torch.tensor([[-8, -1, 0, 1, 2, 3, 4, 7]], dtype=torch.int32)
    packed = npu.npu_convert_weight_to_int4pack(weight)
    word = sum((n & 15) << (4 * i) for i, n in enumerate(weight[0].tolist()))
    assert packed.tolist() == [[word - (1 << 32) if word >> 31 else word]]
    out = npu.npu_weight_quant_batchmatmul(torch.ones(2, 1), packed, torch.full((8,), 0.5))
    assert out[0].tolist() == [-4.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.5]


def test_tokens_go_to_their_experts_and_back(numbers: np.random.Generator) -> None:
    x, experts = numbers.normal(size=(5, 4)), np.array([[0, 2], [1, 0], [2, 1], [0, 1], [2, 0]])
    order = np.argsort(experts.ravel(), kind="stable")
    permuted, places = npu.npu_moe_token_permute(tensor(x), tensor(experts))
    close(permuted, x[order // 2])
    assert places.dtype == torch.int32 and places.tolist() == np.argsort(order, kind="stable").tolist()
    probs = numbers.random((5, 2))
    back = npu.npu_moe_token_unpermute(permuted, places, tensor(probs))
    close(back, x * probs.sum(1, keepdims=True))
    few, _ = npu.npu_moe_token_permute(tensor(x), tensor(experts), 7)
    close(few, x[order // 2][:7])
    expanded, rows, counts, _ = npu.npu_moe_init_routing_v2(
        tensor(x), tensor(experts, torch.int32), expert_num=3, expert_tokens_num_type=1, expert_tokens_num_flag=True
    )
    close(expanded, x[order // 2])
    assert rows.tolist() == places.tolist() and counts.tolist() == [4, 3, 3]


def test_gating(numbers: np.random.Generator) -> None:
    x = numbers.normal(size=(4, 8))
    y, chosen, rows = npu.npu_moe_gating_top_k_softmax(tensor(x), None, 2)
    p = softmax(x)
    best = np.argsort(-p, -1, kind="stable")[:, :2]
    assert chosen.tolist() == best.tolist() and rows.tolist() == [[i, i + 4] for i in range(4)]
    close(y, np.take_along_axis(p, best, -1))
    weights, chosen, _ = npu.npu_moe_gating_top_k(
        tensor(x), 2, k_group=2, group_count=4, group_select_mode=1, norm_type=1, routed_scaling_factor=2.5
    )
    s = sigmoid(x)
    groups = s.reshape(4, 4, 2)
    kept = np.argsort(-groups.sum(-1), -1, kind="stable")[:, :2]
    allowed = np.zeros((4, 4, 1), dtype=bool)
    np.put_along_axis(allowed[..., 0], kept, True, -1)
    best = np.argsort(-np.where(allowed, groups, -1).reshape(4, 8), -1, kind="stable")[:, :2]
    assert chosen.tolist() == best.tolist()
    top = np.take_along_axis(s, best, -1)
    close(weights, top / top.sum(-1, keepdims=True) * 2.5)


def test_a_step_of_adamw(numbers: np.random.Generator) -> None:
    p, m, v, g = (numbers.normal(size=6) for _ in range(4))
    v = v * v
    var, first, second = tensor(p), tensor(m), tensor(v)
    npu.npu_apply_adam_w.out(
        0.9, 0.999, 0.1, 0.01, 0.9, 0.999, 1e-8, tensor(g), None, False, False, var=var, m=first, v=second
    )
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    close(first, m)
    close(second, v)
    denominator = np.sqrt(v / (1 - 0.999**2)) + 1e-8
    close(var, p * (1 - 0.1 * 0.01) - 0.1 * m / (1 - 0.9**2) / denominator)


def test_sampling_and_bits() -> None:
    logits = torch.tensor([[1.0, 4.0, 2.0, 3.0]])
    out = npu.npu_top_k_top_p(logits, None, torch.tensor([2], dtype=torch.int32))
    assert out.tolist() == [[-math.inf, 4.0, -math.inf, 3.0]]
    assert npu.npu_top_k_top_p(logits, torch.tensor([0.5]), None).tolist() == [[-math.inf, 4.0, -math.inf, -math.inf]]
    packed = npu.npu_sign_bits_pack(torch.tensor([1.0, -1.0, 0.0, -2.0, -1.0, -1.0, -1.0, 3.0]), 1)
    assert packed.tolist() == [[0b10000101]]
    assert npu.npu_sign_bits_unpack(packed[0], 1, torch.float32).tolist() == [[1, -1, 1, -1, -1, -1, -1, 1]]


@pytest.mark.parametrize("mode", [0, 2, 3])
@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (3, 7), (7, 3), (1, 6)])
def test_attention_in_one_pass_has_the_statistics(
    numbers: np.random.Generator, mode: int, queries: int, keys: int
) -> None:
    if mode == 3 and queries > keys:
        pytest.skip("rows that see nothing have no definition here")
    q, k, v, dy = (numbers.normal(size=(2, n, t, 8)) for n, t in ((4, queries), (2, keys), (2, keys), (4, queries)))
    seen = np.tril(np.ones((queries, keys), dtype=bool), 0 if mode == 2 else keys - queries)
    seen = seen if mode else np.ones_like(seen)
    masked = {"atten_mask": torch.ones(2048, 2048).triu(1).bool(), "sparse_mode": mode} if mode else {}
    given = [tensor(x).requires_grad_() for x in (q, k, v)]
    out, largest, total, *_ = npu.npu_fusion_attention(*given, 4, "BNSD", scale=0.4, **masked)
    s = np.where(seen, np.einsum("bnqd,bnkd->bnqk", q, np.repeat(k, 2, 1)) * 0.4, -np.inf)
    close(out, attention(q, k, v, 0.4, seen))
    close(largest, np.repeat(s.max(-1, keepdims=True), 8, -1))
    close(total, np.repeat(np.exp(s - s.max(-1, keepdims=True)).sum(-1, keepdims=True), 8, -1))
    p, values = softmax(s), np.repeat(v, 2, 1)
    dp = np.einsum("bnqd,bnkd->bnqk", dy, values)
    ds = p * (dp - (p * dp).sum(-1, keepdims=True)) * 0.4
    of_keys = (np.einsum("bnqk,bnqd->bnkd", x, y).reshape(2, 2, 2, keys, 8).sum(2) for x, y in ((ds, q), (p, dy)))
    made = torch.autograd.grad(out, given, tensor(dy))
    for one, other in zip(made, (ds @ np.repeat(k, 2, 1), *of_keys), strict=True):
        close(one, other)


def test_pages_of_equal_lengths(numbers: np.random.Generator) -> None:
    key, value = numbers.normal(size=(6, 4, 2, 8)), numbers.normal(size=(6, 4, 2, 8))
    table, q = np.array([[0, 1], [5, 4], [2, 0]], dtype=np.int32), numbers.normal(size=(3, 4, 8))
    out = torch.zeros(3, 4, 8, dtype=torch.float64)
    lengths = torch.tensor([6, 6, 6], dtype=torch.int32)
    atb._npu_paged_attention(tensor(q), tensor(key), tensor(value), 2, 4, 0.3, tensor(table), lengths, out)
    rows = [x[table].reshape(3, 8, 2, 8)[:, :6].transpose(0, 2, 1, 3) for x in (key, value)]
    close(out, attention(q[:, :, None], *rows, 0.3)[:, :, 0])


def test_of_equal_experts_the_first_is_chosen() -> None:
    x = torch.tensor(
        [[1.0, 3.0, 3.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0], [5.0, 4.0, 4.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0, 5.0]]
    )
    assert npu.npu_moe_gating_top_k(x, 2, norm_type=1)[1].tolist() == [[1, 2], [0, 1], [0, 1], [4, 3]]
    assert npu.npu_moe_gating_top_k(x[3:], 2, norm_type=1)[1].tolist() == [[4, 3]]
    assert npu.npu_moe_gating_top_k(x[3:], 5, norm_type=1)[1].tolist() == [[4, 3, 2, 1, 0]]
