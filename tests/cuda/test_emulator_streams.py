"""Streams and events of the emulated GPU: what waits for what, and what does not."""

import ctypes
import threading
import time

import pytest
from emulated_gpu import Gpu, code_of, own_process

pytestmark = pytest.mark.no_torch

STEP = """
struct Args { long *x; long factor, add; };
KERNEL(kernel, Args) { *a.x = *a.x * a.factor + a.add; }
"""

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Gate:
    """Work for a stream that lasts until the gate is opened."""

    def __init__(self, gpu, stream):
        self.opened = threading.Event()
        self.function = CALLBACK(lambda _: self.opened.wait())
        gpu.cu.cuLaunchHostFunc(stream, self.function, None)

    def open(self):
        """Let the stream go on."""
        self.opened.set()


@own_process()
def test_work_of_one_stream_is_done_in_order_and_later():
    gpu = Gpu()
    stream = gpu.stream()
    kernel = gpu.kernel(STEP)
    x = gpu.put([1], "q")
    gpu.cu.cuCtxSynchronize()
    gate = Gate(gpu, stream)
    for add in range(20):
        kernel[1, 1, 0, stream](x, 3, add)
    assert code_of(gpu.cu.cuStreamQuery, stream) == 600
    assert gpu.get(x, 1, "q", gpu.stream()) == [1]  # another stream is not held up
    gate.open()
    gpu.cu.cuStreamSynchronize(stream)
    gpu.cu.cuStreamQuery(stream)
    expected = 1
    for add in range(20):
        expected = expected * 3 + add
    assert gpu.get(x, 1, "q", stream) == [expected]


@own_process()
def test_a_stream_waits_for_an_event_of_another():
    gpu = Gpu()
    first, second, event = gpu.stream(), gpu.stream(), gpu.event()
    kernel = gpu.kernel(STEP)
    x = gpu.put([5], "q")
    gpu.cu.cuCtxSynchronize()
    gate = Gate(gpu, first)
    kernel[1, 1, 0, first](x, 2, 0)
    gpu.cu.cuEventRecord(event, first)
    gpu.cu.cuStreamWaitEvent(second, event, 0)
    kernel[1, 1, 0, second](x, 1, 7)
    assert code_of(gpu.cu.cuEventQuery, event) == 600
    time.sleep(0.05)
    assert code_of(gpu.cu.cuStreamQuery, second) == 600
    gate.open()
    gpu.cu.cuStreamSynchronize(second)
    gpu.cu.cuEventQuery(event)
    assert gpu.get(x, 1, "q", second) == [17]


@own_process()
def test_an_event_stands_for_its_last_record():
    gpu = Gpu()
    first, second, event = gpu.stream(), gpu.stream(), gpu.event()
    gpu.cu.cuEventQuery(event)  # never recorded: nothing to wait for
    gpu.cu.cuEventSynchronize(event)
    gate = Gate(gpu, first)
    gpu.cu.cuEventRecord(event, first)
    gpu.cu.cuStreamWaitEvent(second, event, 0)  # for this record, whatever follows
    gpu.cu.cuEventRecord(event, gpu.stream())
    gpu.cu.cuEventSynchronize(event)
    assert code_of(gpu.cu.cuStreamQuery, second) == 600
    gate.open()
    gpu.cu.cuStreamSynchronize(second)


@own_process()
def test_time_between_events():
    gpu = Gpu()
    stream, start, end = gpu.stream(), gpu.event(), gpu.event()
    milliseconds = ctypes.c_float()
    elapsed = (gpu.cu.cuEventElapsedTime_v2, ctypes.byref(milliseconds), start, end)
    assert code_of(*elapsed) == 400
    gpu.cu.cuEventRecord(start, stream)
    gpu.cu.cuStreamSynchronize(stream)
    gate = Gate(gpu, stream)
    gpu.cu.cuEventRecord(end, stream)
    assert code_of(*elapsed) == 600
    time.sleep(0.03)
    gate.open()
    gpu.cu.cuEventSynchronize(end)
    gpu.cu.cuEventElapsedTime_v2(ctypes.byref(milliseconds), start, end)
    assert 30 <= milliseconds.value < 5000
    untimed = gpu.event(2)
    gpu.cu.cuEventRecord(untimed, stream)
    gpu.cu.cuStreamSynchronize(stream)
    assert code_of(gpu.cu.cuEventElapsedTime, ctypes.byref(milliseconds), start, untimed) == 400


@pytest.mark.parametrize("flags", [0, 1])
@own_process()
def test_the_legacy_stream_and_blocking_ones_wait_for_each_other(flags):
    gpu = Gpu()
    stream = gpu.stream(flags)
    gate = Gate(gpu, stream)
    kernel = gpu.kernel(STEP)
    x = gpu.alloc(8)
    kernel[1, 1](x, 0, 3)
    time.sleep(0.1)
    assert code_of(gpu.cu.cuStreamQuery, None) == (0 if flags else 600)
    gate.open()
    gpu.cu.cuCtxSynchronize()
    gate = Gate(gpu, None)
    kernel[1, 1, 0, stream](x, 1, 4)
    time.sleep(0.1)
    assert code_of(gpu.cu.cuStreamQuery, stream) == (0 if flags else 600)
    gate.open()
    assert gpu.get(x, 1, "q") == [7]


