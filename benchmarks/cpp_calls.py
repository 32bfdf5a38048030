"""Calls of C++ operators: the same source with mindtorch_v2 and with PyTorch, processor time, one thread, in turns.

    python benchmarks/cpp_calls.py

The bars: an operator of one tensor and one float, called from Python, takes at most 0.5 of PyTorch's time; `at::add` called
from C++ at most 0.3; a loop over an accessor the same.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys

SOURCE = """
at::Tensor scaled(const at::Tensor& x, double factor) {
    at::Tensor out = at::empty_like(x);
    const float* p = x.const_data_ptr<float>();
    float* q = out.data_ptr<float>();
    for (int64_t i = 0; i < x.numel(); i++) q[i] = p[i] * static_cast<float>(factor);
    return out;
}
void adds(const at::Tensor& x, int64_t times) {
    at::NoGradGuard guard;
    for (int64_t i = 0; i < times; i++) at::add(x, x);
}
double walked(const at::Tensor& x, int64_t times) {
    auto a = x.accessor<float, 2>();
    double sum = 0;
    for (int64_t n = 0; n < times; n++)
        for (int64_t i = 0; i < a.size(0); i++)
            for (int64_t j = 0; j < a.size(1); j++) sum += a[i][j];
    return sum;
}
TORCH_LIBRARY(cpp_calls, m) { m.def("scaled(Tensor x, float factor) -> Tensor"); }
TORCH_LIBRARY_IMPL(cpp_calls, CPU, m) { m.impl("scaled", &scaled); }
"""
# Name, statement, calls that one run of it makes, the bar.
CASES = [
    ("an operator of one tensor and one float, from Python", "for _ in range(20000): op(x, 2.0)", 20000, 0.5),
    ("at::add of four elements, from C++", "module.adds(x, 20000)", 20000, 0.3),
    ("a loop over an accessor of 256 x 256", "module.walked(big, 40)", 40, 1.05),
]
WORKER = """
import sys, time
import {torch} as torch
from {torch}.utils import cpp_extension
torch.set_num_threads(1)
module = cpp_extension.load_inline("cpp_calls_{torch}", {source!r}, functions=["adds", "walked"], extra_cflags=["-O3"])
op, x, big = torch.ops.cpp_calls.scaled.default, torch.ones(4), torch.ones(256, 256)
print("ready", flush=True)
for line in sys.stdin:
    code = compile(line, "case", "exec")
    begin = time.process_time()
    exec(code)
    print(time.process_time() - begin, flush=True)
"""


def _start(name: str) -> subprocess.Popen[str]:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER.format(torch=name, source=SOURCE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert worker.stdout is not None
    if worker.stdout.readline().strip() != "ready":
        raise SystemExit(f"the extension was not built with {name}")
    return worker


def _seconds(worker: subprocess.Popen[str], statement: str) -> float:
    assert worker.stdin is not None and worker.stdout is not None
    worker.stdin.write(statement + "\n")
    worker.stdin.flush()
    return float(worker.stdout.readline())


def main() -> int:
    """Measure, print a line for each case, and give 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    workers = [_start(name) for name in ("mindtorch_v2", "torch")]
    missed = 0
    for name, statement, calls, bar in CASES:
        for worker in workers:
            _seconds(worker, statement)  # warm
        pairs = [tuple(_seconds(worker, statement) for worker in workers) for _ in range(rounds)]
        ours, theirs = (statistics.median(each) / calls * 1e6 for each in zip(*pairs, strict=True))
        ratio = statistics.median(one / other for one, other in pairs)
        missed += ratio > bar
        print(
            f"{name}: {ours:.3f} us, PyTorch {theirs:.3f} us, {ratio:.2f} of it (bar {bar}{', MISSED' if ratio > bar else ''})"
        )
    for worker in workers:
        worker.communicate()
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
