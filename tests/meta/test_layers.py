"""The layer rule of the design: each module imports only what is at its level or below, siblings never each other."""

import ast
import pathlib

import pytest

pytestmark = pytest.mark.no_torch

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src" / "mindtorch_v2"
LEVELS = {
    "_C": 0, "_dtype": 0, "_device": 0, "_errors": 0, "_as_torch": 0, "_unavailable": 0, "version": 0, "_stream": 0,
    "_deterministic": 0, "_annotations": 0,
    "_dispatch": 1,
    "_storage": 2, "_tensor": 2, "_torch_function": 2, "_c_names": 2, "_autograd": 2,
    "_ops": 3, "_tensor_types": 3,
    # Ascend's graph back end stands on torch.compile, and kernels of one's own on torch.library.
    "_backends.ge": 6, "_backends.npu.custom_kernel": 6,
    # It traces what it checks.
    "_library.opcheck": 6,
    "_functionalize": 4, "_sparse": 4, "_backends": 4, "_batching": 4,
    "library": 5, "_torch_dispatch": 5, "_library": 5, "_ops_namespace": 5, "_interop": 5,
}  # fmt: skip
PUBLIC, TOP = 6, 7
# Imports upwards that are made when a method is called, with the reason.
UPWARDS = {
    ("_tensor", "_tensor_str"): "repr of a tensor",
    ("_tensor", "storage"): "typed storages are the public face of storages",
    ("_tensor", "_utils"): "PyTorch's pickles name the functions there",
    ("_autograd.gradcheck", "func"): "checks backward of several gradients at once",
    ("_tensor", "utils.hooks"): "hooks return PyTorch's public handle",
    ("library", "_library.opcheck"): "opcheck is public there",
    ("_tensor", "npu"): "page-locked memory is the accelerator's",
    ("_tensor", "_backends.npu"): "page-locked memory is the accelerator's",
}
SIBLINGS = (4,)
# Back ends that stand on another one.
ON = {"ge": "npu"}
# Modules of the top that are the package itself rather than a part that a user could have written.
ASSEMBLY = {"__init__", "__main__", "_namespace"}


def _name(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def _level(module):
    first = module.split(".")[0]
    if first in ASSEMBLY:
        return TOP
    parts = module.split(".")
    known = (LEVELS.get(".".join(parts[:count])) for count in range(len(parts), 0, -1))
    return next((level for level in known if level is not None), PUBLIC)


def _imports(path):
    """The modules of ours that a file imports, as dotted names below the package; "" is the package itself."""
    module = _name(path)
    package = module if path.name == "__init__.py" and module != "__init__" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "mindtorch_v2":
                    yield ""
                elif alias.name.startswith("mindtorch_v2."):
                    yield alias.name.partition(".")[2]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package.split(".") if package else []
                base = base[: len(base) - (node.level - 1)]
                target = ".".join([*base, *(node.module.split(".") if node.module else [])])
            elif (node.module or "").split(".")[0] == "mindtorch_v2":
                target = (node.module or "").partition(".")[2]
            else:
                continue
            if target:
                yield target
                continue
            for alias in node.names:  # from mindtorch_v2 import x: a module, or a name of the namespace
                is_module = (
                    (SOURCE / f"{alias.name}.py").exists() or (SOURCE / alias.name).is_dir() or alias.name == "_C"
                )
                yield alias.name if is_module else ""


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_imports_point_downwards(path):
    module = _name(path)
    level, family = _level(module), module.split(".")[0]
    for target in _imports(path):
        if level < PUBLIC:
            assert target, f"{module} (level {level}) imports the assembled package"
        if not target or target.split(".")[0] == family or (module, target) in UPWARDS:
            continue
        assert _level(target) <= level, f"{module} (level {level}) imports {target} (level {_level(target)})"
        if level in SIBLINGS:
            assert _level(target) < level, f"{module} and {target} are siblings"


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_nothing_imports_torch(path):
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
        assert not any(name.split(".")[0] == "torch" for name in names), f"{_name(path)} imports torch"


def test_backends_do_not_meet():
    """No back end imports another, and MindSpore's name appears only where it is bound."""
    for path in FILES:
        parts = path.relative_to(SOURCE).parts
        if parts[0] != "_backends" or len(parts) < 3:
            continue
        for target in _imports(path):
            pieces = target.split(".")
            own = {parts[1], ON.get(parts[1])}
            assert pieces[0] != "_backends" or len(pieces) < 2 or pieces[1] in own, f"{_name(path)}: {target}"
