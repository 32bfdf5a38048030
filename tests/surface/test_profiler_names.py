"""Small parts of PyTorch's profiler that programs take by name, and torch_npu's own schedule."""

from typing import Any

import pytest

from mindtorch_v2.autograd import profiler, profiler_util
from mindtorch_v2.npu.torch_npu.profiler import ProfilerAction, schedule

NONE, WARMUP, RECORD, SAVE, *_ = ProfilerAction


def test_keys_that_come_once() -> None:
    guard = profiler.EnforceUnique()
    guard.see("scope", 1)
    guard.see("scope", 2)
    with pytest.raises(RuntimeError, match=r"duplicate key: \('scope', 1\)"):
        guard.see("scope", 1)


def test_records_of_memory_by_their_times() -> None:
    class Made:
        def __init__(self, time: int) -> None:
            self.start_ns = lambda: time

    records = profiler_util.MemRecordsAcc([(Made(time), time) for time in (7, 2, 5, 3)])
    assert [time for _, time in records.in_interval(3, 5)] == [3, 5]
    assert not list(records.in_interval(8, 9))
    assert profiler_util.Kernel("k", "npu", 11) == ("k", "npu", 11)


@pytest.mark.parametrize("wrong", [-1, 0.5, None])
def test_numbers_of_a_schedule_that_are_none(wrong: Any) -> None:
    with pytest.warns(UserWarning, match=f"wait must be a whole number from 0 on, not {wrong!r}"):
        actions = schedule(wait=wrong, active=1)
    assert [actions(step) for step in range(3)] == [SAVE] * 3
    with pytest.warns(UserWarning, match="active must be a whole number from 1 on, not 0"):
        actions = schedule(1, 0, warmup=1, repeat=1)
    assert actions.active == 1 and [actions(step) for step in range(4)] == [NONE, WARMUP, SAVE, NONE]
    assert [schedule(0, 2)(step) for step in range(2)] == [RECORD, SAVE]
