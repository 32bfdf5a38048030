"""Rows of torch_npu's newer operators beside their documents' definitions, written out in NumPy in double precision."""

import math
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu
_FOUR = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])


def _x(*sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).normal(size=sizes))


def _bytes(*sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).integers(-128, 128, sizes), dtype=torch.int8)


def _close(found: torch.Tensor, expected: Any, within: float = 1e-6) -> None:
    expected = np.asarray(expected, dtype=np.float64)
    assert tuple(found.shape) == expected.shape
    np.testing.assert_allclose(
        found.detach().double().numpy(), expected, rtol=within, atol=within * np.abs(expected).max()
    )


def _rounded(y: np.ndarray) -> np.ndarray:
    return np.clip(np.rint(y), -128, 127)


def _normal(x: np.ndarray, gamma: np.ndarray, epsilon: float = 1e-6) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gamma


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _halves(data: np.ndarray) -> np.ndarray:
    """The numbers of two of float4_e2m1 in each byte."""
    codes = np.stack([data & 15, data >> 4], -1).reshape(data.shape[0], -1)
    return np.where(codes >= 8, -1.0, 1.0) * _FOUR[codes & 7]


# ---- norms and activations, rounded ----


def test_norms_are_rounded() -> None:
    x, gamma, beta = _x(5, 16), _x(16, seed=1), _x(16, seed=2)
    y = _normal(x.numpy(), gamma.numpy()) + beta.numpy()
    made = npu.npu_rms_norm_quant(x, gamma, beta, torch.tensor([20.0]), torch.tensor([3], dtype=torch.int8))
    assert made.dtype == torch.int8
    _close(made, _rounded(y * 20 + 3))
    scales = _x(16, seed=3).abs() + 0.1
    made, rstd = npu.npu_rms_norm_quant_v2(x, gamma, scales, beta=beta)
    _close(made, _rounded(y / scales.numpy()))
    assert rstd.shape == (0,)
    made, rstd = npu.npu_rms_norm_quant_v2(x.requires_grad_(), gamma, scales, div_mode=False)
    _close(made, _rounded(_normal(x.detach().numpy(), gamma.numpy()) * scales.numpy()))
    _close(rstd, 1 / np.sqrt((x.detach().numpy() ** 2).mean(-1, keepdims=True) + 1e-6))


def test_a_norm_in_both_dtypes() -> None:
    x1, x2, gamma = (_x(*sizes, seed=i).half() for i, sizes in enumerate([(3, 8), (3, 8), (8,)]))
    long, short, _, total = npu.npu_add_rms_norm_cast(x1, x2, gamma)
    assert (long.dtype, short.dtype, total.dtype) == (torch.float32, torch.float16, torch.float16)
    _close(short, _normal(x1.double().numpy() + x2.double().numpy(), gamma.double().numpy()), 1e-3)
    assert torch.equal(long, short.float())


def test_runs_of_rows_are_rounded() -> None:
    x, scale = _x(6, 8), _x(3, 8, seed=1) * 20
    made = npu.npu_group_quant(x, scale, torch.tensor([2, 2, 6]), offset=torch.tensor([2.0]))
    _close(made, _rounded(x.numpy() * scale.numpy()[[0, 0, 2, 2, 2, 2]] + 2))
    packed = npu.npu_group_quant(x, scale, torch.tensor([2, 2, 6]), dst_dtype=torch.quint4x2)
    assert packed.dtype == torch.int32 and packed.shape == (6, 1)


@pytest.mark.parametrize("approximate", ["none", "tanh"])
def test_gelu_is_rounded(approximate: str) -> None:
    x, scale, offset = _x(4, 8) * 3, _x(8, seed=1).abs() * 9, _x(8, seed=2)
    y = x.numpy()
    inner = math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)
    y = _gelu(y) if approximate == "none" else 0.5 * y * (1 + np.tanh(inner))
    made, scales = npu.npu_gelu_quant(
        x, input_scale=scale, input_offset=offset, approximate=approximate, quant_mode="static"
    )
    _close(made, _rounded(y * scale.numpy() + offset.numpy()))
    made, scales = npu.npu_gelu_quant(x, input_scale=scale, approximate=approximate)
    y = y * scale.numpy()
    largest = np.abs(y).max(-1)
    _close(scales, largest / 127)
    _close(made, _rounded(y / (largest[:, None] / 127)))


