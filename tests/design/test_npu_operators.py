"""The design document of NPU operators by ctypes and ACLNN, demand by demand, on the emulator.

One program registers and runs what the document names; each test looks at one answer of it. That phase 2 frees the executor, which
the document's wrapper frees again, and that every descriptor is given back, the emulator counts.
"""

import json
import os
import subprocess
import sys

import pytest

from mindtorch_v2._backends.npu import libraries

PROGRAM = """
import ctypes, json, sys
import mindtorch_v2 as torch
from mindtorch_v2._backends.common import allocator
from mindtorch_v2._backends.npu import aclnn, ops, runtime, state
from mindtorch_v2._dispatch import registry

said = {}
said["runtime"] = runtime.get_runtime(0) is runtime.get_runtime() is aclnn.ensure_acl()
x, out = torch.full((2, 3), 2.0, device="npu"), torch.empty(2, 3, device="npu")
aclnn.get_bindings().aclnnAdd(x, x, 2, out)
said["bindings"] = out.tolist()

registry.register_schema("design_npu::twice", "twice(Tensor x) -> Tensor")
def twice(x):
    result = torch.empty_like(x)
    aclnn.get_bindings().aclnnAdd(x, x, 1, result)
    return result
registry.register("design_npu::twice", "npu", twice, meta=lambda x: torch.empty_like(x))
said["registered"] = torch.ops.design_npu.twice(x).tolist(), list(torch.ops.design_npu.twice(x.to("meta")).shape)
try:
    torch.ops.design_npu.twice(torch.ones(1))
except NotImplementedError as error:
    said["elsewhere"] = str(error)

def same(run, *tensors):
    here = run(*[t.clone() for t in tensors])
    there = run(*[t.to("npu") for t in tensors])
    return there.device.type == "npu" and torch.equal(there.cpu(), here)

a, b = torch.arange(6.0).reshape(2, 3) - 2, torch.full((2, 3), 3.0)
said["operators"] = {name: same(run, a, b) for name, run in {
    "add": lambda a, b: a.add(b, alpha=2),
    "add_": lambda a, b: a.add_(b),
    "mul": lambda a, b: a * b,
    "mul_": lambda a, b: a.mul_(b),
    "relu": lambda a, b: a.relu(),
    "relu_": lambda a, b: a.relu_(),
    "sum": lambda a, b: a.sum(1),
    "contiguous": lambda a, b: a.t().contiguous(),
    "reshape": lambda a, b: a.reshape(3, 2),
    "view": lambda a, b: a.view(6),
    "transpose": lambda a, b: a.transpose(0, 1),
    "to": lambda a, b: a.to(torch.float16),
    "tensor": lambda a, b: torch.tensor([1.0, 2.0], device=a.device),
    "zeros": lambda a, b: torch.zeros(2, 3, device=a.device),
    "ones": lambda a, b: torch.ones(2, 3, device=a.device),
    "empty": lambda a, b: torch.empty(2, 3, device=a.device).fill_(4),
    "zero_": lambda a, b: a.zero_(),
}.items()}
said["matmul"] = [
    same(torch.matmul, torch.arange(float(n)).reshape(*p), torch.arange(float(m)).reshape(*q))
    for n, p, m, q in ((6, (2, 3), 12, (3, 4)), (24, (2, 2, 2, 3), 12, (3, 4)), (96, (2, 2, 2, 2, 2, 3), 6, (2, 1, 1, 3, 1)))
]
said["strided"] = same(lambda a, b: a.t() @ b, a, b), same(lambda a, b: a[:, 1:] + b[:, :2], a, b)
said["imported"] = [name for name in ("numpy", "mindspore") if name in sys.modules]
runtime_ = runtime.get_runtime()
said["blocking"] = runtime_.blocking
torch.npu.synchronize()
before = torch.npu.memory_allocated()
for _ in range(20):
    (a.npu() @ b.npu().t()).sum()
torch.npu.synchronize()
said["memory"] = torch.npu.memory_allocated() - before
acl = runtime_.libraries.acl
acl.emulatorReport.restype = ctypes.c_char_p
said["misuses"] = json.loads(acl.emulatorReport())["misuses"]
print(json.dumps(said))
"""


def _said(**variables):
    if not (libraries.EMULATOR / "lib64" / "libascendcl.so").exists():
        pytest.skip("the emulator is not built")
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | variables,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def said():
    return _said()


def test_the_runtime_is_one_and_started_when_it_is_asked_for(said):
    assert said["runtime"] is True


def test_operators_are_called_in_two_phases_by_their_names_in_c(said):
    assert said["bindings"] == [[6.0] * 3] * 2


def test_a_kernel_is_registered_with_its_meta_function(said):
    assert said["registered"] == [[[4.0] * 3] * 2, [2, 3]]
    assert "'design_npu::twice' is only available for these backends: [NPU, Meta]" in said["elsewhere"]


@pytest.mark.parametrize(
    "name",
    "add add_ mul mul_ relu relu_ sum contiguous reshape view transpose to tensor zeros ones empty zero_".split(),
)
def test_the_operators_of_the_list_run_there(said, name):
    assert said["operators"][name] is True


def test_matrix_products_of_high_rank_and_strided_operands(said):
    assert said["matmul"] == [True, True, True] and said["strided"] == [True, True]


def test_neither_numpy_nor_mindspore_is_needed(said):
    assert said["imported"] == []


def test_nothing_is_freed_twice_or_kept(said):
    assert said["misuses"] == 0 and said["memory"] == 0


def test_launches_wait_when_they_are_asked_to(said):
    assert not said["blocking"] and _said(ACL_LAUNCH_BLOCKING="1")["blocking"]
