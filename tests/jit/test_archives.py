"""Archives of TorchScript: what PyTorch wrote runs here, what is written here loads again, and in PyTorch; hostile ones are refused."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.nn import functional as F
from mindtorch_v2.utils import _pytree as pytree

_SNAPSHOTS = Path(__file__).parent.parent / "snapshots" / "jit"


def test_a_program_of_pytorch() -> None:
    program = torch.jit.load(_SNAPSHOTS / "program.pt")
    first, second, third = torch.load(_SNAPSHOTS / "program_results.pt")
    x = torch.arange(6.0).reshape(2, 3)
    for seen, expected in ((program(x), first), (program(x, 5, most=0.5), second), (program.pair(x, x), third)):
        assert type(seen) is not list and len(seen) == len(expected)
        for one, other in zip(seen, expected, strict=True):
            torch.testing.assert_close(one, other) if isinstance(one, torch.Tensor) else _same(one, other)
    assert program.pair(x, x)._fields == ("first", "second")
    assert getattr(program.layers, "0").calls == 2 and [name for name, _ in program.named_parameters()] == [
        "layers.0.weight",
        "layers.1.weight",
    ]
    program(x)[0].sum().backward()
    assert getattr(program.layers, "1").weight.grad is not None
    assert "torch.stack" in program.code and program.original_name == "Program"
    assert program.train().training and getattr(program.layers, "0").training


def _same(one: Any, other: Any) -> None:
    assert one == other


class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2)
        self.layers = nn.ModuleList([nn.Linear(2, 3), nn.Linear(3, 3)])
        self.register_buffer("offset", torch.ones(3))

    def forward(self, x: Any, more: Any) -> Any:
        x = F.relu(self.norm(self.conv(x)), inplace=True).mean([2, 3])
        for layer in self.layers:
            x = layer(x)
        largest, places = x.max(0)
        parts = (*torch.split(x, [1, 2], 1), more["k"])
        return (
            largest + self.offset,
            (places, x.view(x.size(0), -1)[:, 1:]),
            [x.new_full((2,), float("inf")).clamp(max=3.0).to(torch.float64)],
            torch.cat(parts, 1).permute(1, 0).softmax(-1),
            torch.zeros(x.shape[0] * 2),
            F.layer_norm(x, (3,)),
        )


def _traced() -> tuple[Any, Any]:
    torch.manual_seed(0)
    model = _Net().eval()
    return model, torch.jit.trace(model, (torch.randn(2, 1, 4, 4), {"k": torch.ones(2, 1)}))


def test_a_traced_module_is_saved_and_loaded(tmp_path: Path) -> None:
    model, traced = _traced()
    traced.save(tmp_path / "once.pt")
    torch.jit.save(torch.jit.load(tmp_path / "once.pt"), tmp_path / "twice.pt")
    args = torch.randn(5, 1, 6, 6), {"k": torch.ones(5, 1)}
    for name in ("once.pt", "twice.pt"):
        loaded = torch.jit.load(str(tmp_path / name))
        assert not loaded.training and list(loaded.state_dict()) == list(model.state_dict())
        for one, other in zip(pytree.tree_leaves(loaded(*args)), pytree.tree_leaves(model(*args)), strict=True):
            torch.testing.assert_close(one, other)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["once.pt", "twice.pt"]


def test_pytorch_reads_what_is_written(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--live"):
        pytest.skip("asks PyTorch: --live")
    model, traced = _traced()
    args = torch.randn(5, 1, 6, 6), {"k": torch.ones(5, 1)}
    traced.save(tmp_path / "net.pt")
    torch.save([args, model(*args)], tmp_path / "results.pt")
    program = (
        "import sys, torch; leaves = torch.utils._pytree.tree_leaves\n"
        "args, expected = torch.load(sys.argv[2])\n"
        "for one, other in zip(leaves(torch.jit.load(sys.argv[1])(*args)), leaves(expected), strict=True):\n"
        "    torch.testing.assert_close(one, other)\n"
        "print(torch.__file__)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "net.pt"), str(tmp_path / "results.pt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "mindtorch" not in done.stdout, done.stderr


def test_functions_and_further_records() -> None:
    constant, file = torch.tensor([1.0, 2.0]), io.BytesIO()
    with pytest.warns(torch.jit.TracerWarning):
        traced = torch.jit.trace(lambda a, b: [a + b * constant, a * 2], (torch.ones(2), torch.ones(2)))
    torch.jit.save(traced, file, _extra_files={"note": "hello"})
    file.seek(0)
    extra = {"note": "", "other": ""}
    loaded = torch.jit.load(file, _extra_files=extra)
    assert [each.tolist() for each in loaded(torch.ones(2), torch.ones(2))] == [[2.0, 3.0], [2.0, 2.0]]
    assert extra == {"note": b"hello", "other": ""}


class _Part(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("offset", torch.ones(2), persistent=False)
        self.names = ["a", "b"]


class _Data(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(2, 3)), None
        self.part = self.again = _Part()
        self.count, self.rate, self.on, self.word = 3, 0.5, True, "w"
        self.pair, self.table, self.rows = (1, "x"), {"k": torch.zeros(1)}, [[1, 2], [3]]
        self.mixed, self.empty, self.size, self.device = [1, "x"], [], torch.Size([1]), object()

    def helper(self) -> int:
        return self.count


def test_a_module_of_data(tmp_path: Path) -> None:
    data = _Data()
    scripted = torch.jit.script(data.eval())
    assert isinstance(scripted, torch.jit.RecursiveScriptModule) and torch.jit.script(scripted) is scripted
    assert scripted.weight is data.weight and scripted.device is data.device and scripted.part is scripted.again
    assert not scripted.training and list(scripted.state_dict()) == ["weight"]
    scripted.save(tmp_path / "data.pt")
    loaded = torch.jit.load(tmp_path / "data.pt")
    assert isinstance(loaded.weight, nn.Parameter) and loaded.weight.tolist() == [[1.0] * 3] * 2 and loaded.bias is None
    assert [name for name, _ in loaded.named_buffers()] == ["part.offset"] and loaded.part is loaded.again
    assert (loaded.part.names, loaded.count, loaded.rate, loaded.on, loaded.word) == (["a", "b"], 3, 0.5, True, "w")
    assert loaded.pair == (1, "x") and loaded.table["k"].tolist() == [0.0] and loaded.rows == [[1, 2], [3]]
    assert not loaded.training and loaded.original_name == "_Data"
    # What TorchScript has no type for is Python's alone.
    assert not any(hasattr(loaded, name) for name in ("mixed", "empty", "size", "device", "helper"))
    with pytest.raises(NotImplementedError, match='missing the required "forward"'):
        scripted()


def test_modules_with_code_stay_pythons() -> None:
    class Exported(_Part):
        @torch.jit.export
        def first(self) -> str:
            return self.names[0]

    class Forward(_Part):
        def forward(self) -> str:
            return self.names[1]

    within, given = _Part(), _Part()
    within.layer = nn.Identity()
    given.forward = lambda: None
    for module in (Exported(), Forward(), within, given, nn.ModuleList(), nn.Linear(1, 1)):
        assert torch.jit.script(module) is module
    assert Exported().first() == "a"


def test_what_cannot_be_saved() -> None:
    for scripted in (torch.jit.script(nn.Linear(1, 1)), torch.jit.script(lambda x: x)):
        with pytest.raises(NotImplementedError, match=r"torch.jit.save: what torch.jit.script gives .* trace it"):
            torch.jit.save(scripted, io.BytesIO())
    module = torch.jit.script(nn.Linear(1, 1))
    for name in ("save", "save_to_buffer"):
        assert not hasattr(module, name)
        with pytest.raises(AttributeError, match=rf"^'Linear' object has no attribute '{name}': what .* trace it"):
            getattr(module, name)
        with pytest.raises(AttributeError, match=rf"^'Linear' object has no attribute '{name}'$"):
            getattr(nn.Linear(1, 1), name)
    with pytest.raises(TypeError, match="expected a traced Module or function, got int"):
        torch.jit.save(3, io.BytesIO())


def _archive(
    source: str, data: bytes = b"\x80\x02c__torch__\nNet\n)\x81}(X\x08\x00\x00\x00training\x89ub."
) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("net/data.pkl", data)
        archive.writestr("net/code/__torch__.py", source)
        archive.writestr("net/constants.pkl", b"\x80\x02).")
        archive.writestr("net/version", b"3\n")
    file.seek(0)
    return file


def _net(body: str, parameters: str = "self, x") -> str:
    return f"class Net(Module):\n  training : bool\n  def forward({parameters}):\n    {body}\n"


def test_a_program_by_hand() -> None:
    assert torch.jit.load(_archive(_net("return torch.add(x, 1)")))(torch.ones(2)).tolist() == [2, 2]
    assert torch.jit.load(_archive(_net("return torch.format('{} {}', x, inf)")))(1) == "1 inf"


@pytest.mark.parametrize(
    "body",
    [
        "import os",
        "return __import__('os')",
        "return open('x')",
        "return (lambda: x)()",
        "return [y for y in x]",
        "return f'{x}'",
        "return (y := x)",
        "return torch.add(*x)",
        "return torch.add(**x)",
        "return x + 1",
        "return x if x else x",
        "return eval('x')",
        "return os.system('x')",
        "return torch.os.system('x')",
        "return torch.load.x('x')",
        "return ops.prim.exec('x')",
        "return mt_attribute(x, 'y')",
        "__builtins__ = x",
        "mt_attribute = x",
        "x[0] = x",
        "global x",
        "del x",
        "raise x",
        "with x: pass",
        "try: pass\n    except: pass",
        "return __torch__.missing(x)",
        "return getattr(x, x)",
    ],
)
def test_other_sources_are_refused_before_they_run(body: str) -> None:
    with pytest.raises(RuntimeError, match="torch.jit.load: |is not there"):
        torch.jit.load(_archive(_net(body)))


@pytest.mark.parametrize("name", ["__class__", "__globals__", "__init__", "data", "tofile", "_method", "_source"])
@pytest.mark.parametrize("of", ["x", "self", "torch.format('a')", "(self).forward"])
def test_attributes_are_those_of_the_archive(of: str, name: str) -> None:
    loaded = torch.jit.load(_archive(_net(f"return getattr({of}, '{name}')")))
    with pytest.raises((RuntimeError, AttributeError)):
        loaded(torch.ones(1))
    with pytest.raises(RuntimeError, match="sets the attribute"):
        torch.jit.load(_archive(_net(f"x.{name} = 1")))(torch.ones(1))


@pytest.mark.parametrize(
    "data",
    [
        b"cos\nsystem\n(X\x04\x00\x00\x00truetR.",
        b"cbuiltins\neval\n(X\x01\x00\x00\x001tR.",
        b"c__torch__\nNet\n)R.",
        b"ctorch.jit._pickle\nos\n.",
        pickle.dumps([1, 2], 2),
    ],
)
def test_hostile_pickles(data: bytes) -> None:
    with pytest.raises((RuntimeError, pickle.UnpicklingError)):
        torch.jit.load(_archive(_net("return x"), data))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="The provided filename .* does not exist"):
        torch.jit.load(tmp_path / "none.pt")
    with pytest.raises(ValueError, match="is a directory"):
        torch.jit.load(tmp_path)
    torch.save({"a": 1}, tmp_path / "plain.pt")
    with pytest.raises(RuntimeError, match="no archive of TorchScript .* torch.load reads"):
        torch.jit.load(tmp_path / "plain.pt")
    with pytest.raises(RuntimeError, match="cannot be parsed"):
        torch.jit.load(_archive("class Net(Module:"))
    with pytest.raises(RuntimeError, match="aten::no_such_operator is not there"):
        torch.jit.load(_archive(_net("return torch.no_such_operator(x)")))
