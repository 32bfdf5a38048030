"""A graph far deeper than the C stack: it runs backward and is freed without recursion."""

import subprocess
import sys

import pytest

PROGRAM = """
import mindtorch_v2 as torch

depth = 200_000
x = torch.ones(1, requires_grad=True)
y = x
for _ in range(depth):
    y = y + 1
{end}
"""


@pytest.mark.parametrize(
    "end",
    [
        "y.backward(); assert x.grad.item() == 1 and y.item() == depth + 1",
        "y.backward(retain_graph=True); y.backward(); assert x.grad.item() == 2",
        "del y",
        "node = y.grad_fn; del y; del node",
    ],
    ids=["backward", "retained", "freed", "freed_from_node"],
)
def test_deep_graph(end):
    # In its own process: a stack overflow would end the test run.
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(end=end)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
