"""`torch.package`: what it writes, reads, needs and refuses, beside PyTorch; packages of either are read by the other."""

import importlib.resources
import inspect
import io
import pickle
import sys
import textwrap
import zipfile
from types import ModuleType
from typing import Any

import pytest
from agreement import same
from programs import lines_of
from recording import answer

import mindtorch_v2
from mindtorch_v2.package import GlobGroup, PackageExporter, PackageImporter
from mindtorch_v2.package import find_file_dependencies as dependencies

pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")  # of PyTorch's own exporter

SOURCES = {
    "shelf/__init__.py": "from .books import Book\ncount = 2\n",
    "shelf/books.py": """
        import math
        import shelf.covers as covers

        class Book:
            def __init__(self, pages):
                self.pages = pages

            def weight(self):
                return math.ceil(self.pages / 100) * covers.FACTOR
    """,
    "shelf/covers.py": "FACTOR = 3\n",
    "shelf/unused.py": "raise RuntimeError('nobody needs it')\n",
}


@pytest.fixture(autouse=True)
def _shelf(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package of three modules in the environment."""
    for name, text in SOURCES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in [each for each in sys.modules if each.partition(".")[0] == "shelf"]:
        del sys.modules[name]


def _book() -> Any:
    return importlib.import_module("shelf").Book(250)


def _package(torch: ModuleType, f: Any = None) -> Any:
    file = f or io.BytesIO()
    with torch.package.PackageExporter(file) as exporter:
        exporter.intern("shelf.**")
        exporter.save_module("shelf")
        exporter.save_pickle("things", "book.pkl", _book())
        exporter.save_pickle("things", "weights.pkl", {"w": torch.arange(3.0), "layer": torch.nn.Linear(2, 1)})
        exporter.save_text("things", "read.me", "good morning")
        exporter.save_binary("things", "raw", b"\x00\x01")
    if f is None:
        file.seek(0)
    return file


def _of_importer(torch: ModuleType, importer: Any) -> Any:
    book = importer.load_pickle("things", "book.pkl")
    weights = importer.load_pickle("things", "weights.pkl")
    return [
        book.weight(),
        type(book).__module__.partition(".")[2],
        weights["w"].tolist(),
        list(weights["layer"].state_dict()),
        importer.load_text("things", "read.me"),
        importer.load_binary("things", "raw"),
        sorted(importer.extern_modules),
        str(importer.file_structure(exclude=".data/*")).partition("\n")[2],
        importer.import_module("shelf.covers").FACTOR,
        importer.import_module("shelf").count,
        list(importer.get_resource_reader("things").contents()),
    ]


def test_package_is_as_pytorchs() -> None:
    same(lambda torch: _of_importer(torch, torch.package.PackageImporter(_package(torch))))


def test_pytorchs_packages_are_read() -> None:
    theirs = answer(lambda torch: _package(torch).getvalue())
    found = _of_importer(mindtorch_v2, PackageImporter(io.BytesIO(theirs)))
    assert found[:4] == [9, "shelf.books", [0.0, 1.0, 2.0], ["weight", "bias"]]
    assert found[4:6] == ["good morning", b"\x00\x01"]


def test_folder_is_read_as_the_archive(tmp_path: Any) -> None:
    _package(mindtorch_v2, tmp_path / "one.pt")
    with zipfile.ZipFile(tmp_path / "one.pt") as archive:
        archive.extractall(tmp_path)
    unpacked = PackageImporter(tmp_path / "one")
    assert (
        _of_importer(mindtorch_v2, unpacked)[:7] == _of_importer(mindtorch_v2, PackageImporter(tmp_path / "one.pt"))[:7]
    )
    with importlib.resources.as_file(importlib.resources.files(unpacked.import_module("things")) / "read.me") as path:
        assert path.read_text() == "good morning"


def test_modules_are_the_packages_own() -> None:
    file = _package(mindtorch_v2)
    here, one, other = importlib.import_module("shelf.books"), PackageImporter(file), PackageImporter(file)
    modules = [here, one.import_module("shelf.books"), other.import_module("shelf.books")]
    assert len({id(module) for module in modules}) == 3
    assert modules[1].math is here.math  # the environment's
    assert len({module.Book.__module__ for module in modules}) == 3
    assert inspect.getsource(modules[1].Book) == inspect.getsource(here.Book)
    assert mindtorch_v2.package.is_from_package(modules[1].Book(1))
    assert not mindtorch_v2.package.is_from_package(here.Book(1))
    assert one.import_module("shelf.books") is modules[1]
    with pytest.raises(ModuleNotFoundError, match="self-contained archive"):
        one.import_module("shelf.unused")


def test_package_out_of_a_package() -> None:
    first = PackageImporter(_package(mindtorch_v2))
    book = first.load_pickle("things", "book.pkl")
    file = io.BytesIO()
    with pytest.raises(pickle.PicklingError, match="list"), PackageExporter(file) as exporter:
        exporter.save_pickle("things", "book.pkl", book)  # another Book than the environment's
    with PackageExporter(file, importer=(first, mindtorch_v2.package.sys_importer)) as exporter:
        exporter.intern("**")
        exporter.save_pickle("things", "book.pkl", book)
    file.seek(0)
    assert PackageImporter(file).load_pickle("things", "book.pkl").weight() == 9


def test_graph_modules() -> None:
    covers = importlib.import_module("shelf.covers")
    exec("def scaled(x):\n    return x * FACTOR\n", covers.__dict__)  # as a function of the module's own source
    graph = mindtorch_v2.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(mindtorch_v2.relu, (x,)))
    module = mindtorch_v2.fx.GraphModule(mindtorch_v2.nn.Module(), graph)
    file = io.BytesIO()
    with PackageExporter(file) as exporter:
        exporter.save_pickle("model", "model.pkl", [module, module])
    file.seek(0)
    importer = PackageImporter(file)
    one, two = importer.load_pickle("model", "model.pkl")
    assert one is two
    assert one(mindtorch_v2.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    assert any(name.startswith("fx-generated/") for name in importer.zip_reader.get_all_records())


def _mocked(torch: ModuleType) -> Any:
    file = io.BytesIO()
    with torch.package.PackageExporter(file) as exporter:
        exporter.mock("shelf.covers")
        exporter.extern("shelf.books")
        exporter.save_source_string("main", "import shelf.covers as c\ndef f():\n    return c.FACTOR + 1\n")
        said = [exporter.mocked_modules(), exporter.externed_modules(), exporter.interned_modules()]
        said.append(exporter.get_rdeps("shelf.covers"))
    file.seek(0)
    main = torch.package.PackageImporter(file).import_module("main")
    try:
        main.f()
    except NotImplementedError as error:
        said.append(str(error).partition(".")[2])
    return [*said, repr(main.c.FACTOR).partition(".")[2]]


def test_mocks() -> None:
    same(_mocked)


def _refused(torch: ModuleType, save: Any, debug: bool = False) -> Any:
    try:
        with torch.package.PackageExporter(io.BytesIO(), debug=debug) as exporter:
            save(exporter)
    except (
        RuntimeError,
        TypeError,
        ValueError,
        ImportError,
        torch.package.PackagingError,
        torch.package.EmptyMatchError,
    ) as error:
        return type(error).__name__, str(error)
    return None


REFUSED = {
    "no word": lambda e: e.save_pickle("things", "book.pkl", _book()),
    "denied": lambda e: (e.deny("shelf.*"), e.save_source_string("m", "import shelf.covers")),
    "extension": lambda e: (e.intern("**"), e.save_source_string("m", "import numpy._core._multiarray_umath")),
    "relative": lambda e: e.save_source_string("m", "from ... import x"),
    "sys": lambda e: e.save_source_string("m", "import sys"),
    "empty": lambda e: (e.extern("nobody.*", allow_empty=False), e.save_text("a", "b", "c")),
    "no module": lambda e: e.save_module("nobody"),
    "module": lambda e: e.save_module(io),
    "pattern": lambda e: e.intern("a.**b"),
    "folder": lambda e: e.save_text("a", "b/c", "d"),
    "nothing wrong": lambda e: e.save_source_string("m", "import nobody_has_this\n__import__(x, 1)"),
}


@pytest.mark.parametrize("which", REFUSED)
def test_what_is_refused(which: str) -> None:
    same(lambda torch: _refused(torch, REFUSED[which]))


@pytest.mark.no_torch
def test_mocked_but_pickled() -> None:
    def save(exporter: PackageExporter) -> None:
        exporter.mock("shelf.books")
        exporter.save_pickle("things", "book.pkl", _book())

    kind, text = _refused(mindtorch_v2, save)
    assert kind == "PackagingError"
    assert "still being used" in text
    assert "<things.book.pkl>: Book" in text
    assert "Needed by: <things.book.pkl>" in _refused(mindtorch_v2, save, debug=True)[1]


@pytest.mark.no_torch
def test_chain_to_what_is_broken() -> None:
    with pytest.raises(mindtorch_v2.package.PackagingError) as refused, PackageExporter(io.BytesIO()) as exporter:
        exporter.intern("shelf.books")
        exporter.save_source_string("main", "import shelf.books")
    chains = mindtorch_v2.package.analyze.find_first_use_of_broken_modules(refused.value)
    assert chains == {"shelf.covers": ["main", "shelf.books", "shelf.covers"]}


@pytest.mark.no_torch
def test_file_is_whole_or_as_it_was(tmp_path: Any) -> None:
    path = tmp_path / "model.pt"
    path.write_bytes(b"before")
    with pytest.raises(mindtorch_v2.package.PackagingError), PackageExporter(path) as exporter:
        exporter.save_pickle("things", "book.pkl", _book())
    with pytest.raises(ZeroDivisionError), PackageExporter(path) as exporter:
        exporter.save_text("a", "b", str(1 // 0))
    assert path.read_bytes() == b"before"
    assert [each.name for each in tmp_path.glob("*.pt*")] == ["model.pt"]
    with PackageExporter(path) as exporter:
        exporter.save_text("a", "b", "c")
    exporter.close()
    with pytest.raises(RuntimeError, match="closed"):
        exporter.save_text("a", "d", "e")
    assert PackageImporter(path).load_text("a", "b") == "c"


@pytest.mark.no_torch
def test_what_is_no_package(tmp_path: Any) -> None:
    with pytest.raises(TypeError, match="a path or a file object"):
        PackageExporter(3)  # type: ignore[arg-type]  # (refused)
    with pytest.raises(TypeError, match="Importer"):
        PackageExporter(io.BytesIO(), importer=3)  # type: ignore[arg-type]  # (refused)
    with pytest.raises(RuntimeError, match="zip archive"):
        PackageImporter(io.BytesIO(b"abc"))
    with pytest.raises(ImportError, match="disallowed"):
        PackageImporter(_package(mindtorch_v2), module_allowed=lambda name: name != "math")
    importer = PackageImporter(_package(mindtorch_v2))
    with pytest.raises(RuntimeError, match="things/none"):
        importer.load_pickle("things", "none")
    with pytest.raises(TypeError, match="not a package"):
        importer.load_text("shelf.covers", "x")


@pytest.mark.no_torch
def test_storages_are_shared_and_placed() -> None:
    file = io.BytesIO()
    x = mindtorch_v2.arange(4.0)
    with PackageExporter(file) as exporter:
        exporter.save_pickle("t", "t.pkl", [x, x[1:3], x])
    importer = PackageImporter(file)
    one, view, again = importer.load_pickle("t", "t.pkl")
    view += 1
    assert one.tolist() == [0.0, 2.0, 3.0, 3.0]
    assert again is one
    assert importer.load_pickle("t", "t.pkl", map_location="meta")[0].is_meta


@pytest.mark.no_torch
@pytest.mark.parametrize(
    ("text", "package", "found"),
    [
        ("import a.b, c as d", "p", [("a.b", None), ("c", None)]),
        ("from a import b, c", "p", [("a", "b"), ("a", "c")]),
        ("from .a import *\nfrom . import b", "p.q", [("p.q.a", None), ("p.q", "b")]),
        ("from ..a import b", "p.q", [("p.a", "b")]),
        ("__import__('a'); __import__('b', fromlist=['c'], level=1)", "p", [("a", None), ("p.b", "c")]),
    ],
)
def test_imports_of_a_source(text: str, package: str, found: list[Any]) -> None:
    assert dependencies.find_files_source_depends_on(text, package) == found


@pytest.mark.no_torch
@pytest.mark.parametrize(
    ("pattern", "names", "others"),
    [
        ("a.*", ["a.b"], ["a", "a.b.c", "ab"]),
        ("a.**", ["a", "a.b", "a.b.c"], ["ab", "b.a"]),
        ("**.z", ["z", "a.b.z"], ["az", "z.a"]),
        ("a*.b", ["a.b", "ac.b"], ["b", "a.c.b"]),
    ],
)
def test_patterns(pattern: str, names: list[str], others: list[str]) -> None:
    group = GlobGroup(pattern)
    assert all(map(group.matches, names))
    assert not any(map(group.matches, others))


@pytest.mark.no_torch
def test_it_is_there_without_an_import_of_its_own() -> None:
    assert lines_of("import torch\nprint(torch.package.GlobGroup('a.*').matches('a.b'))") == ["True"]
