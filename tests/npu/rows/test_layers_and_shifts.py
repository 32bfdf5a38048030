"""Two layers in one operator, gates that are rounded, group norm with swish, and attention with shifts, beside NumPy."""

import math
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu.torch_npu import _C, atb

npu = torch.ops.npu
_RANDOM = np.random.default_rng(7)


def _x(*sizes: int) -> np.ndarray:
    return _RANDOM.standard_normal(sizes)


def _t(values: np.ndarray, dtype: Any = torch.float32) -> torch.Tensor:
    return torch.tensor(values, dtype=dtype)


def _close(ours: torch.Tensor, theirs: np.ndarray, atol: float = 1e-5) -> None:
    np.testing.assert_allclose(ours.double().numpy(), theirs, rtol=1e-5, atol=atol)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


# ---- two layers ----

_GELU = np.vectorize(lambda v: v * 0.5 * (1 + math.erf(v / math.sqrt(2))))
_ACTIVATIONS = {
    "relu": lambda v: np.maximum(v, 0),
    "gelu": _GELU,
    "fastgelu": lambda v: v * _sigmoid(1.702 * v),
    "silu": lambda v: v * _sigmoid(v),
}
_GATED = {"reglu": "relu", "geglu": "gelu", "swiglu": "silu"}


@pytest.mark.parametrize("activation", [*_ACTIVATIONS, *_GATED])
def test_two_layers(activation: str) -> None:
    x, w1, b1, b2 = _x(5, 8), _x(8, 12), _x(12), _x(4)
    gated = activation in _GATED
    w2 = _x(6 if gated else 12, 4)
    hidden = x @ w1 + b1
    act = _ACTIVATIONS[_GATED.get(activation, activation)]
    hidden = act(hidden[:, :6]) * hidden[:, 6:] if gated else act(hidden)
    _close(npu.npu_ffn(*map(_t, (x, w1, w2)), activation, bias1=_t(b1), bias2=_t(b2)), hidden @ w2 + b2, 1e-4)


@pytest.mark.parametrize("named", [{"expert_tokens": [3, 0, 2]}, {"expert_tokens_index": [3, 3, 5]}])
def test_layers_of_experts(named: dict[str, list[int]]) -> None:
    x, w1, w2 = _x(5, 8), _x(3, 8, 12), _x(3, 12, 4)
    expected = [np.maximum(row @ w1[e], 0) @ w2[e] for row, e in zip(x, (0, 0, 0, 2, 2), strict=True)]
    _close(npu.npu_ffn(*map(_t, (x, w1, w2)), "relu", **named), np.array(expected), 1e-4)


def test_layers_of_eight_bits() -> None:
    x, w1, w2 = (_RANDOM.integers(-9, 9, sizes) for sizes in ((5, 8), (8, 12), (12, 4)))
    s1, s2 = np.full(12, 0.03125), np.full(4, 0.5)
    hidden = np.clip(np.round(np.maximum((x @ w1) * s1, 0) * 8 + 1), -128, 127)
    packed = [npu.npu_trans_quant_param(_t(s)) for s in (s1, s2)]
    ours = npu.npu_ffn(
        *(_t(v, torch.int8) for v in (x, w1, w2)), "relu", scale=_t(np.array([8.0])), offset=_t(np.array([1.0])),
        deq_scale1=packed[0], deq_scale2=packed[1],
    )  # fmt: skip
    assert ours.dtype == torch.float16
    _close(ours, (hidden @ w2) * 0.5, 1e-2)


def test_layers_with_weights_of_eight_bits() -> None:
    x, w1, w2 = _x(5, 8), _RANDOM.integers(-9, 9, (8, 12)), _RANDOM.integers(-9, 9, (12, 4))
    s1, o1, s2, o2 = _x(12), _x(12), _x(4), _x(4)
    ours = npu.npu_ffn(
        _t(x), _t(w1, torch.int8), _t(w2, torch.int8), "relu", antiquant_scale1=_t(s1), antiquant_offset1=_t(o1),
        antiquant_scale2=_t(s2), antiquant_offset2=_t(o2),
    )  # fmt: skip
    _close(ours, np.maximum(x @ ((w1 + o1) * s1), 0) @ ((w2 + o2) * s2), 1e-3)


def test_layers_refuse() -> None:
    x, w1, w2 = (_t(_x(*sizes)) for sizes in ((5, 8), (2, 8, 12), (2, 12, 4)))
    with pytest.raises(
        RuntimeError, match=r"npu_ffn\(\): the 2 experts' tokens must sum to the 5 rows of x, but they end"
    ):
        npu.npu_ffn(x, w1, w2, "relu", expert_tokens=[2, 2])
    with pytest.raises(RuntimeError, match=r"npu_ffn\(\): activation must be one of 'relu'.*but it is 'tanh'"):
        npu.npu_ffn(x, w1[0], w2[0], "tanh")
    with pytest.raises(RuntimeError, match=r"npu_ffn\(\): scale is needed where x is of torch.int8"):
        npu.npu_ffn(x.to(torch.int8), w1[0].to(torch.int8), w2[0].to(torch.int8), "relu")