def test_sums_are_made_whole() -> None:
    x = torch.tensor(np.random.default_rng(0).integers(-9999, 9999, (4, 6)), dtype=torch.int32)
    scale, rows, bias = _x(6).float() * 0.01, _x(4, seed=1).float(), torch.arange(6, dtype=torch.int32)
    whole = (x + bias).numpy().astype(np.float64)
    made = npu.npu_dequant_bias(x, scale, rows, bias, output_dtype=torch.bfloat16)
    assert made.dtype == torch.bfloat16
    _close(made, whole * scale.numpy() * rows.numpy()[:, None], 8e-3)
    late = npu.npu_dequant_bias(x, scale, None, bias.float())
    assert late.dtype == torch.float16
    _close(late, x.numpy() * scale.numpy().astype(np.float64) + bias.numpy(), 1e-3)


# ---- blocks with exponents ----


@pytest.mark.parametrize("kind", [292, 296])
def test_blocks_are_made_whole(kind: int) -> None:
    x = _x(3, 96).float()
    y, exponents = npu.npu_dynamic_mx_quant(x, dst_type=kind)
    made = npu.npu_anti_mx_quant(y, exponents, src_type=kind, dst_type=6)
    assert (made - x).abs().max() < (0.3 if kind == 296 else 0.1) * x.abs().max()
    if kind == 296:
        powers = 2.0 ** (exponents.numpy().astype(np.float64).reshape(3, -1) - 127)
        _close(made, _halves(y.numpy()) * np.repeat(powers, 32, 1)[:, :96])


@pytest.mark.parametrize("left", [False, True])
def test_a_gate_in_blocks(left: bool) -> None:
    x = _x(4, 128).float()
    first, second = np.split(x.double().numpy(), 2, -1)
    active, other = (first, second) if left else (second, first)
    y = torch.tensor(active / (1 + np.exp(-active)) * other, dtype=torch.float32)
    made = npu.npu_swiglu_mx_quant(x, activate_left=left)
    for found, expected in zip(made, npu.npu_dynamic_mx_quant(y), strict=True):
        assert (found == expected).double().mean() > 0.99
    with pytest.raises(NotImplementedError, match="group_index"):
        npu.npu_swiglu_mx_quant(x, group_index=torch.tensor([4]))


def test_two_levels_of_scales() -> None:
    x = (_x(3, 1100) * 10.0 ** np.random.default_rng(5).integers(-2, 3, (3, 1))).bfloat16()
    y, runs, exponents = npu.npu_dynamic_dual_level_mx_quant(x)
    assert (y.shape, runs.shape, exponents.shape) == ((3, 550), (3, 3), (3, 18, 2))
    values = np.pad(x.double().numpy(), ((0, 0), (0, 1536 - 1100))).reshape(3, 3, 512)
    _close(runs, np.abs(values).max(-1) / 6)
    powers = 2.0 ** (exponents.numpy().astype(np.float64).reshape(3, -1) - 127)
    found = _halves(y.numpy()) * np.repeat(powers, 32, 1)[:, :1100]
    rest = torch.tensor(values / runs.double().numpy()[..., None]).bfloat16().double().numpy().reshape(3, -1)[:, :1100]
    # Four bits: the step is half of the exponent's power below 2, one below 4, two above.
    step = np.repeat(powers, 32, 1)[:, :1100]
    assert (
        np.abs(found - rest)
        <= step * np.where(np.abs(rest) < 2 * step, 0.25, np.where(np.abs(rest) < 4 * step, 0.5, 2))
    ).all()


def test_a_product_under_two_levels() -> None:
    a, b = _x(4, 1024).bfloat16(), _x(6, 1024, seed=1).bfloat16()
    ay, ar, ae = npu.npu_dynamic_dual_level_mx_quant(a)
    by, br, be = npu.npu_dynamic_dual_level_mx_quant(b)
    bias = torch.arange(6.0)

    def values(y: torch.Tensor, runs: torch.Tensor, exponents: torch.Tensor) -> np.ndarray:
        powers = 2.0 ** (exponents.numpy().astype(np.float64).reshape(len(y), -1) - 127)
        return _halves(y.numpy()) * np.repeat(powers, 32, 1) * np.repeat(runs.double().numpy(), 512, 1)

    made = npu.npu_dual_level_quant_matmul(ay, by, ar, br.T, ae, be, bias=bias, output_dtype=torch.float16)
    _close(made, values(ay, ar, ae) @ values(by, br, be).T + bias.numpy(), 1e-3)
    assert npu.npu_dual_level_quant_matmul(ay, by, ar, br.T, ae, be).dtype == torch.bfloat16
    with pytest.raises(RuntimeError, match="scales of the runs of x2"):
        npu.npu_dual_level_quant_matmul(ay, by, ar, br, ae, be)


