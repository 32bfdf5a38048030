"""Indexers and attention to chosen keys against loops over tokens in NumPy, in double precision."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(11)


def tensor(array: Any, dtype: Any = None) -> torch.Tensor:
    return torch.tensor(np.asarray(array)) if dtype is None else torch.tensor(np.asarray(array), dtype=dtype)


def close(ours: torch.Tensor, theirs: Any, tolerance: float = 1e-10) -> None:
    np.testing.assert_allclose(ours.detach().to(torch.float64).numpy(), theirs, rtol=tolerance, atol=tolerance)


def best(q: np.ndarray, k: np.ndarray, w: np.ndarray, count: int, causal: bool) -> tuple[list, list]:
    """The chosen keys of each query and their sums, best first."""
    found, sums = [], []
    for i in range(len(q)):
        last = len(k) - len(q) + i + 1 if causal else len(k)
        score = [(w[i] * np.maximum(q[i] @ k[s], 0)).sum() for s in range(max(last, 0))]
        order = sorted(range(len(score)), key=lambda s: -score[s])[:count]
        found.append(order + [-1] * (count - len(order)))
        sums.append([score[s] for s in order] + [-np.inf] * (count - len(order)))
    return found, sums


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray, scale: float) -> tuple:
    """(tokens, heads, width) of queries to (keys, width); `seen` is (tokens, keys)."""
    s = np.where(seen[:, None], np.einsum("tnd,sd->tns", q, k) * scale, -np.inf)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total) @ v, np.where(np.isinf(top), 0, top)[..., 0], total[..., 0]


@pytest.mark.parametrize("mode", [0, 3])
def test_the_indexer_names_the_best_keys(numbers: np.random.Generator, mode: int) -> None:
    q, k, w = numbers.normal(size=(2, 3, 4, 8)), numbers.normal(size=(2, 5, 1, 8)), numbers.random((2, 3, 4))
    indices, values = npu.npu_lightning_indexer(
        tensor(q), tensor(k), tensor(w), sparse_count=4, sparse_mode=mode, return_value=True
    )
    assert indices.dtype == torch.int32 and indices.shape == (2, 3, 1, 4)
    for b in range(2):
        chosen, sums = best(q[b], k[b, :, 0], w[b], 4, mode == 3)
        assert indices[b, :, 0].tolist() == chosen
        close(values[b, :, 0], sums)
    packed, nothing = npu.npu_lightning_indexer(
        tensor(q.reshape(6, 4, 8)), tensor(k.reshape(10, 1, 8)), tensor(w.reshape(6, 4)),
        actual_seq_lengths_query=tensor([3, 6], torch.int32), actual_seq_lengths_key=tensor([5, 10], torch.int32),
        layout_query="TND", layout_key="TND", sparse_count=4, sparse_mode=mode,
    )  # fmt: skip
    assert packed.reshape(2, 3, 1, 4).equal(indices) and nothing.numel() == 0


def test_paged_and_quantised_keys_of_an_indexer(numbers: np.random.Generator) -> None:
    q, k = numbers.integers(-99, 99, (1, 3, 4, 8)), numbers.integers(-99, 99, (4, 16, 1, 8))
    q_scale, k_scale, w = numbers.random((1, 3, 4)), numbers.random((4, 16, 1)), numbers.random((1, 3, 4))
    table, length = tensor([[2, 0]], torch.int32), tensor([20], torch.int32)
    indices = npu.npu_quant_lightning_indexer(
        tensor(q, torch.int8), tensor(k, torch.int8), tensor(w), tensor(q_scale), tensor(k_scale), 0, 0,
        actual_seq_lengths_key=length, block_table=table, layout_key="PA_BSND", sparse_count=6,
    )  # fmt: skip
    rows = (k * k_scale[..., None])[[2, 0]].reshape(32, 8)[:20]
    assert indices[0, :, 0].tolist() == best((q * q_scale[..., None])[0], rows, w[0], 6, True)[0]


@pytest.mark.parametrize("block", [1, 2])
def test_attention_to_chosen_blocks(numbers: np.random.Generator, block: int) -> None:
    q, k, v = (numbers.normal(size=(2, s, n, 8)) for s, n in ((3, 4), (7, 1), (7, 1)))
    q_rope, k_rope = numbers.normal(size=(2, 3, 4, 2)), numbers.normal(size=(2, 7, 1, 2))
    chosen = np.stack([[numbers.permutation(-(-7 // block))[:3] for _ in range(3)] for _ in range(2)])[:, :, None]
    chosen[0, 1, 0, 2] = -1
    out, top, total = npu.npu_sparse_flash_attention(
        tensor(q), tensor(k), tensor(v), tensor(chosen, torch.int32), 0.3, query_rope=tensor(q_rope),
        key_rope=tensor(k_rope), sparse_block_size=block, attention_mode=2, return_softmax_lse=True,
    )  # fmt: skip
    assert top.shape == total.shape == (2, 1, 3, 4)
    for b in range(2):
        seen = np.array([[s // block in chosen[b, i, 0] and s <= 7 - 3 + i for s in range(7)] for i in range(3)])
        whole_q, whole_k = np.concatenate([q[b], q_rope[b]], -1), np.concatenate([k[b], k_rope[b]], -1)[:, 0]
        o, m, t = attended(whole_q, whole_k, v[b, :, 0], seen, 0.3)
        close(out[b], o)
        close(top[b, 0], m, 1e-6)
        close(total[b, 0], t, 1e-6)


def test_attention_to_chosen_rows_of_eight_bits(numbers: np.random.Generator) -> None:
    width, rope, tile, length = 16, 4, 8, 9
    nope, turned = numbers.integers(-99, 99, (length, width)).astype(np.int8), numbers.normal(size=(length, rope))
    scales = numbers.random((length, width // tile)).astype(np.float32)
    half = torch.tensor(turned, dtype=torch.float16)
    rows = np.concatenate([nope, half.view(torch.int8).numpy(), scales.view(np.int8)], -1)
    q = torch.tensor(numbers.normal(size=(1, 2, 3, width + rope)), dtype=torch.float16)
    chosen = np.array([[[[0, 3, 7]], [[8, 1, 2]]]])
    out = npu.npu_kv_quant_sparse_flash_attention(
        q, tensor(rows[None, :, None]), tensor(rows[None, :, None]), tensor(chosen, torch.int32), 0.2, 2, 2,
        attention_mode=2, tile_size=tile, rope_head_dim=rope, sparse_mode=0,
    )  # fmt: skip
    plain = nope * np.repeat(scales, tile, -1)
    k = np.concatenate([plain, half.to(torch.float64).numpy()], -1)
    seen = np.array([[s in chosen[0, i, 0] for s in range(length)] for i in range(2)])
    close(out[0], attended(q[0].to(torch.float64).numpy(), k, plain, seen, 0.2)[0], 2e-3)
    with pytest.raises(RuntimeError, match="32 bytes, but they have 31"):
        npu.npu_kv_quant_sparse_flash_attention(
            q, tensor(rows[None, :, None, :31]), tensor(rows[None, :, None]), tensor(chosen, torch.int32), 0.2, 2, 2,
            attention_mode=2, tile_size=tile, rope_head_dim=rope,
        )  # fmt: skip


@pytest.mark.parametrize("layout", ["BNSD", "TND"])
def test_blocks_left_out(numbers: np.random.Generator, layout: str) -> None:
    q, k, v = (numbers.normal(size=(2, n, s, 4)) for n, s in ((4, 5), (2, 200), (2, 200)))
    blocks = numbers.integers(0, 2, (2, 4, 3, 2))
    blocks[:, :, 0] = 0  # the first two queries attend to nothing
    laid = [x.transpose(0, 2, 1, 3).reshape(-1, *x.shape[1::2]) if layout == "TND" else x for x in (q, k, v)]
    lengths = {"actual_seq_lengths": [5, 5], "actual_seq_lengths_kv": [200, 200]} if layout == "TND" else {}
    out, lse = npu.npu_block_sparse_attention(
        *map(tensor, laid), tensor(blocks, torch.int8), [2, 128], q_input_layout=layout, kv_input_layout=layout,
        num_key_value_heads=2, scale_value=0.5, softmax_lse_flag=1, **lengths,
    )  # fmt: skip
    seen = blocks.repeat(2, 2).repeat(128, 3)[:, :, :5, :200].astype(bool)
    s = np.where(seen, np.einsum("bnqd,bnkd->bnqk", q, k.repeat(2, 1)) * 0.5, -np.inf)
    top = np.where(np.isinf(s.max(-1, keepdims=True)), 0, s.max(-1, keepdims=True))
    e = np.exp(s - top)
    total = e.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        expected, logs = e / np.where(total == 0, 1, total) @ v.repeat(2, 1), top + np.log(total)
    if layout == "TND":
        expected, logs = (x.transpose(0, 2, 1, 3).reshape(10, 4, -1) for x in (expected, logs))
    close(out, expected)
    close(lse, logs)


def test_the_divergence_of_an_indexer_and_its_gradients(numbers: np.random.Generator) -> None:
    q, k = numbers.normal(size=(2, 3, 4, 8)), numbers.normal(size=(2, 5, 1, 8))
    chosen = tensor(
        np.stack([[numbers.permutation(3)[:2] for _ in range(3)] for _ in range(2)])[:, :, None], torch.int32
    )
    _, top, total = npu.npu_sparse_flash_attention(
        tensor(q), tensor(k), tensor(k), chosen, 0.3, return_softmax_lse=True
    )
    leaves = [
        torch.tensor(numbers.normal(size=size), requires_grad=True) for size in ((2, 3, 2, 6), (2, 5, 1, 6), (2, 3, 2))
    ]
    *gradients, loss = npu.npu_sparse_lightning_indexer_grad_kl_loss(
        tensor(q), tensor(k), *(x.detach() for x in leaves), chosen, top, total, 0.3
    )
    seen = torch.zeros(2, 3, 5, dtype=torch.bool)
    for b, i, j in np.ndindex(2, 3, 2):
        seen[b, i, chosen[b, i, 0, j]] = True
    s = torch.einsum("btnd,bsd->btns", tensor(q), tensor(k)[:, :, 0]) * 0.3
    p = s.masked_fill(~seen[:, :, None], float("-inf")).softmax(-1).mean(2)
    a, b, w = leaves
    index = (torch.einsum("btnd,bsd->btns", a, b[:, :, 0]).relu() * w[..., None]).sum(2)
    guess = index.masked_fill(~seen, float("-inf")).log_softmax(-1)
    expected = (p * (p.clamp(min=1e-8).log() - guess.masked_fill(~seen, 0))).sum()
    expected.backward()
    close(loss, [expected.item()], 1e-5)
    for ours, leaf in zip(gradients, leaves, strict=True):
        assert leaf.grad is not None
        close(ours, leaf.grad.numpy(), 1e-5)