# ---- gates and norms ----


@pytest.mark.parametrize("left", [False, True])
def test_rounded_gates_by_groups(left: bool) -> None:
    x, smooth = _x(6, 8), _x(3, 4)
    a, b = x[:, :4], x[:, 4:]
    y = a * _sigmoid(a) * b if left else a * b * _sigmoid(b)
    y = y * smooth[[0, 0, 1, 1, 1, 2]]
    scale = 127 / np.abs(y).max(-1)
    for kind, groups in ((0, [2, 5, 6]), (1, [2, 3, 1])):
        ours, factor = npu.npu_swiglu_quant(
            _t(x), smooth_scales=_t(smooth), group_index=torch.tensor(groups), activate_left=left, quant_mode=1,
            group_list_type=kind,
        )  # fmt: skip
        _close(factor, scale, 1e-3)
        assert np.abs(ours.numpy() - np.round(y * scale[:, None])).max() <= 1
        assert (ours.numpy() == np.round(y * scale[:, None])).mean() > 0.9


def test_rounded_gates_by_scales() -> None:
    x, smooth, shift = _x(6, 8), _x(1, 4) * 9, _x(1, 4)
    y = x[:, :4] * x[:, 4:] * _sigmoid(x[:, 4:]) * smooth + shift
    ours, _ = npu.npu_swiglu_quant(_t(x), smooth_scales=_t(smooth), offsets=_t(shift))
    np.testing.assert_array_equal(ours.numpy(), np.clip(np.round(y), -128, 127))


def test_group_norm_with_swish() -> None:
    x, gain, shift = _x(2, 6, 5), _x(6), _x(6)
    rows = x.reshape(2, 3, 10)
    mean, rstd = rows.mean(-1), 1 / np.sqrt(rows.var(-1) + 1e-5)
    y = ((rows - mean[..., None]) * rstd[..., None]).reshape(x.shape) * gain[:, None] + shift[:, None]
    ours = npu.npu_group_norm_swish(_t(x), 3, _t(gain), _t(shift), swish_scale=0.5)
    for made, expected in zip(ours, (y * _sigmoid(0.5 * y), mean, rstd), strict=True):
        _close(made, expected)


def test_a_gated_gelu() -> None:
    x = _x(3, 8)
    _close(npu.npu_gelu_mul(_t(x)), _GELU(x[:, :4]) * x[:, 4:])


