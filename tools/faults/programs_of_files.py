"""Programs that read files of other tools, and call libraries that were compiled for PyTorch's stable ABI."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import gguf
import numpy

import mindtorch_v2 as torch
from mindtorch_v2.gguf import PackedLinear, read
from mindtorch_v2.utils import cpp_extension
from tools.faults.programs import program

_BUILDS = Path(__file__).resolve().parents[2] / "build-faults"
_STABLE = """
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <vector>
using torch::stable::Tensor;
Tensor thrice(const Tensor& x, std::vector<int64_t> sizes) {
    Tensor made = torch::stable::new_empty(x, sizes);
    torch::stable::fill_(made, 3.0);
    return torch::stable::clone(made);
}
STABLE_TORCH_LIBRARY(faults_stable, m) { m.def("thrice(Tensor x, int[] sizes) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(faults_stable, CPU, m) { m.impl("thrice", TORCH_BOX(&thrice)); }
"""
_CPP = """
#include <torch/extension.h>
std::vector<at::Tensor> halves(const at::Tensor& x, const std::string& word) {
    TORCH_CHECK(x.dim() == 1, word);
    auto parts = x.mul(2).add_(1).chunk(2);
    return {parts[0].contiguous(), at::cat({parts[1], x})};
}
"""


def _packed_file(folder: Path) -> Path:
    path = folder / "a.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("names", ["a", "b"])
    kind = gguf.GGMLQuantizationType.Q8_0
    size = gguf.GGML_QUANT_SIZES[kind][1]
    writer.add_tensor("packed", numpy.zeros((2, size), numpy.uint8), raw_shape=(2, size), raw_dtype=kind)
    writer.add_tensor("plain", numpy.arange(6, dtype=numpy.float32).reshape(2, 3))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@program(_packed_file, lambda path, y: y == ([0.0, 0.0], 15.0))
def gguf_file(path: Path) -> Any:
    """A file of llama.cpp's: a packed matrix, multiplied, and a plain one."""
    found: dict[str, Any] = read(path)
    layer = PackedLinear(found["packed"])
    return layer(torch.ones(1, 32))[0].tolist(), found["plain"].sum().item()


def _stable(folder: Path) -> Any:
    _BUILDS.mkdir(exist_ok=True)
    source = _BUILDS / "faults_stable.cpp"
    if not source.exists() or source.read_text() != _STABLE:
        source.write_text(_STABLE)
    cpp_extension.load("faults_stable", [os.fspath(source)], build_directory=os.fspath(_BUILDS), is_python_module=False)
    return torch.ones(2)


@program(_stable, lambda x, y: y.tolist() == [[3.0] * 3] * 2)
def stable_library(x: Any) -> Any:
    """An operator of a library of the stable ABI, its refusal included."""
    try:
        torch.ops.faults_stable.thrice(x, [-3, 2])
    except RuntimeError as error:
        if isinstance(error.__context__, MemoryError):
            raise
    return torch.ops.faults_stable.thrice(x, [2, 3])


def _cpp(folder: Path) -> Any:
    _BUILDS.mkdir(exist_ok=True)
    module = cpp_extension.load_inline("faults_cpp", _CPP, functions=["halves"], build_directory=os.fspath(_BUILDS))
    return module, torch.arange(4.0)


@program(_cpp, lambda ready, y: [each.tolist() for each in y] == [[1.0, 3.0], [5.0, 7.0, 0.0, 1.0, 2.0, 3.0]])
def cpp_extension_function(ready: Any) -> Any:
    """A function in C++ by the package's headers, its error included."""
    module, x = ready
    try:
        module.halves(x.view(2, 2), "one dimension")
    except RuntimeError:
        pass
    return module.halves(x, "one dimension")
