"""Signals that arrive while kernels run: the handler runs afterwards, and memory stays whole."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import signal
import mindtorch_v2 as torch

torch.set_num_threads({threads})
handled = 0

def handle(*_):
    global handled
    handled += 1

signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
a = torch.ones(500, 500)
for _ in range(60):
    assert torch.equal(a @ a, torch.full((500, 500), 500.0))
    assert a.exp().sum().item() > 0
while not handled:
    pass
signal.setitimer(signal.ITIMER_REAL, 0)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers")
@pytest.mark.parametrize("threads", [1, 2])
def test_products_survive_signals(threads):
    ran = subprocess.run([sys.executable, "-c", PROGRAM.format(threads=threads)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
