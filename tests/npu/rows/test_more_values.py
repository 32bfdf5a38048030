"""Rows of inference and of 8-bit products against loops and NumPy in double precision."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu, atb = torch.ops.npu, torch.ops.atb


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(21)


def tensor(array: Any, dtype: Any = None) -> torch.Tensor:
    return torch.tensor(np.asarray(array)) if dtype is None else torch.tensor(np.asarray(array), dtype=dtype)


def close(ours: torch.Tensor, theirs: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(ours.detach().to(torch.float64).numpy(), theirs, rtol=tolerance, atol=tolerance)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


def rounded(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows in 8 bits by their largest element, and the scales."""
    scale = np.abs(y).max(-1) / 127
    return np.rint(y / scale[:, None]), scale


def off_by_one_at_most(ours: torch.Tensor, theirs: np.ndarray) -> None:
    """Rounding in float32 and in double may part at ties."""
    apart = np.abs(ours.numpy().astype(int) - theirs)
    assert apart.max() <= 1 and apart.mean() < 0.01


@pytest.mark.parametrize("as_list", [False, True])
def test_gated_grouped_products_in_eight_bits(numbers: np.random.Generator, as_list: bool) -> None:
    x, w = numbers.integers(-128, 128, (9, 6)), numbers.integers(-128, 128, (3, 6, 8))
    by_column, by_row = numbers.random((3, 8)) * 1e-3, numbers.random(9)
    args = tensor(x, torch.int8), tensor(w, torch.int8), tensor(by_column, torch.float32), tensor(by_row, torch.float32)
    if as_list:
        y, scale = npu.npu_grouped_matmul_swiglu_quant_v2(
            args[0], list(args[1]), list(args[2]), args[3], tensor([2, 0, 5]), group_list_type=1
        )
    else:
        y, scale, offset = npu.npu_grouped_matmul_swiglu_quant(args[0], args[1], tensor([2, 2, 7]), args[2], args[3])
        assert offset.shape == ()
    for group, rows in ((0, slice(0, 2)), (2, slice(2, 7))):
        product = (x[rows] @ w[group]) * by_column[group] * by_row[rows, None]
        values, scales = rounded(silu(product[:, :4]) * product[:, 4:])
        off_by_one_at_most(y[rows], values)
        close(scale[rows], scales, 1e-5)
    assert y[7:].count_nonzero() == 0 and scale[7:].tolist() == [0.0, 0.0]


def test_scaled_gates_in_eight_bits(numbers: np.random.Generator) -> None:
    x, by_column, by_row = numbers.integers(-99, 99, (5, 8)), numbers.random((2, 8)), numbers.random(5)
    bias = numbers.integers(-9, 9, (2, 8))
    group = np.repeat([0, 1], [2, 3])
    plain = (x + bias[group]) * by_column[group] * by_row[:, None]
    given = {
        "weight_scale": tensor(by_column), "activation_scale": tensor(by_row), "bias": tensor(bias, torch.int32),
        "group_index": tensor([2, 3]),
    }  # fmt: skip
    y, scale = npu.npu_dequant_swiglu_quant(tensor(x, torch.int32), quant_mode=1, activate_left=True, **given)
    values, scales = rounded(silu(plain[:, :4]) * plain[:, 4:])
    off_by_one_at_most(y, values)
    close(scale, scales, 1e-5)
    y, _ = npu.npu_dequant_swiglu_quant(tensor(x, torch.int32), quant_mode=1, **given)
    off_by_one_at_most(y, rounded(silu(plain[:, 4:]) * plain[:, :4])[0])
    x = numbers.normal(size=(5, 8)) * 9
    y, _ = npu.npu_dequant_swiglu_quant(
        tensor(x), quant_scale=tensor([0.5]), quant_offset=tensor([3.0]), swiglu_mode=1, clamp_limit=4.0
    )
    active, other = np.minimum(x[:, ::2], 4), np.clip(x[:, 1::2], -4, 4)
    gated = active / (1 + np.exp(-1.702 * active)) * (other + 1)
    off_by_one_at_most(y, np.clip(np.rint(gated / 0.5 + 3), -128, 127))


def test_rows_rounded_before_a_grouped_product(numbers: np.random.Generator) -> None:
    x, w, scale = numbers.normal(size=(6, 8)), numbers.integers(-128, 128, (2, 5, 8)), numbers.random((2, 5))
    out = npu.npu_quant_grouped_matmul_dequant(tensor(x), tensor(w, torch.int8), tensor(scale), tensor([4, 6]))
    values, by_row = rounded(x)
    expected = np.concatenate([values[:4] @ w[0].T * scale[0], values[4:] @ w[1].T * scale[1]]) * by_row[:, None]
    close(out, expected, 1e-5)