# ---- attention with shifts ----


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, shift: Any = 0.0) -> np.ndarray:
    """(tokens, heads, width) over keys of fewer heads."""
    k, v = (np.repeat(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = np.einsum("qhd,khd->hqk", q, k) * scale + shift
    return np.einsum("hqk,khd->qhd", _softmax(scores), v)


def test_prompts_with_a_mask_of_numbers() -> None:
    q, k, v, mask = _x(7, 4, 8), _x(7, 2, 8), _x(7, 2, 8), _x(4, 5, 5)
    out = torch.empty(7, 4, 8)
    lengths = torch.tensor([5, 2])
    atb._npu_flash_attention_v2(
        *map(_t, (q, k, v)), lengths, mask=_t(mask), scale_value=0.5, num_heads=4, num_kv_heads=2, out=out
    )
    _close(out[:5], _attention(q[:5], k[:5], v[:5], 0.5, mask))
    _close(out[5:], _attention(q[5:], k[5:], v[5:], 0.5, mask[:, :2, :2]))


def _distances(queries: int, keys: int, root: bool) -> np.ndarray:
    far = np.arange(queries)[:, None] + keys - queries - np.arange(keys)
    shift = -np.sqrt(np.maximum(far, 0)) if root else -np.maximum(far, 0.0)
    return np.where(far < 0, -np.inf, shift)


@pytest.mark.parametrize(("kind", "root"), [(4, False), (5, True)])
def test_prompts_with_slopes_beyond_the_masks_end(kind: int, root: bool) -> None:
    q, k, v, slopes = _x(9, 4, 8), _x(9, 2, 8), _x(9, 2, 8), np.array([0.5, 0.25, 1.0, 2.0])
    out = torch.empty(9, 4, 8)
    atb._npu_flash_attention_v2(
        *map(_t, (q, k, v)), [9], mask=_t(_distances(4, 4, root)), slopes=_t(slopes), mask_type=kind, num_heads=4,
        num_kv_heads=2, out=out,
    )  # fmt: skip
    _close(out, _attention(q, k, v, 1.0, _distances(9, 9, root) * slopes[:, None, None]))


def _cache(rows: np.ndarray, blocks: int, table: list[int]) -> np.ndarray:
    """Rows (tokens, heads, width) in blocks of 4 in the order of a table."""
    made = np.zeros((blocks, 4, *rows.shape[1:]))
    for i, row in enumerate(rows):
        made[table[i // 4], i % 4] = row
    return made


def test_ends_of_prompts_over_a_cache_with_slopes() -> None:
    q, k, v, slopes = _x(3, 4, 8), _x(9, 2, 8), _x(9, 2, 8), np.array([0.5, 0.25, 1.0, 2.0])
    table = [3, 0, 4]
    out = torch.empty(3, 4, 8)
    atb._npu_flash_attention_prefix_v2(
        _t(q), *(_t(_cache(x, 5, table)).flatten(2) for x in (k, v)), torch.tensor([table]), _t(_distances(9, 9, True)),
        torch.tensor([3]), torch.tensor([9]), slopes=_t(slopes), mask_type=5, num_heads=4, num_kv_heads=2,
        scale_value=0.5, out=out,
    )  # fmt: skip
    _close(out, _attention(q, k, v, 0.5, _distances(3, 9, True) * slopes[:, None, None]))


def test_single_tokens_over_a_cache_with_a_mask() -> None:
    q, k, v, mask = _x(2, 4, 8), _x(2, 6, 2, 8), _x(2, 6, 2, 4), _x(2, 4, 1, 6)
    tables = [[3, 0], [1, 2]]
    caches = [sum(_cache(x[i], 4, tables[i]) for i in range(2)) for x in (k, v)]
    out = torch.empty(2, 4, 4)
    atb._npu_paged_attention_v2(
        _t(q), _t(caches[0]), torch.tensor(tables), torch.tensor([6, 5]), value_cache=_t(caches[1]), mask=_t(mask),
        num_heads=4, num_kv_heads=2, scale_value=0.5, mask_type=2, out=out,
    )  # fmt: skip
    for i, length in enumerate((6, 5)):
        _close(out[i : i + 1], _attention(q[i : i + 1], k[i, :length], v[i, :length], 0.5, mask[i, :, :, :length]))


def test_latent_rows_with_the_logarithms_of_sums() -> None:
    q, latent, rope = _x(2, 4, 8), _x(2, 6, 1, 6), _x(2, 6, 1, 2)
    tables = [[3, 0], [1, 2]]
    caches = [_t(sum(_cache(x[i], 4, tables[i]) for i in range(2))) for x in (latent, rope)]
    parts = _t(q[..., :6]), _t(q[..., 6:])
    arguments = (*parts, *caches, torch.tensor(tables), torch.tensor([6, 5]), 4, 0.5, 1)
    out, logs = atb.npu_multi_head_latent_attention(*arguments, True, calc_type="calc_type_ring")
    for i, length in enumerate((6, 5)):
        k = np.concatenate([latent[i, :length], rope[i, :length]], -1)
        _close(out[i : i + 1], _attention(q[i : i + 1], k, latent[i, :length], 0.5))
        _close(logs[i, :, 0], np.log(np.exp(np.einsum("hd,kd->hk", q[i], k[:, 0]) * 0.5).sum(-1)))
    plain = atb.npu_multi_head_latent_attention(*arguments)
    torch.testing.assert_close(plain, out, rtol=0, atol=0)
    targets = torch.empty_like(out), torch.empty_like(logs)
    atb.npu_multi_head_latent_attention(*arguments, True, output=targets[0], lse=targets[1])
    torch.testing.assert_close(targets, (out, logs), rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="cache_mode must be one of None, 'krope_ctkv', 'kvcache', but it is 'nz'"):
        atb.npu_multi_head_latent_attention(*arguments, cache_mode="nz")


# ---- caches and formats ----


def test_keys_alone_are_written_to_their_slots() -> None:
    key, cache = _x(3, 2, 4), _x(2, 4, 2, 4)
    ours = _t(cache)
    torch.ops.atb._npu_reshape_and_cache_siso(_t(key), ours, torch.tensor([5, -1, 0]))
    cache[1, 1], cache[0, 0] = key[0], key[2]
    _close(ours, cache)


def test_the_option_of_formats_is_told_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    for allowed, told in ((True, b"enable"), (False, b"disable")):
        monkeypatch.setattr(torch.npu.config, "allow_internal_format", allowed)
        assert _C._npu_getOption("ALLOW_INTERNAL_FORMAT") == told
    assert _C._npu_getOption("another") is None


def test_weights_in_blocks() -> None:
    """Blocks of 16 rows and 32 columns are another order of the same numbers."""
    x, w = _RANDOM.integers(-9, 9, (4, 32)), _RANDOM.integers(-9, 9, (2, 32, 64))
    scales, rows = np.abs(_x(2, 64)), np.abs(_x(4))
    blocks = w.reshape(2, 2, 16, 2, 32).transpose(0, 3, 1, 2, 4)
    arguments = torch.tensor([1, 4]), _t(scales), _t(rows)
    plain = npu.npu_grouped_matmul_swiglu_quant(_t(x, torch.int8), _t(w, torch.int8), *arguments)
    ours = npu.npu_grouped_matmul_swiglu_quant(_t(x, torch.int8), _t(blocks, torch.int8), *arguments)
    torch.testing.assert_close(ours, plain, rtol=0, atol=0)
    assert ours[2].shape == ()
    listed = npu.npu_grouped_matmul_swiglu_quant_v2(
        _t(x, torch.int8), [_t(blocks, torch.int8)], [arguments[1]], arguments[2], arguments[0]
    )
    torch.testing.assert_close(listed, plain[:2], rtol=0, atol=0)
