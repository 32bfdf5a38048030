"""Files that are no model, or a wrong one: refused with a reason."""

import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.ge import execute
from mindtorch_v2._backends.ge.lower import Program, lower
from mindtorch_v2._backends.ge.proto import Message
from mindtorch_v2._backends.npu.errors import NPUError
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx


def _program() -> Program:
    x = torch.ones(2, 3).npu()
    return lower(make_fx(lambda x: (x.t() @ x).softmax(-1), tracing_mode="fake")(x))


def _changed(change: Callable[[Message], Any]) -> Program:
    program = _program()
    change(program.model)
    return program


def _rename(model: Message, op: int, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(model.graph[0].op[op], name, value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.graph.clear(), "the model has 0 graphs, expected one"),
        (lambda m: m.graph[0].op.pop(), "the graph has no NetOutput"),
        (lambda m: _rename(m, 1, name="x_1"), "two operators have the name 'x_1'"),
        (lambda m: _rename(m, -1, input=["nobody:0"]), "its input 'nobody:0' is of no operator"),
        (lambda m: _rename(m, -1, input=["x_1:7"]), "its input 'x_1:7' is an output that there is not"),
        (lambda m: _rename(m, -1, input_desc=[]), "has 1 inputs and 0 descriptors"),
        (lambda m: _rename(m, -2, type="Nope"), "no kernel for the operators Nope"),
        (lambda m: m.graph[0].op[2].input.append("NetOutput:-1"), "the edges of the graph go in a circle"),
        (lambda m: m.graph[0].op[-2].output_desc[0].shape.dim.append(-1), "the shape of the output 'y' is not known"),
        (lambda m: m.graph[0].op[-2].output_desc[0].shape.dim.extend([1 << 40, 1 << 40]), "has too many elements"),
        (lambda m: setattr(m.graph[0].op[-2].output_desc[0], "dtype", 13), "the output 'y' has no dtype"),
    ],
)
def test_a_graph_that_is_not_sound(change: Callable, said: str, tmp_path: pathlib.Path) -> None:
    interface = execute.models()
    path, number = tmp_path / "wrong.air", execute.c_uint32()
    path.write_bytes(_changed(change).model.serialize())
    with pytest.raises(NPUError, match=f"(?s)aclmdlLoadFromFile.*{said}"):
        interface.check(
            "aclmdlLoadFromFile", interface.aclmdlLoadFromFile(str(path).encode(), execute.ctypes.byref(number))
        )


def test_a_control_edge_orders_and_carries_nothing() -> None:
    """How it orders two operators: test_custom_operators.py."""
    x = torch.arange(6.0).reshape(2, 3).npu()
    plain, program = _program(), _program()
    ops = program.model.graph[0].op
    ops[-1].input.append(f"{ops[0].name}:-1")
    assert torch.equal(execute.Executable(program)([x])[0], execute.Executable(plain)([x])[0])
    ops[0].input.append(f"{ops[-2].name}:-1")
    with pytest.raises(NPUError, match="the edges of the graph go in a circle"):
        execute.Executable(program)


def test_bytes_that_are_damaged(tmp_path: pathlib.Path) -> None:
    """Loading and running either works or is an error."""
    interface = execute.models()
    data = _program().model.serialize()
    source = random.Random(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(source.randint(1, 4)):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        path = tmp_path / "damaged.air"
        path.write_bytes(damaged[: source.randint(1, len(damaged))] if source.random() < 0.3 else damaged)
        number = execute.c_uint32()
        code = interface.aclmdlLoadFromFile(str(path).encode(), execute.ctypes.byref(number))
        if code:
            refused += 1
            assert interface.runtime.message()
        else:
            interface.check("aclmdlUnload", interface.aclmdlUnload(number.value))
    assert refused > 50


def test_a_buffer_that_is_too_small(converted: Callable) -> None:
    x = torch.ones(4).npu()
    compiled = converted(lambda x: x + 1, x)
    with pytest.raises(NPUError, match="buffer 0 has 8 bytes, the model needs 16"):
        compiled.executable([x[:2].clone()])