def test_products_added_in_place(numbers: np.random.Generator) -> None:
    a, b = numbers.integers(-9, 9, (4, 6)), numbers.integers(-9, 9, (6, 5))
    total = torch.ones(4, 5)
    npu.npu_add_quant_matmul_(
        total, tensor(a, torch.int8), tensor(b, torch.int8), tensor([0.5]), x1_scale=tensor([2.0])
    )
    close(total, a @ b + 1.0)
    total = torch.ones(2, 4, 5)
    scales = tensor(numbers.random((2, 5)))
    npu.npu_add_quant_gmm_(total, tensor(a, torch.int8), tensor(b, torch.int8), scales, tensor([2, 6]))
    for group, rows in ((0, slice(0, 2)), (1, slice(2, 6))):
        close(total[group], a[:, rows] @ b[rows] * scales[group].numpy() + 1, 1e-5)
    C = torch.ones(6, 5)
    atb._npu_matmul_add_fp32(tensor(a.T, torch.float16).T.contiguous(), torch.ones(4, 5, dtype=torch.float16), C)
    close(C, a.T @ np.ones((4, 5)) + 1)


def test_batches_between_permutations(numbers: np.random.Generator) -> None:
    a, b = numbers.integers(-9, 9, (3, 2, 6)), numbers.integers(-9, 9, (2, 6, 5))
    by_row, by_column = numbers.random(3), numbers.random(5)
    out = npu.npu_transpose_quant_batchmatmul(
        tensor(a, torch.int8), tensor(b, torch.int8), 6, x1_scale=tensor(by_row), x2_scale=tensor(by_column),
        perm_x1=[1, 0, 2], perm_y=[1, 0, 2],
    )  # fmt: skip
    expected = np.einsum("mbk,bkn->mbn", a, b) * by_row[:, None, None] * by_column
    assert out.dtype == torch.float32
    close(out, expected, 1e-5)


def test_batches_and_rows_change_places_unless_told(numbers: np.random.Generator) -> None:
    a, b = numbers.normal(size=(2, 3, 6)), numbers.normal(size=(2, 6, 5))
    out = npu.npu_transpose_batchmatmul(tensor(a), tensor(b))
    close(out, np.einsum("bmk,bkn->mbn", a, b), 1e-6)
    x, y = numbers.integers(-9, 9, (3, 2, 6)), numbers.integers(-9, 9, (2, 6, 5))
    out = npu.npu_transpose_quant_batchmatmul(tensor(x, torch.int8), tensor(y, torch.int8), 6)
    close(out, np.einsum("mbk,bkn->mbn", x, y), 1e-5)


def test_products_from_both_sides_in_four_bits(numbers: np.random.Generator) -> None:
    x, left, right = (numbers.normal(size=size) for size in ((2, 4, 8), (4, 4), (8, 8)))
    packed, scale = npu.npu_kronecker_quant(tensor(x), tensor(left), tensor(right), 0.9)
    y = left @ x @ right
    by = np.abs(y).max((1, 2)) / (7 * 0.9)
    close(scale, by, 1e-6)
    words = packed.numpy().astype(np.int64)
    nibbles = (words[..., None] >> np.arange(0, 32, 4)) & 15
    values = np.where(nibbles > 7, nibbles - 16, nibbles).reshape(2, 4, 8)
    assert values.tolist() == np.clip(np.rint(y / by[:, None, None]), -8, 7).tolist()
    with pytest.raises(NotImplementedError, match="not documented"):
        npu.npu_matmul_compress_dequant(tensor(x), tensor(x), tensor(x), tensor(x), tensor(x))


