"""Switches of `torch.npu` whose effect is seen on the device, and the times of events."""

import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import state

npu: Any = torch.npu


@pytest.fixture
def waits() -> Iterator[None]:
    yield
    npu.set_sync_debug_mode(0)


def test_waits_of_the_host_are_told(waits: None) -> None:
    x = torch.ones(2, device="npu")
    npu.set_sync_debug_mode("warn")
    assert npu.get_sync_debug_mode() == 1
    with pytest.warns(UserWarning, match="lets the host wait for the NPU"):
        x.sum().item()
    npu.set_sync_debug_mode(2)
    with pytest.raises(RuntimeError, match="lets the host wait for the NPU"):
        x.cpu()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        y = x * 2  # which waits for nothing
        npu.set_sync_debug_mode("default")
        assert y.tolist() == [2.0, 2.0] and npu.get_sync_debug_mode() == 0
    for wrong, message in ((3, "expected one of 0,1,2"), ("loud", "expected one of `default`")):
        with pytest.raises(RuntimeError, match=message):
            npu.set_sync_debug_mode(wrong)


@pytest.mark.parametrize("on", [True, False])
def test_deterministic_operators_as_far_as_the_gradient(on: bool) -> None:
    switch = npu.enable_deterministic_with_backward if on else npu.disable_deterministic_with_backward
    x: Any = torch.ones(2, requires_grad=True)
    try:
        torch.use_deterministic_algorithms(not on)
        y = switch(x * 3)
        assert torch.are_deterministic_algorithms_enabled() is on and y.tolist() == [3.0, 3.0]
        (y * 2).sum().backward()
        assert torch.are_deterministic_algorithms_enabled() is not on and x.grad.tolist() == [6.0, 6.0]
        with pytest.raises(AssertionError, match="Attempt to trace forbidden callable"):  # as torch_npu forbids it
            torch.compile(lambda x: switch(x) + 1, backend="eager")(torch.ones(2))
    finally:
        torch.use_deterministic_algorithms(False)


def test_the_switch_of_convolutions_has_two_names() -> None:
    assert npu.aclnn.allow_hf32 and npu.conv.allow_hf32 and npu.aclnn.version() is None
    with npu.aclnn.flags(allow_hf32=False):
        assert not npu.conv.allow_hf32
    assert npu.conv.allow_hf32
    npu.aclnn.allow_hf32 = False
    assert not npu.conv.allow_hf32
    npu.conv.allow_hf32 = True


def test_forms_of_attention_are_chosen_for_a_while() -> None:
    enabled = [npu.flash_sdp_enabled, npu.math_sdp_enabled, npu.mem_efficient_sdp_enabled]
    before = [ask() for ask in enabled]
    with npu.sdp_kernel(enable_flash=False, enable_math=True, enable_mem_efficient=False):
        assert [ask() for ask in enabled] == [False, True, False]
    assert [ask() for ask in enabled] == before


def test_when_events_were_passed() -> None:
    first, second = (torch.npu.Event(enable_timing=True) for _ in range(2))
    first.record()
    torch.ones(1000, device="npu").exp_()
    second.record()
    times: Any = [event.recorded_time() for event in (first, second)]
    assert 0 < times[0] <= times[1]
    assert abs((times[1] - times[0]) / 1000 - first.elapsed_time(second)) < 0.01
    for event in (torch.npu.Event(enable_timing=True), torch.npu.current_stream().record_event()):
        with pytest.raises(ValueError, match="created with enable_timing=True and be recorded"):
            event.recorded_time()


def test_no_plans_are_kept() -> None:
    cache = npu.backends.fft_plan_cache
    cache.max_size = 20
    assert cache.max_size == 20 and cache.size == 0
    cache.clear()
    with pytest.raises(RuntimeError, match="a whole number from 0 on, but it is -1"):
        cache.max_size = -1
    with pytest.raises(AttributeError):
        cache.size = 1


