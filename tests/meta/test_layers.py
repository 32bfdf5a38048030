"""The layer rule of the design: each module imports only what is at its level or below, siblings never each other."""

import ast
import importlib.util
import pathlib
import sys

import pytest

pytestmark = pytest.mark.no_torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def _tool():
    spec = importlib.util.spec_from_file_location("layers", ROOT / "tools" / "layers.py")
    module = sys.modules["layers"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


layers = _tool()
MODULES = sorted(layers.modules())

# Cycles of imports that stay, as sets of modules, with the reason.
CYCLES = {}

# Modules that import others by names which are in no text of theirs, with the number of places and the reason.
COMPUTED = {
    "_as_torch": (2, "finds the package's modules by their second names"),
    "_backends.common.loading": (2, "the modules of a back end's own package `ops`, all of them"),
    "_backends.npu.rows": (2, "the modules of its own package and of `ops`, all of them"),
    "_capture._frame": (1, "what a captured program imports"),
    "_core.absent_modules": (3, "where a program that imports PyTorch's module finds it"),
    "_dynamo.backends.registry": (1, "the module of a back end that is asked for by name"),
    "_namespace": (2, "what registers the operators of a namespace: a table in the function"),
    "_operators.load": (1, "the modules of `native`, `composite` and `inner`, all of them"),
    "_utils": (1, "the module of a class that a program names"),
    "doctor": (1, "the packages of others that this one needs"),
    "fx.graph_module": (1, "the generated module in a package"),
    "npu.torch_npu.profiler._flops_hook": (1, "the module of a function that a program counts by name"),
    "onnx._library": (1, "packages of others"),
    "ops": (1, "modules of programs"),
    "package._package_pickler": (1, "modules that a package's pickles need"),
    "package._package_unpickler": (1, "modules that a package's pickles need"),
    "package.package_exporter": (4, "modules that are saved"),
    "package.package_importer": (1, "what a program asks for"),
    "package.importer": (3, "modules of the environment and of packages, by the names that these have"),
}


def test_every_module_has_a_level_and_every_level_a_module():
    assert [module for module in MODULES if layers.level_of(module) is None] == []
    assert [
        name for name in layers.LEVELS if name not in (*MODULES, "_C") and not (layers.SOURCE / name).is_dir()
    ] == []
    assert set(layers.LEVELS.values()) == set(range(len(layers.TITLES)))


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_downwards(module):
    wrong = [layers.wrong_with(each) for each in layers.imports(module) if not layers.is_excepted(each)]
    assert not any(wrong), "\n".join(filter(None, wrong))


def test_the_exceptions_are_needed():
    needed = {
        pair
        for module in MODULES
        for each in layers.imports(module)
        if layers.wrong_with(each)
        for pair in layers.EXCEPTIONS
        if f"{each.module}.".startswith(f"{pair[0]}.") and f"{each.target}.".startswith(f"{pair[1]}.")
    }
    assert set(layers.EXCEPTIONS) == needed


def test_no_imports_go_round():
    """Functions' imports included, and with the packages that an import runs; the assembled package is left out."""
    found = layers.cycles(layers.graph())
    assert [each for each in found if frozenset(each) not in CYCLES] == []
    assert [each for each in CYCLES if sorted(each) not in found] == []


def test_cycles_are_seen():
    assert layers.cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert layers.cycles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
    assert layers.cycles({"a": {"b"}, "b": {"a"}, "c": {"d", "a"}, "d": {"c"}}) == [["a", "b"], ["c", "d"]]


def test_imports_by_computed_names_are_known():
    found = {module: len(lines) for module in MODULES if (lines := layers.computed(module))}
    assert found == {module: count for module, (count, _) in COMPUTED.items()}


def test_native_code_imports_what_is_below():
    """Higher layers register in `_core/above.py` what the core needs of them."""
    found = layers.native_imports()
    assert len(found) > 20 and {folder for folder, _, _ in found} == {"boundary", "core", "include", "stable"}
    levels = [(place, module, layers.level_of(module), layers.NATIVE[folder]) for folder, module, place in found]
    assert [each for each in levels if each[2] is None or each[2] > each[3]] == []
    folders = {path.name for path in layers.NATIVE_SOURCE.iterdir() if path.is_dir()}
    assert folders == set(layers.NATIVE)


@pytest.mark.parametrize(
    "source, expected",
    [
        ("import_module('mindtorch_v2._backends.npu')", [("_backends.npu", True)]),
        ("import_module('numpy')", []),
        ("import_module(f'{PREFIX}.storage')", [("_core.storage", True)]),
        ("import_module('.storage', __package__)", [("_core.storage", True)]),
        ("import_module(f'{__package__}.{name}')", "_core"),
        ("import_module(f'{__name__}.{name}')", "_core.autograd"),
        ("import_module(f'mindtorch_v2._backends.{kind}').load()", "_backends"),
        ("sys.modules.get('mindtorch_v2._backends.npu.state')", [("_backends.npu.state", False)]),
        ("sys.modules['mindtorch_v2.nn']", [("nn", False)]),
        ("'mindtorch_v2.nn' in sys.modules", [("nn", False)]),
        ("sys.modules.get('numpy')", []),
        ("known.get('mindtorch_v2.nn')", []),
    ],
)
def test_imports_by_name_are_seen(source, expected):
    place = layers._Place("_core.autograd", "_core", {"PREFIX": "mindtorch_v2._core"})
    found = [(name, surely) for name, _, _, surely in layers._found(ast.parse(source), place, False)]
    if isinstance(expected, str):  # each module right below
        inner = [name for name in MODULES if name.rpartition(".")[0] == expected]
        expected = [(name, False) for name in inner]
        assert inner
    assert found == expected


@pytest.mark.parametrize("module", MODULES)
def test_nothing_imports_torch(module):
    for node in ast.walk(ast.parse(layers.modules()[module].read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        assert not any(name.split(".")[0] == "torch" for name in names), f"{module} imports torch"
