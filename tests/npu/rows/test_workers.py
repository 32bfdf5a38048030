"""Tokens in memory that a context names, on the CPU, beside the same in NumPy."""

import pytest
from schedule_contexts import SESSIONS, WIDTH, check_batching, check_combination, packed

import mindtorch_v2 as torch

npu = torch.ops.npu


def test_what_experts_made_is_combined() -> None:
    check_combination("cpu")


@pytest.mark.parametrize("scheduled", [False, True])
def test_tokens_come_in_the_order_of_their_experts(scheduled: bool) -> None:
    check_batching("cpu", scheduled)


def test_results_have_their_sizes_without_numbers() -> None:
    context = torch.empty(1024, dtype=torch.int8, device="meta")
    made = npu.npu_ffn_worker_batching(context, 3, [3, 4, 3, 16], token_dtype=1)
    assert made[0].shape == (36, 16) and made[0].dtype == torch.bfloat16 and made[1].shape == (3, 2)
    weights, layer = torch.empty(4, 2, device="meta"), torch.empty(1, dtype=torch.int32, device="meta")
    combined = npu.npu_attention_worker_combine(context, weights, layer, 16)
    assert [x.shape for x in combined] == [(4, 16), (1,)]


def test_what_the_context_does_not_have_is_refused() -> None:
    sizes, weights, layer = [SESSIONS, 4, 3, WIDTH], torch.ones(4, 2), torch.zeros(1, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="1024 bytes in one dimension, but its sizes are \\[8\\]"):
        npu.npu_ffn_worker_batching(torch.zeros(8, dtype=torch.int8), 3, sizes)
    with pytest.raises(RuntimeError, match="the area for session ids must have 8 bytes, but the context says 0"):
        npu.npu_ffn_worker_batching(packed("cpu", {576: 2}, {}), 3, sizes)
    memory = torch.zeros(4, dtype=torch.float16)
    with pytest.raises(
        RuntimeError, match="the area for attention token data must have 384 bytes, but the context says 8"
    ):
        npu.npu_attention_worker_combine(packed("cpu", {}, {272: memory}), weights, layer, WIDTH)
    with pytest.raises(RuntimeError, match=r"expert_scales must be \(4, 2\), as the context says, but it is \(4, 3\)"):
        npu.npu_attention_worker_combine(packed("cpu", {}, {272: memory}), torch.ones(4, 3), layer, WIDTH)
    info = torch.zeros(SESSIONS, 2, 14, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="2 sessions were expected to have sent micro batch 0, but only 0 of 3 have"):
        npu.npu_ffn_worker_batching(packed("cpu", {576: 2}, {384: info}), 3, sizes, need_schedule=1)
