"""A plug-in in C++ that calls Ascend's operators, as programs for torch_npu write them: compiled, loaded and run on the emulator."""

import pathlib
import re
import shutil
import types

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import torch_npu
from mindtorch_v2.utils import cpp_extension

pytestmark = pytest.mark.skipif(
    shutil.which("c++") is None or shutil.which("ninja") is None, reason="needs a compiler and Ninja"
)

_SOURCE = """
#include <torch/library.h>
#include <op_plugin/utils/op_api_common.h>
#include <torch_npu/csrc/core/npu/NPUFormat.h>
#include <torch_npu/csrc/core/npu/NPUGuard.h>
#include <torch_npu/csrc/core/npu/NPUStream.h>
#include <torch_npu/csrc/framework/OpCommand.h>
#include <torch_npu/csrc/framework/utils/RandomOpAdapter.h>

using at_npu::native::OpCommand;
using at_npu::native::OpPreparation;

at::Tensor add(const at::Tensor& a, const at::Tensor& b, const at::Scalar& alpha) {
    at::Tensor out = OpPreparation::apply_tensor_without_format(a);
    EXEC_NPU_CMD(aclnnAdd, a, b, alpha, out);
    return out;
}
at::Tensor total(const at::Tensor& a, at::IntArrayRef dims, bool keep) {
    at::Tensor out = OpPreparation::apply_tensor_without_format({}, a.options());
    EXEC_NPU_CMD(aclnnReduceSum, a, dims, keep, a.scalar_type(), out);
    return out;
}
at::Tensor joined(at::TensorList each) {
    at::Tensor out = at::empty({2 * each[0].size(0)}, each[0].options());
    EXEC_NPU_CMD(aclnnCat, each, int64_t(0), out);
    return out;
}
at::Tensor norm(const at::Tensor& x, const std::optional<at::Tensor>& weight) {
    at::Tensor out = at::empty_like(x), mean = at::empty({x.size(0), 1}, x.options()), rstd = at::empty_like(mean);
    const std::optional<at::Tensor> bias;
    const std::vector<int64_t> sizes = {x.size(1)};
    EXEC_NPU_CMD(aclnnLayerNorm, x, sizes, weight, bias, 1e-5, out, mean, rstd);
    return out;
}
void absent(const at::Tensor& a) { EXEC_NPU_CMD(aclnnNobodyHasThis, a); }
// As plug-ins do that find the functions themselves.
at::Tensor by_hand(const at::Tensor& a, int64_t result) {
    at::Tensor out = at::empty_like(a);
    const auto stream = c10_npu::getCurrentNPUStream().stream(false);
    OpCommand command;
    command.Name("by_hand").SetCustomHandler([=]() -> int {
        EXEC_NPU_CMD(aclnnExp, a, out);
        return stream == c10_npu::getCurrentNPUStream().stream() ? static_cast<int>(result) : 1;
    });
    command.Run();
    return out;
}
at::Tensor in_format(const at::Tensor& a, int64_t format) { return at_npu::native::npu_format_cast(a, format); }
// Numbers as plug-ins hand them on: a number, its tensor, and whether a tensor was one in the call.
at::Tensor number(const at::Scalar& s, const std::optional<int64_t>& otherwise) {
    TORCH_CHECK(ACL_STOP_ON_FAILURE == 1 && ACL_CONTINUE_ON_FAILURE == 0);
    return c10::value_or_else(otherwise, [] { return int64_t(1); }) * scalar_to_tensor(s).to(at::kFloat);
}
bool was_number(const at::Tensor& a) { return a.unsafeGetTensorImpl()->is_wrapped_number(); }
void by_name(const at::Tensor& a) { OpCommand().Name("Exp").Input(a).Attr("base", 2.0f).Run(); }
int64_t current_stream() { return c10_npu::getCurrentNPUStream().id(); }
int64_t device_within(int64_t device) {
    c10_npu::NPUGuard guard(static_cast<c10::DeviceIndex>(device));
    return c10_npu::current_device();
}
TORCH_LIBRARY(npu_plugin, m) {
    m.def("add(Tensor a, Tensor b, Scalar alpha) -> Tensor");
    m.def("total(Tensor a, int[] dims, bool keep) -> Tensor");
    m.def("joined(Tensor[] each) -> Tensor");
    m.def("norm(Tensor x, Tensor? weight) -> Tensor");
    m.def("absent(Tensor a) -> ()");
    m.def("by_hand(Tensor a, int result) -> Tensor");
    m.def("by_name(Tensor a) -> ()");
    m.def("in_format(Tensor a, int format) -> Tensor", &in_format);
    m.def("number(Scalar s, int? otherwise) -> Tensor", &number);
    m.def("was_number(Tensor a) -> bool", &was_number);
    m.def("current_stream() -> int", &current_stream);
    m.def("device_within(int device) -> int", &device_within);
}
TORCH_LIBRARY_IMPL(npu_plugin, PrivateUse1, m) {
    m.impl("add", &add);
    m.impl("total", &total);
    m.impl("joined", &joined);
    m.impl("norm", &norm);
    m.impl("absent", &absent);
    m.impl("by_hand", &by_hand);
    m.impl("by_name", &by_name);
}
"""


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> types.SimpleNamespace:
    folder = str(tmp_path_factory.mktemp("plugin"))
    cpp_extension.load_inline(
        "npu_plugin",
        _SOURCE,
        extra_cflags=["-O0"],
        extra_ldflags=["-ltorch_npu"],  # as setups for torch_npu write it
        is_python_module=False,
        build_directory=folder,
    )
    return torch.ops.npu_plugin


