"""programs.cpp: programs of the sort that people write. Expected values are PyTorch 2.13's."""

import io
import pickle

import pytest

CHECKS = "sizes undefined dispatch loops vectors random values gradients settings functions".split()


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
