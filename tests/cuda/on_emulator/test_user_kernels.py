"""Kernels that a program has in CUDA C++: torch.cuda._compile_kernel."""

import pytest

import mindtorch_v2 as torch

_ADD = """
__global__ void add_tensors(const float* a, const float* b, float* c, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
_SUMS = """
#define STEP(s) __syncthreads(); if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
extern "C" __global__ void sum_blocks(const double* x, double* out, double scale, long long base, int n) {
    extern __shared__ double sums[];
    __shared__ int seen;
    if (threadIdx.x == 0) seen = 0;
    __syncthreads();
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    sums[threadIdx.x] = i < n ? x[i] : 0;
    atomicAdd(&seen, 1);
    for (int s = blockDim.x / 2; s > 0; s /= 2) { STEP(s) }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0] * scale + seen;
}
"""


def test_a_kernel_adds():
    add = torch.cuda._compile_kernel(_ADD, "add_tensors")
    a, b = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    c = torch.empty_like(a)
    add(grid=(4, 1, 1), block=(256, 1, 1), args=[a, b, c, a.numel()])
    assert torch.equal(c, a + b)
    pinned = torch.ones(1000).pin_memory()
    add((4, 1, 1), (256, 1, 1), [pinned, b, c, 500])
    assert torch.equal(c[:500], b[:500] + 1) and torch.equal(c[500:], (a + b)[500:])


def test_shared_memory_both_kinds_and_wide_parameters():
    kernel = torch.cuda._compile_kernel(_SUMS.replace("long long base, ", ""), "sum_blocks")
    x = torch.arange(100.0, device="cuda", dtype=torch.float64)
    out = torch.zeros(2, device="cuda", dtype=torch.float64)
    kernel((2, 1, 1), (64, 1, 1), [x, out, 0.5, 100], shared_mem=64 * 8)
    assert out.tolist() == [sum(range(64)) / 2 + 64, sum(range(64, 100)) / 2 + 64]


def test_the_stream_and_captured_graphs():
    add = torch.cuda._compile_kernel(_ADD, "add_tensors")
    a, c = torch.ones(8, device="cuda"), torch.zeros(8, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    add((1, 1, 1), (8, 1, 1), [a, a, c, 8], stream=stream)
    stream.synchronize()
    assert c.tolist() == [2] * 8
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add((1, 1, 1), (8, 1, 1), [c, a, c, 8])
    assert c.tolist() == [2] * 8
    graph.replay()
    graph.replay()
    assert c.tolist() == [4] * 8


def test_options_and_headers(tmp_path):
    (tmp_path / "offset.cuh").write_text("__device__ int offset(int x) { return x + OFFSET; }\n")
    source = (
        '#include "offset.cuh"\nextern "C" __global__ void shift(int* x) { x[threadIdx.x] = offset(x[threadIdx.x]); }'
    )
    kernel = torch.cuda._compile_kernel(source, "shift", cuda_include_dirs=[str(tmp_path)], nvcc_options=["-DOFFSET=7"])
    x = torch.arange(4, device="cuda", dtype=torch.int32)
    kernel(block=(4, 1, 1), args=[x])
    assert x.tolist() == [7, 8, 9, 10]


def test_a_kernel_without_parameters():
    kernel = torch.cuda._compile_kernel("__device__ int x; __global__ void nothing() { x = 1; }", "nothing")
    assert kernel() is None and torch.cuda.synchronize() is None


def test_what_is_refused():
    add = torch.cuda._compile_kernel(_ADD, "add_tensors")
    a = torch.ones(8, device="cuda")
    with pytest.raises(ValueError, match="must be CUDA tensors or pinned CPU tensors"):
        add(args=[torch.ones(8), a, a, 8])
    with pytest.raises(TypeError, match="Unsupported argument type: <class 'str'>"):
        add(args=[a, a, a, "8"])
    with pytest.raises(
        RuntimeError, match=r"parameters have \[8, 8, 8, 4\] bytes, but the arguments have \[8, 8, 8, 8\]"
    ):
        add(args=[a, a, a, 8.0])
    with pytest.raises(RuntimeError, match=r"but the arguments have \[8, 8, 8\]"):
        add(args=[a, a, a])
    with pytest.raises(ValueError, match=r"three sizes, but \(1, 1\) was given"):
        add(grid=(1, 1), args=[a, a, a, 8])
    with pytest.raises(RuntimeError, match="cuLaunchKernel returned 1 "):
        add(block=(2048, 1, 1), args=[a, a, a, 8])
    with pytest.raises(ValueError, match="no __global__ function other"):
        torch.cuda._compile_kernel(_ADD, "other")
    with pytest.raises(RuntimeError, match=r"(?s)add_tensors: its.* does not compile.*missing"):
        torch.cuda._compile_kernel(_ADD.replace("a[i] + b[i]", "missing"), "add_tensors")


def test_much_shared_memory_is_asked_for():
    source = 'extern "C" __global__ void touch(int* x) { extern __shared__ int s[]; s[20000] = 3; x[0] = s[20000]; }'
    kernel = torch.cuda._compile_kernel(source, "touch")
    x = torch.zeros(1, device="cuda", dtype=torch.int32)
    with pytest.raises(RuntimeError, match=r"requires 98304 bytes of shared memory \(>= 48KB\), but not configured"):
        kernel(args=[x], shared_mem=96 << 10)
    kernel.set_shared_memory_config(64 << 10)
    with pytest.raises(RuntimeError, match="but only 65536 bytes configured"):
        kernel(args=[x], shared_mem=96 << 10)
    kernel.set_shared_memory_config(96 << 10)
    kernel(args=[x], shared_mem=96 << 10)
    assert x.tolist() == [3]
    with pytest.raises(RuntimeError, match=r"Requested shared memory \(1048576 bytes\) exceeds device limit"):
        kernel.set_shared_memory_config(1 << 20)
