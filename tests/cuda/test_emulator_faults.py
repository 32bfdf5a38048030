"""Faults on the emulated GPU: they are reported, named, and stick."""

import ctypes
import json

import pytest
from emulated_gpu import Gpu, Library, code_of, needs_emulator, own_process, run

pytestmark = pytest.mark.no_torch

STORE = """
struct Args { char *out; long at; };
KERNEL(kernel, Args) { if (threadIdx.x == 3) a.out[a.at] = 1; }
"""


def _code(gpu, kernel, *arguments, block=8):
    kernel[1, block](*arguments)
    return code_of(gpu.cu.cuCtxSynchronize)


@pytest.mark.parametrize(
    ("size", "at", "text"),
    [
        (1000, 1024, "24 bytes behind the end of an allocation of 1000 bytes"),
        (4096, -1, "1 bytes before the start of an allocation of 4096 bytes"),
        (1000, 1 << 20, "1047576 bytes behind the end"),
    ],
)
@own_process()
def test_an_access_outside_of_an_allocation(size, at, text):
    gpu = Gpu()
    memory = gpu.alloc(size)
    assert _code(gpu, gpu.kernel(STORE), memory, at) == 700
    assert "kernel kernel, block (0, 0, 0), thread (3, 0, 0): access to" in gpu.fault()
    assert text in gpu.fault()


@own_process()
def test_an_access_to_freed_memory():
    gpu = Gpu()
    memory = gpu.alloc(5000)
    gpu.cu.cuMemFree_v2(memory)
    assert gpu.alloc(5000) != memory
    assert _code(gpu, gpu.kernel(STORE), memory, 100) == 700
    assert "100 bytes into 5000 bytes of device memory that were freed" in gpu.fault()


@own_process()
def test_an_illegal_access_sticks_until_the_context_is_reset():
    gpu = Gpu()
    kernel = gpu.kernel(STORE)
    stream, event = gpu.stream(), gpu.event()
    memory = gpu.alloc(8)
    assert _code(gpu, kernel, memory, 1 << 20) == 700
    result = ctypes.c_uint64()
    for call in [
        lambda: gpu.cu.cuMemAlloc_v2(ctypes.byref(result), ctypes.c_size_t(8)),
        lambda: gpu.cu.cuMemFree_v2(memory),
        lambda: kernel[1, 1](memory, 0),
        lambda: gpu.cu.cuStreamSynchronize(stream),
        lambda: gpu.cu.cuStreamQuery(None),
        lambda: gpu.cu.cuEventRecord(event, stream),
        lambda: gpu.cu.cuEventQuery(event),
        lambda: gpu.get(memory, 1, "q"),
    ]:
        assert code_of(call) == 700
    gpu.cu.cuDevicePrimaryCtxReset_v2(0)
    gpu.cu.cuCtxSynchronize()
    assert gpu.report()["allocations"] == gpu.report()["modules"] == gpu.report()["streams"] == 0
    assert gpu.get(gpu.put([1, 2]), 2) == [1, 2]
    assert code_of(kernel[1, 1], memory, 0) == 400  # a function of before


@own_process()
def test_writes_beside_an_allocation_are_seen_when_it_is_freed():
    gpu = Gpu()
    memory = gpu.alloc(1000)
    assert _code(gpu, gpu.kernel(STORE), memory, 1001) == 0
    assert code_of(gpu.cu.cuMemFree_v2, memory) == 700
    assert "bytes beside an allocation of 1000 bytes were written" in gpu.fault()


BODIES = {
    "if (threadIdx.x < 5) __syncthreads();": (719, "5 threads of 8 wait at __syncthreads; 3 threads ended without it"),
    "if (threadIdx.x == 5) return; __syncwarp();": (719, "wait at __syncwarp for lanes 0x00000020"),
    "if (threadIdx.x < 4) __syncthreads(); else __syncwarp();": (719, "4 threads of 8 wait"),
    "if (threadIdx.x < 4) __syncwarp(); else __ballot_sync(~0u, 1);": (719, "different operations"),
    "__shfl_sync(1u, a.at, 0);": (719, "the mask of a shuffle does not name the lane itself"),
    "if (threadIdx.x < 4) __syncthreads(); else __syncthreads_or(1);": (719, "different kinds of __syncthreads"),
    "__trap();": (719, "__trap was called"),
    "assert(threadIdx.x < 20 - a.at);": (710, "assertion failed: threadIdx.x < 20 - a.at"),
    "a.at /= (long)(threadIdx.x - threadIdx.y) - (long)threadIdx.x; a.out[0] = a.at;": (719, "division by zero"),
}


