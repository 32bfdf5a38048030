"""The device as a program meets it: copies, views, errors, memory, streams, events, random numbers, training."""

import ctypes
import gc
import os
import pathlib
import sys
import threading
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.npu import NPUError, torch_npu
from mindtorch_v2.npu.torch_npu.testing import testcase

F = nn.functional


def test_copies_keep_numbers_dtype_and_layout() -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    there = x.npu()
    assert str(there.device) == "npu:0" and there.is_npu and not there.is_cpu
    assert torch.equal(there.cpu(), x)
    turned = x.permute(2, 0, 1)
    assert turned.to("npu").stride() == turned.to("cpu", copy=True).stride()
    assert torch.equal(there.permute(2, 0, 1).cpu(), turned)
    assert torch.equal(there[:, 1, ::2].to("cpu", torch.float64), x[:, 1, ::2].double())
    for dtype in (torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.bool, torch.uint8):
        assert torch.equal(x.to("npu", dtype).cpu(), x.to(dtype))
        assert torch.equal(there.to(dtype).cpu(), x.to(dtype))
    assert torch.empty(0, 3).npu().cpu().shape == (0, 3)


def test_the_host_cannot_reach_device_memory() -> None:
    x = torch.zeros(3, device="npu")
    with pytest.raises(TypeError, match="can't convert npu:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(BufferError):
        memoryview(x.untyped_storage())
    with pytest.raises(TypeError, match="copy it to the CPU first"):
        x.untyped_storage()[0]


def test_devices_are_not_mixed() -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.ones(3, device="npu") + torch.ones(3)
    assert (torch.ones(3, device="npu") + torch.tensor(2.0)).cpu().tolist() == [3, 3, 3]


def test_what_has_no_kernel_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"aten::nextafter.*'PrivateUse1'|aten::nextafter.*'NPU'"):
        torch.nextafter(torch.ones(2, device="npu"), torch.zeros(2, device="npu"))


def test_views_share_memory() -> None:
    x = torch.zeros(4, 6, device="npu")
    x[1:3, ::2] = 5
    x.t()[0].add_(1)
    x.view(2, 12)[1, -1] = 7
    expected = torch.zeros(4, 6)
    expected[1:3, ::2] = 5
    expected.t()[0].add_(1)
    expected.view(2, 12)[1, -1] = 7
    assert torch.equal(x.cpu(), expected)


def test_indexing() -> None:
    x = torch.arange(20.0).view(4, 5)
    n = x.npu()
    rows = torch.tensor([3, 0])
    assert torch.equal(n[rows].cpu(), x[rows])
    assert torch.equal(n[rows.npu(), 1:].cpu(), x[rows, 1:])
    assert torch.equal(n[n > 7].cpu(), x[x > 7])
    assert torch.equal(n[:, None, rows].cpu(), x[:, None, rows])
    assert torch.equal(n[torch.tensor(2).npu()].cpu(), x[2])
    n[n > 7] = -1.0
    n[rows.npu(), 0] = torch.tensor([9.0, 8.0]).npu()
    x[x > 7] = -1.0
    x[rows, 0] = torch.tensor([9.0, 8.0])
    assert torch.equal(n.cpu(), x)


def test_printing() -> None:
    assert repr(torch.tensor([1.0, 2.0], device="npu")) == "tensor([1., 2.], device='npu:0')"


def test_an_operator_that_fails_names_itself(emulator: Any) -> None:
    x = torch.ones(3, device="npu")
    emulator.runtime.libraries.acl.emulatorInject(b"aclnnExpGetWorkspaceSize:1:561003")
    with pytest.raises(NPUError, match=r"aclnnExpGetWorkspaceSize returned 561003 \(no kernel found") as caught:
        x.exp()
    assert caught.value.code == 561003 and caught.value.function == "aclnnExpGetWorkspaceSize"
    emulator.runtime.libraries.acl.emulatorInject(b"aclnnExp@stream:1:507015")
    y = x.exp()
    with pytest.raises(NPUError, match=r"507015.*aclnnExp failed on stream"):
        y.cpu()
    emulator.runtime.libraries.acl.emulatorInject(b"")
    assert x.exp().cpu().allclose(torch.ones(3).exp())


