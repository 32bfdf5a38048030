"""Calls that fail: at each of the first 200 calls of a training step, the step says so, and the next one works."""

import contextlib
import gc
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.npu import NPUError

_CALLS = 200
_CODES = (507000, 361001, 561000)


def _step(model: Any, x: Any, target: Any) -> float:
    model.zero_grad()
    loss = nn.functional.cross_entropy(model(x.to("npu")), target.to("npu"))
    loss.backward()
    with torch.no_grad():
        norm = sum(p.grad.square().sum() for p in model.parameters())
    return (loss + 0 * norm).item()


@pytest.fixture
def step() -> Any:
    """A training step without update, and its loss."""
    torch.manual_seed(0)
    hidden = [layer for _ in range(3) for layer in (nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8))]
    model = nn.Sequential(nn.Linear(6, 8), *hidden, nn.Linear(8, 3)).to("npu")
    x, target = torch.randn(4, 6), torch.tensor([0, 2, 1, 1])
    return lambda: _step(model, x, target)


def test_every_call_may_fail(emulator: Any, report: Any, step: Any) -> None:
    acl = emulator.runtime.libraries.acl
    expected = step()
    gc.collect()  # what earlier tests left in cycles is not freed between the counts
    allocated = torch.npu.memory_allocated()
    acl.emulatorInject(b"")  # counts from here
    step()
    assert report()["calls"] > _CALLS
    failures = 0
    for nth in range(1, _CALLS + 1):
        code = _CODES[nth % len(_CODES)]
        acl.emulatorInject(f"*:{nth}:{code}".encode())
        try:
            step()
        except NPUError as error:
            failures += 1
            # What makes a descriptor returns it, or null: such a call has no code.
            assert error.code == (161002 if error.function.startswith("aclCreate") else code)
            assert f"injected error {code}" in str(error)
        finally:
            acl.emulatorInject(b"")
        with contextlib.suppress(NPUError):  # what failed on the stream after the step had given up
            torch.npu.synchronize()
        assert step() == expected, f"after a failure of call {nth}"
        assert torch.npu.memory_allocated() == allocated, f"after a failure of call {nth}"
        assert report()["live"]["executors"] == 0, f"after a failure of call {nth}"
    assert failures > _CALLS * 0.8  # the others are asked for no result


def test_descriptors_that_are_dropped_wait_for_calls_under_way(emulator: Any, report: Any) -> None:
    descriptors, state = emulator.caller.descriptors, emulator.runtime.thread
    x = torch.arange(20000, device="npu")
    base = report()["live"]["tensors"]
    state.epoch = descriptors.epoch  # as in the middle of a call
    for offset in range(12500):
        x[offset].zero_()
    during = report()["live"]["tensors"]
    assert during - base > 12000 and descriptors.dropped
    state.epoch = None
    for offset in range(12500, 17000):
        x[offset].zero_()
    assert report()["live"]["tensors"] <= 3 * 4096 and x.sum().item() == sum(range(17000, 20000))


def test_memory_is_flat_over_many_steps(emulator: Any, report: Any, step: Any) -> None:
    for _ in range(20):
        step()
    before, allocated = report()["live"], torch.npu.memory_allocated()
    reserved = torch.npu.memory_reserved()
    for _ in range(200):
        step()
    assert report()["live"] == before
    assert torch.npu.memory_allocated() == allocated and torch.npu.memory_reserved() == reserved


def test_failures_of_allocation_are_not_called_out_of_memory(emulator: Any) -> None:
    emulator.runtime.libraries.acl.emulatorInject(b"aclrtMalloc:1:507000")
    with pytest.raises(NPUError, match=r"aclrtMalloc returned 507000") as caught:
        torch.empty(30 << 20, device="npu")
    emulator.runtime.libraries.acl.emulatorInject(b"")
    assert not isinstance(caught.value, torch.npu.OutOfMemoryError)


@pytest.mark.parametrize(
    "call", ["aclrtCreateEventExWithFlag:1", "aclrtRecordEvent:1", "aclrtRecordEvent:2", "aclrtQueryEventStatus:1"]
)
def test_a_block_that_another_stream_uses_comes_back_after_a_failure(emulator: Any, report: Any, call: str) -> None:
    acl, memory = emulator.runtime.libraries.acl, emulator.memory[0]
    torch.npu.synchronize()
    torch.npu.empty_cache()
    events = report()["live"]["events"]
    reserved, allocated = torch.npu.memory_reserved(), torch.npu.memory_allocated()
    others = [torch.npu.Stream(), torch.npu.Stream()]
    address = memory.allocate(5 << 20)
    for other in others:
        memory.record_stream(address, other.npu_stream)
    acl.emulatorInject(f"{call}:507000".encode())
    try:
        with pytest.raises(NPUError, match=call.split(":")[0]):
            memory.release(address)
            memory.release(memory.allocate(1024))  # looks after blocks that wait
    finally:
        acl.emulatorInject(b"")
    torch.npu.synchronize()
    torch.npu.empty_cache()
    assert torch.npu.memory_allocated() == allocated
    assert torch.npu.memory_reserved() == reserved
    assert report()["live"]["events"] == events


def test_streams_that_are_gone_are_not_asked_after(emulator: Any) -> None:
    handle = emulator.runtime.create_stream(0)
    emulator.runtime.destroy_stream(handle)
    assert emulator.runtime._stream_id(0, handle) == -1  # which CANN would be misused by