@pytest.mark.parametrize("body", BODIES)
@own_process()
def test_a_kernel_that_fails(body):
    code, text = BODIES[body]
    gpu = Gpu()
    kernel = gpu.kernel(f"struct Args {{ char *out; long at; }}; KERNEL(kernel, Args) {{ {body} }}")
    assert _code(gpu, kernel, gpu.alloc(8), 15) == code
    assert text in gpu.fault()
    assert gpu.fault().startswith("kernel kernel, block (0, 0, 0)")


DEEP = """
struct Args { long *out; };
__attribute__((noinline)) long deep(volatile long* out, long n) {
    volatile char space[1000];
    space[n % 1000] = 1;
    long below = n ? deep(out, n - 1) : 0;
    *out = space[n % 1000] + below;
    return *out;
}
KERNEL(kernel, Args) { deep(a.out, 100000); }
"""


ALIGNED = """
struct Args { float4 *out; };
KERNEL(kernel, Args) { a.out[1] = a.out[0]; }
"""


@own_process()
def test_vectors_at_odd_addresses():
    import platform

    gpu = Gpu()
    memory = gpu.alloc(64)
    assert _code(gpu, gpu.kernel(ALIGNED), memory, block=1) == 0
    if platform.machine() == "x86_64":  # others read them all the same
        assert _code(gpu, gpu.kernel(ALIGNED), memory + 4, block=1) == 716
        assert "not aligned" in gpu.fault()


@own_process()
def test_a_stack_that_is_exhausted():
    gpu = Gpu()
    assert _code(gpu, gpu.kernel(DEEP), gpu.alloc(8), block=1) == 700


@own_process(
    MINDTORCH_CUDA_FAULTS="cuMemAlloc_v2:3=2,cuLaunchKernel:2=719,cublasGemmEx:1=15,cuStreamCreateWithPriority:1=2"
)
def test_calls_fail_when_they_were_told_to():
    gpu = Gpu()
    memory = [gpu.alloc(8) for _ in range(2)]
    assert code_of(gpu.alloc, 8) == 2
    memory.append(gpu.alloc(8))
    assert code_of(gpu.stream) == 2
    gpu.stream()
    kernel = gpu.kernel(STORE)
    kernel[1, 8](memory[0], 0)
    assert code_of(kernel[1, 8], memory[0], 0) == 719
    assert code_of(gpu.cu.cuCtxSynchronize) == 719  # a code that costs the context
    assert "cuLaunchKernel: injected error 719" in gpu.fault()


@own_process(MINDTORCH_CUDA_FAULTS="cuLaunchKernel@stream:2=700")
def test_work_fails_on_its_stream_when_it_was_told_to():
    gpu = Gpu()
    memory = gpu.alloc(8)
    kernel = gpu.kernel(STORE)
    assert _code(gpu, kernel, memory, 0) == 0
    assert _code(gpu, kernel, memory, 0) == 700
    assert "cuLaunchKernel: injected error 700" in gpu.fault()


@own_process()
def test_faults_that_are_told_later():
    gpu = Gpu()
    gpu.cu.bare.emulated_set_faults(b"cuMemAlloc_v2:2=2")
    gpu.alloc(8)
    assert code_of(gpu.alloc, 8) == 2
    gpu.cu.bare.emulated_set_faults(None)
    gpu.alloc(8)


