"""Compositions of attention hold a part of the scores at a time, however many tokens there are, and the parts make the whole."""

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu
_TOKENS = 2304
_Q, _K, _V = (torch.randn(1, 1, _TOKENS, 8, generator=torch.Generator().manual_seed(n)) for n in range(3))
_MASK = torch.ones(2048, 2048).triu(1).bool()


def _peak(call: Callable[[], Any]) -> int:
    """The most memory that a call takes beside what there was before, in bytes."""
    torch.cpu.reset_peak_memory_stats()
    before = torch.cpu.memory_stats()["allocated_bytes.current"]
    call()
    return torch.cpu.memory_stats()["allocated_bytes.peak"] - before


def _gradient() -> Any:
    q, k, v = (x.clone().requires_grad_() for x in (_Q, _K, _V))
    npu.npu_fusion_attention(q, k, v, 1, "BNSD", atten_mask=_MASK, sparse_mode=2)[0].sum().backward()
    return q.grad, k.grad, v.grad


_CALLS: dict[str, Callable[[], Any]] = {
    "training": lambda: npu.npu_fusion_attention(_Q, _K, _V, 1, "BNSD"),
    "gradient": _gradient,
    "inference": lambda: npu.npu_fused_infer_attention_score(_Q, _K, _V, num_heads=1, input_layout="BNSD"),
    "inference, second version": lambda: npu.npu_fused_infer_attention_score_v2(
        _Q, _K, _V, num_query_heads=1, input_layout="BNSD"
    ),
    "prompt": lambda: npu.npu_prompt_flash_attention(_Q, _K, _V, num_heads=1, input_layout="BNSD"),
}


@pytest.mark.parametrize("name", _CALLS)
def test_the_scores_are_never_there_as_a_whole(name: str) -> None:
    assert _Q.nbytes <= _peak(_CALLS[name]) < _TOKENS * _TOKENS * 4


def test_a_whole_matrix_would_be_noticed() -> None:
    assert _peak(lambda: torch.softmax(_Q @ _K.transpose(-1, -2), -1)) >= _TOKENS * _TOKENS * 4


@pytest.mark.parametrize(("queries", "keys"), [(150, 170), (170, 150), (64, 64), (129, 1)])
@pytest.mark.parametrize("mode", [0, 2, 3, 4])
def test_the_parts_are_those_of_the_whole(mode: int, queries: int, keys: int) -> None:
    """Of more queries than are looked at together, by each mode; with gradients, beside the whole matrix in float64."""
    generator = torch.Generator().manual_seed(3)
    q, k, v = (
        torch.randn(2, 2, n, 8, generator=generator, dtype=torch.float64).requires_grad_()
        for n in (queries, keys, keys)
    )
    row, column = torch.arange(queries).unsqueeze(1), torch.arange(keys)
    shift = 0 if mode in (0, 2) else keys - queries
    hidden = column > row + shift if mode in (2, 3) else (column > row + shift + 40) | (column < row + shift - 70)
    options: dict[str, Any] = {"sparse_mode": mode, "scale": 0.4}
    options["atten_mask"] = torch.zeros(queries, keys).bool() if mode == 0 else _MASK
    if mode in (0, 4):
        options.update(pre_tockens=70, next_tockens=40)
    ours = npu.npu_fusion_attention(q, k, v, 2, "BNSD", **options)[0]
    scores = (0.4 * q @ k.transpose(-1, -2)).masked_fill(hidden, -float("inf"))
    seen = ~hidden.all(-1, keepdim=True)
    whole = torch.where(seen, torch.softmax(torch.where(seen, scores, 0.0), -1), 0.0) @ v
    torch.testing.assert_close(ours, whole, rtol=1e-10, atol=1e-12)
    upstream = torch.randn(ours.shape, generator=generator, dtype=torch.float64)
    expected = torch.autograd.grad(whole, (q, k, v), upstream)
    for found, of in zip(torch.autograd.grad(ours, (q, k, v), upstream), expected, strict=True):
        torch.testing.assert_close(found, of, rtol=1e-9, atol=1e-11)
