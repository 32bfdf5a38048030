"""Sizes told by examples and by errors, archives, devices, and modules that differ from call to call: PyTorch's answers."""

import importlib
import io
import zipfile

import pytest
from agreement import same, same_error

import mindtorch_v2 as torch


class _Relu:
    """Made of either library."""

    def __new__(cls, torch):
        class Relu(torch.nn.Module):
            def forward(self, x, y=None):
                return torch.nn.functional.relu(x)

        return Relu()


def _more(torch, *calls):
    more = torch.export.AdditionalInputs()
    for each in calls:
        more.add(each)
    return more


def _fates(value):
    """Statements about sizes as plain data: hints by their type."""
    if isinstance(value, dict):
        return {name: _fates(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_fates(each) for each in value]
    return None if value is None else getattr(value.type, "name", value.type)


EXAMPLES = {
    "one_size": lambda torch: [(torch.ones(2, 4),), (torch.ones(3, 4),)],
    "two_sizes": lambda torch: [(torch.ones(2, 4),), (torch.ones(3, 4),), (torch.ones(2, 5),)],
    "nested": lambda torch: [({"a": [torch.ones(4)], "b": 3},), ({"a": [torch.ones(3)], "b": 3},)],
    "numbers": lambda torch: [(torch.ones(2), 4), (torch.ones(2), 5)],
    "texts": lambda torch: [("one",), ("one",)],
    "nothing_more": lambda torch: [(torch.ones(2),)],
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_sizes_that_differ_between_examples(name):
    def program(torch):
        first, *others = EXAMPLES[name](torch)
        return _fates(_more(torch, *others).dynamic_shapes(_Relu(torch), first))

    same(program)


REFUSED = {
    "other_texts": lambda torch: _more(torch, ("a",)).dynamic_shapes(_Relu(torch), ("b",)),
    "no_tuple": lambda torch: torch.export.AdditionalInputs().add([1]),
    "no_dict": lambda torch: torch.export.AdditionalInputs().add((), 3),
    "no_fixes": lambda torch: _refined(torch, "nothing", {}),
    "fix_of_another": lambda torch: _refined(torch, "Suggested fixes:\n dz = 4", {}),
    "fix_by_another": lambda torch: _refined(torch, "Suggested fixes:\n dx = 2*_dx\n", {}),
    "bytes_as_text": lambda torch: _write(torch, lambda archive: archive.write_string("d", b"x")),
    "text_as_bytes": lambda torch: _write(torch, lambda archive: archive.write_bytes("d", "x")),
    "no_file": lambda torch: _write(torch, lambda archive: archive.write_file("d", "/no/such")),
    "no_folder": lambda torch: _write(torch, lambda archive: archive.write_folder("d", "/no/such")),
}


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "no_fixes"])
def test_refused(name):
    same_error(REFUSED[name])


def test_text_without_fixes():
    with pytest.raises(torch._dynamo.exc.UserError, match="Suggested fixes not found in error message"):
        REFUSED["no_fixes"](torch)


def test_a_program_is_exported_for_all_examples():
    more = _more(torch, (torch.ones(3, 4),))
    program = torch.export.export(_Relu(torch), (torch.ones(2, 4),), dynamic_shapes=more)
    assert program.module()(torch.ones(5, 4)).shape == (5, 4)
    with pytest.raises(RuntimeError, match=r"does not hold for an additional input: .*x.size\(\)\[1\] == 4"):
        _more(torch, (torch.ones(3, 5),)).verify(program)
    with pytest.raises(ValueError, match="tree spec"):
        _more(torch, (torch.ones(3, 4), torch.ones(1))).verify(program)