def test_operators_take_tensors_numbers_and_lists(plugin: types.SimpleNamespace) -> None:
    a = torch.arange(6.0).reshape(2, 3)
    x = a.npu()
    assert plugin.add(x, x, 2.0).tolist() == (3 * a).tolist() and plugin.add(x, x, 2).device.type == "npu"
    assert plugin.add(x[:, 1:], x.t()[:2].t(), 1).tolist() == (a[:, 1:] + a[:, :2]).tolist()  # views, by their strides
    assert plugin.total(x, [0, 1], False).item() == 15
    assert plugin.total(x.half(), [0, 1], False).dtype == torch.float16
    assert plugin.joined([x[0], x[1]]).tolist() == a.flatten().tolist()
    weight = torch.tensor([1.0, 2.0, 3.0])
    for given in (weight, None):
        found = plugin.norm(x, None if given is None else given.npu())
        torch.testing.assert_close(found.cpu(), torch.nn.functional.layer_norm(a, [3], given))


def test_work_goes_to_the_current_stream_and_device(plugin: types.SimpleNamespace) -> None:
    x, stream = torch.ones(3).npu(), torch.npu.Stream()
    assert plugin.current_stream() == 0
    with torch.npu.stream(stream):
        assert plugin.current_stream() == stream.npu_stream
        found = plugin.by_hand(x, 0)
    stream.synchronize()
    torch.testing.assert_close(found.cpu(), torch.ones(3).exp())
    assert plugin.device_within(torch.npu.device_count() - 1) == torch.npu.device_count() - 1
    assert torch.npu.current_device() == 0


def test_formats_and_numbers(plugin: types.SimpleNamespace) -> None:
    x = torch.arange(32.0).reshape(2, 16).half().npu()
    found = plugin.in_format(x, 29)
    assert torch_npu.get_npu_format(found) == 29 and found.tolist() == x.tolist()
    assert plugin.number(2.5, None).item() == 2.5 and plugin.number(2, 3).item() == 6
    assert not plugin.was_number(torch.tensor(1.0))


def test_what_goes_wrong_is_said(plugin: types.SimpleNamespace) -> None:
    x = torch.ones(2, 3).npu()
    with pytest.raises(torch.npu.NPUError, match="aclnnAddGetWorkspaceSize returned 161002 .* do not broadcast"):
        plugin.add(x, torch.ones(4, 5).npu(), 1)
    with pytest.raises(RuntimeError, match="a tensor is on cpu, not on an NPU"):
        plugin.add(x, torch.ones(2, 3), 1)
    with pytest.raises(NotImplementedError, match="aclnnNobodyHasThisGetWorkspaceSize is in none of CANN's libraries"):
        plugin.absent(x)
    with pytest.raises(torch.npu.NPUError, match="by_hand returned 507015"):
        plugin.by_hand(x, 507015)
    with pytest.raises(RuntimeError, match="operator Exp is called by name, through aclop"):
        plugin.by_name(x)
    assert plugin.add(x, x, 1).tolist() == [[2.0] * 3] * 2  # nothing is left behind


def test_the_guides_example(tmp_path: pathlib.Path) -> None:
    guide = (pathlib.Path(__file__).parents[3] / "docs" / "cpp-operators.md").read_text()
    block = next(b for b in re.findall(r"^```cpp\n(.*?)^```", guide, re.MULTILINE | re.DOTALL) if "EXEC_NPU_CMD" in b)
    definition = 'TORCH_LIBRARY(mylib, m) { m.def("add(Tensor a, Tensor b, Scalar alpha) -> Tensor"); }'
    cpp_extension.load_inline(
        "npu_guide",
        block + definition,
        extra_cflags=["-O0"],
        is_python_module=False,
        no_implicit_headers=True,
        build_directory=str(tmp_path),
    )
    assert torch.ops.mylib.add(torch.ones(3).npu(), torch.arange(3.0).npu(), 2).tolist() == [1, 3, 5]


def test_packages_of_torch_npu_are_built_as_before(tmp_path: pathlib.Path) -> None:
    from mindtorch_v2.npu.torch_npu.utils.cpp_extension import NpuExtension

    made = NpuExtension("mine", ["mine.cpp"], include_dirs=[str(tmp_path)], libraries=["other"])
    assert {"ascendcl", "other"} <= set(made.libraries) and made.sources == ["mine.cpp"]
    assert any((pathlib.Path(folder) / "libascendcl.so").exists() for folder in made.library_dirs)
    assert str(tmp_path) in made.include_dirs
