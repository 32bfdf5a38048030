"""docs/cpp-operators.md's C++ (its Python is run by tests/docs), and the packages of examples, with --live also on PyTorch."""

import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import cpp_extension

from .processes import environment

ROOT = pathlib.Path(__file__).parent.parent.parent
BLOCKS = re.findall(r"^```cpp\n(.*?)^```", (ROOT / "docs" / "cpp-operators.md").read_text(), re.MULTILINE | re.DOTALL)
# What stands around a block in a file of its own.
AROUND_CALL = """
#include <torch/torch.h>
at::Tensor nms(const at::Tensor& boxes, const at::Tensor& scores, double iou) {{ return boxes + scores * iou; }}
TORCH_LIBRARY(vision, m) {{ m.def("nms(Tensor boxes, Tensor scores, float iou) -> Tensor", &nms); }}
at::Tensor called(const at::Tensor& boxes, const at::Tensor& scores) {{
{block}
    return results.at(0).toTensor();
}}
TORCH_LIBRARY(guide_call, m) {{ m.def("called", &called); }}
"""
PROGRAM = """
import torch, muladd
a, b = torch.rand(5, requires_grad=True), torch.rand(5, requires_grad=True)
result = muladd.muladd(a, b, 1.0)
result.sum().backward()
assert torch.allclose(result, a * b + 1)
assert torch.equal(a.grad, b.detach()) and torch.equal(b.grad, a.detach())
found = torch.library.opcheck(torch.ops.muladd.muladd.default, (a.detach(), b.detach(), 1.5))
assert set(found.values()) == {"SUCCESS"}, found
assert muladd.muladd(a.to("meta"), b.to("meta"), 2.0).device.type == "meta"
try:
    muladd.muladd(a, torch.ones(3), 1.0)
except RuntimeError as error:
    assert "muladd: sizes differ, [5] and [3]" in str(error)
else:
    raise AssertionError("sizes that differ were taken")
print(torch.__file__.split('/')[-2])
"""


def test_every_block_is_known():
    """The first is run on the emulator, by tests/npu/on_emulator/test_plugins.py; the second here."""
    assert len(BLOCKS) == 2 and "EXEC_NPU_CMD" in BLOCKS[0]


def test_a_call_with_named_arguments(tmp_path):
    cpp_extension.load_inline(
        "guide_call",
        AROUND_CALL.format(block=BLOCKS[1]),
        is_python_module=False,
        no_implicit_headers=True,
        extra_cflags=["-O0"],
        build_directory=str(tmp_path),
    )
    assert torch.ops.guide_call.called(torch.ones(2), torch.full((2,), 4.0)).tolist() == [3, 3]


def _run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, env=environment(), timeout=600
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("which", ["mindtorch_v2", "torch"])
def test_the_package(request, tmp_path, which):
    if which == "mindtorch_v2":
        pytest.importorskip("pybind11", reason="torch/extension.h needs pybind11")
    elif not request.config.getoption("--live"):
        pytest.skip("with --live")
    folder = tmp_path / "package"
    shutil.copytree(ROOT / "examples" / "cpp_extension", folder)
    start = ["-m", "mindtorch_v2"] if which == "mindtorch_v2" else []
    _run(folder, *start, "setup.py", "build_ext", "--inplace")
    (folder / "program.py").write_text(PROGRAM)
    assert _run(folder, *start, "program.py").split()[-1] == which


STABLE_PROGRAM = """
import torch, muladd_stable as m
a, b = torch.rand(5, requires_grad=True), torch.rand(5, requires_grad=True)
result = m.muladd(a, b, 1.0)
result.sum().backward()
assert torch.allclose(result, a * b + 1)
assert torch.equal(a.grad, b.detach()) and torch.equal(b.grad, a.detach())
assert torch.autograd.gradcheck(m.mul, (a, b), eps=1e-2, atol=1e-2)
a, b, out = a.detach(), b.detach(), torch.empty(5)
m.add_out(a, b, out)
assert torch.equal(out, a + b)
assert torch.equal(m.mul(a[::2], b[::2]), a[::2] * b[::2])
for op, given in ((m.muladd, (a, b, 1.5)), (m.mul, (a, b)), (m.add_out, (a, b, out))):
    found = torch.library.opcheck(op.default, given)
    assert set(found.values()) == {"SUCCESS"}, (op, found)
assert torch.allclose(torch.compile(lambda x: m.muladd(x, x, 1.0), backend="aot_eager", fullgraph=True)(a), a * a + 1)
for wrong in ((a, torch.ones(3), 1.0), (a.double(), b.double(), 1.0)):
    try:
        m.muladd(*wrong)
    except RuntimeError as error:
        assert "differ" in str(error) or "32-bit" in str(error), error
    else:
        raise AssertionError("nothing was raised")
print(torch.__file__.split('/')[-2])
"""


def pytest_generate_tests(metafunc):
    both = ["mindtorch_v2", "torch"] if metafunc.config.getoption("--live") else ["mindtorch_v2"]
    if "wheel" in metafunc.fixturenames:
        metafunc.parametrize("wheel", both, indirect=True, scope="session")
        metafunc.parametrize("runtime", both)


@pytest.fixture(scope="session")
def wheel(request, tmp_path_factory):
    """The folder into which the wheel was unpacked."""
    pytest.importorskip("setuptools.command.bdist_wheel", reason="bdist_wheel comes with setuptools 70.1")
    folder = tmp_path_factory.mktemp("stable_package") / "package"
    shutil.copytree(ROOT / "examples" / "cpp_extension_stable", folder)
    start = ["-m", "mindtorch_v2"] if request.param == "mindtorch_v2" else []
    _run(folder, *start, "setup.py", "-q", "bdist_wheel")
    (built,) = (folder / "dist").iterdir()
    assert built.name.startswith("muladd_stable-0.1-cp39-abi3-linux")
    shutil.unpack_archive(built, folder.parent / "unpacked", "zip")
    return folder.parent / "unpacked"


def test_one_wheel_for_both(wheel, runtime):
    """Whoever it was built with: it runs with either, and asks for libtorch_cpu.so alone."""
    from mindtorch_v2._core.stable_libraries import libraries_needed

    (library,) = (wheel / "muladd_stable").glob("*.so")
    needed = libraries_needed(library)
    assert library.name == "_C.abi3.so" and not any("mindtorch" in name or "python" in name for name in needed)
    (wheel / "program.py").write_text(STABLE_PROGRAM)
    start = ["-m", "mindtorch_v2"] if runtime == "mindtorch_v2" else []
    assert _run(wheel, *start, "program.py").split()[-1] == runtime
