"""`torch.export.save` and `load`."""

import io
import json
import zipfile

import pytest
import reference

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.export import Dim, export, load, save

if reference.is_reference():
    pytest.skip("the format is our own", allow_module_level=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.bn, self.c = nn.Linear(3, 4), nn.BatchNorm1d(4), torch.tensor([2.0])
        self.register_buffer("calls", torch.zeros(()), persistent=False)

    def forward(self, x, pair, *, scale=0.5):
        self.calls += 1
        with torch.no_grad():
            first = x.view(x.shape[0] // 2, 2, 3).sum(1)
        y = self.bn(self.fc(x)) * scale / float("inf") + self.c
        parts = y.split(2, dim=1)
        return {"y": parts[1].to(torch.float64), "pair": (pair[0] + first.shape[0], x.shape[0] * 3, None)}


def rewritten(text, change):
    """A file with another program.json."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(text)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content.decode()) if name == "program.json" else content)
    made.seek(0)
    return made


def saved(**kwargs):
    torch.manual_seed(0)
    net = Net()
    shapes = {"x": {0: 2 * Dim("half", max=8)}, "pair": [{0: Dim.AUTO}], "scale": None}
    program = export(net, (torch.randn(6, 3), [torch.ones(5)]), {"scale": 0.25}, dynamic_shapes=shapes)
    file = io.BytesIO()
    save(program, file, **kwargs)
    return program, file.getvalue()


def test_what_is_loaded_is_what_was_saved():
    program, text = saved()
    again = load(io.BytesIO(text))
    assert again.graph_module.code == program.graph_module.code
    assert str(again.graph_signature) == str(program.graph_signature)
    assert str(again.range_constraints) == str(program.range_constraints)
    assert [str(n.meta["val"].shape) for n in again.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor)] == [
        str(n.meta["val"].shape) for n in program.graph.nodes if isinstance(n.meta.get("val"), torch.Tensor)
    ]
    assert {n.meta["val"].device.type for n in again.graph.find_nodes(op="placeholder") if n.name == "x"} == {"cpu"}
    args = (torch.randn(8, 3), [torch.ones(9)])
    modules = program.module(), again.module(), again.run_decompositions().module()
    expected, *results = [module(*args, scale=0.25) for module in modules]
    for result in results:
        assert torch.equal(result["y"], expected["y"]) and torch.equal(result["pair"][0], expected["pair"][0])
        assert result["pair"][1:] == (24, None)
    for module in modules[1:]:
        with pytest.raises(AssertionError, match="Guard failed"):
            module(torch.randn(7, 3), [torch.ones(9)], scale=0.25)
    assert [type(p) for p in again.parameters()] == [nn.Parameter] * 4
    assert "calls" not in again.state_dict and again.example_inputs[1] == {"scale": 0.25}


def test_other_files_are_kept_beside():
    more = {"note.txt": ""}
    load(io.BytesIO(saved(extra_files={"note.txt": "kept"})[1]), extra_files=more)
    assert more == {"note.txt": "kept"}


def test_what_is_no_program_is_refused():
    _, text = saved()
    with pytest.raises(TypeError, match="must be an instance of 'ExportedProgram', got 'Linear' instead"):
        save(nn.Linear(2, 2), io.BytesIO())
    with pytest.raises(RuntimeError, match=r"torch.export.load\(\): not a program"):
        load(io.BytesIO(b"something else"))
    for old, new, said in (
        ('"aten::linear.default"', '"builtins.eval"', "no such operator"),
        ('"aten::linear.default"', '"aten::__class__.mro"', "no such operator"),
        ('"aten::linear.default"', '"aten::no_such_thing.default"', "no such operator"),
        ('"version": 1', '"version": 99', "version 99 is not known"),
        ('"op": "call_function"', '"op": "call_module"', "'call_module' is not known"),
        ('"dtype": "float64"', '"dtype": "load"', "'load' is no dtype"),
    ):
        assert old in text_of(text)
        with pytest.raises(RuntimeError, match=said):
            load(rewritten(text, lambda program, old=old, new=new: program.replace(old, new)))


def text_of(file):
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        text = archive.read("program.json").decode()
    assert json.loads(text)["version"] == 1
    return text
