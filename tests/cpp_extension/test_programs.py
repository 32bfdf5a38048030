"""programs.cpp: programs of the sort that people write. Expected values are PyTorch 2.13's."""

import io
import pickle

import pytest

CHECKS = "sizes undefined dispatch loops vectors random values gradients settings functions archives schemas".split()


@pytest.mark.parametrize("name", CHECKS)
def test_program(programs, name):
    getattr(programs.module, f"check_{name}")()


def test_operators_of_many_types(programs):
    torch = programs.torch
    ops = torch.ops.programs
    assert ops.padded(torch.ones(2, 3), 4).tolist() == [[1, 1, 1], [1, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert str(ops.padded.default._schema) == "programs::padded(Tensor x, SymInt size) -> Tensor"
    made = ops.scaled({"a": torch.ones(1), "b": torch.zeros(1)}, 3.0)
    assert {key: value.tolist() for key, value in made.items()} == {"a": [3], "b": [0]}
    tensor, sizes, text = ops.several(torch.ones(2, 1))
    assert tensor.tolist() == [[2], [2]] and sizes == [2, 1] and text == "text"
    first = ops.dice(30, torch.Generator().manual_seed(4))
    assert first == ops.dice(30, generator=torch.Generator().manual_seed(4)) and set(first) <= set(range(6))
    assert ops.box_sum(torch.ones(3, 3), 1)[1, 1] == 9
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    ops.clamped(x, None, 0.0).sum().backward()
    assert x.grad.tolist() == [0, 1]


def test_values_of_any_type(programs):
    torch = programs.torch
    any_value = torch.ops.programs.any_value
    assert any_value(torch.ones(2)).tolist() == [2, 2] and any_value(3) == 4 and any_value("a") == "a!"
    assert any_value([1, 2, 3]) == 3 and any_value((7, "x")) == 7 and any_value({"a": 1, "b": 2}) == 2
    assert any_value(None) is None
    assert torch.ops.programs.type_of(torch.ones(1, dtype=torch.float64)) == 7  # a number here too


def test_a_class_of_dicts(programs):
    torch = programs.torch
    table = torch.classes.programs.Table({"a": torch.ones(2)})
    table.put("b", torch.full((2,), 2.0))
    assert table.keys() == ["a", "b"] and table.size == 2
    assert table.get("b", None).tolist() == [2, 2]
    assert table.get("c", torch.zeros(1)).tolist() == [0]
    assert table.dtype() == 6  # a ScalarType is a number, as in TorchScript
    assert torch.classes.programs.Table.empty().size == 0
    assert torch.ops.programs.total(table, torch.zeros(2)).tolist() == [3, 3]
    with pytest.raises(RuntimeError):
        table.get("c", None)


def test_a_class_in_a_saved_file(programs):
    torch = programs.torch
    table = torch.classes.programs.Table({"a": torch.ones(2)})
    file = io.BytesIO()
    torch.save({"table": table, "x": torch.zeros(1)}, file)
    file.seek(0)
    again = torch.load(file, weights_only=False)
    assert again["table"].get("a", None).tolist() == [1, 1]
    assert pickle.loads(pickle.dumps(table)).keys() == ["a"]


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's
def test_a_class_in_a_scripted_module(programs, tmp_path):
    torch = programs.torch

    class Holder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = self.again = torch.classes.programs.Table({"a": torch.ones(2)})

    scripted = torch.jit.script(Holder())
    scripted.save(tmp_path / "holder.pt")
    loaded = torch.jit.load(tmp_path / "holder.pt")
    assert loaded.table.keys() == ["a"] and loaded.table.get("a", None).tolist() == [1, 1]
    loaded.again.put("b", torch.zeros(1))  # one object, and no longer the one that was saved
    assert loaded.table.keys() == ["a", "b"] and scripted.table.keys() == ["a"]


def test_a_class_in_a_graph(programs):
    torch = programs.torch
    if torch.__name__ == "torch":
        pytest.skip("there a class needs a fake one beside it")
    table = torch.classes.programs.Table({"a": torch.ones(2)})
    torch.library.register_fake("programs::total", lambda table, start: torch.empty_like(start))

    def total(x):
        return torch.ops.programs.total(table, x) * 2

    x = torch.zeros(2)
    for backend in ("eager", "aot_eager", "inductor"):
        compiled = torch.compile(total, backend=backend, fullgraph=True)
        assert compiled(x).tolist() == [2, 2]
    table.put("b", torch.full((2,), 10.0))  # the same object: what it holds is read when the graph runs
    assert compiled(x).tolist() == [22, 22]
    table = torch.classes.programs.Table({})
    assert compiled(x).tolist() == [0, 0]  # another one is another graph

    made = torch.fx.experimental.proxy_tensor.make_fx(total)(x)
    assert [node.target for node in made.graph.nodes if node.op == "get_attr"] == ["_torchbind_obj0"]
    assert made(torch.ones(2)).tolist() == [2, 2]

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = table

        def forward(self, x):
            return torch.ops.programs.total(self.table, x)

    assert torch.export.export(Module(), (x,)).module()(torch.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        (0, IndexError, "index 7"),
        (1, RuntimeError, "The size of tensor a"),
        (2, RuntimeError, "a plain error"),
        (3, KeyError, "of Python's"),
        (4, TypeError, "in a loop"),
    ],
)
def test_exceptions_of_threads(programs, kind, error, text):
    torch = programs.torch
    if kind == 3 and torch.__name__ == "torch":
        pytest.skip("an exception of Python's that leaves a thread ends PyTorch's process")
    with torch.library._scoped_library("programs_python", "FRAGMENT") as library:
        library.define("fails(Tensor x) -> Tensor")

        def fails(x):
            raise KeyError("of Python's")

        library.impl("fails", fails, "CompositeExplicitAutograd")
        with pytest.raises(error, match=text):
            programs.module.in_a_thread(kind, "programs_python::fails")