# ---- products of 8-bit numbers ----


def test_products_with_what_follows() -> None:
    a, b = _bytes(4, 16), _bytes(16, 6, seed=1)
    rows, columns, bias = (
        _x(4).float().abs() * 1e-2,
        _x(6, seed=1).float() * 1e-2,
        torch.arange(6, dtype=torch.int32) * 50,
    )
    whole = a.double().numpy() @ b.double().numpy()
    made = npu.npu_quant_matmul_gelu(a, b, rows, columns, bias=bias)
    assert made.dtype == torch.float16
    _close(made, _gelu((whole + bias.numpy()) * columns.numpy() * rows.numpy()[:, None]), 1e-3)
    assert npu.npu_quant_matmul_gelu(a, b, rows, columns.bfloat16(), approximate="gelu_tanh").dtype == torch.bfloat16
    batch, weights, scales = _bytes(3, 4, 16), _bytes(3, 16, 6, seed=1), _x(3, 4).float() * 1e-2
    short = columns.bfloat16()
    made = npu.npu_quant_matmul_reduce_sum(batch, weights, x1_scale=scales, x2_scale=short)
    whole = batch.double().numpy() @ weights.double().numpy()
    _close(made, (whole * scales.double().numpy()[..., None] * short.double().numpy()).sum(0), 8e-3)
    x = _x(4, 16).half()
    made = npu.npu_quant_matmul_dequant(x, b.T.contiguous(), columns)
    largest = np.abs(x.double().numpy()).max(-1, keepdims=True) / 127
    _close(made, _rounded(x.double().numpy() / largest) @ b.double().numpy() * columns.numpy() * largest, 2e-3)
    assert made.dtype == torch.float16


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("kind", [0, 1])
def test_experts_products_are_summed_into_tokens(bits: int, kind: int) -> None:
    generator = np.random.default_rng(1)
    counts = [3, 0, 5]
    x, low = _bytes(8, 16), 8 if bits == 4 else 128
    w = generator.integers(-low, low, (3, 16, 24))
    scale, rows = generator.normal(size=(3, 24)), generator.normal(size=8)
    logit, index = generator.normal(size=8), np.array([0, 2, 3, 3, 0, 1, 2, 1])
    shared = generator.normal(size=(2, 24))
    weight = torch.tensor(w, dtype=torch.int8)
    assist = None
    if bits == 4:
        weight = npu.npu_convert_weight_to_int4pack(torch.tensor(w, dtype=torch.int32).flatten(0, 1)).unflatten(
            0, (3, 16)
        )
        scale = scale.astype(np.float32).astype(np.float64)
        assist = torch.tensor(8 * w.sum(1) * scale, dtype=torch.float32)
    groups = torch.tensor(counts if kind == 1 else np.cumsum(counts).tolist())
    made = npu.npu_grouped_matmul_finalize_routing(
        x, weight, groups, scale=torch.tensor(scale, dtype=torch.float32), bias=assist,
        pertoken_scale=torch.tensor(rows, dtype=torch.float32), shared_input=torch.tensor(shared, dtype=torch.float32),
        logit=torch.tensor(logit, dtype=torch.float32), row_index=torch.tensor(index), shared_input_weight=0.5,
        shared_input_offset=1, output_bs=4, group_list_type=kind,
    )  # fmt: skip
    expected = np.zeros((4, 24))
    expected[1:3] = 0.5 * shared
    expert = np.repeat([0, 1, 2], counts)
    for row in range(8):
        own = x[row].double().numpy() @ w[expert[row]] * scale[expert[row]] * rows[row] * logit[row]
        expected[index[row]] += own
    _close(made, expected, 1e-5)
    assert made.dtype == torch.float32
    with pytest.raises(RuntimeError, match="row_index is needed"):
        npu.npu_grouped_matmul_finalize_routing(
            x, weight, groups, scale=torch.ones(3, 24), bias=assist, pertoken_scale=torch.ones(8)
        )


