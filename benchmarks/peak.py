"""How much of the processor's own peak the matrix products of BERT-base reach, ours and the installed PyTorch's.

    python benchmarks/peak.py --threads 2

The peak is a loop of nothing but fused multiply-adds (compiled here with c++), timed just before and just after each
product: on a machine whose rate changes from one moment to the next only that quotient says anything.
"""

import argparse
import ctypes
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_LOOP = """
#include <omp.h>
typedef float V __attribute__((vector_size(BYTES)));
extern "C" double seconds(int threads, long rounds, float* sink) {  // COUNT independent chains hide the latency
    const double start = omp_get_wtime();
    #pragma omp parallel num_threads(threads)
    {
        V sums[COUNT], a = V{} + sink[0], b = a;
        for (int k = 0; k < COUNT; k++) sums[k] = a * float(k);
        for (long i = 0; i < rounds; i++) {
            #pragma GCC unroll 16
            for (int k = 0; k < COUNT; k++) sums[k] = sums[k] * a + b;
            asm volatile("" : "+v"(a), "+v"(b));
        }
        V total = sums[0];
        for (int k = 1; k < COUNT; k++) total += sums[k];
        sink[1 + omp_get_thread_num()] = total[0];
    }
    return omp_get_wtime() - start;
}
"""
_CHAINS, _ROUNDS, _REPEATS = 12, 2_000_000, 30
_ROWS = 1024  # 8 x 128 tokens
# features in, features out, how many such layers BERT-base has
_LAYERS = ((768, 768, 48), (768, 3072, 12), (3072, 768, 12))


def main() -> None:
    """Measure both libraries, each in a process of its own, and print a line for each product."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", help=argparse.SUPPRESS)  # one library, in this process; its shares as JSON
    options = parser.parse_args()
    if options.only:
        print(json.dumps(_measure(options.only, options.threads)))
        return
    shares = {library: _in_a_process(library, options.threads) for library in ("mindtorch_v2", "torch")}
    print(f"share of the peak, medians of {_REPEATS}, {options.threads} threads       ours  PyTorch")
    for name in shares["torch"]:
        print(f"{name:44} {shares['mindtorch_v2'][name][0]:10.2f} {shares['torch'][name][0]:8.2f}")
    print(f"{'all products of a training step, by their time':44} {_whole(shares['mindtorch_v2']):10.2f}", end="")
    print(f" {_whole(shares['torch']):8.2f}")


def _whole(shares: dict[str, tuple[float, float]]) -> float:
    work = sum(flops for _, flops in shares.values())
    return work / sum(flops / share for share, flops in shares.values())


def _in_a_process(library: str, threads: int) -> dict[str, tuple[float, float]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    command = [sys.executable, __file__, "--threads", str(threads), "--only", library]
    return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)


def _measure(library: str, threads: int) -> dict[str, tuple[float, float]]:
    """Share of the peak and floating-point operations of a step, for each kind of product."""
    torch: ModuleType = __import__(library)
    torch.set_num_threads(threads)
    with tempfile.TemporaryDirectory() as folder:
        peak = _peak(Path(folder), threads)
        found = {}
        for wide, narrow, layers in _LAYERS:
            x, weight = torch.rand(_ROWS, wide), torch.rand(narrow, wide)
            bias, upstream = torch.rand(narrow), torch.rand(_ROWS, narrow)
            flops = 2.0 * _ROWS * wide * narrow
            calls: dict[str, Callable[[], Any]] = {
                "forward": functools.partial(torch.nn.functional.linear, x, weight, bias),
                "gradient of the input": functools.partial(torch.matmul, upstream, weight),
                "gradient of the weight": functools.partial(torch.matmul, upstream.t(), x),
            }
            for name, call in calls.items():
                found[f"{wide} to {narrow}, {name}"] = (_share(call, flops, peak), layers * flops)
    return found


def _share(call: Callable[[], Any], flops: float, peak: Callable[[], float]) -> float:
    call()
    shares = []
    for _ in range(_REPEATS):
        before, start = peak(), time.perf_counter()
        call()
        seconds = time.perf_counter() - start
        shares.append(flops / seconds / ((before + peak()) / 2))
    return statistics.median(shares)


def _peak(folder: Path, threads: int) -> Callable[[], float]:
    """A function that gives floating-point operations in a second of the loop, now."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    width = 64 if "avx512f" in flags else 32 if "avx2" in flags else 16
    (folder / "loop.cpp").write_text(_LOOP)
    command = ["c++", "-O2", "-march=native", "-ffp-contract=fast", "-fopenmp", "-shared", "-fPIC"]
    command += [f"-DBYTES={width}", f"-DCOUNT={_CHAINS}", "loop.cpp", "-o", "loop.so"]
    subprocess.run(command, cwd=folder, check=True)
    loop = ctypes.CDLL(str(folder / "loop.so")).seconds
    loop.restype, loop.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_long, ctypes.POINTER(ctypes.c_float)]
    sink = (ctypes.c_float * (1 + threads))(1.0)
    work = threads * _ROUNDS * _CHAINS * 2.0 * (width // 4)
    return lambda: work / loop(threads, _ROUNDS, sink)


if __name__ == "__main__":
    main()
