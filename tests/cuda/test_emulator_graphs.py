"""Capturing on the emulated GPU."""

import ctypes
import threading

import pytest
from emulated_gpu import Gpu, code_of, own_process

pytestmark = pytest.mark.no_torch

STEP = """
struct Args { long *x; long factor, add; };
KERNEL(kernel, Args) { *a.x = *a.x * a.factor + a.add; }
"""
GLOBAL, THREAD_LOCAL, RELAXED = range(3)


def _end(gpu, stream):
    graph = ctypes.c_void_p()
    code = code_of(gpu.cu.cuStreamEndCapture, stream, ctypes.byref(graph))
    return code, graph


def _instance(gpu, graph):
    return ctypes.c_void_p(gpu.new("cuGraphInstantiateWithFlags", graph, ctypes.c_uint64(0)))


def _asked(gpu, stream):
    status = ctypes.c_int()
    gpu.cu.cuStreamIsCapturing(stream, ctypes.byref(status))
    return status.value


@own_process()
def test_captured_work_is_done_at_each_launch():
    gpu = Gpu()
    stream = gpu.stream()
    kernel = gpu.kernel(STEP)
    x = gpu.put([1], "q", stream)
    gpu.cu.cuStreamBeginCapture_v2(stream, GLOBAL)
    assert _asked(gpu, stream) == 1
    kernel[1, 1, 0, stream](x, 2, 0)
    kernel[1, 1, 0, stream](x, 1, 3)
    code, graph = _end(gpu, stream)
    assert (code, _asked(gpu, stream)) == (0, 0)
    assert gpu.get(x, 1, "q", stream) == [1]
    number = ctypes.c_size_t()
    gpu.cu.cuGraphGetNodes(graph, None, ctypes.byref(number))
    assert number.value == 2
    instance = _instance(gpu, graph)
    gpu.cu.cuGraphDestroy(graph)
    for _ in range(3):
        gpu.cu.cuGraphLaunch(instance, stream)
    assert gpu.get(x, 1, "q", stream) == [((1 * 2 + 3) * 2 + 3) * 2 + 3]
    gpu.cu.cuGraphExecDestroy(instance)
    assert gpu.report()["graphs"] == gpu.report()["graph_execs"] == 0


@own_process(MINDTORCH_CUDA_HOSTILE="11")
def test_streams_fork_and_join_in_a_graph():
    gpu = Gpu()
    first, second = gpu.stream(), gpu.stream()
    begun, done = gpu.event(2), gpu.event(2)
    kernel = gpu.kernel(STEP)
    x, y = gpu.put([1], "q"), gpu.put([1], "q")
    gpu.cu.cuCtxSynchronize()
    gpu.cu.cuStreamBeginCapture_v2(first, GLOBAL)
    kernel[1, 1, 0, first](x, 10, 0)
    gpu.cu.cuEventRecord(begun, first)
    gpu.cu.cuStreamWaitEvent(second, begun, 0)
    assert _asked(gpu, second) == 1
    kernel[1, 1, 0, second](x, 1, 5)
    kernel[1, 1, 0, first](y, 1, 1)
    gpu.cu.cuEventRecord(done, second)
    gpu.cu.cuStreamWaitEvent(first, done, 0)
    kernel[1, 1, 0, first](x, 3, 0)
    code, graph = _end(gpu, first)
    assert (code, _asked(gpu, second)) == (0, 0)
    instance = _instance(gpu, graph)
    expected = 1
    for _ in range(5):
        gpu.cu.cuGraphLaunch(instance, first)
        expected = (expected * 10 + 5) * 3
    assert gpu.get(x, 1, "q", first) == [expected]
    assert gpu.get(y, 1, "q", first) == [6]