# ---- states, caches, routers ----


@pytest.mark.parametrize("by_column", [False, True])
def test_steps_of_the_delta_rule(by_column: bool) -> None:
    tokens, heads, key_heads, wide, high = 6, 4, 2, 5, 3
    q, k, v = _x(tokens, key_heads, wide), _x(tokens, key_heads, wide, seed=1) * 0.5, _x(tokens, heads, high, seed=2)
    beta, g = torch.sigmoid(_x(tokens, heads, seed=3)), -_x(tokens, heads, seed=4).abs()
    gk = -_x(tokens, heads, wide, seed=6).abs() if by_column else None
    state = _x(9, heads, high, wide, seed=5)
    lengths, accepted, places = [2, 4], [1, 3], [7, 3, 0, 8, 2, 5]
    expected, outs, start = state.numpy().copy(), np.zeros((tokens, heads, high)), 0
    for length, count in zip(lengths, accepted, strict=True):
        now = expected[places[start + count - 1]].copy()
        for t in range(start, start + length):
            for h in range(heads):
                kt, qt = k[t, h // 2].numpy(), q[t, h // 2].numpy()
                now[h] = now[h] * np.exp(g[t, h].item()) * (np.exp(gk[t, h].numpy()) if gk is not None else 1)
                now[h] += beta[t, h].item() * np.outer(v[t, h].numpy() - now[h] @ kt, kt)
                outs[t, h] = now[h] @ qt * 0.3
            expected[places[t]] = now
        start += length
    given = [torch.tensor(each, dtype=torch.int32) for each in (lengths, places, accepted)]
    named = {"actual_seq_lengths": given[0], "ssm_state_indices": given[1], "num_accepted_tokens": given[2]}
    calls = {"beta": beta, "scale": 0.3, "g": g, "gk": gk, **named}
    before = state.clone()
    out, behind = npu.npu_recurrent_gated_delta_rule_functional(q, k, v, state, **calls)
    assert torch.equal(state, before)
    _close(out, outs)
    _close(behind, expected)
    assert torch.equal(npu.npu_recurrent_gated_delta_rule(q, k, v, state, **calls), out) and torch.equal(state, behind)
    with pytest.raises(RuntimeError, match="num_accepted_tokens of sequence 0 must be from 1 to its length, 2"):
        npu.npu_recurrent_gated_delta_rule(q, k, v, state, **{**calls, "num_accepted_tokens": given[2] + 2})


def test_caches_by_both_names() -> None:
    kv, gamma, cos, sin = _x(2, 1, 3, 20), _x(16, seed=1), _x(2, 1, 3, 4, seed=2), _x(2, 1, 3, 4, seed=3)
    index, caches = (
        torch.tensor([5, 0, 2, 7, 4, 1]),
        [torch.zeros(2, 1, 4, 4).double(), torch.zeros(2, 1, 4, 16).double()],
    )
    first, second = ([each.clone() for each in caches] for _ in range(2))
    for name in ("PA",):
        shaped = [each.transpose(1, 2).contiguous() for each in caches]
        first, second = ([each.clone() for each in shaped] for _ in range(2))
        *_, rope, plain = npu.npu_kv_rmsnorm_rope_cache(
            kv, gamma, cos, sin, index, *first, cache_mode=name, is_output_kv=True
        )
        made = npu.npu_kv_rmsnorm_rope_cache_v2(kv, gamma, cos, sin, index, *second, cache_mode=name, is_output_kv=True)
        assert torch.equal(made[0], rope) and torch.equal(made[1], plain)
        assert all(torch.equal(a, b) and a.any() for a, b in zip(first, second, strict=True))
        found = npu.npu_kv_rmsnorm_rope_cache_v2_functional(kv, gamma, cos, sin, index, *shaped, cache_mode=name)
        assert [tuple(each.shape) for each in found[:2]] == [(0,), (0,)] and torch.equal(found[3], first[1])


@pytest.mark.parametrize("norm_type", [0, 1])
def test_the_gradient_of_a_router(norm_type: int) -> None:
    x = _x(5, 8).requires_grad_()

    def weights(x: torch.Tensor) -> torch.Tensor:
        return npu.npu_moe_gating_top_k(x, 3, norm_type=norm_type, out_flag=True, routed_scaling_factor=2.5)[0]

    assert torch.autograd.gradcheck(weights, (x,))
    with pytest.raises(RuntimeError, match="out_flag must be True"):
        npu.npu_moe_gating_top_k(x, 3)[0].sum().backward()


# ---- attention to chosen keys ----

_LONG = (1 << 63) - 1


@pytest.mark.parametrize("layout", ["BSND", "TND"])
def test_the_gradient_of_an_indexer(layout: str) -> None:
    q, k, w = _x(2, 4, 3, 8), _x(2, 6, 1, 8, seed=1), _x(2, 4, 3, seed=2)
    lengths: dict[str, Any] = {}
    if layout == "TND":
        q, k, w = q.flatten(0, 1), k.flatten(0, 1), w.flatten(0, 1)
        ends = {"actual_seq_lengths_query": [4, 8], "actual_seq_lengths_key": [6, 12]}
        lengths = {name: torch.tensor(each, dtype=torch.int32) for name, each in ends.items()}
    given = [each.clone().requires_grad_() for each in (q, k, w)]

    def sums(*tensors: torch.Tensor) -> torch.Tensor:
        made = npu.npu_lightning_indexer(
            *tensors, layout_query=layout, layout_key=layout, sparse_count=2, return_value=True, **lengths
        )
        return made[1]

    assert torch.autograd.gradcheck(sums, tuple(given))
    chosen, _ = npu.npu_lightning_indexer(*given, layout_query=layout, layout_key=layout, sparse_count=2, **lengths)
    assert not chosen.requires_grad


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shared", [False, True], ids=["value", "keys are the values"])
def test_the_gradient_of_attention_to_chosen_keys(turned: bool, shared: bool) -> None:
    q, k, v = _x(2, 3, 4, 8), _x(2, 6, 1, 8, seed=1), _x(2, 6, 1, 8, seed=2)
    rope = [_x(2, 3, 4, 4, seed=3), _x(2, 6, 1, 4, seed=4)] if turned else []
    chosen = torch.tensor(np.random.default_rng(1).integers(-1, 3, (2, 3, 1, 2)), dtype=torch.int32)
    leaves = [each.requires_grad_() for each in (q, k, *([] if shared else [v]), *rope)]

    def attention(*tensors: torch.Tensor) -> torch.Tensor:
        query, key, *others = tensors
        value = None if shared else others.pop(0)
        names = dict(zip(("query_rope", "key_rope"), others, strict=False))
        return npu.npu_sparse_flash_attention(
            query, key, value, chosen, 0.4, sparse_block_size=2, sparse_mode=0, return_softmax_lse=True, **names
        )[0]

    # Statistics are float32, so that the gradients are as exact as these.
    assert torch.autograd.gradcheck(attention, tuple(leaves), eps=1e-5, atol=1e-5, rtol=1e-4)
    with pytest.raises(RuntimeError, match="return_softmax_lse must be True"):
        npu.npu_sparse_flash_attention(q, k, v, chosen, 0.4, sparse_block_size=2)[0].sum().backward()


# ---- without writing ----


def test_sums_that_do_not_write() -> None:
    into, x, dy = _x(2, 3, 4), _x(6, 3, seed=1), _x(6, 4, seed=2)
    before = into.clone()
    made = npu.npu_grouped_matmul_add(into, x, dy, torch.tensor([2, 6]))
    assert torch.equal(into, before)
    parts = [x.numpy()[a:b].T @ dy.numpy()[a:b] for a, b in ((0, 2), (2, 6))]
    _close(made, before.numpy() + np.stack(parts))
    a, b, scale = _bytes(3, 5).to(torch.float8_e4m3fn), _bytes(5, 4, seed=1).to(torch.float8_e4m3fn), _x(1).float()
    into, before = torch.zeros(3, 4), torch.zeros(3, 4)
    made = npu.npu_add_quant_matmul(into, a, b, scale, x1_scale=torch.tensor([0.5]))
    assert torch.equal(into, before) and made.any()
    assert torch.equal(npu.npu_add_quant_matmul_(into, a, b, scale, x1_scale=torch.tensor([0.5])), made)


# ---- scores of attention, latent caches, tokens that are laid out ----


def _softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def test_scores_become_probabilities_in_place() -> None:
    scores, grad, values = _x(2, 3, 5), _x(2, 3, 4, seed=1), _x(2, 5, 4, seed=2)
    p = _softmax(scores.numpy().astype(np.float64))
    made = scores.clone()
    assert npu.npu_attn_softmax_(made) is made
    _close(made, p)
    assert npu.npu_attn_softmax_backward_(made, grad, values) is made
    by_value = grad.numpy() @ values.numpy().transpose(0, 2, 1)
    _close(made, p * (by_value - (p * by_value).sum(-1, keepdims=True)))


@pytest.mark.parametrize("sizes", [(2, 4, 4), (1, 2, 1, 4, 4), None])
def test_scores_with_a_mask_of_windows_and_a_shift_of_heads(sizes: tuple[int, ...] | None) -> None:
    x, shift = _x(3, 2, 5, 4, 4), _x(5, 4, 4, seed=1)
    mask = None if sizes is None else _x(*sizes, seed=2)
    made = npu.npu_masked_softmax_with_rel_pos_bias(x, mask, shift, 0.5)
    shown = 0 if mask is None else mask.numpy().reshape(1, 2, 1, 4, 4)
    _close(made, _softmax(x.numpy() * 0.5 + shown + shift.numpy()))
    with pytest.raises(RuntimeError, match="x must have 4 or 5 dimensions, but it has 3"):
        npu.npu_masked_softmax_with_rel_pos_bias(x[0, 0], None, shift)


def test_values_are_the_first_columns_of_latent_keys() -> None:
    query, cache = _x(2, 3, 8), _x(4, 4, 1, 8, seed=1)
    table, lengths = torch.tensor([[2, 0], [1, 3]], dtype=torch.int32), torch.tensor([5, 7], dtype=torch.int32)
    out = torch.zeros(2, 3, 6)
    atb = torch.ops.atb
    atb._npu_paged_attention_mla(query, cache, 1, 3, 0.5, table, lengths, 6, out)
    for i, length in enumerate(lengths.tolist()):
        keys = cache.numpy()[table[i].numpy()].reshape(8, 8)[:length]
        _close(out[i], _softmax(query[i].numpy() @ keys.T * 0.5) @ keys[:, :6])
    with pytest.raises(RuntimeError, match="mla_vheadsize must be from 1 to the width of the keys, 8, but it is 9"):
        atb._npu_paged_attention_mla(query, cache, 1, 3, 0.5, table, lengths, 9, out)


def test_numbers_are_rounded_into_a_tensor() -> None:
    x, scale, zero = _x(3, 4) * 200, _x(4, seed=1).abs() + 0.5, torch.tensor([1, -2, 0, 3]).to(torch.int8)
    y = torch.zeros(3, 4, dtype=torch.int8)
    for shift in (zero, zero[:0]):
        torch.ops.atb._npu_quantize_per_tensor(x, scale, shift, y)
        added = np.round(x.numpy() / scale.numpy()) + (shift.numpy() if shift.numel() else 0)
        assert np.array_equal(y.numpy(), np.clip(added, -128, 127))
    with pytest.raises(RuntimeError, match="at most 8 dimensions, but got 9"):
        torch.ops.atb._npu_quantize_per_tensor(x, torch.ones(1, 1, 1, 1, 1, 1, 1, 1, 1), zero, y)


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_tokens_are_laid_out_and_rounded(mode: int) -> None:
    x, expert = _x(5, 8), torch.tensor([[3, 0], [1, 3], [0, 2], [3, 1], [0, 5]])
    rows, places, counts, before, scales = npu.npu_moe_init_routing_quant(
        x, expert, expert_num=6, active_num=0, expert_tokens_num_mode=mode
    )
    order = np.argsort(expert.numpy().reshape(-1), kind="stable")
    largest = np.abs(x.numpy()[order // 2]).max(-1)
    _close(scales, largest / 127)
    assert np.abs(rows.numpy() - x.numpy()[order // 2] / largest[:, None] * 127).max() <= 0.5001
    assert np.array_equal(places.numpy(), np.argsort(order))
    told = np.bincount(expert.numpy().reshape(-1), minlength=6)
    assert counts.tolist() == [[], np.cumsum(told).tolist(), told.tolist()][mode]
    assert counts.dtype == torch.int32 and before.shape == (0,)
