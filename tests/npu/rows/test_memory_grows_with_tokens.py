"""Every operator of attention takes memory in proportion to the tokens, beside what it is given, above 2,048 of them."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

npu, atb = torch.ops.npu, torch.ops.atb
_TOKENS, _WIDTH, _PAGE = 2304, 8, 128
_MATRIX = _TOKENS * _TOKENS * 4
_MASK = torch.ones(2048, 2048).triu(1).bool()
_PREFIX = torch.ones(3072, 2048).triu(1).bool()
_CAUSAL: dict[str, Any] = {"sparse_mode": 2, "atten_mask": _MASK}


def _x(*sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def _whole(*sizes: int) -> torch.Tensor:
    return torch.randint(-99, 99, sizes, generator=torch.Generator().manual_seed(1)).to(torch.int8)


def _peak(call: Callable[[], Any]) -> int:
    """The most memory that a call takes beside what there was before, in bytes."""
    torch.cpu.reset_peak_memory_stats()
    before = torch.cpu.memory_stats()["allocated_bytes.current"]
    call()
    return torch.cpu.memory_stats()["allocated_bytes.peak"] - before


class _Given:
    """Arguments for so many tokens."""

    def __init__(self, tokens: int) -> None:
        self.n, pages = tokens, tokens // _PAGE
        self.q, self.k, self.v = (_x(1, 1, tokens, _WIDTH, seed=seed) for seed in range(3))
        self.packed = [x.reshape(tokens, 1, _WIDTH) for x in (self.q, self.k, self.v)]
        self.padded = [x.reshape(1, tokens, 1, _WIDTH) for x in (self.q, self.k, self.v)]
        self.ends = [tokens // 3, tokens]
        self.lengths = torch.tensor([tokens], dtype=torch.int32)
        self.table = torch.arange(pages, dtype=torch.int32).reshape(1, -1)
        self.pages = [_x(pages, _PAGE, 1, _WIDTH, seed=seed) for seed in (4, 5)]
        self.out = torch.empty(tokens, 1, _WIDTH)
        self.hidden = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        self.added = torch.zeros(tokens, tokens)
        self.chosen = torch.arange(16, dtype=torch.int32).expand(1, tokens, 1, 16).contiguous()


def _fusion(given: _Given, **named: Any) -> Any:
    return npu.npu_fusion_attention(given.q, given.k, given.v, 1, "BNSD", **named)


def _gradient(call: Callable[..., Any], *tensors: torch.Tensor) -> Any:
    leaves = [x.clone().requires_grad_() for x in tensors]
    return torch.autograd.grad(call(*leaves)[0].sum(), leaves)


def _ends(given: _Given) -> dict[str, Any]:
    return {"actual_seq_qlen": given.ends, "actual_seq_kvlen": given.ends, "atten_mask": _MASK, "sparse_mode": 3}


def _own_gradient(given: _Given) -> Any:
    out, top, total = _fusion(given, **_CAUSAL)[:3]
    statistics = {"softmax_max": top, "softmax_sum": total, "attention_in": out}
    return npu.npu_fusion_attention_grad(given.q, given.k, given.v, out, 1, "BNSD", **statistics, **_CAUSAL)


def _divergence(given: _Given) -> Any:
    q, k, _ = given.padded
    top, total = npu.npu_sparse_flash_attention(q, k, k, given.chosen, 0.3, return_softmax_lse=True)[1:]
    weights = _x(1, given.n, 1)
    return npu.npu_sparse_lightning_indexer_grad_kl_loss(q, k, q, k, weights, given.chosen, top, total, 0.3)


def _rows_of_bytes(given: _Given) -> Any:
    query, rows = _x(1, given.n, 1, 20).half(), _whole(1, given.n, 1, 16 + 8 + 8)
    options = {"attention_mode": 2, "tile_size": 8, "rope_head_dim": 4}
    return npu.npu_kv_quant_sparse_flash_attention(query, rows, rows, given.chosen, 0.2, 2, 2, **options)


def _whole_indexer(given: _Given) -> Any:
    n, scale = given.n, torch.ones(1, given.n, 1).half()
    q, k = _whole(1, n, 1, 8), _whole(1, n, 1, 8)
    return npu.npu_quant_lightning_indexer(q, k, _x(1, n, 1).half(), scale, scale, 0, 0, sparse_count=16)


def _chosen_blocks(given: _Given) -> Any:
    chosen = torch.zeros(1, given.n, 2, dtype=torch.int32) + torch.tensor([0, 1], dtype=torch.int32)
    counts = torch.full((1, given.n), 2, dtype=torch.int32)
    lengths = {"actual_seq_lengths": given.lengths, "actual_seq_lengths_kv": given.lengths}
    return npu.npu_sparse_attention_score(
        given.packed[0], *given.pages, chosen, given.table, select_num_idx=counts, top_k=2, **lengths
    )


def _blocks(given: _Given) -> Any:
    mask = torch.ones(1, 1, given.n // 128, given.n // 128, dtype=torch.int8)
    lengths = {"actual_seq_lengths": [given.n], "actual_seq_lengths_kv": [given.n]}
    return npu.npu_block_sparse_attention(*given.packed, mask, [128, 128], **lengths, softmax_lse_flag=1)


def _latent(given: _Given) -> Any:
    pages = _x(given.n // _PAGE, _PAGE, 1, 16), _x(given.n // _PAGE, _PAGE, 1, 8)
    return atb.npu_multi_head_latent_attention(_x(1, 4, 16), _x(1, 4, 8), *pages, given.table, [given.n], 4, 0.5, 1)


def _delta_rule(given: _Given) -> Any:
    q, k, v = (_x(given.n, 1, 128, seed=seed).bfloat16() for seed in range(3))
    state, beta = torch.zeros(1, 1, 128, 128).bfloat16(), torch.rand(given.n, 1).bfloat16()
    lengths, decay = torch.tensor([given.n], dtype=torch.int32), -torch.rand(given.n, 1)
    named = {"beta": beta, "initial_state": state, "actual_seq_lengths": lengths, "scale": 0.1, "g": decay}
    return npu.npu_chunk_gated_delta_rule(q, k, v, **named)


_TRAINING: dict[str, Callable[[_Given], Any]] = {
    "without a mask": _fusion,
    "causal": lambda given: _fusion(given, **_CAUSAL),
    "band": lambda given: _fusion(given, sparse_mode=4, atten_mask=_MASK, pre_tockens=100, next_tockens=0),
    "prefix": lambda given: _fusion(given, sparse_mode=6, atten_mask=_PREFIX, prefix=[100]),
    "whole mask": lambda given: _fusion(given, atten_mask=given.hidden),
    "shift": lambda given: _fusion(given, pse=given.added.reshape(1, 1, given.n, given.n)),
    "sink": lambda given: _fusion(given, sink=torch.zeros(1), **_CAUSAL),
    "packed": lambda given: npu.npu_fusion_attention(*given.packed, 1, "TND", **_ends(given)),
    "gradient": lambda given: _gradient(
        lambda q, k, v: npu.npu_fusion_attention(q, k, v, 1, "BNSD", **_CAUSAL), given.q, given.k, given.v
    ),
    "gradient with a sink": lambda given: _gradient(
        lambda q, k, v: npu.npu_fusion_attention(q, k, v, 1, "BNSD", sink=torch.zeros(1), **_CAUSAL),
        given.q,
        given.k,
        given.v,
    ),
    "gradient of packed": lambda given: _gradient(
        lambda q, k, v: npu.npu_fusion_attention(q, k, v, 1, "TND", **_ends(given)), *given.packed
    ),
    "dropout": lambda given: _fusion(given, keep_prob=0.9, **_CAUSAL),
    "gradient with dropout": lambda given: _gradient(
        lambda q, k, v: npu.npu_fusion_attention(q, k, v, 1, "BNSD", keep_prob=0.9), given.q, given.k, given.v
    ),
    "gradient of packed with dropout": lambda given: _gradient(
        lambda q, k, v: npu.npu_fusion_attention(q, k, v, 1, "TND", keep_prob=0.9, **_ends(given)), *given.packed
    ),
    "gradient by its operator": _own_gradient,
    "second version": lambda given: npu.npu_fusion_attention_v2(
        given.q, given.k, given.v, 1, "BNSD", query_rope=given.q, key_rope=given.k, **_CAUSAL
    ),
    "gradient of the second version": lambda given: _gradient(
        lambda q, k, v: npu.npu_fusion_attention_v2(q, k, v, 1, "BNSD", **_CAUSAL), given.q, given.k, given.v
    ),
    "gradient of the third version": lambda given: _gradient(
        lambda q, k, v: npu.npu_fusion_attention_v3(q, k, v, 1, "BNSD", **_CAUSAL), given.q, given.k, given.v
    ),
}
_INFERENCE: dict[str, Callable[[_Given], Any]] = {
    "prompt": lambda given: npu.npu_prompt_flash_attention(
        given.q, given.k, given.v, num_heads=1, input_layout="BNSD", atten_mask=given.hidden
    ),
    "one token": lambda given: npu.npu_incre_flash_attention(
        given.q[:, :, :1], given.k, given.v, num_heads=1, input_layout="BNSD"
    ),
    "inference": lambda given: npu.npu_fused_infer_attention_score(
        given.q, given.k, given.v, num_heads=1, input_layout="BNSD", softmax_lse_flag=True, **_CAUSAL
    ),
    "inference over pages": lambda given: npu.npu_fused_infer_attention_score(
        given.q.reshape(1, given.n, _WIDTH),
        *(x.reshape(-1, _PAGE, _WIDTH) for x in given.pages),
        num_heads=1,
        block_table=given.table,
        block_size=_PAGE,
        actual_seq_lengths=[given.n],
        actual_seq_lengths_kv=[given.n],
        **_CAUSAL,
    ),
    "second inference with a sink": lambda given: npu.npu_fused_infer_attention_score_v2(
        given.q, given.k, given.v, num_query_heads=1, input_layout="BNSD", learnable_sink=torch.zeros(1)
    ),
    "second inference of packed": lambda given: npu.npu_fused_infer_attention_score_v2(
        *given.packed, num_query_heads=1, input_layout="TND", **_ends(given)
    ),
    "flash": lambda given: atb._npu_flash_attention(*given.packed, given.added, given.lengths, 0.3, 1, 1, given.out),
    "flash, second version": lambda given: atb._npu_flash_attention_v2.out(
        *given.packed, [given.n], mask=given.added, num_heads=1, num_kv_heads=1, out=given.out
    ),
    "flash, third version": lambda given: atb._npu_flash_attention_v3(
        *given.packed, given.added, given.lengths, 0.3, 1, 1, out=given.out
    ),
    "flash without a mask": lambda given: atb._npu_flash_attention_unpad(
        *given.packed, given.lengths, 0.3, 1, 1, given.out
    ),
    "ends of prompts": lambda given: atb._npu_flash_attention_prefix_v2.out(
        given.packed[0],
        *given.pages,
        given.table,
        given.added,
        [given.n],
        [given.n],
        num_kv_heads=1,
        num_heads=1,
        out=given.out,
    ),
    "pages": lambda given: atb._npu_paged_attention(
        given.packed[0][:1], *given.pages, 1, 1, 0.3, given.table, given.lengths, given.out[:1]
    ),
    "prompts and tokens": lambda given: atb._npu_paged_attention_splitfuse(
        given.packed[0], *given.pages, given.table, given.lengths, given.added, given.lengths, 1, 1, 0.3, given.out
    ),
    "latent": _latent,
    "delta rule": _delta_rule,
    "indexer": lambda given: npu.npu_lightning_indexer(
        *given.padded[:2], _x(1, given.n, 1), sparse_count=16, return_value=True
    ),
    "indexer of whole numbers": _whole_indexer,
    "chosen keys": lambda given: npu.npu_sparse_flash_attention(*given.padded[:2], given.padded[1], given.chosen, 0.3),
    "chosen keys in bytes": _rows_of_bytes,
    "divergence": _divergence,
    "blocks": _blocks,
    "chosen blocks": _chosen_blocks,
}


@pytest.mark.parametrize("name", [*_TRAINING, *_INFERENCE])
def test_memory_is_in_proportion_to_the_tokens(name: str) -> None:
    call, (few, many) = {**_TRAINING, **_INFERENCE}[name], (_Given(_TOKENS), _Given(2 * _TOKENS))
    call(few)  # what is made once
    least = _peak(lambda: call(few))
    assert 0 < least < _MATRIX and _peak(lambda: call(many)) < 2.1 * least


def test_memory_of_a_mask_of_dropout_is_beside_its_bits() -> None:
    given = _Given(_TOKENS)
    mask = npu._npu_dropout_gen_mask(given.q, [given.n, given.n], 0.1, 3, 0)
    assert _peak(lambda: _fusion(given, keep_prob=0.9, dropout_mask=mask)) < _MATRIX * 0.5


@pytest.mark.parametrize("packed", [False, True])
def test_dropout_drawn_block_by_block_is_that_of_its_whole_mask(packed: bool) -> None:
    q, k = _x(2, 3, 150, 8), _x(2, 3, 170, 8, seed=1)
    arguments: tuple = (3, "BNSD")
    if packed:
        q, k = (x.transpose(1, 2).reshape(-1, 3, 8) for x in (q, k))
        arguments = (3, "TND", None, None, _MASK)
    options: dict[str, Any] = {"keep_prob": 0.7, "seed": 5}
    sizes = [2, 3, 150, 170]
    if packed:
        options.update(sparse_mode=3, actual_seq_qlen=[100, 300], actual_seq_kvlen=[140, 340])
        sizes = [3 * (100 * 140 + 200 * 200)]
    whole = {"dropout_mask": npu._npu_dropout_gen_mask(q, sizes, 0.3, 5, 0)}

    def call(*qkv: torch.Tensor, **mask: torch.Tensor) -> Any:
        return npu.npu_fusion_attention(*qkv, *arguments, **options, **mask)

    assert torch.equal(call(q, k, k)[0], call(q, k, k, **whole)[0])
    drawn = _gradient(call, q, k, k)
    given = _gradient(lambda *qkv: call(*qkv, **whole), q, k, k)
    assert all(torch.equal(x, y) for x, y in zip(drawn, given, strict=True))