def test_out_of_memory_frees_the_cache_and_names_the_sizes(emulator: Any) -> None:
    torch.npu.empty_cache()
    kept = torch.empty(1 << 20, device="npu")
    spare = torch.empty(1 << 22, device="npu")
    del spare
    reserved = torch.npu.memory_reserved()
    with pytest.raises(torch.npu.OutOfMemoryError, match=r"Tried to allocate \d+ bytes on npu:0"):
        torch.empty(1 << 40, device="npu")
    assert torch.npu.memory_reserved() < reserved  # what was cached has been given back
    assert kept.fill_(1).sum().item() == 1 << 20


def test_memory_is_counted(emulator: Any) -> None:
    torch.npu.empty_cache()
    before = torch.npu.memory_allocated()
    x = torch.empty(1000, device="npu")
    assert torch.npu.memory_allocated() - before == 4096
    del x
    assert torch.npu.memory_allocated() == before
    assert torch.npu.max_memory_allocated() >= before + 4096
    assert torch.npu.memory_stats()["allocated_bytes.all.current"] == before


def test_streams_and_events() -> None:
    side = torch.npu.Stream()
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    x = torch.full((1000,), 2.0, device="npu")
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        start.record()
        y = (x * 3).sum()
        end.record()
        assert torch.npu.current_stream() == side
    torch.npu.current_stream().wait_stream(side)
    assert (y + 1).item() == 6001
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 0
    assert torch.npu.current_stream() == torch.npu.default_stream()


def test_seeds_decide_random_numbers() -> None:
    torch.manual_seed(3)
    first = torch.randn(100, device="npu").cpu()
    again = torch.randn(100, device="npu").cpu()
    torch.manual_seed(3)
    assert torch.equal(torch.randn(100, device="npu").cpu(), first) and not torch.equal(first, again)
    u = torch.rand(10000, device="npu").cpu()
    assert 0 <= u.min() and u.max() < 1 and abs(u.mean().item() - 0.5) < 0.02
    k = torch.randint(3, 7, (1000,), device="npu").cpu()
    assert sorted(set(k.tolist())) == [3, 4, 5, 6]
    assert sorted(torch.randperm(50, device="npu").cpu().tolist()) == list(range(50))
    kept = F.dropout(torch.ones(10000, device="npu"), 0.25).cpu()
    assert abs((kept == 0).float().mean().item() - 0.25) < 0.02 and kept.max().item() == pytest.approx(4 / 3)


def _losses(device: str, optimizer: Any, steps: int = 10) -> list[float]:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(10, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4)).to(device)
    made = optimizer(model.parameters())
    numbers = torch.Generator().manual_seed(3)
    losses = []
    for _ in range(steps):
        x = torch.randn(8, 10, generator=numbers).to(device)
        target = torch.randint(0, 4, (8,), generator=numbers).to(device)
        loss = F.cross_entropy(model(x), target)
        made.zero_grad()
        loss.backward()
        made.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", ["SGD", "AdamW"])
def test_training_agrees_with_the_cpu(name: str) -> None:
    def optimizer(parameters: Any) -> Any:
        options = {"lr": 0.1, "momentum": 0.9} if name == "SGD" else {"lr": 0.01}
        return getattr(torch.optim, name)(parameters, **options)

    assert _losses("npu", optimizer) == pytest.approx(_losses("cpu", optimizer), rel=1e-4)


def test_steps_leave_nothing_behind(emulator: Any, report: Any) -> None:
    def optimizer(parameters: Any) -> Any:
        return torch.optim.SGD(parameters, lr=0.1)

    _losses("npu", optimizer)
    before, allocated = report()["live"], torch.npu.memory_allocated()
    _losses("npu", optimizer, 30)
    after = report()["live"]
    assert torch.npu.memory_allocated() == allocated
    assert after["executors"] == 0 and after.get("lists", 0) == 0
    for kind in ("tensors", "scalars", "arrays", "device memory"):
        # Descriptors are kept for blocks that come back; what is left at each of 30 steps is more than that.
        assert after[kind] <= before[kind] + 16, kind


def test_streams_and_events_by_device() -> None:
    assert not torch.Event("npu").enable_timing
    event, stream = torch.Event(device="npu", enable_timing=True), torch.Stream("npu")
    assert type(event) is torch.npu.Event and event.enable_timing and isinstance(event, torch.Event)
    assert type(stream) is torch.npu.Stream and isinstance(stream, torch.Stream)
    event.record(stream)
    event.synchronize()
    assert event.query()


