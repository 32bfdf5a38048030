"""PyTorch's names as data, and those of them that are not here: what `tests/meta/test_pytorch_names.py` holds.

    path/to/python-with-torch tools/make_name_lists.py pytorch   # writes tests/snapshots/names/pytorch.json
    python tools/make_name_lists.py absent                       # writes src/mindtorch_v2/_core/absent_names.jsonl, and docs/compatibility.md

The first is the table: module -> name -> kind. A public module has no part that begins with an underscore. Its public names
are those of `dir()` without an underscore that `__all__` has or that PyTorch defines: what a module merely imports from elsewhere
is not counted. Private names that libraries were seen to use stand in `private.txt`, as `module name`, and are in the table too.

A kind is "function", "class", "exception", "module", "type" (for annotations), "object", or a list of one value, for a plain
constant, or a dict, of an enumeration's members; where PyTorch defines the name in another module it is followed by `=` and where: "class=torch.nn.Linear".

The second is made of the first: the names that are not here, or here by name only. The package reads it, so that they can be
imported and say what they are when they are used. What is in neither it nor missing from the package is implemented.
"""

import contextlib
import functools
import importlib
import io
import json
import pathlib
import pkgutil
import runpy
import sys
import types
import typing
import warnings

ROOT = pathlib.Path(__file__).parents[1]
PLACE = ROOT / "tests" / "snapshots" / "names"
ABSENT = ROOT / "src" / "mindtorch_v2" / "_core" / "absent_names.jsonl"


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


def kind_of(module, name):
    """The kind of a name, as the table has it."""
    value = getattr(module, name)
    members = getattr(value, "__members__", None) if isinstance(value, type) else None
    if isinstance(members, dict | types.MappingProxyType):
        return {each: _plain(member) for each, member in members.items()}
    if value is None or isinstance(value, int | float | str) and type(value).__module__ == "builtins":
        return [value] if len(str(value)) < 80 and str(pathlib.Path.home()) not in str(value) else "object"
    if isinstance(value, types.ModuleType):
        return "module" + _defined_elsewhere(value.__name__, f"{module.__name__}.{name}")
    if isinstance(value, typing.TypeVar) or type(value).__module__ == "typing" or isinstance(value, types.UnionType):
        return "type"
    kind = "object"
    if isinstance(value, type):
        kind = "exception" if issubclass(value, BaseException) else "class"
    elif isinstance(value, types.FunctionType | types.BuiltinFunctionType | functools.partial):
        kind = "function"
    if kind == "object":
        return kind
    where = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', None)}"
    found = sys.modules.get(where.rpartition(".")[0])
    if getattr(found, where.rpartition(".")[2], None) is value:
        return kind + _defined_elsewhere(where, f"{module.__name__}.{name}")
    return kind


def _plain(member):
    value = getattr(member, "value", member)
    return value if isinstance(value, int | str) else str(value)


def _defined_elsewhere(where, here):
    return "" if where == here or not where.startswith("torch.") else "=" + where


def private_uses():
    """Names that libraries use, or PyTorch's own tests, though they are private: pairs of module and name, "" for the module alone."""
    for line in (PLACE / "private.txt").read_text().splitlines():
        module, _, name = line.partition(" ")
        yield module, name


def pytorch_names():
    """The table, made from the PyTorch that is installed."""
    table = {
        name: {each: kind_of(module, each) for each in public_names(module)}
        for name, module in public_modules(importlib.import_module("torch")).items()
    }
    for name, each in private_uses():
        module = import_quietly(name)
        if module is not None:
            names = table.setdefault(name, {})
            if each and hasattr(module, each):
                names.setdefault(each, kind_of(module, each))
    return table


def absent_names(table, package):
    """Names of the table that are not implemented in `package`: module -> name -> kind; "*" stands for the module itself."""
    # All of them first: a module is a name of its package once it is imported.
    modules = {name: import_quietly(name.replace("torch", package, 1)) for name in table}
    absent = {}
    for name, names in table.items():
        module = modules[name]
        if module is None:  # an object here has its name, see AbsentModules
            continue
        gone = {each: kind for each, kind in names.items() if not is_here(module, each)}
        if hasattr(module, "__unavailable__"):
            gone["*"] = "module"
        if gone:
            absent[name] = gone
    return with_places(table, absent)


def with_places(table, absent):
    """Absent names, with the place of the same object where this package has it: it may stand elsewhere than PyTorch's."""
    places: dict[str, str] = {}
    for name, names in table.items():
        for each, kind in names.items():
            if "*" not in absent.get(name, {}) and each not in absent.get(name, {}):
                places.setdefault(_home(name, each, kind), f"{name}.{each}")
    return {
        name: {each: _at(places.get(_home(name, each, kind)), kind) for each, kind in names.items()}
        for name, names in absent.items()
    }


def _home(module, name, kind):
    """Where PyTorch defines what it has by this name."""
    return (isinstance(kind, str) and kind.partition("=")[2]) or f"{module}.{name}"


def _at(place, kind):
    return f"{kind.partition('=')[0]}={place}" if place and isinstance(kind, str) and kind != "type" else kind


def is_here(module, name):
    """Whether a module of ours has a name that can be used, other than by the list of what is absent."""
    own = vars(module).get("__getattr__")
    own = getattr(own, "own", own)  # without what the list provides
    try:
        value = vars(module)[name] if name in vars(module) else own(name)
    except (AttributeError, TypeError):
        return False
    return not hasattr(value, "__unavailable__")


def write(path, names):
    """Write a dict of dicts as JSON, a line a module."""
    names = {module: dict(sorted(each.items())) for module, each in sorted(names.items())}
    if path.suffix == ".jsonl":  # the package reads the first line alone until a name is asked for
        lines = [json.dumps(list(names)), *(json.dumps(each) for each in names.values())]
        path.write_text("\n".join(lines) + "\n")
    else:
        path.write_text(
            "{\n" + ",\n".join(f"{json.dumps(module)}: {json.dumps(each)}" for module, each in names.items()) + "\n}\n"
        )
    print(f"{path}: {len(names)} modules, {sum(map(len, names.values()))} names")


def main(which):
    """Write one of the two lists."""
    warnings.simplefilter("ignore")  # of names that are deprecated
    if which == "pytorch":
        write(PLACE / "pytorch.json", pytorch_names())
    else:
        table = json.loads((PLACE / "pytorch.json").read_text())
        everything = {name: {"*": "module", **names} for name, names in table.items()}
        write(ABSENT, everything)  # what is here goes before it, and our modules may count on those that are absent
        write(ABSENT, absent_names(table, "mindtorch_v2"))
        runpy.run_path(str(ROOT / "tools" / "make_compatibility.py"), run_name="__main__")  # the page that counts them


if __name__ == "__main__":
    main(sys.argv[1])
