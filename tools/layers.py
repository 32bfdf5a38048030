"""The house's order: the level of each module of the package, and its imports as they stand in the source.

`tests/meta/test_layers.py` holds the imports to the levels; `tools/draw_map.py` draws them.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import pathlib
import re
from collections.abc import Iterator

PACKAGE = "mindtorch_v2"
SOURCE = pathlib.Path(__file__).resolve().parents[1] / "src" / PACKAGE
NATIVE_SOURCE = SOURCE.parents[1] / "csrc"

TITLES = (
    "native core and what stands on nothing else",
    "dispatch",
    "tensor, storage, autograd",
    "operators",
    "behaviours: handlers of keys",
    "sizes, fake tensors, library",
    "fx graphs",
    "capture | put-off calls",
    "lowered | back ends",
    "public names, as a user would write them",
    "programs as a whole",
    "the package, assembled",
)

# Module or package -> its level; the longest name that fits decides. A new top-level entry has to be given one.
LEVELS = {
    "_C": 0, "_as_torch": 0, "version": 0,
    **dict.fromkeys(
        "_core.above _core.absent_devices _core.absent_modules _core.absent_operators _core.annotations _core.deterministic _core.device _core.dtype _core.errors _core.first_aid _core.hooks _core.openmp _core.processor _core.qscheme _core.quantizer _core.settings "
        "_core.stream _core.unavailable _core.exchange _core.loading _core.stable_libraries _core.warn_once _core.autograd.view_replay".split(),
        0,
    ),
    # Public names of which the packages have higher levels: what these modules stand on is low, and others need them.
    "utils._pytree": 0, "utils.weak": 0, "overrides": 5, "utils._python_dispatch": 5, "amp._state": 3, "amp.autocast_mode": 5,
    "_dispatch": 1,
    "_core": 2, "_tensor": 2,
    "_operators": 3, "_ops": 3,
    "_behaviours": 4,
    "_sizes": 5, "_subclasses": 5, "library": 5, "_library": 5,
    "fx": 6,
    "_capture": 7, "_deferred": 7,
    "_lowered": 8, "_backends": 8,
    **dict.fromkeys(
        "_VF __config__ __future__ _custom_op _custom_ops _decomp _prims _prims_common _refs _utils_internal _vendor _linalg_utils _lobpcg _logging _lowrank _quantized _tensor_str _utils _vmap_internals _weights_only_unpickler accelerator "
        "amp ao autograd backends cpu cuda distributions fft func functional futures gguf hub interop linalg masked monitor mps mtia "
        "multiprocessing nested nn notebook npu ops optim profiler quasirandom random return_types serialization signal sparse special "
        "status storage testing torch_version types utils xpu".split(),
        9,
    ),
    # They trace what they check or run, as a user would.
    "fx.experimental.optimization": 9,
    "_dispatch.python": 5, "_library.opcheck": 9, "_as_torch.mkldnn": 9, "_as_torch.torchvision": 9, "_as_torch.vendor_operators": 9,
    **dict.fromkeys(
        "_compile _jit_internal _dynamo _export _functorch _inductor _higher_order_ops compiler distributed export graph jit onnx package testing._internal.distributed torchair".split(), 10
    ),
    # GE by the names of torch.compile and torch_npu.
    "_backends.ge.backend": 10, "_backends.ge.compositions": 10, "_backends.ge.torch_compile": 10, "npu.torch_npu": 10,
    "": 11, "__main__": 11, "_namespace": 11, "doctor": 11,
}  # fmt: skip

# Below this level the assembled package is not imported either; nor in these, whatever their level is.
ROOT_FROM = 5
ROOTLESS = ("library", "_library", "_backends.npu", "_backends.cuda")

# They never import each other.
SIBLINGS = (
    (
        "_behaviours.batched",
        "_behaviours.functional",
        "_behaviours.sharded",
        "_behaviours.sparse",
        "_behaviours.quantized",
    ),
    ("_capture", "_deferred"),
    ("_lowered", "_backends.ge", "_backends.npu", "_backends.cuda"),
)

# Imports that the rules above forbid -> why they are made.
EXCEPTIONS = {
    ("_as_torch", ""): "it gives the assembled package, once that is there, its second name `torch`",
    ("library", "_library.opcheck"): "`torch.library.opcheck` is public there; it is imported when it is called",
    ("_backends.ge", "_backends.npu"): "GE runs on the device, the streams and the memory that the NPU back end has",
}

# Folders of csrc -> the level whose modules they may import by name. `boundary` and `stable` are the native side of
# `_library`; what is in `include` is compiled into users' libraries.
NATIVE = {"core": 0, "cuda": 0, "cpu": 0, "portable": 0, "boundary": 5, "stable": 5, "include": 11}


@dataclasses.dataclass(frozen=True)
class Import:
    """One import in the source: from one module to another, dotted names below the package ("" is the package itself)."""

    module: str
    target: str
    line: int
    within_function: bool
    surely: bool = True
    """False where the target is one of several that may be meant, or is only looked up in `sys.modules`."""


def name_of(path: pathlib.Path) -> str:
    """The dotted name of a file's module below the package."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def modules() -> dict[str, pathlib.Path]:
    """The modules of the package and their files."""
    return {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


def level_of(module: str) -> int | None:
    """The level of a module; None where none is given."""
    if not module:
        return LEVELS[""]
    parts = module.split(".")
    known = (LEVELS.get(".".join(parts[:count])) for count in range(len(parts), 0, -1))
    return next((level for level in known if level is not None), None)


def _absolute(node: ast.ImportFrom, package: str) -> str | None:
    """The module that a `from` import names, below the package; None for another package's."""
    if node.level:
        base = package.split(".") if package else []
        base = base[: len(base) - (node.level - 1)]
        return ".".join([*base, *([node.module] if node.module else [])])
    name = node.module or ""
    return name.partition(".")[2] if name.split(".")[0] == PACKAGE else None


def _is_for_types(node: ast.AST) -> bool:
    """Whether it is an `if TYPE_CHECKING:`, of which nothing is imported."""
    if not isinstance(node, ast.If):
        return False
    return isinstance(node.test, ast.Name | ast.Attribute) and ast.unparse(node.test).endswith("TYPE_CHECKING")


@dataclasses.dataclass(frozen=True)
class _Place:
    """Where an expression stands, which says what its names stand for: the module, its package, its constants that are texts."""

    module: str
    package: str
    constants: dict[str, str]

    def text(self, node: ast.AST) -> tuple[str, bool]:
        """The text that an expression makes as far as the source says it, and whether that is all of it."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value, True
        if isinstance(node, ast.Name):
            known = {"__name__": self.module, "__package__": self.package}
            if node.id in known:
                return f"{PACKAGE}.{known[node.id]}".rstrip("."), True
            return self.constants.get(node.id, ""), node.id in self.constants
        if isinstance(node, ast.JoinedStr):
            said = ""
            for value in node.values:
                part, whole = self.text(value.value if isinstance(value, ast.FormattedValue) else value)
                said += part
                if not whole:
                    return said, False
            return said, True
        return "", False

    def named(self, node: ast.AST) -> list[tuple[str, bool]] | None:
        """The modules of the package, below it, whose dotted name an expression makes, and whether it is that one surely.

        None if the source does not say.
        Where only the package is said, as in f"{__name__}.{name}", that may be each module right in it.
        """
        said, whole = self.text(node)
        if said.startswith("."):  # from this package
            said = f"{PACKAGE}.{self.package}".rstrip(".") + said
        if not said:
            return None
        if said.split(".")[0] != PACKAGE:
            return []
        below = said.partition(".")[2]
        if whole:
            return [(below, True)]
        parent, _, begins = below.rpartition(".")
        here = f"{parent}." if parent else ""
        return [
            (name, False)
            for name in modules()
            if name.startswith(here + begins) and name != parent and "." not in name.removeprefix(here)
        ]


def _is_sys_modules(node: ast.AST) -> bool:
    return ast.unparse(node) in ("sys.modules", "_sys.modules")


def _asked(node: ast.AST) -> ast.AST | None:
    """The expression by which a node looks a module up in `sys.modules`."""
    if isinstance(node, ast.Subscript) and _is_sys_modules(node.value):
        return node.slice
    if isinstance(node, ast.Compare) and len(node.comparators) == 1 and _is_sys_modules(node.comparators[0]):
        return node.left
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get" and node.args:
        return node.args[0] if _is_sys_modules(node.func.value) else None
    return None


def _loaded(node: ast.AST) -> ast.AST | None:
    """The expression that a call of `import_module` is given."""
    is_call = isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__"))
    return node.args[0] if is_call and isinstance(node, ast.Call) and node.args else None


def _named(node: ast.AST, place: _Place) -> list[tuple[str, bool]]:
    """The modules that a statement or call names, as far as the source says, and whether it surely loads them."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names if alias.name.split(".")[0] == PACKAGE]
        return [(name.partition(".")[2], True) for name in names]
    if isinstance(node, ast.ImportFrom):
        base = _absolute(node, place.package)
        if base is None:
            return []
        full = [f"{base}.{alias.name}" if base else alias.name for alias in node.names]
        return [(name if name in modules() or name == "_C" else base, True) for name in full]
    loaded, asked = _loaded(node), _asked(node)
    if loaded is not None:
        return place.named(loaded) or []
    return [(name, False) for name, _ in place.named(asked) or ()] if asked is not None else []


def _found(node: ast.AST, place: _Place, within: bool) -> Iterator[tuple[str, int, bool, bool]]:
    if _is_for_types(node):
        return
    for target, surely in _named(node, place):
        yield target, getattr(node, "lineno", 0), within, surely
    within = within or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        yield from _found(child, place, within)


def _parsed(module: str) -> tuple[ast.Module, _Place]:
    path = modules()[module]
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text("utf-8"), str(path))
    constants = {
        node.targets[0].id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
    return tree, _Place(module, package, constants)


@functools.cache
def imports(module: str) -> tuple[Import, ...]:
    """The imports of a module, in functions as well, and what it looks up in `sys.modules`."""
    tree, place = _parsed(module)
    return tuple(Import(module, *found) for found in _found(tree, place, False))


def computed(module: str) -> list[int]:
    """The lines that import a module of which the source does not say the name."""
    tree, place = _parsed(module)
    calls = [(node, _loaded(node)) for node in ast.walk(tree)]
    return [getattr(node, "lineno", 0) for node, given in calls if given is not None and place.named(given) is None]


_NATIVE_IMPORT = re.compile(r'(?:PyImport_\w+|\bcall_python)\(\s*"' + PACKAGE + r'([\w.]*)"')


def native_imports() -> list[tuple[str, str, str]]:
    """The modules that C++ imports by name: the folder of csrc, the module below the package, the place in the source."""
    found = []
    for path in sorted(NATIVE_SOURCE.rglob("*.[ch]*")):
        folder = path.relative_to(NATIVE_SOURCE).parts[0]
        text = path.read_text("utf-8")
        for match in _NATIVE_IMPORT.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((folder, match[1].lstrip("."), f"{path.relative_to(NATIVE_SOURCE)}:{line}"))
    return found


def _within(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def is_excepted(each: Import) -> bool:
    """Whether an import is among the exceptions."""
    return any(_within(each.module, module) and _within(each.target, target) for module, target in EXCEPTIONS)


def wrong_with(each: Import) -> str | None:
    """The rule that an import breaks, in words; None for one that keeps them. Exceptions are not looked at."""
    level, other = level_of(each.module), level_of(each.target)
    where = f"{each.module}:{each.line}"
    if level is None or other is None:
        return f"{where}: {each.target if level is not None else each.module} has no level"
    if not each.target:
        rootless = any(_within(each.module, part) for part in ROOTLESS) and level < 9
        return f"{where} imports the assembled package" if level < ROOT_FROM or rootless else None
    if other > level:
        return f"{where} (level {level}) imports {each.target} (level {other})"
    for group in SIBLINGS:
        mine = next((part for part in group if _within(each.module, part)), None)
        theirs = next((part for part in group if _within(each.target, part)), None)
        if mine and theirs and mine != theirs:
            return f"{where} imports {each.target}: {mine} and {theirs} are siblings"
    return None


def runs(module: str) -> dict[str, set[str]]:
    """The modules that have to be there for a module: what it imports, and the packages around that."""
    own = set(_ancestors(module)) | {module, ""}
    found: dict[str, set[str]] = {}
    for each in imports(module):
        if not each.surely:
            continue
        target = each.target
        while target and target not in modules():
            target = target.rpartition(".")[0]
        for needed in (target, *_ancestors(target)):
            if needed not in own or needed == target and needed not in ("", module):
                found.setdefault(needed, set()).add(f"{each.module}:{each.line}")
    return found


def _ancestors(module: str) -> list[str]:
    parts = module.split(".")
    return [name for count in range(1, len(parts)) if (name := ".".join(parts[:count])) in modules()]


def graph() -> dict[str, set[str]]:
    """For each module but the assembled package the modules that it needs, functions' imports included."""
    return {module: set(runs(module)) for module in modules() if module}


def cycles(needs: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected components of more than one module."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    for start in needs:
        if start in number:
            continue
        walk: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(needs[start])))]
        number[start] = lowest[start] = len(number)
        stack.append(start)
        while walk:
            module, rest = walk[-1]
            for other in rest:
                if other not in needs:
                    continue
                if other not in number:
                    number[other] = lowest[other] = len(number)
                    stack.append(other)
                    walk.append((other, iter(sorted(needs[other]))))
                    break
                if other in stack:
                    lowest[module] = min(lowest[module], number[other])
            else:
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[module])
                if lowest[module] == number[module]:
                    place = stack.index(module)
                    component, stack[place:] = stack[place:], []
                    if len(component) > 1:
                        found.append(sorted(component))
    return found
