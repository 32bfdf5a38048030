"""Kernels on the emulated GPU: indices, barriers, warps, atomics, shared memory."""

import math

import pytest
from emulated_gpu import HEADER, Gpu, code_of, own_process

from mindtorch_v2._backends.cuda import compiler

pytestmark = pytest.mark.no_torch

PLACES = """
struct Args { long *out; long width; };
KERNEL(kernel, Args) {
    long block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * (long)blockIdx.z);
    long thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * (long)threadIdx.z);
    a.out[block * a.width + thread] = block * 1000 + thread;
}
"""


@own_process()
def test_each_thread_of_each_block_runs_once():
    gpu = Gpu()
    out = gpu.put([-1] * (24 * 30), "q")
    gpu.kernel(PLACES)[(2, 3, 4), (5, 3, 2)](out, 30)
    assert gpu.get(out, 720, "q") == [block * 1000 + thread for block in range(24) for thread in range(30)]


ORDER = """
struct Args { long *out, *count; };
KERNEL(kernel, Args) { a.out[atomicAdd((unsigned long long*)a.count, 1)] = blockIdx.x * 64L + threadIdx.x; }
"""


@own_process()
def test_blocks_and_threads_run_in_no_order_to_count_on():
    gpu = Gpu()
    out, count = gpu.alloc(8 * 64 * 50), gpu.put([0], "q")
    kernel = gpu.kernel(ORDER)
    kernel[50, 64](out, count)
    ran = gpu.get(out, 64 * 50, "q")
    assert sorted(ran) == list(range(64 * 50))
    blocks = [n // 64 for n in ran[::64]]
    assert blocks != sorted(blocks)
    assert [n % 64 for n in ran[:64]] != list(range(64))
    kernel[50, 64](out, gpu.put([0], "q"))
    assert gpu.get(out, 64 * 50, "q") == ran  # the same each time, unless scheduling is hostile


@own_process(MINDTORCH_CUDA_HOSTILE="5")
def test_hostile_scheduling_takes_another_order_each_time():
    gpu = Gpu()
    kernel = gpu.kernel(ORDER)
    seen = set()
    for _ in range(4):
        out = gpu.alloc(8 * 64 * 50)
        kernel[50, 64](out, gpu.put([0], "q"))
        seen.add(tuple(gpu.get(out, 64 * 50, "q")))
    assert len(seen) > 1


SUM = """
struct Args { long *out; const long *in; long n; };
KERNEL(kernel, Args) {
    SHARED(long, part);
    long sum = 0;
    for (long i = threadIdx.x; i < a.n; i += blockDim.x) sum += a.in[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) a.out[blockIdx.x] = part[0];
}
"""


@own_process()
def test_threads_meet_at_barriers():
    gpu = Gpu()
    out = gpu.alloc(24)
    gpu.kernel(SUM)[3, 256, 2048](out, gpu.put(range(10000), "q"), 10000)
    assert gpu.get(out, 3, "q") == [9999 * 5000] * 3


VOTES = """
struct Args { long *out; };
KERNEL(kernel, Args) {
    int t = threadIdx.x;
    a.out[t] = __syncthreads_count(t % 3 == 0);
    a.out[64 + t] = __syncthreads_or(t == 17) * 2 + __syncthreads_and(t == 17);
    a.out[128 + t] = __ballot_sync(0xffffffff, t % 2);
    a.out[192 + t] = __any_sync(0xffffffff, t == 40) * 2 + __all_sync(0xffffffff, t < 32);
    if (t % 32 < 8) a.out[256 + t] = __ballot_sync(0xff, t % 4 == 1);
    a.out[320 + t] = __match_any_sync(0xffffffff, t % 16);
    a.out[384 + t] = __reduce_add_sync(0xffffffff, t);
    a.out[448 + t] = __reduce_max_sync(0xffffffff, t) * 100 + __reduce_min_sync(0xffffffff, t);
}
"""


@own_process()
def test_votes_of_blocks_and_warps():
    gpu = Gpu()
    out = gpu.put([0] * 512, "q")
    gpu.kernel(VOTES)[1, 64](out)
    got = gpu.get(out, 512, "q")
    assert got[:64] == [22] * 64
    assert got[64:128] == [2] * 64
    assert got[128:192] == [0xAAAAAAAA] * 64
    assert got[192:256] == [1] * 32 + [2] * 32
    assert got[256:320] == ([0b00100010] * 8 + [0] * 24) * 2
    assert got[320:384] == [(1 << t % 16) | (1 << t % 16 + 16) for t in range(64)]
    assert got[384:448] == [sum(range(32))] * 32 + [sum(range(32, 64))] * 32
    assert got[448:512] == [3100] * 32 + [6332] * 32


SHUFFLES = """
struct Args { long *out; long *width; };
KERNEL(kernel, Args) {
    int t = threadIdx.x, w = (int)*a.width;
    long v = 100 + t;
    a.out[t] = __shfl_sync(0xffffffff, v, t + 1, w);
    a.out[64 + t] = __shfl_down_sync(0xffffffff, (double)v, 3, w);
    a.out[128 + t] = __shfl_up_sync(0xffffffff, (int)v, 2, w);
    a.out[192 + t] = __shfl_xor_sync(0xffffffff, (float)v, 5, w);
}
"""


@pytest.mark.parametrize("width", [32, 16, 8])
@own_process()
def test_shuffles(width):
    gpu = Gpu()
    out = gpu.alloc(8 * 256)
    gpu.kernel(SHUFFLES)[1, 64](out, gpu.put([width], "q"))
    got = gpu.get(out, 256, "q")
    for t in range(64):
        first, at = t // width * width, t % width
        assert got[t] == 100 + first + (at + 1) % width
        assert got[64 + t] == 100 + (t + 3 if at + 3 < width else t)
        assert got[128 + t] == 100 + (t - 2 if at >= 2 else t)
        assert got[192 + t] == 100 + (t ^ 5)


PARTIAL = """
struct Args { float *out; };
KERNEL(kernel, Args) {
    float v = threadIdx.x;
    if (threadIdx.x < 16) v = __shfl_down_sync(0xffff, v, 8);
    a.out[threadIdx.x] = v;
}
"""


@own_process()
def test_a_lane_that_takes_no_part_gives_no_number():
    gpu = Gpu()
    out = gpu.alloc(4 * 32)
    gpu.kernel(PARTIAL)[1, 32](out)
    got = gpu.get(out, 32)
    assert got[:8] == list(range(8, 16))
    assert all(math.isnan(v) for v in got[8:16])
    assert got[16:] == list(range(16, 32))


ATOMICS = """
struct Args { int *i; unsigned long long *u; float *f; double *d; int *rest; };
KERNEL(kernel, Args) {
    int t = threadIdx.x + blockIdx.x * blockDim.x;
    atomicAdd(a.i, t);
    atomicAdd(a.u, 1ull << 40);
    atomicAdd(a.f, 0.5f);
    atomicAdd(a.d, 0.25);
    atomicMax(&a.rest[0], t);
    atomicMin(&a.rest[1], -t);
    atomicOr(&a.rest[2], 1 << t % 20);
    atomicAnd(&a.rest[3], ~(1 << t % 20));
    atomicCAS(&a.rest[4], 77, 78);
    atomicExch(&a.rest[5], 5);
    atomicSub(&a.rest[6], 2);
    atomicXor(&a.rest[7], t);
}
"""


@own_process()
def test_atomics():
    gpu = Gpu()
    i, u, f, d = gpu.put([0], "i"), gpu.put([0], "Q"), gpu.put([0], "f"), gpu.put([0], "d")
    rest = gpu.put([0, 0, 0, -1, 77, 0, 0, 0], "i")
    gpu.kernel(ATOMICS)[4, 64](i, u, f, d, rest)
    assert gpu.get(i, 1, "i") == [255 * 128]
    assert gpu.get(u, 1, "Q") == [256 << 40]
    assert gpu.get(f, 1, "f") == [128]
    assert gpu.get(d, 1, "d") == [64]
    assert gpu.get(rest, 8, "i") == [255, -255, (1 << 20) - 1, -(1 << 20), 78, 5, -512, 0]


UNWRITTEN = """
struct Args { float *out; long early; };
KERNEL(kernel, Args) {
    SHARED(float, part);
    int t = threadIdx.x;
    part[t] = t;
    if (!a.early) __syncthreads();
    a.out[blockIdx.x * 64 + t] = part[63 - t];
}
"""


@own_process()
def test_shared_memory_that_was_not_written_is_no_number():
    gpu = Gpu()
    kernel = gpu.kernel(UNWRITTEN)
    out = gpu.alloc(4 * 192)
    kernel[3, 64, 256](out, 1)
    assert any(math.isnan(v) for v in gpu.get(out, 192)[128:])  # no barrier: some read before the other wrote
    kernel[3, 64, 256](out, 0)
    assert gpu.get(out, 192) == list(range(63, -1, -1)) * 3


STATIC = """
struct Args { int *out; };
__constant__ int table[3] = {5, 6, 7};
__device__ __forceinline__ int twice(int x) { return 2 * x; }
KERNEL(kernel, Args) {
    __shared__ int part[32];
    part[threadIdx.x] = twice(table[threadIdx.x % 3]);
    __syncthreads();
    a.out[threadIdx.x] = part[31 - threadIdx.x] + warpSize;
}
"""


@own_process()
def test_shared_and_constant_memory_of_fixed_size():
    gpu = Gpu()
    out = gpu.alloc(4 * 32)
    gpu.kernel(STATIC)[1, 32](out)
    assert gpu.get(out, 32, "i") == [2 * [5, 6, 7][(31 - t) % 3] + 32 for t in range(32)]


@own_process()
def test_launches_beyond_the_limits_are_refused():
    gpu = Gpu()
    kernel = gpu.kernel(PLACES)
    out = gpu.alloc(8)
    for grid, block in [(1, 1025), (1, (32, 33, 1)), (1, (1, 1, 65)), ((1, 65536, 1), 1), (0, 1), (1, 0)]:
        assert code_of(kernel[grid, block], out, 1) == 1
    assert code_of(kernel[1, 1, 49153], out, 1) == 1
    gpu.cu.cuFuncSetAttribute(kernel.handle, 8, 232448)
    kernel[1, 1, 232448](out, 1)
    assert code_of(gpu.cu.cuFuncSetAttribute, kernel.handle, 8, 232449) == 1
    assert gpu.get(out, 1, "q") == [0]


def test_a_change_of_any_header_makes_kernels_anew():
    texts = compiler._headers()
    for path in [HEADER, *HEADER.parent.glob("*.cuh"), *HEADER.parent.glob("on_cpu/*.h")]:
        assert texts[path.relative_to(HEADER.parent).as_posix()] == path.read_text()
    assert "on_cpu/math.h" in texts
