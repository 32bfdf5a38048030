"""Products and convolutions where oneDNN is not to be had: OpenBLAS and our own loops do them, if asked; else an error says so."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import mindtorch_v2

# Where the package that is tested lies: the sources, or an environment that it was installed in.
_SOURCE = Path(mindtorch_v2.__file__).resolve().parents[1]

# Expected values are NumPy's, in float64: sums over shifted windows for convolutions.
_PROGRAM = """
import itertools
import sys
import numpy as np
import mindtorch_v2 as torch

rng = np.random.default_rng(0)
def numbers(*shape, dtype=torch.float32):
    a = torch.tensor(rng.standard_normal(shape)).to(dtype)
    return a, a.double().numpy()
def close(ours, expected, what, tolerance=2e-5):
    off = np.abs(ours.detach().double().numpy() - expected).max() / max(1.0, np.abs(expected).max())
    assert off < tolerance, (what, off)

for dtype, tolerance in [(torch.float32, 2e-5), (torch.bfloat16, 2e-2), (torch.float16, 2e-3), (torch.float64, 1e-12)]:
    for m, n, k in [(1, 64, 64), (3, 5, 7), (40, 50, 60), (257, 129, 65), (64, 1, 64)]:
        (a, a_), (b, b_), (c, c_) = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype), numbers(n, dtype=dtype)
        close(a @ b, a_ @ b_, ("mm", dtype, m, n, k), tolerance)
        close(a.t().contiguous().t() @ b.t().contiguous().t(), a_ @ b_, ("mm transposed", dtype, m, n, k), tolerance)
        close(torch.addmm(c, a, b, beta=0.5, alpha=2), 0.5 * c_ + 2 * a_ @ b_, ("addmm", dtype, m, n, k), tolerance)
        close(torch.nn.functional.linear(a, b.t(), c), a_ @ b_ + c_, ("linear", dtype, m, n, k), tolerance)
    (a, a_), (b, b_) = numbers(6, 33, 40, dtype=dtype), numbers(6, 40, 37, dtype=dtype)
    close(torch.bmm(a, b), a_ @ b_, ("bmm", dtype), tolerance)

def convolve(x, w, stride, padding, dilation, groups):
    space = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * space)
    sizes = [(x.shape[2 + i] - dilation * (w.shape[2 + i] - 1) - 1) // stride + 1 for i in range(space)]
    out = np.zeros((x.shape[0], w.shape[0], *sizes))
    each = w.shape[0] // groups
    for g in range(groups):
        part = x[:, g * w.shape[1]:(g + 1) * w.shape[1]]
        for at in itertools.product(*(range(k) for k in w.shape[2:])):
            window = part[(slice(None), slice(None), *(slice(p * dilation, p * dilation + s * stride, stride) for p, s in zip(at, sizes)))]
            out[:, g * each:(g + 1) * each] += np.einsum("nc...,oc->no...", window, w[(slice(g * each, (g + 1) * each), slice(None), *at)])
    return out

for space, groups, stride, last in [(1, 1, 1, False), (2, 1, 1, False), (2, 2, 2, False), (2, 1, 2, True), (3, 1, 1, False)]:
    (x, x_), (w, w_) = numbers(2, 4, *[9] * space), numbers(6, 4 // groups, *[3] * space)
    if last:
        x = x.to(memory_format=torch.channels_last)
    x.requires_grad_(), w.requires_grad_()
    y = getattr(torch.nn.functional, f"conv{space}d")(x, w, stride=stride, padding=1, groups=groups)
    expected = convolve(x_, w_, stride, 1, 1, groups)
    close(y, expected, ("conv", space, groups, last))
    # The product is linear in each operand: <grad, conv(x, w)> is <d/dx, x> and <d/dw, w>.
    grad = rng.standard_normal(expected.shape)
    y.backward(torch.tensor(grad).float())
    total = (grad * expected).sum()
    for t, t_ in [(x, x_), (w, w_)]:
        close(torch.tensor((t.grad.double().numpy() * t_).sum()), total, ("gradient", space, groups, last), 1e-4)

(q, q_), (k, k_), (v, v_) = numbers(2, 3, 70, 16), numbers(2, 3, 80, 16), numbers(2, 3, 80, 16)
scores = np.exp(q_ @ k_.swapaxes(-1, -2) / 4)
close(torch.nn.functional.scaled_dot_product_attention(q, k, v), scores / scores.sum(-1, keepdims=True) @ v_, "attention")
(a, a_), = numbers(30, 30),
close(torch.linalg.inv(a @ a.t() + torch.eye(30)), np.linalg.inv(a_ @ a_.T + np.eye(30)), "inv", 1e-3)
assert "libdnnl" not in open("/proc/self/maps").read()
print("done")
"""

# The places where the library is looked for, emptied once everything else is imported.
_MISSING = """
import sys
import mindtorch_v2 as torch
a = torch.ones(64, 64)
sys.path[:] = []
sys.prefix = sys.base_prefix = "/nowhere"
try:
    a @ a
except RuntimeError as error:
    print(error)
"""


def _run(program: str, source: Path = _SOURCE, **variables: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(source), **variables}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_everything_works_without_it() -> None:
    assert _run(_PROGRAM, MINDTORCH_ONEDNN="0") == "done\n"


def test_a_missing_library_is_named_with_its_remedies(tmp_path: Path) -> None:
    # The library is also looked for from where the package lies: here that is a folder without one.
    # A wheel brings its own.
    without = shutil.ignore_patterns("libdnnl.so*")
    shutil.copytree(_SOURCE / "mindtorch_v2", tmp_path / "mindtorch_v2", ignore=without)
    said = _run(_MISSING, tmp_path, MINDTORCH_ONEDNN="1")
    assert "the shared library of the package onednn-cpu-gomp could not be loaded" in said
    assert "pip install onednn-cpu-gomp" in said
    assert "MINDTORCH_ONEDNN=0" in said