@pytest.mark.parametrize("mode", ["Norm", "PA", "PA_BLK_BNSD", "PA_NZ"])
def test_norm_rotation_and_cache(numbers: np.random.Generator, mode: str) -> None:
    kv, gamma, angle = numbers.normal(size=(2, 1, 5, 48)), numbers.normal(size=32), numbers.normal(size=(2, 1, 5, 16))
    cos, sin = np.cos(angle), np.sin(angle)
    if mode == "Norm":
        caches = [torch.zeros(2, 1, 7, width, dtype=torch.float64) for width in (16, 32)]
        index = np.array([[3, 4, 0, -1, 6], [0, 1, 2, 3, 4]])
    else:
        caches = [torch.zeros(4, 4, 1, width, dtype=torch.float64) for width in (16, 32)]
        index = np.array([4, 12, 0, 8]) if "BLK" in mode else np.array([3, 4, 0, -1, 6, 8, 9, 10, 11, 12])
    *_, k, c = npu.npu_kv_rmsnorm_rope_cache(
        tensor(kv), tensor(gamma), tensor(cos), tensor(sin), tensor(index), *caches, cache_mode=mode, is_output_kv=True
    )
    plain = kv[..., :32] / np.sqrt((kv[..., :32] ** 2).mean(-1, keepdims=True) + 1e-5) * gamma
    halves = np.concatenate([kv[..., 32::2], kv[..., 33::2]], -1)
    turned = halves * cos + np.concatenate([-halves[..., 8:], halves[..., :8]], -1) * sin
    close(k, turned)
    close(c, plain)
    for cache, rows in zip(caches, (turned, plain), strict=True):
        width = rows.shape[-1]
        expected = np.zeros(cache.shape)
        flat = expected.reshape(2, 7, width) if mode == "Norm" else expected.reshape(16, width)
        for b in range(2):
            for t in range(5):
                if mode == "Norm":
                    if index[b, t] >= 0:
                        flat[b, index[b, t]] = rows[b, 0, t]
                    continue
                slot = index[2 * b + t // 4] + t % 4 if "BLK" in mode else index[5 * b + t]
                if slot < 0:
                    continue
                if mode == "PA_NZ":
                    expected.reshape(4, width // 16, 4, 16)[slot // 4, :, slot % 4] = rows[b, 0, t].reshape(-1, 16)
                else:
                    flat[slot] = rows[b, 0, t]
        close(cache, expected)


def test_the_way_of_tokens_to_latent_attention(numbers: np.random.Generator) -> None:
    x, dq, dkv = numbers.normal(size=(3, 8)), numbers.normal(size=(8, 6)), numbers.normal(size=(8, 20))
    uq, uk = numbers.normal(size=(6, 2 * (5 + 4))), numbers.normal(size=(2, 5, 16))
    gammas, angle = (numbers.normal(size=6), numbers.normal(size=16)), numbers.normal(size=(3, 4))
    caches = [torch.zeros(2, 4, 1, width, dtype=torch.float64) for width in (16, 4)]
    given = [tensor(each) for each in (x, dq, uq, uk, dkv, *gammas, np.sin(angle), np.cos(angle))]
    slots = tensor([5, 0, 2])
    query, query_turned, kv, kr, _ = npu.npu_mla_prolog_v2(*given, slots, *caches)

    def norm(y: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        return y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) * gamma

    def turn(y: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
        halves = np.concatenate([y[..., ::2], y[..., 1::2]], -1)
        return halves * cos + np.concatenate([-halves[..., 2:], halves[..., :2]], -1) * sin

    both = (norm(x @ dq, gammas[0]) @ uq).reshape(3, 2, 9)
    cos, sin = np.cos(angle), np.sin(angle)
    close(query, np.einsum("tnd,ndh->tnh", both[..., :5], uk))
    close(query_turned, turn(both[..., 5:], cos[:, None], sin[:, None]))
    low = x @ dkv
    for cache, rows in ((kv, norm(low[:, :16], gammas[1])), (kr, turn(low[:, 16:], cos, sin))):
        expected = np.zeros((8, rows.shape[1]))
        expected[[5, 0, 2]] = rows
        close(cache.reshape(8, -1), expected)
    again = [torch.zeros_like(cache) for cache in caches]
    newer, _, _, normalised, _ = npu.npu_mla_prolog_v3(*given, *again, cache_index=slots, query_norm_flag=True)
    assert newer.equal(query) and again[0].equal(kv) and again[1].equal(kr)
    close(normalised, norm(x @ dq, gammas[0]))


def test_the_delta_rule_token_by_token(numbers: np.random.Generator) -> None:
    lengths = [70, 130]
    q, k = (numbers.normal(size=(200, 2, 8)) / 3 for _ in range(2))
    v, beta, g = numbers.normal(size=(200, 4, 6)), numbers.random((200, 4)), -numbers.random((200, 4)) / 5
    state = numbers.normal(size=(2, 4, 6, 8))
    out, last = npu.npu_chunk_gated_delta_rule(
        *map(tensor, (q, k, v)), beta=tensor(beta), initial_state=tensor(state), scale=0.4, g=tensor(g),
        actual_seq_lengths=tensor(lengths, torch.int32),
    )  # fmt: skip
    expected, start = np.empty_like(v), 0
    for b, length in enumerate(lengths):
        for t in range(start, start + length):
            for n in range(4):
                S, key = np.exp(g[t, n]) * state[b, n], k[t, n // 2]
                state[b, n] = S + beta[t, n] * np.outer(v[t, n] - S @ key, key)
                expected[t, n] = state[b, n] @ q[t, n // 2] * 0.4
        start += length
    close(out, expected, 1e-9)
    close(last, state, 1e-9)


def test_packed_prompts_and_mixed_batches(numbers: np.random.Generator) -> None:
    lengths, heads = [3, 5], 4
    q, k, v = (numbers.normal(size=(8, n, 8)) for n in (heads, 2, 2))
    causal = np.triu(np.full((16, 16), -1e4), 1)

    def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, shift: Any) -> np.ndarray:
        s = np.einsum("qnd,knd->nqk", q, k.repeat(heads // k.shape[1], 1)) * 0.3 + shift
        e = np.exp(s - s.max(-1, keepdims=True))
        return np.einsum("nqk,knd->qnd", e / e.sum(-1, keepdims=True), v.repeat(heads // v.shape[1], 1))

    sizes = torch.tensor(lengths, dtype=torch.int32)
    spans = [slice(0, 3), slice(3, 8)]
    out = torch.zeros(8, heads, 8, dtype=torch.float64)
    atb._npu_flash_attention_unpad(*map(tensor, (q, k, v)), sizes, 0.3, heads, 2, out)
    close(out, np.concatenate([attended(q[a], k[a], v[a], 0) for a in spans]))
    blocks = causal.reshape(16, 1, 16).transpose(1, 0, 2)[None]
    atb._npu_flash_attention_v3(*map(tensor, (q, k, v)), tensor(blocks), sizes, 0.3, heads, 2, out=out)
    close(
        out, np.concatenate([attended(q[a], k[a], v[a], causal[: a.stop - a.start, : a.stop - a.start]) for a in spans])
    )
    caches, table = numbers.normal(size=(2, 6, 4, 2, 8)), np.array([[0, 1, 0], [3, 5, 2]])
    context = [6, 9]
    for name in ("_npu_paged_attention_splitfuse", "_npu_paged_attention_splitfuse_v2"):
        getattr(atb, name)(
            tensor(q), *map(tensor, caches), tensor(table, torch.int32), torch.tensor(context, dtype=torch.int32),
            tensor(causal), sizes, 2, heads, 0.3, out=out,
        )  # fmt: skip
        expected = []
        for i, (a, length) in enumerate(zip(spans, context, strict=True)):
            rows = [cache[table[i]].reshape(12, 2, 8)[:length] for cache in caches]
            expected.append(attended(q[a], *rows, causal[length - (a.stop - a.start) : length, :length]))
        close(out, np.concatenate(expected))


def test_inference_into_the_callers_tensors() -> None:
    q, k = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    wanted, lse = npu.npu_fused_infer_attention_score(q, k, k, num_heads=2, scale=0.5, softmax_lse_flag=True)
    out, logs = torch.empty_like(wanted), torch.empty_like(lse)
    workspace = npu._npu_fused_infer_attention_score_get_max_workspace(q, k, k, num_heads=2)
    made = npu.npu_fused_infer_attention_score.out(
        q, k, k, num_heads=2, scale=0.5, softmax_lse_flag=True, workspace=workspace, attention_out=out, softmax_lse=logs
    )
    assert made[0] is out and out.equal(wanted) and logs.equal(lse)
    with pytest.raises(RuntimeError, match="attention_out must have 48 elements"):
        npu.npu_fused_infer_attention_score_v2.out(
            q, k, k, num_query_heads=2, attention_out=torch.empty(3), softmax_lse=torch.empty(0)
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_packing_without_loss(dtype: Any) -> None:
    x = torch.randn(7, 9).to(dtype)
    x[0, :3] = torch.tensor([float("nan"), float("inf"), -0.0])
    size, count = x.element_size(), x.numel()
    pdf = torch.zeros(256, dtype=torch.int32)
    mantissa = torch.zeros(-(-count * (size - 1) // size), dtype=dtype)
    fixed, var = torch.zeros(20, dtype=dtype), torch.zeros(count, dtype=dtype)
    npu.npu_hans_encode.out(x, True, False, pdf=pdf, mantissa=mantissa, fixed=fixed, var=var)
    assert pdf.sum() == count
    back = npu.npu_hans_decode.out(mantissa, fixed, var, pdf, False, out=torch.empty_like(x))
    assert back.view(torch.uint8).equal(x.view(torch.uint8))
    with pytest.raises(RuntimeError, match="out must have the 63 numbers that were packed, but it has 4"):
        npu.npu_hans_decode.out(mantissa, fixed, var, pdf, False, out=torch.empty(4, dtype=dtype))


def test_a_step_of_adam(numbers: np.random.Generator) -> None:
    g, w = numbers.normal(size=4), numbers.normal(size=4)
    var, m, v = tensor(w), torch.zeros(4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64)
    npu.npu_apply_adam.out(0.9, 0.999, 0.1, 0.9, 0.999, 1e-8, tensor(g), False, False, var=var, m=m, v=v)
    parameter = torch.tensor(w, requires_grad=True)
    parameter.grad = tensor(g)
    torch.optim.Adam([parameter], lr=0.1).step()
    close(var, parameter.detach().numpy(), 1e-6)
    close(m, 0.1 * g)
    close(v, 0.001 * g * g)


def test_a_step_of_berts_adam(numbers: np.random.Generator) -> None:
    g, w, m0 = (numbers.normal(size=4) for _ in range(3))
    v0 = numbers.uniform(size=4)
    for limit, share in ((-1.0, 1.0), (0.5, 0.25), (3.0, 1.0)):
        var, m, v = tensor(w), tensor(m0), tensor(v0)
        found = npu.npu_bert_apply_adam.out(0.1, 0.9, 0.99, 1e-6, tensor(g), limit, 2.0, 0.01, var=var, m=m, v=v)
        first, second = 0.9 * m0 + 0.1 * g * share, 0.99 * v0 + 0.01 * (g * share) ** 2
        close(m, first)
        close(v, second)
        close(var, w - 0.1 * (first / (np.sqrt(second) + 1e-6) + 0.01 * w))
        assert found[0] is var
    with pytest.raises(RuntimeError, match="adam_mode 0 without step_size is known, but they are 1 and None"):
        npu.npu_bert_apply_adam.out(0.1, 0.9, 0.99, 1e-6, tensor(g), -1, 0, 0, adam_mode=1, var=var, m=m, v=v)


@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_attention_in_two_parts_of_its_heads(numbers: np.random.Generator, layout: str) -> None:
    whole = [numbers.normal(size=(6, 2, 6)) for _ in range(2)]
    v = numbers.normal(size=(6, 2, 4))
    q, k = (tensor(x if layout == "TND" else x.transpose(1, 0, 2)[None]) for x in whole)
    value = tensor(v if layout == "TND" else v.transpose(1, 0, 2)[None])
    lengths = {"actual_seq_qlen": [6], "actual_seq_kvlen": [6]} if layout == "TND" else {}
    made = npu.npu_fusion_attention_v2(
        q[..., :4], k[..., :4], value, 2, layout, query_rope=q[..., 4:], key_rope=k[..., 4:], scale=0.4, **lengths
    )
    assert made[0].equal(npu.npu_fusion_attention(q, k, value, 2, layout, scale=0.4, **lengths)[0])
    s = np.einsum("qnd,knd->nqk", *whole) * 0.4
    e = np.exp(s - s.max(-1, keepdims=True))
    expected = np.einsum("nqk,knd->qnd", e / e.sum(-1, keepdims=True), v)
    close(made[0], expected if layout == "TND" else expected.transpose(1, 0, 2)[None])


def test_a_mask_of_dropout_is_the_one_that_attention_draws(numbers: np.random.Generator) -> None:
    q = tensor(numbers.normal(size=(1, 2, 6, 4)))
    mask = npu._npu_dropout_gen_mask(q, [1, 2, 6, 6], 0.4, 77, 0)
    assert mask.dtype == torch.uint8 and mask.numel() == 16
    ours = npu.npu_fusion_attention(q, q, q, 2, "BNSD", keep_prob=0.6, dropout_mask=mask, seed=77)[0]
    assert ours.equal(npu.npu_fusion_attention(q, q, q, 2, "BNSD", keep_prob=0.6, seed=77)[0])
    full = npu._npu_dropout_gen_mask(q, [17, 19], 0.0, 1, 0)
    assert full.numel() == 48 and full[:40].tolist() == [255] * 40 and full[40:].tolist() == [7] + [0] * 7


def test_rows_beyond_what_experts_have_room_for(numbers: np.random.Generator) -> None:
    x, experts = numbers.normal(size=(6, 3)), numbers.integers(0, 4, (6, 2))
    out, places, counts, _ = npu.npu_moe_init_routing_v2(
        tensor(x), tensor(experts, torch.int32), expert_num=4, expert_capacity=2, drop_pad_mode=1,
        expert_tokens_num_type=1, expert_tokens_num_flag=True,
    )  # fmt: skip
    expected, slots, held = np.zeros((4, 2, 3)), [-1] * 12, [0] * 4
    for place, expert in enumerate(experts.flatten()):
        if held[expert] < 2:
            expected[expert, held[expert]] = x[place // 2]
            slots[place] = expert * 2 + held[expert]
        held[expert] += 1
    assert out.numpy().tolist() == expected.tolist() and places.tolist() == slots and counts.tolist() == held
    _, order, _, _ = npu.npu_moe_init_routing_v2(
        tensor(x), tensor(experts, torch.int32), expert_num=4, active_expert_range=[1, 3], row_idx_type=1
    )
    keys = [9 if e < 1 else e for e in experts.flatten()]
    assert order.tolist() == sorted(range(12), key=lambda i: keys[i])


def test_a_convolution_that_reads_where_it_is_told(numbers: np.random.Generator) -> None:
    x, w, bias = numbers.normal(size=(1, 4, 5, 6)), numbers.normal(size=(2, 4, 3, 3)), numbers.normal(size=2)
    offset = numbers.normal(size=(1, 3, 2, 3, 3, 3, 3))  # columns, rows, factors; groups; kernel; results
    out, read = npu.npu_deformable_conv2d(
        tensor(x), tensor(w), tensor(offset.reshape(1, 54, 3, 3)), tensor(bias), [3, 3], [1, 1, 2, 2], [1, 1, 1, 1],
        deformable_groups=2,
    )  # fmt: skip
    assert read.shape == (1, 4, 9, 9)

    def at(c: int, row: float, column: float) -> float:
        total, top, left = 0.0, int(np.floor(row)), int(np.floor(column))
        for i in (top, top + 1):
            for j in (left, left + 1):
                if 0 <= i < 5 and 0 <= j < 6:
                    total += x[0, c, i, j] * (1 - abs(row - i)) * (1 - abs(column - j))
        return total

    expected = np.zeros((2, 3, 3)) + bias[:, None, None]
    for i, j, c, a, b in np.ndindex(3, 3, 4, 3, 3):
        column, row, factor = offset[0, :, c // 2, a, b, i, j]
        value = at(c, 2 * i - 1 + a + row, 2 * j - 1 + b + column) * factor
        assert abs(read[0, c, 3 * i + a, 3 * j + b].item() - value) < 1e-9
        expected[:, i, j] += w[:, c, a, b] * value
    close(out[0], expected)
    plain = torch.zeros(1, 54, 3, 3, dtype=torch.float64)
    plain[:, 36:] = 1
    same = npu.npu_deformable_conv2d(
        tensor(x), tensor(w), plain, None, [3, 3], [1, 1, 2, 2], [1, 1, 1, 1], deformable_groups=2
    )[0]
    close(same, npu.npu_conv2d(tensor(x), tensor(w), None, [2, 2], [1, 1], [1, 1], 1).numpy())
    with pytest.raises(RuntimeError, match="offset must have 54 channels"):
        npu.npu_deformable_conv2d(
            tensor(x), tensor(w), plain[:, 1:], None, [3, 3], [1, 1, 2, 2], [1, 1, 1, 1], deformable_groups=2
        )


def test_angles_in_turns(numbers: np.random.Generator) -> None:
    cache, positions = numbers.normal(size=(20, 24)), numbers.integers(0, 20, (3, 4))
    q = numbers.normal(size=(4, 2 * 32))
    out, _ = npu.npu_mrope(
        tensor(positions), tensor(q), tensor(q), tensor(cache), 32, mrope_section=[6, 3, 3], cache_mode="interleave"
    )
    expected = q.reshape(4, 2, 32).copy()
    for t in range(4):
        rows = [i % 3 if i < 9 else 0 for i in range(12)]
        cos, sin = (np.array([cache[positions[r, t], half + i] for i, r in enumerate(rows)]) for half in (0, 12))
        a, b = expected[t, :, :12].copy(), expected[t, :, 12:24].copy()
        expected[t, :, :12], expected[t, :, 12:24] = a * cos - b * sin, b * cos + a * sin
    close(out, expected.reshape(4, 64))


def test_rows_of_no_expert_are_left_out() -> None:
    x, experts = torch.arange(8.0).reshape(4, 2), torch.tensor([[1, -1], [0, 2], [-1, 1], [2, 0]], dtype=torch.int32)
    out, places, counts, _ = npu.npu_moe_init_routing_v2(
        x, experts, expert_num=3, expert_tokens_num_flag=True, expert_tokens_num_type=1
    )
    assert out[:, 0].tolist() == [2, 6, 0, 4, 2, 6, 0, 0] and counts.tolist() == [2, 2, 2]
    assert places.tolist() == [2, -1, 0, 4, -1, 3, 5, 1]


@pytest.mark.parametrize(("active_num", "room"), [(-1, 8), (3, 3), (5, 5), (20, 8)])
@pytest.mark.parametrize("quant_mode", [-1, 0, 1])
def test_results_have_the_sizes_that_meta_tensors_say(active_num: int, room: int, quant_mode: int) -> None:
    x, experts = torch.arange(12.0).reshape(4, 3) + 1, torch.tensor([[1, 3], [0, 2], [3, 1], [2, 0]], dtype=torch.int32)
    options: dict[str, Any] = {"expert_num": 4, "active_num": active_num, "quant_mode": quant_mode}
    scale = {-1: torch.tensor([1.0, 2.0, 3.0, 4.0]), 0: torch.tensor([2.0]), 1: None}[quant_mode]
    options |= {
        "active_expert_range": [1, 3],
        "scale": scale,
        "offset": torch.tensor([0.0]) if quant_mode == 0 else None,
    }
    out, _, _, scales = npu.npu_moe_init_routing_v2(x, experts, **options)
    moved = {name: each.to("meta") if isinstance(each, torch.Tensor) else each for name, each in options.items()}
    there = npu.npu_moe_init_routing_v2(x.to("meta"), experts.to("meta"), **moved)
    assert out.shape == there[0].shape == (room, 3) and scales.shape == there[3].shape == (
        (0,) if quant_mode == 0 else (room,)
    )
    assert out[:, 0].ne(0).tolist() == [place < 4 for place in range(room)]
    assert quant_mode == 0 or scales.ne(0).tolist() == [place < 4 for place in range(room)]


def test_single_queries_have_no_lengths(numbers: np.random.Generator) -> None:
    """`actual_seq_lengths` of a decoding step says nothing, whatever it is: those of the keys count."""
    q, k = tensor(numbers.standard_normal((2, 2, 1, 4))), tensor(numbers.standard_normal((2, 2, 6, 4)))
    wanted, _ = npu.npu_fused_infer_attention_score(q, k, k, num_heads=2, input_layout="BNSD")
    for lengths in ([100], [0, 7]):
        made, _ = npu.npu_fused_infer_attention_score(
            q, k, k, num_heads=2, input_layout="BNSD", actual_seq_lengths=lengths
        )
        assert torch.equal(made, wanted)


def test_products_and_roundings_to_eight_bits() -> None:
    x = torch.tensor([[1.06, -700.0, 2.0], [0.3, 5.1, -3.0]])
    made = npu.npu_quantize(x, torch.tensor([2.0]), None, 24, -1, False)
    assert made.dtype == torch.float8_e4m3fn and made.float().tolist() == [[2.0, -448.0, 4.0], [0.625, 10.0, -6.0]]
    rows, columns = made[:, [0, 2]], torch.tensor([[1.0, 0.5], [2.0, -1.5]]).to(torch.float8_e5m2)
    product = npu.npu_quant_matmul(rows, columns, torch.tensor([2.0, 4.0]), output_dtype=torch.float32)
    assert product.tolist() == [[20.0, -20.0], [-22.75, 37.25]]
    with pytest.raises(
        RuntimeError, match="a product of float8 numbers takes output_dtype float16 or bfloat16, but it is int8"
    ):
        npu.npu_quant_matmul(rows, columns, torch.tensor([2.0, 4.0]))
    with pytest.raises(RuntimeError, match="x2 must be one of float8_e4m3fn, float8_e5m2, but it is int8"):
        npu.npu_quant_matmul(rows, columns.to(torch.int8), torch.ones(2), output_dtype=torch.float16)


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_what_experts_made_is_gathered_without_the_rows_that_were_dropped(mode: int) -> None:
    experts, capacity, width, rows, k = 3, 4, 5, 3, 2
    values, skip = torch.randn(experts, capacity, width).double(), torch.randn(rows, width).double()
    bias, scales = torch.randn(experts, width).double(), torch.rand(rows, k).double()
    places = torch.tensor([[4, 11], [7, 2], [0, 9]])
    if mode in (1, 3):
        places[1, 0] = -1
    chosen = torch.tensor([[1, 2], [1, 0], [0, 2]])
    given = places.t() if mode in (0, 1) else places
    flat = values.reshape(-1, width)
    of_row = values if mode in (1, 3) else flat
    made = npu.npu_moe_finalize_routing(of_row, skip, None, bias, scales, given.flatten().int(), chosen.int(), mode)
    row = torch.where(places.unsqueeze(-1) < 0, 0, flat[places.clamp(min=0)])
    torch.testing.assert_close(made, skip + (scales.unsqueeze(-1) * (row + bias[chosen])).sum(1))


@pytest.mark.parametrize(("dtype", "most"), [(1, 127.0), (291, 57344.0), (292, 448.0)])
def test_blocks_are_rounded_by_their_largest_element(numbers: np.random.Generator, dtype: int, most: float) -> None:
    x = numbers.normal(size=(5, 200)) * np.exp(numbers.normal(size=(5, 1)) * 3)
    y, scale = npu.npu_dynamic_block_quant(tensor(x), dst_type=dtype, row_block_size=2)
    assert scale.shape == (3, 2) and y.shape == (5, 200)
    for i, rows in enumerate((slice(0, 2), slice(2, 4), slice(4, 5))):
        for j, columns in enumerate((slice(0, 128), slice(128, 200))):
            block = x[rows, columns]
            assert scale[i, j].item() == pytest.approx(np.abs(block).max() / most, rel=1e-5)
            back = y[rows, columns].float().numpy() * scale[i, j].item()
            step = np.abs(block).max() / most / 2 if dtype == 1 else np.abs(block) * 2.0 ** (-4 if dtype == 292 else -3)
            assert (np.abs(back - block) <= step * 1.01 + np.abs(block).max() * 2.0**-9 / 448).all()


def test_updates_go_into_their_batches_from_their_places_on(numbers: np.random.Generator) -> None:
    data, updates = numbers.normal(size=(3, 2, 6, 4)), numbers.normal(size=(2, 2, 2, 4))
    expected = data.copy()
    expected[0, :, 3:5], expected[1, :, 0:2] = updates
    before = tensor(data)
    close(npu.scatter_update(before, torch.tensor([3, 0]), tensor(updates), -2), expected)
    close(before, data)
    close(npu.scatter_update_(before, torch.tensor([3, 0]), tensor(updates), 2), expected)
    close(before, expected)
    expected = data.copy()
    expected[2, :, 1:3], expected[0, :, 4:6] = updates
    close(npu.scatter_update(tensor(data), torch.tensor([[2, 1], [0, 4]]), tensor(updates), -2), expected)
    for axis, indices, message in (
        (0, [0, 1], "axis must not be the first"),
        (2, [0], "there are 1 indices, but updates of 2"),
    ):
        with pytest.raises(RuntimeError, match=message):
            npu.scatter_update(tensor(data), torch.tensor(indices), tensor(updates), axis)


def test_updates_are_rounded_to_eight_bits_on_their_way(numbers: np.random.Generator) -> None:
    cache, updates, scales = (
        torch.zeros(2, 5, 4, dtype=torch.int8),
        numbers.normal(size=(2, 1, 4)) * 9,
        numbers.random(4) + 0.1,
    )
    shift = np.array([1.0, 0.0, -2.0, 3.0])
    made = npu.npu_quant_scatter(cache, torch.tensor([4, 1]), tensor(updates), tensor(scales), tensor(shift))
    rounded = np.clip(np.rint(updates / scales + shift), -128, 127)[:, 0]
    assert made[0, 4].tolist() == rounded[0].tolist() and made[1, 1].tolist() == rounded[1].tolist()
    assert made.count_nonzero() <= 8 and cache.count_nonzero() == 0
    npu.npu_quant_scatter_(cache, torch.tensor([4, 1]), tensor(updates), tensor(scales), tensor(shift))
    assert torch.equal(cache, made)
    with pytest.raises(RuntimeError, match="quant_axis must be the last one, not 1"):
        npu.npu_quant_scatter(cache, torch.tensor([4, 1]), tensor(updates), tensor(scales), None, -2, 1)


def test_products_of_four_bits_have_a_scale_for_each_group_of_rows(numbers: np.random.Generator) -> None:
    x, w = numbers.integers(-128, 128, (3, 16)), numbers.integers(-8, 8, (16, 8))
    scale, offset, by_row = numbers.random((4, 8)), numbers.normal(size=8), numbers.random(3)
    packed = npu.npu_convert_weight_to_int4pack(tensor(w, torch.int32))
    expected = ((x - 8) @ (w * np.repeat(scale, 4, 0)) + offset) * by_row[:, None]
    given = {"offset": tensor(offset), "pertoken_scale": tensor(by_row).reshape(3, 1), "output_dtype": torch.float16}
    made = npu.npu_quant_matmul(tensor(x, torch.int8), packed, tensor(scale), **given, group_sizes=[0, 0, 4])
    np.testing.assert_allclose(made.double().numpy(), expected, rtol=2e-3, atol=2e-2)
    with pytest.raises(RuntimeError, match=r"rows a divisor of the 16 rows of x2, but they are \[0, 0, 5\]"):
        npu.npu_quant_matmul(tensor(x, torch.int8), packed, tensor(scale), **given, group_sizes=[0, 0, 5])