@own_process()
def test_handles_that_are_none():
    gpu = Gpu()
    nothing = ctypes.c_void_p(12345)
    for function, arguments, code in [
        ("cuStreamSynchronize", [nothing], 400),
        ("cuStreamDestroy_v2", [nothing], 400),
        ("cuEventRecord", [nothing, None], 400),
        ("cuEventDestroy_v2", [nothing], 400),
        ("cuModuleUnload", [nothing], 400),
        ("cuMemFree_v2", [12345], 1),
        ("cuMemFreeHost", [nothing], 1),
        ("cuMemHostUnregister", [nothing], 713),
        ("cuGraphLaunch", [nothing, None], 1),
        ("cuCtxSetCurrent", [nothing], 201),
    ]:
        assert code_of(getattr(gpu.cu, function), *arguments) == code, function
    stream, event, memory = gpu.stream(), gpu.event(), gpu.alloc(8)
    for function, handle, code in [
        ("cuStreamDestroy_v2", stream, 400),
        ("cuEventDestroy_v2", event, 400),
        ("cuMemFree_v2", memory, 1),
    ]:
        call = getattr(gpu.cu, function)
        call(handle)
        assert code_of(call, handle) == code, function


@own_process(MINDTORCH_CUDA_EMULATED_DEVICES="2")
def test_handles_of_another_context():
    gpu = Gpu()
    kernel, stream, event, memory = gpu.kernel(STORE), gpu.stream(), gpu.event(), gpu.alloc(8)
    other = Gpu(1)
    assert code_of(kernel[1, 8], memory, 0) == 400  # the second device's default stream
    assert code_of(other.cu.cuEventRecord, event, other.stream()) == 400
    kernel[1, 8, 0, stream](memory, 0)  # the stream says where
    other.cu.cuDevicePrimaryCtxRelease_v2(1)
    assert code_of(other.alloc, 8) == 709
    other.cu.cuCtxSetCurrent(None)
    assert code_of(other.alloc, 8) == 201


@own_process()
def test_images_that_are_no_modules():
    gpu = Gpu()
    for image, code in [
        (b"nothing of the kind" + bytes(100), 200),
        (b".version 8.0\n.target sm_90" + bytes(100), 200),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xbe\x00" + bytes(100), 209),  # for a GPU
    ]:
        assert code_of(gpu.new, "cuModuleLoadData", image) == code
    module = gpu.module(STORE)
    assert code_of(gpu.new, "cuModuleGetFunction", module, b"missing") == 500


@own_process()
def test_no_context_and_no_initialisation():
    cu = Library("libcuda.so.1")
    number = ctypes.c_int()
    assert code_of(cu.cuDeviceGetCount, ctypes.byref(number)) == 3
    cu.cuInit(0)
    cu.cuDeviceGetCount(ctypes.byref(number))
    assert number.value == 1
    assert code_of(cu.cuMemAlloc_v2, ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(8)) == 201
    assert code_of(cu.cuDeviceGet, ctypes.byref(number), 1) == 101


@own_process()
def test_a_forked_child_has_no_device():
    import os

    gpu = Gpu()
    child = os.fork()
    if not child:
        os._exit(gpu.cu.bare.cuInit(0))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    gpu.cu.cuCtxSynchronize()


@own_process()
def test_names_of_errors():
    cu = Library("libcuda.so.1")
    text = ctypes.c_char_p()
    cu.cuGetErrorName(700, ctypes.byref(text))
    assert text.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    cu.cuGetErrorString(2, ctypes.byref(text))
    assert text.value == b"out of memory"
    assert code_of(cu.cuGetErrorName, 12345, ctypes.byref(text)) == 1


@own_process()
def leaves_memory_behind():
    gpu = Gpu()
    gpu.alloc(100)
    gpu.stream()
    gpu.kernel(STORE)


@needs_emulator
def test_what_is_left_at_exit_is_reported(tmp_path):
    path = tmp_path / "report"
    done = run(leaves_memory_behind.program, {"MINDTORCH_CUDA_REPORT": str(path)}, {})
    assert done.returncode == 0, done.stderr
    report = json.loads(path.read_text())
    assert report["allocations"] == 1
    assert report["allocated_bytes"] == 100
    assert report["streams"] == 1
    assert report["modules"] == 1
    assert report["events"] == 0