def test_cores_are_not_limited() -> None:
    found = torch.npu.get_device_properties(0)
    assert npu.get_device_limit(0) == {"cube_core_num": found.cube_core_num, "vector_core_num": found.vector_core_num}
    for wrong in ("0", 0.0, None, True):
        for function in (npu.get_device_limit, npu.set_device_limit):
            with pytest.raises(TypeError, match=f"device must be an int, not {type(wrong).__name__}"):
                function(wrong)
    with pytest.raises(NotImplementedError, match="the cores that a process may use are not limited here"):
        npu.set_device_limit(0, 12, 24)


def test_the_time_of_operators_is_limited_by_cann(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime, limits = state.get().runtime, []
    take = runtime.aclrtSetOpExecuteTimeOutWithMs

    def noted(limit: int) -> int:
        limits.append(limit)
        return take(limit)

    monkeypatch.setattr(runtime, "aclrtSetOpExecuteTimeOutWithMs", noted)
    npu.set_op_timeout_ms(1000)
    npu.set_op_timeout_ms((1 << 32) - 1)
    for timeout, message in ((-1, "can't convert negative value"), (1 << 32, "Overflow")):
        with pytest.raises(RuntimeError, match=message):
            npu.set_op_timeout_ms(timeout)
    assert limits == [1000, (1 << 32) - 1]
    monkeypatch.setattr(runtime, "aclrtSetOpExecuteTimeOutWithMs", lambda limit: 107000)
    with pytest.raises(torch.npu.NPUError, match="aclrtSetOpExecuteTimeOutWithMs returned 107000"):
        npu.set_op_timeout_ms(1)


def test_complex_numbers_that_are_none() -> None:
    nan = float("nan")
    x = torch.tensor([complex(1, 2), complex(nan, 0), complex(0, nan)], dtype=torch.complex64).to("npu")
    assert x.isnan().tolist() == [False, True, True]


def test_storages_are_made_on_the_current_device() -> None:
    values = torch.arange(4.0)
    storage = torch.UntypedStorage(16, device=torch.device("npu"))
    assert storage.device == torch.device("npu:0")
    storage.copy_(values.untyped_storage())
    x = torch.empty(0, device="npu").set_(storage)
    assert x.device == torch.device("npu:0") and x.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_how_busy_a_device_is() -> None:
    torch.npu.synchronize()
    assert torch.npu.utilization() == 0
    with pytest.raises(torch.npu.NPUError, match="no such device"):
        torch.npu.utilization(99)


def test_options_by_name_and_value() -> None:
    with pytest.raises(
        ValueError, match=r"value of ACL_PRECISION_MODE should be in \['allow_fp32_to_fp16', .* but got loose"
    ):
        torch.npu.set_option({"ACL_PRECISION_MODE": "loose"})
    with pytest.raises(RuntimeError, match="invalid npu option name:ACL_OP_SELECT_IMPL; known are ACL_AICORE_NUM"):
        torch.npu.set_option({"ACL_OP_SELECT_IMPL": "high_precision"})


def test_a_stream_can_be_taken_back_from_a_block() -> None:
    torch.npu.empty_cache()
    stream = torch.npu.Stream()
    x = torch.ones(700, device="npu")
    address = x.data_ptr()
    before = torch.npu.memory_stats()
    x.record_stream(stream)
    torch.npu.streams.erase_stream(x, stream)
    del x
    after = torch.npu.memory_stats()
    assert torch.empty(700, device="npu").data_ptr() == address
    assert after["active.all.current"] == after["allocation.all.current"] == before["allocation.all.current"] - 1
    assert after["requested_bytes.all.freed"] - before["requested_bytes.all.freed"] == 2800
    with pytest.raises(RuntimeError, match="erase_stream.*the tensor is on cpu"):
        torch.npu.streams.erase_stream(torch.ones(1), stream)