@own_process()
def test_captures_that_end_badly():
    gpu = Gpu()
    first, second, event = gpu.stream(), gpu.stream(), gpu.event(2)
    kernel = gpu.kernel(STEP)
    x = gpu.put([1], "q")
    assert _end(gpu, first)[0] == 401
    assert code_of(gpu.cu.cuStreamBeginCapture_v2, None, GLOBAL) == 900
    gpu.cu.cuStreamBeginCapture_v2(first, GLOBAL)
    assert code_of(gpu.cu.cuStreamBeginCapture_v2, first, GLOBAL) == 401
    gpu.cu.cuEventRecord(event, first)
    gpu.cu.cuStreamWaitEvent(second, event, 0)
    kernel[1, 1, 0, second](x, 1, 1)
    assert _end(gpu, first)[0] == 904  # the second stream was not joined
    assert _asked(gpu, second) == 0
    gpu.cu.cuStreamBeginCapture_v2(first, GLOBAL)
    codes = []
    thread = threading.Thread(target=lambda: (gpu.cu.cuCtxSetCurrent(gpu.context), codes.append(_end(gpu, first)[0])))
    thread.start()
    thread.join()
    assert codes == [908]
    assert _end(gpu, first)[0] == 901
    gpu.cu.cuStreamBeginCapture_v2(first, GLOBAL)
    other = gpu.event(2)
    gpu.cu.cuEventRecord(other, gpu.stream())
    assert code_of(gpu.cu.cuStreamWaitEvent, first, other, 0) == 905
    assert code_of(kernel[1, 1, 0, first], x, 1, 1) == 901
    assert _asked(gpu, first) == 2
    assert _end(gpu, first)[0] == 901
    assert gpu.report()["graphs"] == 0
    assert gpu.get(x, 1, "q") == [1]


@own_process()
def test_calls_that_may_not_be_made_while_work_is_captured():
    gpu = Gpu()
    stream, event = gpu.stream(), gpu.event(2)
    memory, host = gpu.alloc(8), ctypes.create_string_buffer(8)
    size = ctypes.c_size_t(8)
    for call, code in [
        (lambda: gpu.alloc(8), 900),
        (lambda: gpu.cu.cuMemFree_v2(memory), 900),
        (lambda: gpu.cu.cuStreamSynchronize(stream), 900),
        (lambda: gpu.cu.cuStreamQuery(stream), 900),
        (lambda: gpu.cu.cuCtxSynchronize(), 900),
        (lambda: gpu.cu.cuEventSynchronize(event), 907),
        (lambda: gpu.cu.cuMemcpyHtoDAsync_v2(memory, host, size, stream), 900),
    ]:
        gpu.cu.cuStreamBeginCapture_v2(stream, GLOBAL)
        gpu.cu.cuEventRecord(event, stream)
        assert code_of(call) == code
        assert _end(gpu, stream)[0] == 901
    gpu.cu.cuMemFree_v2(memory)


@pytest.mark.parametrize(("mode", "here", "there"), [(GLOBAL, 900, 900), (THREAD_LOCAL, 900, 0), (RELAXED, 0, 0)])
@own_process()
def test_modes_of_capturing(mode, here, there):
    gpu = Gpu()
    stream = gpu.stream()
    codes = []

    def elsewhere():
        gpu.cu.cuCtxSetCurrent(gpu.context)
        codes.append(code_of(gpu.alloc, 8))

    gpu.cu.cuStreamBeginCapture_v2(stream, mode)
    relaxed = ctypes.c_int(RELAXED)
    gpu.cu.cuThreadExchangeStreamCaptureMode(ctypes.byref(relaxed))
    gpu.alloc(8)  # this thread says that it knows what it does
    assert relaxed.value == GLOBAL
    gpu.cu.cuThreadExchangeStreamCaptureMode(ctypes.byref(relaxed))
    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert codes == [there]
    assert code_of(gpu.alloc, 8) == here
    assert _end(gpu, stream)[0] == (901 if here else 0)


@own_process()
def test_a_fault_in_a_graph():
    gpu = Gpu()
    stream = gpu.stream()
    kernel = gpu.kernel(STEP)
    gpu.cu.cuStreamBeginCapture_v2(stream, RELAXED)
    kernel[1, 1, 0, stream](64, 1, 1)
    instance = _instance(gpu, _end(gpu, stream)[1])
    gpu.cu.cuStreamSynchronize(stream)
    gpu.cu.cuGraphLaunch(instance, stream)
    assert code_of(gpu.cu.cuStreamSynchronize, stream) == 700
    assert gpu.fault().startswith("kernel kernel, block (0, 0, 0), thread (0, 0, 0): access to 0x40")
