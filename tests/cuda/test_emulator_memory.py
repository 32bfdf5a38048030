"""Memory of the emulated GPU, and what is told of its devices."""

import ctypes

import pytest
from emulated_gpu import Gpu, Library, code_of, needs_emulator, own_process, run

pytestmark = pytest.mark.no_torch


def _pair(gpu):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    gpu.cu.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
    return free.value, total.value


@own_process(MINDTORCH_CUDA_EMULATED_MEMORY="64M")
def test_memory_ends():
    gpu = Gpu()
    assert _pair(gpu) == (64 << 20, 64 << 20)
    memory = gpu.alloc(40 << 20)
    assert _pair(gpu) == (24 << 20, 64 << 20)
    assert code_of(gpu.alloc, 25 << 20) == 2
    assert code_of(gpu.alloc, 1 << 60) == 2
    gpu.cu.cuMemFree_v2(memory)
    gpu.alloc(64 << 20)
    assert code_of(gpu.alloc, 1) == 2
    assert code_of(gpu.alloc, 0) == 1


@own_process()
def test_new_memory_is_filled_and_aligned():
    gpu = Gpu()
    for size in [1, 8, 511, 4096, 5000, 1 << 20]:
        memory = gpu.alloc(size)
        assert memory % 512 == 0
        assert gpu.get(memory, size, "B") == [0xA5] * size


@own_process()
def test_copies_and_fills():
    gpu = Gpu()
    first, second = gpu.put(range(100), "i"), gpu.put([0] * 100, "i")
    size = ctypes.c_size_t(200)
    gpu.cu.cuMemcpyDtoDAsync_v2(second + 40, first, size, None)
    assert gpu.get(second, 100, "i") == [0] * 10 + list(range(50)) + [0] * 40
    gpu.cu.cuMemcpyAsync(second, first, size, None)
    assert gpu.get(second, 50, "i") == list(range(50))
    gpu.cu.cuMemsetD8Async(second, 1, ctypes.c_size_t(8), None)
    gpu.cu.cuMemsetD32Async(second + 8, 7, ctypes.c_size_t(2), None)
    gpu.cu.cuMemsetD16Async(second + 16, 3, ctypes.c_size_t(2), None)
    assert gpu.get(second, 6, "i") == [0x01010101, 0x01010101, 7, 7, 0x00030003, 5]
    for call, *arguments in [
        (gpu.cu.cuMemcpyDtoDAsync_v2, second + 300, first, size),
        (gpu.cu.cuMemcpyDtoDAsync_v2, second, first + 300, size),
        (gpu.cu.cuMemsetD32Async, second + 2, 1, ctypes.c_size_t(1)),
        (gpu.cu.cuMemsetD32Async, second, 1, ctypes.c_size_t(101)),
        (gpu.cu.cuMemsetD8Async, ctypes.addressof(size), 1, ctypes.c_size_t(1)),
    ]:
        assert code_of(call, *arguments, None) == 1


@own_process(MINDTORCH_CUDA_EMULATED_DEVICES="3", CUDA_VISIBLE_DEVICES="2,0")
def test_several_devices():
    first, second = Gpu(0), Gpu(1)
    text = ctypes.create_string_buffer(20)
    for device, bus in [(0, b"0000:03:00.0"), (1, b"0000:01:00.0")]:
        first.cu.cuDeviceGetPCIBusId(text, 20, device)
        assert text.value == bus
    assert code_of(first.cu.cuDeviceGetPCIBusId, text, 20, 2) == 101
    there = second.put([1, 2, 3])
    second.cu.cuCtxSynchronize()  # a copy between devices on a stream of the one waits for nothing of the other
    first.cu.cuCtxSetCurrent(first.context)
    here = first.alloc(12)
    size = ctypes.c_size_t(12)
    first.cu.cuMemcpyPeerAsync(here, first.context, there, second.context, size, None)
    assert first.get(here, 3) == [1, 2, 3]
    assert code_of(first.cu.cuMemcpyPeerAsync, here, second.context, there, second.context, size, None) == 1
    can = ctypes.c_int()
    first.cu.cuDeviceCanAccessPeer(ctypes.byref(can), 0, 1)
    assert can.value == 1
    first.cu.cuDeviceCanAccessPeer(ctypes.byref(can), 1, 1)
    assert can.value == 0
    first.cu.cuCtxEnablePeerAccess(second.context, 0)
    assert code_of(first.cu.cuCtxEnablePeerAccess, second.context, 0) == 704
    assert code_of(first.cu.cuCtxEnablePeerAccess, first.context, 0) == 101


