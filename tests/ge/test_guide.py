"""The guide for in-place operators in graphs, its way by plug-in, as it stands; and the same operator with nothing registered but
what an operator package brings."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
from inplace_guide import PLUGIN

from mindtorch_v2._backends.npu import libraries

# What the guide takes to be there: the operator, as an operator package registers it, and its kernel.
PACKAGE = """
import torch
from torch.library import Library, impl

operators = Library("npu", "FRAGMENT")
operators.define("my_inplace(Tensor(a!) x, Tensor(b!) y) -> ()")


@impl(operators, "my_inplace", "PrivateUse1")
def my_inplace(x, y):
    x.add_(1)
    y.mul_(2)
"""

# Its three steps. In the third, `import torchair` and `return` are added, which it lacks.
GUIDE = (
    PLUGIN
    + """
import torchair
from torchair import register_fx_node_ge_converter
from torchair.ge import Tensor
from typing import Any
from torchair._ge_concrete_graph import ge_apis as ge

# 实现非原地算子的converter
@register_fx_node_ge_converter(torch.ops.npu.my_inplace_functional.default)
def conveter_my_inplace_functional(
        x: Tensor,
        y: Tensor,
        meta_outputs: Any = None):
    x_copy = ge.TensorMove(x) # 非原地算子不能直接修改入参，所以这里要先拷贝入参
    y_copy = ge.TensorMove(y)
    return torchair.ge.custom_op(  # 根据算子定义设置变量名，顺序保持一致
        "MyInplace", # 使用原地算子的Ascend IR
        inputs={
            "x": x_copy,
            "y": y_copy,
        },
        outputs=['x', 'y'] # 返回被原地修改的入参
    )
"""  # the guide's own punctuation
)
NOTHING_ELSE = """
import torchair


@impl(operators, "my_inplace", "Meta")
def my_inplace_meta(x, y):
    pass
"""

CHECK = """
from torch.fx.experimental.proxy_tensor import make_fx


def reads_first(x, y):
    before = x * 3
    torch.ops.npu.my_inplace(x, y)
    torch.ops.npu.my_inplace(x[1:], y[:2])
    return before, x + y


def writes_first(x, y):
    torch.ops.npu.my_inplace(x, y)
    return x * 3, y


def given():
    return [torch.tensor([1.0, 2.0, 3.0]).npu() for _ in range(2)]


for program in (reads_first, writes_first):
    eager = given()
    eager += program(*eager)
    traced = make_fx(torch.func.functionalize(program), tracing_mode="fake")(*given())
    compiled = torchair.ge_compile(traced)
    for _ in range(6):
        inputs = given()
        inputs += compiled(*inputs)
        assert all(torch.equal(a, b) for a, b in zip(inputs, eager, strict=True)), (program, inputs, eager)
    print(program.__name__, [op.type for op in compiled.program.model.graph[0].op].count("MyInplace"))
print([t.tolist() for t in eager[:2]])
"""


needs_emulator = pytest.mark.skipif(
    not (libraries.EMULATOR / "lib64" / "libge_executor.so").exists(), reason="the emulator is not built"
)


def _run(program: str, tmp_path: pathlib.Path) -> list[str]:
    script = tmp_path / "program.py"
    script.write_text(program, encoding="utf-8")
    launcher = [sys.executable, "-m", "mindtorch_v2.npu", "emulate", "--strict", "--poison", "--delay=20", "--"]
    done = subprocess.run(
        [*launcher, sys.executable, "-m", "mindtorch_v2", str(script)],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "utf-8", "MINDTORCH_AS_TORCH_NPU": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.splitlines()


@needs_emulator
@pytest.mark.parametrize("registered", [GUIDE, NOTHING_ELSE], ids=["guide", "schema and kernel only"])
def test_my_inplace(registered: str, tmp_path: pathlib.Path) -> None:
    said = _run(PACKAGE + registered + CHECK, tmp_path)
    assert said == ["reads_first 2", "writes_first 1", "[[2.0, 3.0, 4.0], [2.0, 4.0, 6.0]]"]


@needs_emulator
def test_the_documents_program(tmp_path: pathlib.Path) -> None:
    """The program of docs/ge.md that needs a device."""
    text = (pathlib.Path(__file__).parents[2] / "docs" / "ge.md").read_text(encoding="utf-8")
    (program,) = [block for block in re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) if ">>>" not in block]
    values = [[3.0, 3.0], [4.0, 4.0], [2.0, 2.0], [2.0, 2.0]]
    shown = " ".join(f"tensor([{a:.0f}., {b:.0f}.], device='npu:0')" for a, b in values)
    assert _run(program, tmp_path) == [shown]
