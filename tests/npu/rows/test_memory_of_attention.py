"""Compositions of attention hold a part of the scores at a time, however many tokens there are."""

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
