"""PyTorch's public names as data, and those of them that are missing here: the lists that `tests/meta/test_pytorch_names.py` holds.

    path/to/python-with-torch tools/make_name_lists.py pytorch   # writes tests/snapshots/names/pytorch.json
    python tools/make_name_lists.py missing                      # writes tests/snapshots/names/missing.json

A public module has no part that begins with an underscore. Its public names are those of `dir()` without an underscore
that `__all__` has or that PyTorch defines: what a module merely imports from elsewhere is not counted.
"""

import contextlib
import importlib
import io
import json
import pathlib
import pkgutil
import sys
import types
import warnings

PLACE = pathlib.Path(__file__).parents[1] / "tests" / "snapshots" / "names"


def import_quietly(name):
    """The module called `name`, or None if it cannot be imported."""
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")  # of what is deprecated
            return importlib.import_module(name)
    except Exception:  # noqa: BLE001  (a module of PyTorch's that lacks a dependency may raise anything)
        return None


def public_modules(package):
    """Every public module of an importable package, by name."""
    found = {package.__name__: package}
    for info in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        if info.name.rpartition(".")[2].startswith("_"):
            continue
        module = import_quietly(info.name)
        if module is None:
            continue
        found |= public_modules(module) if hasattr(module, "__path__") else {info.name: module}
    return found


def public_names(module):
    """The names that PyTorch's users may take from a module of PyTorch's."""
    exported = set(getattr(module, "__all__", ()))
    return sorted(
        name for name in dir(module) if not name.startswith("_") and (name in exported or _is_own(module, name))
    )


def _is_own(module, name):
    value = getattr(module, name, None)
    if isinstance(value, types.ModuleType):
        return value.__name__ == f"{module.__name__}.{name}"
    origin = getattr(value, "__module__", None)
    if isinstance(value, type) or callable(value):
        return isinstance(origin, str) and origin.partition(".")[0] == "torch"
    return name != "TYPE_CHECKING" and type(value).__module__ not in ("typing", "__future__", "logging")


def missing_names(listed, package):
    """Names that `listed`, a dict by module, has and the package `package` has not; "*" stands for a whole module."""
    # All of them first: a module is a name of its package once it is imported.
    modules = {name: import_quietly(name.replace("torch", package, 1)) for name in listed}
    missing = {}
    for name, names in listed.items():
        module = modules[name]
        gone = ["*"] if module is None else [each for each in names if not hasattr(module, each)]
        if gone:
            missing[name] = gone
    return missing


def write(path, names):
    """Write a dict of lists as JSON, a line a module."""
    lines = [f"{json.dumps(module)}: {json.dumps(each)}" for module, each in sorted(names.items())]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{path}: {len(names)} modules, {sum(map(len, names.values()))} names")


def main(which):
    """Write one of the two lists."""
    warnings.simplefilter("ignore")  # of names that are deprecated
    if which == "pytorch":
        modules = public_modules(importlib.import_module("torch"))
        write(PLACE / "pytorch.json", {name: public_names(module) for name, module in modules.items()})
    else:
        listed = json.loads((PLACE / "pytorch.json").read_text())
        write(PLACE / "missing.json", missing_names(listed, "mindtorch_v2"))


if __name__ == "__main__":
    main(sys.argv[1])
