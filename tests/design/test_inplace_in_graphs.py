"""The guide for in-place operators in graphs, demand by demand; its slips (`return`, `import torchair`, `*context`) corrected.

The whole plug-in runs as it stands in tests/functionalize/test_plugins.py, and with a converter on the emulator in
tests/ge/test_guide.py; its AscendC project and yaml rows belong to CANN and to op-plugin, which `torch.npu` reads:
tests/npu/on_emulator/test_native_functions.py.
"""

import os
import subprocess
import sys

import pytest
from inplace_guide import PLUGIN

import mindtorch_v2 as torch
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.utils import cpp_extension

PROGRAM = """
import torch
import torch_npu

operators = torch.library.Library("npu", "FRAGMENT")
operators.define("my_inplace(Tensor(a!) x, Tensor(b!) y) -> ()")

@torch.library.impl(operators, "my_inplace", "PrivateUse1")
def my_inplace(x, y):
    x.add_(1)
    y.mul_(2)

x, y = (torch.ones(2, device="npu") for _ in range(2))
""".lstrip()

CHECKS = {
    "eager": """
x, y = (torch.ones(2, device="npu") for _ in range(2))
print(torch.ops.npu.my_inplace(x, y), x.tolist(), y.tolist())
""",
    "meta": """
x, y = torch.empty(2, 3, device="meta"), torch.empty(4, device="meta")
print(torch.ops.npu.my_inplace(x, y), [tuple(t.shape) for t in torch.ops.npu.my_inplace_functional(x, y)])
""",
    "functional": """
x, y = (torch.ones(2, device="npu") for _ in range(2))
a, b = torch.ops.npu.my_inplace_functional(x, y)
print([t.tolist() for t in (a, b, x, y)])
""",
    "functionalized": """
from torch.func import functionalize
def program(x, y):
    before = x + 0
    torch.ops.npu.my_inplace(x, y)
    return before, x + y
x, y = (torch.ones(2, device="npu") for _ in range(2))
results = functionalize(program)(x, y)
print([t.tolist() for t in (*results, x, y)])
""",
    "graph": """
from torch.fx.experimental.proxy_tensor import make_fx
from torch.func import functionalize
def program(x, y):
    torch.ops.npu.my_inplace(x, y)
    return x * y
x, y = (torch.ones(2, device="npu") for _ in range(2))
graph = make_fx(functionalize(program))(x, y)
print([str(n.target) for n in graph.graph.nodes if "my_inplace" in str(n.target)])
""",
}
SAID = {
    "eager": "None [2.0, 2.0] [2.0, 2.0]",
    "meta": "None [(2, 3), (4,)]",
    "functional": "[[2.0, 2.0], [2.0, 2.0], [1.0, 1.0], [1.0, 1.0]]",
    "functionalized": "[[1.0, 1.0], [4.0, 4.0], [2.0, 2.0], [2.0, 2.0]]",
    "graph": "['npu.my_inplace_functional.default']",
}


def _on_the_emulator(program):
    command = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--", sys.executable, "-m", "mindtorch_v2", "-"]
    done = subprocess.run(
        command,
        input=program,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "MINDTORCH_AS_TORCH_NPU": "1"},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def said():
    """The lines that each check prints, in one program with the guide's own plug-in."""
    parts = [PROGRAM, PLUGIN, *(f"print({name!r})\n{check}" for name, check in CHECKS.items())]
    lines = _on_the_emulator("\n".join(parts))
    return dict(zip(lines[::2], lines[1::2], strict=True))


@pytest.mark.parametrize(
    "check",
    [
        pytest.param("eager", id="the operator writes its arguments and gives nothing"),
        pytest.param("meta", id="shapes come from Meta kernels, which give nothing for the in-place form"),
        pytest.param("functional", id="the functional form leaves its arguments as they are"),
        pytest.param("functionalized", id="in a functionalized program what was read before stays"),
        pytest.param("graph", id="the graph has the functional operator in its place"),
    ],
)
def test_the_guides_plug_in(said, check):
    assert said[check] == SAID[check]


HONESTY = """
import torch
library = torch.library.Library("liars", "DEF")

def define(name, kernel):
    library.define(f"{name}(Tensor a, Tensor b) -> (Tensor, Tensor)")
    library.impl(name, kernel, "CPU")
    library.impl(name, lambda a, b: (torch.empty_like(a), torch.empty_like(b)), "Meta")
    compiled = torch.compile(lambda a, b: getattr(torch.ops.liars, name)(a * 1, b * 1), backend=BACKEND)
    try:
        compiled(torch.ones(2), torch.ones(2))
        print("nothing")
    except RuntimeError as error:
        print(error)

define("gives_back", lambda a, b: (a, b))
define("writes", lambda a, b: (a.add_(1).clone(), b.clone()))
define("honest", lambda a, b: (a + 1, b + 1))
"""


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_operators_that_say_they_are_functional_and_are_not_are_found_at_the_first_run(backend):
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-"],
        input=f"BACKEND = {backend!r}\n{HONESTY}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    back, wrote, honest = done.stdout.splitlines()
    assert "liars::gives_back: result 0 shares memory with the argument 'a'" in back
    assert "liars::writes: the kernel wrote to the argument 'a', which its schema does not mark as written" in wrote
    assert honest == "nothing"


