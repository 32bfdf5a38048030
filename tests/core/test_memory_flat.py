"""A training loop leaves memory where it was: neither tensor bytes nor the process grow with the steps."""

import collections
import gc
import linecache
import os

import pytest

import mindtorch_v2 as torch

pytestmark = pytest.mark.skipif(
    bool({"ASAN_OPTIONS", "TSAN_OPTIONS"} & os.environ.keys()), reason="a sanitizer holds freed memory back"
)


def resident_kib():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))


def test_training_loop():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.randn(4, 8), torch.randn(4, 1)

    def run(steps):
        for _ in range(steps):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        gc.collect()
        return resident_kib()

    before = run(1000)
    assert run(9000) - before < 4096


def test_errors_leave_nothing_behind():
    a, b = torch.ones(3, requires_grad=True), torch.ones(4)
    index = torch.tensor([9])

    def run(times):
        for _ in range(times):
            for call in (
                lambda: a + b,
                lambda: a[index],
                lambda: (a * 2).backward(),
                lambda: a.view(7),
                lambda: a.sum(5),
            ):
                try:
                    call()
                except (RuntimeError, IndexError):
                    continue  # none at all is an error below
                raise AssertionError("no error")
        gc.collect()
        return resident_kib()

    before = run(300)
    assert run(3000) - before < 2048


def test_captured_functions_go_with_their_texts():
    x = torch.ones(2)

    def run(times):
        for number in range(times):
            torch.fx.symbolic_trace(lambda y, n=number: y * n)(x)
        gc.collect()
        return sum(name.startswith("<eval_with_key>") for name in linecache.cache)

    before = run(1)
    assert run(20) == before
    kept = torch.fx.symbolic_trace(lambda y: y + 1)
    assert "return add" in "".join(linecache.getlines(kept.forward.__code__.co_filename))


def test_groups_that_left_are_forgotten():
    from mindtorch_v2.distributed._flight import Recorder

    recorder = Recorder()
    recorder.entries = collections.deque(maxlen=2)
    for _ in range(5):
        group = recorder.group(1.0)
        recorder.begin(group, 0, "all_reduce", [], [])
    del group
    gc.collect()
    assert [each.index for each in recorder.groups] == [3, 4]  # those of the entries