def _failing_step(x: Any) -> Any:
    y = x * 2
    y = y.exp()  # the line that the errors below name
    return y + 1


@pytest.mark.parametrize("stream", [False, True])
def test_what_fails_later_names_its_operator_and_line(emulator: Any, stream: bool) -> None:
    acl, x = emulator.runtime.libraries.acl, torch.ones(3, device="npu")
    _failing_step(x)
    torch.npu.synchronize()
    acl.emulatorInject(b"aclnnExp@stream:2:507035")
    with torch.npu.stream(torch.npu.Stream() if stream else None), pytest.raises(NPUError) as caught:
        for _ in range(3):
            _failing_step(x)
        torch.ones(3, device="npu").sum().item()
    acl.emulatorInject(b"")
    line = _failing_step.__code__.co_firstlineno + 2
    assert caught.value.origin == ("aclnnExp", __file__, line, "_failing_step")
    assert f'aclnnExp was enqueued by "{__file__}", line {line}, in _failing_step\n    y = y.exp()' in str(caught.value)
    assert (_failing_step(x) > 0).all()
    emulator.runtime.faults.failed.clear()


def test_what_fails_in_the_gradient_names_the_line_of_backward(emulator: Any) -> None:
    layer, x = torch.nn.Linear(3, 2).npu(), torch.ones(4, 3, device="npu")
    layer(x).sum().backward()
    torch.npu.synchronize()
    emulator.runtime.libraries.acl.emulatorInject(b"aclnnMm@stream:1:507015")
    loss = layer(x).sum()
    loss.backward()
    line = _line_of_caller() - 1
    with pytest.raises(NPUError) as caught:
        torch.npu.synchronize()
    emulator.runtime.libraries.acl.emulatorInject(b"")
    assert caught.value.origin[1:3] == (__file__, line)


def _line_of_caller() -> int:
    return sys._getframe(1).f_lineno


def test_products_of_a_rank_that_the_operator_rejects_go_batch_by_batch() -> None:
    a, b = torch.randn(2, 1, 3, 1, 2, 1, 4, 5), torch.randn(3, 1, 1, 2, 5, 3)
    torch.testing.assert_close((a.npu() @ b.npu()).cpu(), a @ b, rtol=1e-5, atol=1e-5)
    vector = torch.randn(5)
    torch.testing.assert_close((a.npu() @ vector.npu()).cpu(), a @ vector, rtol=1e-5, atol=1e-5)
    with pytest.raises(RuntimeError, match="same dtype|scalar type|161002"):
        a.npu() @ b.npu().long()
    assert (torch.ones(2, 1, 1, 1, 2, 2, device="npu") @ torch.ones(2, 2, device="npu")).sum().item() == 16


def test_determinism_is_what_the_program_asked_for(emulator: Any) -> None:
    acl, value = emulator.runtime.libraries.acl, ctypes.c_int64(-1)
    for wanted in (True, False):
        torch.use_deterministic_algorithms(wanted)
        acl.aclrtGetSysParamOpt(0, ctypes.byref(value))
        assert value.value == wanted


def test_record_stream_takes_tensors_and_streams_of_one_device() -> None:
    stream = torch.npu.Stream()
    x = torch.ones(3, device="npu", requires_grad=True)
    y = x.sin()
    for tensor in (x, y, x.detach()[1:], torch.empty(0, device="npu")):
        tensor.record_stream(stream)
    assert x._version == 0 and y._version == 0
    y.sum().backward()
    assert torch.equal(x.grad.cpu(), torch.ones(3).cos())
    for wrong in (3, torch.Stream()):
        with pytest.raises(TypeError, match="must be a Stream of the NPU"):
            x.record_stream(wrong)
    with pytest.raises(
        NotImplementedError, match="Could not run 'aten::record_stream' with arguments from the 'CPU' backend"
    ):
        torch.ones(3).record_stream(stream)


