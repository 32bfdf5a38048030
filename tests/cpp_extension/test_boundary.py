"""Libraries that the core refuses: compiled for a later core, or registering what cannot be."""

import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.utils import cpp_extension

from .processes import environment

LATER = """
#include <mindtorch/boundary.h>
#undef MT_BOUNDARY_VERSION
#define MT_BOUNDARY_VERSION 99
"""
OPERATOR = """
#include <torch/library.h>
at::Tensor same(const at::Tensor& x) { return x; }
TORCH_LIBRARY(refused, m) { m.def("same", &same); }
"""
MODULE = """
#include <torch/extension.h>
TORCH_LIBRARY(refused, m) { m.def("same(Tensor x) -> Tensor"); }
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("one", [] { return 1; }); }
"""
REFUSED = r"was compiled against version 99 \(\d+ bytes\) of mindtorch_v2's boundary.* offers version 1 "


def compile_to(folder, name, text, **options):
    source = folder / f"{name}.cpp"
    source.write_text(text)
    return cpp_extension.load(name, [str(source)], build_directory=str(folder), extra_cflags=["-O0"], **options)


def test_a_later_library_of_operators(tmp_path):
    with pytest.raises(RuntimeError, match=f"later_operators.so {REFUSED}"):
        compile_to(tmp_path, "later_operators", LATER + OPERATOR, is_python_module=False)
    assert not hasattr(torch.ops.refused, "same")


def test_a_later_module(tmp_path):
    pytest.importorskip("pybind11", reason="torch/extension.h needs pybind11")
    with pytest.raises(RuntimeError, match=f"later_module.so {REFUSED}"):
        compile_to(tmp_path, "later_module", LATER + MODULE)
    # Python's own import raises something; what, is on the standard error stream.
    program = f"""
import sys
import mindtorch_v2 as torch
sys.path.insert(0, {str(tmp_path)!r})
try:
    import later_module
except Exception as error:
    print("refused", type(error).__name__)
assert not hasattr(torch.ops.refused, "same")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=environment()
    )
    assert done.returncode == 0, done.stderr
    assert "refused" in done.stdout and "was compiled against version 99" in done.stderr


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ('TORCH_LIBRARY(bad_schema, m) { m.def("f(Tensor x) -> "); }', "expected"),
        ('TORCH_LIBRARY(aten, m) { m.def("f(Tensor x) -> Tensor"); }', "aten"),
        ('TORCH_LIBRARY_IMPL(bad_block, CPU, m) { m.def("f(Tensor x) -> Tensor"); }', "TORCH_LIBRARY_IMPL"),
        ('TORCH_LIBRARY(bad_throw, m) { throw std::runtime_error("thrown while it was loaded"); }', "thrown while"),
    ],
)
def test_registrations_that_fail(tmp_path, block, text):
    name = "refused_" + "".join(c for c in block[:24] if c.isalpha())
    with pytest.raises(RuntimeError, match=text):
        compile_to(tmp_path, name, f"#include <torch/library.h>\n{block}\n", is_python_module=False)