class _Halves(torch.nn.Module):
    def forward(self, x):
        return x[: x.shape[0] // 2] * 2 if x.shape[0] < 4 else x[: x.shape[0] // 2]


def test_a_program_that_does_not_hold_for_an_example_is_refused():
    with pytest.raises(RuntimeError, match=r"additional input: Guard failed: x.size\(\)\[0\] >= 4"):
        torch.export.export(_Halves(), (torch.ones(6),), dynamic_shapes=_more(torch, (torch.ones(3),)))


def _refined(torch, text, shapes):
    module = importlib.import_module(f"{torch.__name__}.export.dynamic_shapes")
    return module.refine_dynamic_shapes_from_suggested_fixes(text, shapes)


@pytest.mark.parametrize(
    "text",
    [
        "dx = Dim('dx', min=3, max=6)\n  dy = 4",
        "dx = Dim('dx', max=6)",
        "dy = dx + 1",
        "dy = 2*dx",
        "dx = 3*dy - 2",
        "dx = dy",
        "dx = Dim('dx', min=3)\n  dy = 2*dx + 1",
        "dx = 4",
    ],
)
def test_sizes_as_an_error_suggests(text):
    def program(torch):
        dx, dy = torch.export.Dim("dx"), torch.export.Dim("dy")
        shapes = {"x": {0: dx, 1: 3}, "y": (dy, None, 2 * dx), "z": [2 * dx]}
        found = _refined(torch, f"Not all values are valid.\nSuggested fixes:\n  {text}\n", shapes)
        return {name: str(each) for name, each in found.items()}

    same(program)


def _write(torch, write):
    archives = importlib.import_module(f"{torch.__name__}.export.pt2_archive")
    file = io.BytesIO()
    with archives.PT2ArchiveWriter(file) as archive:
        write(archive)
    return archives, file


def test_archives(tmp_path):
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "folder" / "below" / "one.txt").write_text("one")

    def write(archive):
        archive.write_string("a/b", "text")
        archive.write_bytes("c", b"123")
        archive.write_folder("extra", str(tmp_path / "folder"))
        assert archive.has_record("c") and not archive.has_record("b") and archive.count_prefix("a") == 1

    def program(torch):
        archives, file = _write(torch, write)
        file.seek(0)
        reader = archives.PT2ArchiveReader(file)
        told = [archives.is_pt2_package(each) for each in (file, io.BytesIO(b"1"))]
        parts = [reader.read_string("a/b"), reader.read_bytes("c"), reader.archive_version()]
        names = [name for name in reader.get_file_names() if name not in ("version", "byteorder") and name[0] != "."]
        assert f"archive/{names[0]}" in zipfile.ZipFile(file).namelist()
        return told, parts, names

    same(program)


def test_other_files_are_no_archives():
    file = io.BytesIO()
    torch.save({}, file)
    archives = importlib.import_module("mindtorch_v2.export.pt2_archive")
    assert not archives.is_pt2_package(file)
    with pytest.raises(RuntimeError, match="archive_format"):
        archives.PT2ArchiveReader(file)


class _Made(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x) + torch.zeros(2, device="cpu") + x.to(device="cpu")


def test_a_program_is_moved():
    program = torch.export.export(_Made(), (torch.ones(3, 2),))
    moved = importlib.import_module("mindtorch_v2.export.passes").move_to_device_pass(program, {"cpu": "meta"})
    assert moved is program and isinstance(program.state_dict["layer.weight"], torch.nn.Parameter)
    assert {each.device.type for each in program.state_dict.values()} == {"meta"}
    assert {node.meta["val"].device.type for node in program.graph.nodes if "val" in node.meta} == {"meta"}
    assert program.example_inputs[0][0].device.type == "meta"
    assert program.module()(torch.ones(3, 2, device="meta")).device.type == "meta"


def test_calls_of_a_module_go_to_one_graph_after_another():
    parts = importlib.import_module("mindtorch_v2.export.unflatten")
    graphs = [torch.fx.symbolic_trace(f).graph for f in (lambda x: x + 1, lambda x: x.view(3, -1))]
    both = parts.InterpreterModuleDispatcher(set(), [parts.InterpreterModule(graph, "Layer") for graph in graphs])
    assert both(torch.ones(2)).tolist() == [2, 2] and both.type_name() == "Layer" and len(both.call_modules()) == 2
    with pytest.raises(RuntimeError, match="shape"):
        both(torch.ones(2))
    assert both(torch.ones(1)).tolist() == [2] and both(torch.ones(3)).shape == (3, 1)
    assert both.print_readable(print_output=False).count("def forward") == 2
    with pytest.raises(AssertionError, match="must not be empty"):
        parts.InterpreterModuleDispatcher(set(), [])
