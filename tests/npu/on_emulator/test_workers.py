"""Tokens in the device's memory that a context names by addresses."""

import pytest
from schedule_contexts import check_batching, check_combination

import mindtorch_v2 as torch

torch.npu.init()


def test_what_experts_made_is_combined() -> None:
    check_combination("npu")


@pytest.mark.parametrize("scheduled", [False, True])
def test_tokens_come_in_the_order_of_their_experts(scheduled: bool) -> None:
    check_batching("npu", scheduled)
