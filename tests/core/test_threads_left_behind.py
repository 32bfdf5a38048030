"""Threads that are in the middle of an operator when the process forks or ends."""

import subprocess
import sys

import pytest

AT_THE_END = """
import threading, time
import mindtorch_v2 as torch

class Work(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, grad):
        {work}
        return grad

def loop():
    while True:
        x = torch.ones(400, 400, requires_grad=True)
        Work.apply(x @ x * 1e-3).sum().backward()
        started.set()

started = threading.Event()
for _ in range(3):
    threading.Thread(target=loop, daemon=True).start()
started.wait()
print("the end")
"""

IN_A_CHILD = """
import os, threading, time
import mindtorch_v2 as torch

def draw():
    while drawing:
        torch.empty(2000000).normal_()

drawing = True
thread = threading.Thread(target=draw)
thread.start()
for seed in range(10):
    time.sleep(0.01)
    child = os.fork()
    if not child:
        first = torch.randn(2000)
        torch.manual_seed(seed)
        os._exit(torch.randn(3).shape != (3,))
    for _ in range(1000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        status = "it waits for a thread that it has not"
    if status:
        print(status)
        break
drawing = False
thread.join()
"""


def _run(program):
    # From 3.12 on Python warns of a fork where there are threads, which is what is done here.
    quiet = ["-W", "ignore::DeprecationWarning"]
    return subprocess.run(
        [sys.executable, *quiet, "-c", program], capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("work", ["pass", "sum(range(100000))", "time.sleep(0.002)"])
def test_daemon_threads_in_backward_do_not_disturb_the_end(work):
    ended = _run(AT_THE_END.format(work=work))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "the end\n", "")


def test_a_forked_child_draws_where_another_thread_was_drawing():
    ended = _run(IN_A_CHILD)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