@own_process()
def test_pageable_memory_is_read_at_the_call_and_pinned_memory_when_its_turn_comes():
    gpu = Gpu()
    stream = gpu.stream()
    targets = [gpu.alloc(8) for _ in range(2)]
    pageable = (ctypes.c_int64 * 1)(1)
    pinned = ctypes.cast(gpu.new("cuMemHostAlloc", ctypes.c_size_t(8), 0), ctypes.POINTER(ctypes.c_int64))
    pinned[0] = 1
    gate = Gate(gpu, stream)
    gpu.cu.cuMemcpyHtoDAsync_v2(targets[0], pageable, ctypes.c_size_t(8), stream)
    gpu.cu.cuMemcpyHtoDAsync_v2(targets[1], pinned, ctypes.c_size_t(8), stream)
    pageable[0] = pinned[0] = 2
    gate.open()
    gpu.cu.cuStreamSynchronize(stream)
    assert gpu.get(targets[0], 1, "q") == [1]
    assert gpu.get(targets[1], 1, "q") == [2]
    gate = Gate(gpu, stream)
    gpu.cu.cuMemcpyDtoHAsync_v2(pinned, targets[0], ctypes.c_size_t(8), stream)
    assert pinned[0] == 2  # not yet
    gate.open()
    gpu.cu.cuStreamSynchronize(stream)
    assert pinned[0] == 1


@own_process()
def test_functions_of_the_host_may_not_call_the_driver():
    gpu = Gpu()
    codes = []
    function = CALLBACK(lambda data: codes.append((data, gpu.cu.bare.cuCtxSynchronize())))
    gpu.cu.cuLaunchHostFunc(None, function, ctypes.c_void_p(77))
    gpu.cu.cuCtxSynchronize()
    assert codes == [(77, 800)]


@own_process()
def test_a_destroyed_stream_finishes_its_work():
    gpu = Gpu()
    stream = gpu.stream()
    x = gpu.put([1], "q")
    gpu.cu.cuCtxSynchronize()
    gate = Gate(gpu, stream)
    gpu.kernel(STEP)[1, 1, 0, stream](x, 1, 41)
    gpu.cu.cuStreamDestroy_v2(stream)
    gate.open()
    for _ in range(200):
        if gpu.get(x, 1, "q") == [42]:
            break
        time.sleep(0.01)
    assert gpu.get(x, 1, "q") == [42]
    assert gpu.report()["streams"] == 0


@own_process()
def test_priorities_and_flags_of_streams():
    gpu = Gpu()
    number = ctypes.c_int()
    for given, kept in [(0, 0), (-1, -1), (-9, -5), (3, 0)]:
        gpu.cu.cuStreamGetPriority(gpu.stream(1, given), ctypes.byref(number))
        assert number.value == kept
    gpu.cu.cuStreamGetFlags(gpu.stream(1), ctypes.byref(number))
    assert number.value == 1


@own_process(MINDTORCH_CUDA_HOSTILE="3")
def test_hostile_scheduling_shows_a_missing_wait():
    gpu = Gpu()
    first, second, event = gpu.stream(), gpu.stream(), gpu.event()
    kernel = gpu.kernel(STEP)
    outcomes = {True: set(), False: set()}
    for waits in [True, False]:
        for _ in range(25):
            x = gpu.put([1], "q")
            gpu.cu.cuCtxSynchronize()
            kernel[1, 1, 0, first](x, 10, 0)
            gpu.cu.cuEventRecord(event, first)
            if waits:
                gpu.cu.cuStreamWaitEvent(second, event, 0)
            kernel[1, 1, 0, second](x, 1, 1)
            gpu.cu.cuCtxSynchronize()
            outcomes[waits].update(gpu.get(x, 1, "q"))
    assert outcomes[True] == {11}
    assert {11, 20} <= outcomes[False]


@own_process(MINDTORCH_CUDA_NOOP="1")
def test_nothing_is_done_without_work():
    gpu = Gpu()
    x = gpu.put([1], "q")
    kernel = gpu.kernel(STEP)
    kernel[1, 1](x, 1, 1)
    assert code_of(kernel[1, 2000], x, 1, 1) == 1  # what is asked for is still looked at
    gpu.cu.cuCtxSynchronize()
    assert gpu.report()["launches"] == 0
    assert gpu.get(x, 1, "q") == [0]


@own_process(CUDA_LAUNCH_BLOCKING="1")
def test_launches_are_waited_for_on_request():
    gpu = Gpu()
    kernel = gpu.kernel(STEP)
    kernel[1, 1](gpu.alloc(8), 1, 1)
    gpu.cu.cuStreamQuery(None)
    assert code_of(kernel[1, 1], 4096, 1, 1) == 700
    assert "kernel kernel" in gpu.fault()