def test_the_functional_form_follows_from_the_schema_alone():
    """The guide's hand-written recipe was needed for PyTorch 2.1; from 2.6 on the schema says enough."""
    program = PROGRAM + '@torch.library.impl(operators, "my_inplace", "Meta")\ndef _(x, y): pass\n' + CHECKS["graph"]
    assert _on_the_emulator(program) == [SAID["graph"]]


FUNCTIONALIZED_IN_CPP = r"""
#include <torch/extension.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/EmptyTensor.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/MemoryOverlap.h>
#include <torch/library.h>
#include <c10/util/Logging.h>
#include <ATen/Operators.h>
#include <ATen/NativeFunctions.h>

namespace op_api {
void my_inplace(at::Tensor& x, at::Tensor& y) {
    x.add_(1);
    y.mul_(2);
}
std::tuple<at::Tensor, at::Tensor> my_inplace_functional(const at::Tensor& x, const at::Tensor& y) {
    auto x_clone = x.clone();
    auto y_clone = y.clone();
    my_inplace(x_clone, y_clone);
    return std::make_tuple(x_clone, y_clone);
}
}  // namespace op_api

static std::tuple<at::Tensor, at::Tensor> call_functional(const at::Tensor& x, const at::Tensor& y) {
    using Function = std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, const at::Tensor&);
    static auto op = c10::Dispatcher::singleton().findSchemaOrThrow("design_cpp::my_inplace_functional", "").typed<Function>();
    return op.call(x, y);
}

void my_inplace_functional_npu(c10::DispatchKeySet dispatchKeySet, at::Tensor& x, at::Tensor& y) {
    at::functionalization::impl::sync(x);
    at::functionalization::impl::sync(y);
    auto x_unwarp = at::functionalization::impl::from_functional_tensor(x);
    auto y_unwarp = at::functionalization::impl::from_functional_tensor(y);
    at::Tensor tmp_input1;
    at::Tensor tmp_input2;
    {
        at::AutoDispatchSkipFunctionalize guard;
        auto tmp_result = call_functional(x_unwarp, y_unwarp);
        tmp_input1 = std::get<0>(tmp_result);
        tmp_input2 = std::get<1>(tmp_result);
    }
    at::functionalization::impl::replace_(x, tmp_input1);
    at::functionalization::impl::replace_(y, tmp_input2);
    at::functionalization::impl::commit_update(x);
    at::functionalization::impl::commit_update(y);
    at::functionalization::impl::sync(x);
    at::functionalization::impl::sync(y);
}

TORCH_LIBRARY(design_cpp, m) {
    m.def("my_inplace(Tensor(a!) x, Tensor(b!) y) -> ()");
    m.def("my_inplace_functional(Tensor x, Tensor y) -> (Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(design_cpp, CPU, m) {
    m.impl("my_inplace", &op_api::my_inplace);
    m.impl("my_inplace_functional", &op_api::my_inplace_functional);
}
TORCH_LIBRARY_IMPL(design_cpp, Functionalize, m) {
    m.impl("my_inplace", TORCH_FN(my_inplace_functional_npu));
}
"""


def test_functionalization_written_by_hand_in_cpp(tmp_path):
    """As the guide writes it, without torch_npu's own headers: the functional operator is called by its name."""
    pytest.importorskip("pybind11", reason="torch/extension.h needs pybind11")
    cpp_extension.load_inline(
        "design_functionalized",
        FUNCTIONALIZED_IN_CPP,
        is_python_module=False,
        extra_cflags=["-O0"],
        build_directory=str(tmp_path),
    )

    def program(x, y):
        before = x * 1
        torch.ops.design_cpp.my_inplace(x, y[:1])
        return before, x + y

    x, y = torch.ones(1), torch.ones(2)
    before, after = torch.func.functionalize(program)(x, y)
    assert (before.tolist(), after.tolist()) == ([1], [4, 3]) and (x.tolist(), y.tolist()) == ([2], [2, 1])
    graph = make_fx(torch.func.functionalize(program))(torch.ones(1), torch.ones(2))
    called = [str(node.target) for node in graph.graph.nodes if "my_inplace" in str(node.target)]
    assert called == ["design_cpp.my_inplace_functional.default"]
    assert [t.tolist() for t in graph(torch.ones(1), torch.ones(2))] == [[1], [4, 3]]