@needs_emulator
@pytest.mark.parametrize(("shown", "number"), [("", 0), ("0", 1), ("1,0", 2), ("1,7,0", 1), ("0,0", 0), ("-1", 0)])
def test_devices_that_are_shown(shown, number):
    done = run(count_devices.program, {"CUDA_VISIBLE_DEVICES": shown, "MINDTORCH_CUDA_EMULATED_DEVICES": "2"}, {})
    assert done.stdout.split() == (["0", str(number)] if number else ["100"]), done.stderr


@own_process()
def count_devices():
    cu = Library("libcuda.so.1").bare
    number = ctypes.c_int()
    code = cu.cuInit(0)
    print(code)
    if not code:
        cu.cuDeviceGetCount(ctypes.byref(number))
        print(number.value)


@own_process()
def test_what_is_told_of_a_pointer():
    gpu = Gpu()
    memory = gpu.alloc(100)
    host = gpu.new("cuMemHostAlloc", ctypes.c_size_t(50), 0)
    own = ctypes.create_string_buffer(64)
    value = ctypes.c_uint64()

    def told(attribute, pointer):
        value.value = 0
        gpu.cu.cuPointerGetAttribute(ctypes.byref(value), attribute, pointer)
        return value.value

    for pointer, begin, size, kind in [(memory + 10, memory, 100, 2), (host + 10, host, 50, 1)]:
        assert told(2, pointer) == kind
        assert told(11, pointer) == begin
        assert told(12, pointer) == size
        assert told(9, pointer) == 0
        assert told(1, pointer) == gpu.context.value
    for pointer in [memory + 100, host + 50, ctypes.addressof(own)]:
        assert code_of(told, 2, pointer) == 1
    register = (gpu.cu.cuMemHostRegister_v2, own, ctypes.c_size_t(64), 0)
    register[0](*register[1:])
    assert told(2, ctypes.addressof(own)) == 1
    assert code_of(*register) == 712
    assert gpu.report()["pinned"] == 2
    gpu.cu.cuMemHostUnregister(own)
    assert code_of(gpu.cu.cuMemHostUnregister, own) == 713
    gpu.cu.cuMemFreeHost(ctypes.c_void_p(host))
    assert gpu.report()["pinned"] == gpu.report()["pinned_bytes"] == 0


@own_process()
def test_what_is_told_of_the_device():
    gpu = Gpu()
    value, text = ctypes.c_int(), ctypes.create_string_buffer(100)
    for attribute, expected in [(75, 9), (76, 0), (16, 132), (10, 32), (1, 1024), (39, 2048), (8, 49152), (97, 232448)]:
        gpu.cu.cuDeviceGetAttribute(ctypes.byref(value), attribute, 0)
        assert value.value == expected
    assert code_of(gpu.cu.cuDeviceGetAttribute, ctypes.byref(value), 0, 0) == 1
    gpu.cu.cuDeviceGetName(text, 100, 0)
    assert text.value == b"Emulated GPU (mindtorch_v2)"
    gpu.cu.cuDriverGetVersion(ctypes.byref(value))
    assert value.value == 13000
    kernel = gpu.kernel("struct Args { long n; }; KERNEL(kernel, Args) {}")
    for block, shared, expected in [(256, 0, 8), (1024, 0, 2), (32, 0, 32), (64, 100000, 2), (1025, 0, 0)]:
        gpu.cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            ctypes.byref(value), kernel.handle, block, ctypes.c_size_t(shared)
        )
        assert value.value == expected
