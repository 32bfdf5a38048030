"""docs/cpp-operators.md's C++ (its Python is run by tests/docs), and the package of examples/cpp_extension, with --live also on PyTorch."""

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
print(torch.__name__)
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