def test_streams_are_numbered_by_their_pool_and_their_place_in_it() -> None:
    for options, kind, size in (
        ({}, 3, 32),
        ({"priority": 1}, 3, 32),
        ({"priority": -2}, 4, 32),
        ({"is_sync_launch": True}, 2, 4),
    ):
        streams = [torch.npu.Stream(**options) for _ in range(size + 1)]
        ids = [stream.stream_id for stream in streams]
        assert {number // 32 for number in ids} == {kind}
        assert sorted(number % 32 for number in ids[:size]) == [*range(size)]
        assert [(b - a) % size for a, b in zip(ids, ids[1:], strict=False)] == [1] * size
        assert streams[size] == streams[0] and streams[size].npu_stream == streams[0].npu_stream
        assert streams[0].priority == (-1 if kind == 4 else 0)
    with pytest.raises(RuntimeError, match="has no stream with the stream_id 68"):
        torch.npu.Stream(stream_id=68, device_index=0)


def test_a_stream_is_chosen_by_its_number() -> None:
    stream, before = torch.npu.Stream(), torch.npu.current_stream()
    try:
        torch_npu._C._npu_setStream(stream.stream_id, stream.device_index, stream.device_type)
        assert torch.npu.current_stream() == stream
    finally:
        torch.npu.set_stream(before)
    with pytest.raises(RuntimeError, match="has no stream with the stream_id 7"):
        torch_npu._C._npu_setStream(7, 0)


def test_a_stream_is_found_again_by_its_attributes() -> None:
    for stream in (
        torch.npu.Stream(),
        torch.npu.Stream(priority=-1),
        torch.npu.Stream(is_sync_launch=True),
        torch.npu.default_stream(),
    ):
        again = torch.npu.Stream(
            stream_id=stream.stream_id, device_index=stream.device_index, device_type=stream.device_type
        )
        assert again == stream and again.priority == stream.priority
    wrong = [
        ({"stream_id": 99999, "device_index": 0}, "npu:0 has no stream with the stream_id 99999"),
        ({"stream_id": -1, "device_index": 0}, "npu:0 has no stream with the stream_id -1"),
        ({"stream_id": 0, "device_index": 999}, "invalid NPU device 999: there are"),
        ({"stream_id": 0, "device_type": 1}, "device_type must be 20, but it is 1"),
    ]
    for arguments, text in wrong:
        with pytest.raises(RuntimeError, match=text):
            torch.npu.Stream(**arguments)


def test_the_time_between_events_waits_for_them() -> None:
    first, second = (torch.npu.Event(enable_timing=True) for _ in range(2))
    first.record()
    torch.ones(64, 64, device="npu").matmul(torch.ones(64, 64, device="npu"))
    second.record()
    assert first.elapsed_time(second) >= 0


def test_new_memory_is_filled_where_programs_are_to_be_deterministic() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        for dtype in (torch.float32, torch.bfloat16):
            assert torch.empty(3, dtype=dtype, device="npu").isnan().all()
        for dtype in (torch.uint8, torch.int32, torch.int64):
            assert torch.empty_strided((2, 2), (1, 2), dtype=dtype, device="npu").eq(torch.iinfo(dtype).max).all()
        assert torch.ones(2, device="npu").new_empty(4, dtype=torch.bool).all()
    finally:
        torch.use_deterministic_algorithms(False)


def test_a_share_of_the_memory() -> None:
    total = torch.npu.get_device_properties().total_memory
    torch.npu.empty_cache()
    torch.npu.set_per_process_memory_fraction(0.25)
    try:
        assert torch.npu.get_per_process_memory_fraction() == pytest.approx(0.25)
        with pytest.raises(torch.npu.OutOfMemoryError, match="This process may hold"):
            torch.empty(total // 3, dtype=torch.uint8, device="npu")
        held = torch.empty(total // 5, dtype=torch.uint8, device="npu")
        del held
        torch.empty(total // 6, dtype=torch.uint8, device="npu")  # what was held goes first
    finally:
        torch.npu.set_per_process_memory_fraction(1.0)
    torch.empty(total // 3, dtype=torch.uint8, device="npu")
    torch.npu.empty_cache()
    with pytest.raises(TypeError, match="Invalid type for fraction argument, must be `float`, not int"):
        torch.npu.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match=r"Invalid fraction value: 1.5. Allowed range: 0~1"):
        torch.npu.set_per_process_memory_fraction(1.5)


def test_blocks_that_programs_ask_for_themselves() -> None:
    gc.collect()
    before = torch.npu.memory_allocated()
    address = torch.npu.caching_allocator_alloc(1000, stream=torch.npu.Stream())
    assert torch.npu.memory_allocated() == before + 1536  # kernels may read 32 bytes behind the end
    assert torch.npu.memory_stats()["requested_bytes.all.current"] >= 1000
    torch.npu.caching_allocator_delete(address)
    assert torch.npu.memory_allocated() == before
    with pytest.raises(RuntimeError, match="is no address of caching_allocator_alloc"):
        torch.npu.caching_allocator_delete(address)


def test_a_snapshot_holds_every_block() -> None:
    gc.collect()  # what other tests left in cycles is not to go between two counts
    kept = [torch.empty(700, device="npu"), torch.empty(3 << 20, dtype=torch.uint8, device="npu")]
    found = torch.npu.memory_snapshot()
    assert sum(segment["total_size"] for segment in found) == torch.npu.memory_reserved()
    assert sum(segment["allocated_size"] for segment in found) == torch.npu.memory_allocated()
    for segment in found:
        assert sum(block["size"] for block in segment["blocks"]) == segment["total_size"]
        starts = [block["address"] for block in segment["blocks"]]
        assert starts == sorted(starts) and starts[0] == segment["address"]
    used = {
        block["address"] for segment in found for block in segment["blocks"] if block["state"] == "active_allocated"
    }
    assert {each.data_ptr() for each in kept} <= used


def test_tensors_moved_into_one_piece_of_memory() -> None:
    from mindtorch_v2.npu import torch_npu
    from mindtorch_v2.npu.torch_npu import utils

    a, b = torch.randn(3, 4, device="npu"), torch.nn.Parameter(torch.randn(5, device="npu"))
    values = [each.detach().cpu() for each in (a, b)]
    combined = utils.npu_combine_tensors([a, b])
    assert combined is not None and combined.numel() == 17
    assert [torch.equal(each.detach().cpu(), value) for each, value in zip((a, b), values, strict=True)] == [True, True]
    assert utils.is_combined_tensor_valid(combined, [a, b]) and not utils.is_combined_tensor_valid(
        combined, [a.clone()]
    )
    combined.fill_(2)
    assert a.eq(2).all() and b.eq(2).all()
    part = utils.get_part_combined_tensor(combined, 12, 5)
    assert (
        part is not None and part.data_ptr() == b.data_ptr() and utils.get_part_combined_tensor(combined, 0, 0) is None
    )
    with pytest.raises(RuntimeError, match="more than the 17 elements there are"):
        utils.get_part_combined_tensor(combined, 15, 5)
    with pytest.raises(RuntimeError, match="one dtype was expected"):
        utils.npu_combine_tensors([a, torch.ones(2, dtype=torch.int32, device="npu")])
    with pytest.raises(RuntimeError, match="contiguous tensors of an NPU were expected"):
        utils.npu_combine_tensors([torch.ones(2)])
    assert utils.npu_combine_tensors([]) is None
    other = torch.zeros(2, 2, device="npu")
    assert torch_npu.npu_change_data_ptr(other, combined, 13) == 0 and other.data_ptr() == b.data_ptr() + 4
    assert torch_npu.get_storage_size(other) == 4 and torch_npu.get_storage_size(combined) == 17
    with pytest.raises(RuntimeError, match="4 elements from 14 on are not within the 17 there are"):
        torch_npu.npu_change_data_ptr(other, combined, 14)
    with pytest.raises(RuntimeError, match="a contiguous tensor of torch.float32 was expected"):
        torch_npu.npu_change_data_ptr(other.half(), combined, 0)


def test_streams_of_other_libraries() -> None:
    runtime, handle = torch.npu.npurt(), ctypes.c_void_p()
    assert runtime.npuStreamCreate(ctypes.addressof(handle)) == 0 and handle.value
    try:
        stream = torch.npu.ExternalStream(handle.value)
        assert stream.npu_stream == handle.value and stream == torch.npu.ExternalStream(handle.value, "npu:0")
        assert torch.npu.Stream(stream_id=stream.stream_id, device_index=0) == stream
        with torch.npu.stream(stream):
            assert torch.npu.current_stream() == stream
            y = torch.ones(3, device="npu") + 1
            mark = stream.record_event()
        mark.synchronize()
        assert isinstance(stream, torch.npu.Stream) and y.tolist() == [2, 2, 2]
        with pytest.raises(RuntimeError, match="NPUStream::synchronize is not supported for an external stream"):
            stream.synchronize()
        with pytest.raises(RuntimeError, match="Cannot query an external stream"):
            stream.query()
        del y
        torch.npu.empty_cache()
    finally:
        assert runtime.npuStreamDestroy(handle.value) == 0
    assert runtime.npuStreamCreate(0) != 0 and runtime.npuStreamDestroy(0) != 0
    with pytest.raises(RuntimeError, match="must be the address of a stream, but it is 0"):
        torch.npu.ExternalStream(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_dlpack_hands_memory_over(dtype: torch.dtype) -> None:
    x = torch.arange(12).reshape(3, 4).to(dtype).npu()
    for each in (x, x.t(), x[1:, ::2]):
        assert each.__dlpack_device__() == (12, 0)
        back = torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(each))
        assert back.data_ptr() == each.data_ptr() and back.device == each.device and back.dtype == dtype
        assert back.stride() == each.stride() and back.tolist() == each.tolist()
    kept = torch.from_dlpack(x)
    x.fill_(1)
    assert kept.tolist() == x.tolist()
    capsule = x.__dlpack__(stream=1)  # a handle of the consumer's: what it reads is there already
    del x
    assert torch.from_dlpack(capsule).tolist() == kept.tolist()
    copied = torch.from_dlpack(kept.__dlpack__(copy=True))
    assert copied.data_ptr() != kept.data_ptr() and copied.tolist() == kept.tolist()


def test_native_names_that_generated_programs_call() -> None:
    made = torch_npu._C._empty_strided_npu((2, 3), (1, 2), torch.int8)
    assert made.stride() == (1, 2) and made.dtype == torch.int8 and made.device == torch.device("npu", 0)
    assert torch_npu._C._npu_getDeviceCount() == torch.npu.device_count()
    with torch.npu.stream(torch.npu.Stream()) as _:
        handle = torch.npu.current_stream().npu_stream
        assert handle and torch_npu._C._npu_getCurrentRawStream(0) == handle
        assert torch_npu._C._npu_getCurrentRawStreamNoWait(0) == handle


def test_almost_equal_tensors_of_two_devices() -> None:
    case = testcase.TestCase()
    x = torch.tensor([True, False])
    case.assertAlmostEqual(x, x.npu())
    case.assertAlmostEqual(torch.tensor([1.0]), torch.tensor([1.02]).npu(), delta=0.1)
    case.assertAlmostEqual(1.0, 1.0 + 1e-9)
    with pytest.raises(AssertionError):
        case.assertAlmostEqual(x, ~x.npu())
    with pytest.raises(AssertionError):
        case.assertAlmostEqual(torch.tensor([1.0]), torch.tensor([1.02]).npu(), places=3)


@pytest.mark.parametrize("name", ["memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"])
@pytest.mark.parametrize("device", ["npu:99", 99, -5])
def test_memory_of_devices_that_are_not_there(name: str, device: object) -> None:
    with pytest.raises(RuntimeError, match="Invalid device argument: npu:"):
        getattr(torch.npu, name)(device)


def test_a_forked_process_says_that_it_has_no_device() -> None:
    x = torch.ones(2, device="npu")
    receiver, sender = os.pipe()
    child = os.fork()
    if not child:
        try:
            x + x
        except RuntimeError as error:
            os.write(sender, str(error).encode())
        os._exit(0)
    os.close(sender)
    with os.fdopen(receiver) as said:
        assert "Cannot re-initialize NPU in forked subprocess" in said.read()
    assert os.waitpid(child, 0)[1] == 0
    assert (x + x).tolist() == [2, 2]


def test_files_are_written_beside_the_program(tmp_path: pathlib.Path) -> None:
    x = torch.arange(4.0, device="npu")
    torch_npu.utils.save_async({"x": x}, tmp_path / "x.pt")
    x.zero_()
    for thread in threading.enumerate():
        if thread.name == "save_async":
            thread.join()
    assert torch.load(tmp_path / "x.pt")["x"].tolist() == [0, 1, 2, 3]
    assert [path.name for path in tmp_path.iterdir()] == ["x.pt"]
    with pytest.raises(RuntimeError, match="ERR00001 PTA invalid parameter"):
        torch_npu.utils.save_async(x, tmp_path / "y.pt", _use_new_zipfile_serialization=False)
