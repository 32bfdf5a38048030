"""Rows that read caches, attend to 8-bit ones, and choose experts, beside definitions in NumPy in double precision."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu, atb = torch.ops.npu, torch.ops.atb
_TABLE = torch.tensor([[2, 0, 4], [1, 3, 4]], dtype=torch.int32)


def _int32(*numbers: int) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int32)


def _whole(*sizes: int, seed: int, most: int = 9) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(seed).integers(-most, most + 1, sizes), dtype=torch.int8)


def test_rows_of_sequences_are_loaded_from_the_block_of_their_start() -> None:
    caches = [torch.arange(5 * 4 * n, dtype=torch.float32).reshape(5, 4, 1, n) for n in (2, 3)]
    made = atb.npu_paged_cache_load(*caches, _TABLE, _int32(6, 3), seq_starts=_int32(5, 0))
    for cache, found in zip(caches, made, strict=True):
        right = [cache[0, i] for i in range(4)] + [cache[4, i] for i in range(2)] + [cache[1, i] for i in range(3)]
        assert torch.equal(found, torch.stack(right))
    key, value = torch.zeros(9, 1, 2), torch.zeros(9, 1, 3)
    ends = atb.npu_paged_cache_load(*caches, _TABLE, _int32(0, 6, 9), cumsum=True, key=key, value=value)
    assert ends[0] is key and torch.equal(key[:5], torch.cat([caches[0][2], caches[0][0, :1]]))
    with pytest.raises(RuntimeError, match=r"context_lens must be the lengths of 2 sequences, but it is \[4\]"):
        atb.npu_paged_cache_load(*caches, _TABLE, _int32(4))
    with pytest.raises(RuntimeError, match=r"must have 9 rows of the caches' sizes \[1, 2\], but one is \[9, 1, 3\]"):
        atb.npu_paged_cache_load(*caches, _TABLE, _int32(6, 3), key=value, value=value)


def _attended(q: Any, k: Any, v: Any, scale: Any, rounded: bool) -> np.ndarray:
    scores = k @ q * scale
    p = np.exp(scores - scores.max())
    return (np.rint(p * 127) / 127 if rounded else p) @ v / p.sum()


@pytest.mark.parametrize("quant_type", [1, 3])
def test_attention_over_caches_of_eight_bits(quant_type: int) -> None:
    rng = np.random.default_rng(0)
    k, v = _whole(5, 4, 2, 8, seed=1), _whole(5, 4, 2, 8, seed=2)
    q = _whole(2, 4, 8, seed=3, most=3) if quant_type == 3 else torch.tensor(rng.normal(size=(2, 4, 8))).half()
    count = 4 if quant_type == 3 else 16
    k_scale, v_scale = (torch.tensor(rng.uniform(0.01, 0.1, count), dtype=torch.float32) for _ in range(2))
    out = torch.zeros(2, 4, 8, dtype=torch.float16)
    atb._npu_paged_attention_quant(q, k, v, 2, 4, 0.5, _TABLE, _int32(6, 11), quant_type, 1, k_scale, v_scale, out)
    ks, vs = k_scale.double().numpy(), v_scale.double().numpy()
    for number, length in enumerate((6, 11)):
        rows = [cache[_TABLE[number].long()].reshape(12, 2, 8)[:length].double().numpy() for cache in (k, v)]
        for head in range(4):
            of, query = head // 2, q[number, head].double().numpy()
            keys, values = (x[:, of] for x in rows)
            if quant_type == 3:
                right = _attended(query, keys, values, ks[head] * 0.5, True) * vs[head]
            else:
                keys, values = keys * ks[of * 8 : of * 8 + 8], values * vs[of * 8 : of * 8 + 8]
                right = _attended(query, keys, values, 0.5, False)
            np.testing.assert_allclose(out[number, head].double().numpy(), right, rtol=1e-3, atol=1e-3)
    with pytest.raises(RuntimeError, match=f"k_descale must have {count} numbers for quant_type {quant_type}, not 3"):
        atb._npu_paged_attention_quant(
            q, k, v, 2, 4, 0.5, _TABLE, _int32(6, 11), quant_type, 1, k_scale[:3], v_scale, out
        )
    with pytest.raises(RuntimeError, match="quant_type must be one of 1, 3, but it is 2"):
        atb._npu_paged_attention_quant(q, k, v, 2, 4, 0.5, _TABLE, _int32(6, 11), 2, 1, k_scale, v_scale, out)


@pytest.mark.parametrize("renorm", [0, 1])
@pytest.mark.parametrize("finished", [False, True])
def test_the_likeliest_experts(renorm: int, finished: bool) -> None:
    x = torch.tensor(np.random.default_rng(1).integers(-3, 4, (2, 5, 12)), dtype=torch.float32)  # with equal ones
    done = torch.tensor(np.random.default_rng(2).integers(0, 2, (2, 5)), dtype=torch.bool) if finished else None
    weights, chosen, everything = npu.npu_moe_gating_top_k_softmax_v2(
        x, k=4, finished=done, renorm=renorm, output_softmax=True
    )
    p = np.exp(x.double().numpy())
    order = np.argsort(-p, -1, kind="stable")[..., :4]
    taken = np.take_along_axis(p, order, -1)
    p /= p.sum(-1, keepdims=True)
    right = taken / taken.sum(-1, keepdims=True) if renorm else np.take_along_axis(p, order, -1)
    np.testing.assert_allclose(weights.numpy(), right, rtol=1e-5)
    if done is not None:
        order = np.where(done.numpy()[..., None], 12, order)
    assert chosen.dtype == torch.int32 and np.array_equal(chosen.numpy(), order)
    if renorm:
        assert everything.shape == (0,)
    else:
        np.testing.assert_allclose(everything.numpy(), p, rtol=1e-5)


def test_what_is_secret_is_not_made_up() -> None:
    x = torch.ones(2, 3)
    for call in (
        lambda: npu.obfuscation_initialize(8, 0, 1, data_type=torch.float16),
        lambda: npu.obfuscation_calculate(_int32(3), x, _int32(8)),
        lambda: npu.obfuscation_finalize(_int32(3)),
    ):
        with pytest.raises(NotImplementedError, match="how numbers are obfuscated is not documented"):
            call()
