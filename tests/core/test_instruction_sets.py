"""The kernels of each instruction set that was built and that this processor runs: the same operators, the same numbers."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import _C

LIBRARIES = Path(torch.__file__).with_name("_lib")
# What /proc/cpuinfo must say for a library to be loaded.
NEEDS = {
    "base": set(),
    "v3": {"avx2", "fma", "bmi2"},
    "v4": {"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"},
    "v82": {"atomics", "asimdrdm", "asimddp"},
    "v86": {"atomics", "asimdrdm", "asimddp", "bf16", "i8mm"},
    "sve256": {"atomics", "asimdrdm", "asimddp", "bf16", "i8mm", "256 bits"},
}

PROGRAM = """
import sys
import numpy
import mindtorch_v2 as torch
from mindtorch_v2 import _C

assert _C._cpu_isa() == sys.argv[1], _C._cpu_isa()
chance = numpy.random.default_rng(0)

def same(got, wanted, tolerance=2e-6):
    numpy.testing.assert_allclose(got.detach().double().numpy(), wanted, rtol=tolerance, atol=tolerance)

for n in (1, 7, 64, 1000, 5003):  # below, at and between the widths of vectors
    a, b = chance.normal(size=n), chance.uniform(0.1, 3, size=n)
    x, y = torch.tensor(a, dtype=torch.float32), torch.tensor(b, dtype=torch.float32)
    a, b = x.double().numpy(), y.double().numpy()
    same(x + y, a + b)
    same(x * y - 2, a * b - 2)
    same(x / y, a / b)
    same(x.exp(), numpy.exp(a))
    same(y.log(), numpy.log(b))
    same(x.tanh(), numpy.tanh(a))
    same(y.sqrt(), numpy.sqrt(b))
    for name in ("exp", "sin", "tanh", "arctan", "cosh", "expm1"):  # by the system's vector functions
        same(getattr(torch, name)(torch.tensor(a)), getattr(numpy, name)(a), 1e-14)
    same(torch.tensor(b) ** torch.tensor(a), b**a, 1e-13)
    same(x.sum(), a.sum(), 1e-4)
    same(x.max(), a.max())
    same(x.softmax(0), numpy.exp(a) / numpy.exp(a).sum(), 1e-5)
    same(torch.nn.functional.layer_norm(x, (n,), eps=1.0), (a - a.mean()) / numpy.sqrt(a.var() + 1), 1e-5)
    same(x.bfloat16().float(), a, 1e-2)
    same(x.half() + y.half(), a + b, 4e-3)
    assert (x.int() // 2).tolist() == numpy.floor_divide(a.astype(int), 2).tolist()
    assert (x > y).tolist() == (a > b).tolist()
    assert x[::2].contiguous().tolist() == a[::2].tolist()
for m, k, n in ((1, 5, 3), (17, 33, 9), (64, 128, 96)):
    a, b = chance.normal(size=(m, k)), chance.normal(size=(k, n))
    x, y = torch.tensor(a), torch.tensor(b)
    same(x @ y, a @ b, 1e-10)
    same(x.float() @ y.float(), a @ b, 1e-4)
    p, q = x.float().requires_grad_(), y.float().requires_grad_()
    (p @ q).sum().backward()
    same(p.grad, b.sum(1) * numpy.ones((m, 1)), 1e-4)
for name, item, numbers in (("Q8_0", 34, 32), ("Q4_0", 18, 32), ("Q4_K", 144, 256), ("Q6_K", 210, 256)):
    blocks = torch.tensor(chance.integers(0, 60, (5, 3 * 256 // numbers * item)), dtype=torch.uint8)
    wide = torch.ops.mindtorch.packed_unpack(blocks, name).double()
    for rows in (1, 2, 3, 6, 20):
        x = torch.tensor(chance.normal(size=(rows, 3 * 256)), dtype=torch.float32)
        wanted = (x.double() @ wide.T).numpy()
        same(torch.ops.mindtorch.packed_linear(x, blocks, name), wanted, 1e-5 * abs(wanted).max())
for group in (32, 64, 128, 256):
    whole = torch.tensor(chance.integers(0, 16, (16, 768)), dtype=torch.int32)
    pairs, x = torch.tensor(chance.normal(size=(768 // group, 16, 2))).float(), torch.tensor(chance.normal(size=(3, 768))).float()
    wide = (whole.double() - 8) * pairs[..., 0].T.double().repeat_interleave(group, 1)
    wanted = (x.double() @ (wide + pairs[..., 1].T.double().repeat_interleave(group, 1)).T).numpy()
    packed = torch._convert_weight_to_int4pack_for_cpu(whole, 1)
    same(torch._weight_int4pack_mm_for_cpu(x, packed, group, pairs), wanted, 1e-5 * abs(wanted).max())
image, kernel = chance.normal(size=(2, 3, 8, 9)), chance.normal(size=(4, 3, 3, 3))
windows = numpy.lib.stride_tricks.sliding_window_view(image, (3, 3), axis=(2, 3))
wanted = numpy.einsum("nchwij,ocij->nohw", windows, kernel)
same(torch.nn.functional.conv2d(torch.tensor(image).float(), torch.tensor(kernel).float()), wanted, 1e-4)
torch.manual_seed(0)
print(torch.rand(3).tolist(), torch.randn(17).tolist(), torch.randperm(9).tolist())
"""


def _supported():
    flags = set()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("flags", "Features")):
            flags = set(line.split())
            break
    length_of_vectors = 51  # prctl's question, which counts bytes
    if "sve" in flags and ctypes.CDLL(None).prctl(length_of_vectors) & 0xFFFF == 32:
        flags.add("256 bits")
    built = {path.stem.removeprefix("libmindtorch_cpu_") for path in LIBRARIES.glob("libmindtorch_cpu_*.so")}
    return sorted(isa for isa in NEEDS if isa in built and NEEDS[isa] <= flags)


def _run(isa, *command):
    path = os.pathsep.join([str(LIBRARIES.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "MINDTORCH_ISA": isa, "PYTHONPATH": path}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment, timeout=300)


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="what the processor can is read from Linux's /proc")
def test_each_computes_the_same():
    drawn = set()
    for isa in _supported():
        done = _run(isa, "-c", PROGRAM, isa)
        assert done.returncode == 0, f"{isa}: {done.stderr[-3000:]}"
        drawn.add(done.stdout)
    assert len(drawn) == 1  # random numbers do not depend on it


def test_the_best_is_taken():
    assert _C._cpu_isa() in _supported() or os.environ.get("MINDTORCH_ISA")


def test_one_that_was_not_built_is_named():
    done = _run("v9", "-c", "import mindtorch_v2")
    assert done.returncode == 1
    assert "libmindtorch_cpu_v9.so" in done.stderr
    assert "ImportError" in done.stderr
