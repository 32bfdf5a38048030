"""Make the type stubs from the operator rows: `python tools/make_stubs.py [--check]`.

Writes, below `src/mindtorch_v2`:

    __init__.pyi               the functions of the namespace, and where everything else in it comes from
    _tensor.pyi                Tensor: the methods of the rows, Python's operators, what `_tensor.py` defines
    linalg.pyi, special.pyi    the functions of these modules
    nn/functional.pyi          likewise; its Python functions come from where they are defined
    return_types.pyi           the classes of several named results
    mps.pyi and others         modules of which tables give the names: absent devices, what is unavailable

`_C.pyi`, the native core, is written by hand. `--check` writes nothing and exits with 1 if a committed stub is not what
would be written.
"""

import __future__

import ast
import importlib
import inspect
import keyword
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import mindtorch_v2
from mindtorch_v2 import _C, _namespace, fft, linalg, special
from mindtorch_v2._operators import dunders as _dunders
from mindtorch_v2._operators.table import every_row
from mindtorch_v2._operators.table.names import BOUND, FUNCTIONAL, in_order
from mindtorch_v2._operators.table.returns import RETURN_TYPES

_PACKAGE = Path(__file__).parent.parent / "src" / "mindtorch_v2"
# Rows that take a number and rows that take a tensor overlap where a number would pass for both; the first one wins,
# in the stub as at a call.
_HEAD = '''# mypy: disable-error-code="overload-overlap, overload-cannot-match, override"
"""Made from the operator rows by tools/make_stubs.py."""

'''
# Names like int and dtype are taken by dtypes and attributes where the stubs need the types.
_ALIASES = [
    "from builtins import bool as _bool, complex as _complex, float as _float, int as _int",
    "from collections.abc import Sequence as _Sequence",
    "from typing import Any, overload",
]
_NATIVE = [
    "from {root}_C import Generator as _Generator, device as _device, dtype as _dtype, layout as _layout",
    "from {root}_C import memory_format as _memory_format",
    "from {root}_core.storage import UntypedStorage as _UntypedStorage",
    "from {root}_core.stream import Stream as _Stream",
]
_NUMBER = "_Number = _int | _float | _bool | _complex"
_TYPES = {
    "Tensor": "Tensor",
    "Scalar": "_Number",
    "int": "_int",
    "SymInt": "_int",
    "float": "_float",
    "bool": "_bool",
    "str": "str",
    "ScalarType": "_dtype",
    "Layout": "_layout",
    "Device": "_device | str | _int",
    "MemoryFormat": "_memory_format",
    "Generator": "_Generator",
    "Storage": "_UntypedStorage",
    "Stream": "_Stream",
}
_SLOTS = [*_dunders._SLOTS, *_dunders._REFLECTED, "radd", "rmul", "rand", "ror", "rxor"]
_TYPE = re.compile(r"^([A-Za-z]+)(?:\([a-z!*| ->]*\))?((?:\[\d*\]|\?)*)$")
_BUILTINS = re.compile(r"(?<![\w.])(int|float|bool|complex)(?!\w)")


_BY_TABLES = (
    "cuda.memory",
    "cuda.random",
    "distributed._functional_collectives",
    "distributed.rpc.__init__",
    "mps.__init__",
    "mtia.__init__",
    "xpu.__init__",
    "xpu.memory",
    "xpu.random",
)


def main() -> int:
    """Write the stubs, or compare."""
    stubs = {_PACKAGE / name: text for name, text in stub_files().items()}
    if "--check" in sys.argv[1:]:
        stale = [path.name for path, text in stubs.items() if not path.exists() or path.read_text("utf-8") != text]
        if stale:
            print(f"out of date: {', '.join(stale)}; run `make stubs`", file=sys.stderr)
        return bool(stale)
    for path, text in stubs.items():
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {len(text.splitlines())} lines")
    return 0


# Packages whose names come from modules below them, by a list that type checkers cannot read.
_HANDED_ON = ("distributed.__init__", "distributed.distributed_c10d", "nn.__init__")


def stub_files() -> dict[str, str]:
    """The text of each stub, by its name below the package."""
    return {
        "__init__.pyi": _package(),
        "_tensor.pyi": _tensor(),
        "fft.pyi": _module(fft, "fft"),
        "linalg.pyi": _module(linalg, "linalg"),
        "special.pyi": _module(special, "special"),
        "return_types.pyi": _return_types(),
        "nn/functional.pyi": _functional(),
        **{f"{name.replace('.', '/')}.pyi": _named_by_tables(name) for name in _BY_TABLES},
        **{f"{name.replace('.', '/')}.pyi": _handed_on(name) for name in _HANDED_ON},
    }


# ---- the files ----


def _package() -> str:
    torch = mindtorch_v2
    lines = [*_ALIASES, *_native("."), "from . import _C as _C, return_types as return_types", "", _NUMBER, ""]
    modules, imported, values, classes = [], [], [], []
    for name in sorted({*dir(torch), *_namespace.LAZY_NAMES, *_namespace.LAZY_MODULES}):
        value = getattr(torch, name)
        if name.startswith("__") or name.startswith("_ops") or isinstance(value, _C.Function):
            continue
        if value is Any or isinstance(
            value, __future__._Feature
        ):  # Python's own, which PyTorch's namespace has as well
            continue
        if isinstance(value, ModuleType) and name not in _namespace.LAZY_NAMES:
            if name in _namespace.LAZY_MODULES and name != "return_types":
                modules.append(f"from . import {name} as {name}")
            continue
        source = _source(name, value)
        if source == "_operators.tensor_types" and isinstance(value, type):
            classes.append(f"class {name}(Tensor): ...")  # a class to checkers: annotations say it
        elif source is not None:
            imported.append(f"from .{source} import {name} as {name}")
        elif not name.startswith("_"):
            values.append(f"{name}: {_name_of_type(value)}")
    rows = [name for name, value in vars(torch).items() if isinstance(value, _C.Function)]
    lines += [*modules, *imported, "", "__version__: str", *values, "", *classes, *_definitions("function", rows)]
    return _text(lines)


def _tensor() -> str:
    own = vars(mindtorch_v2.Tensor)
    lines = [
        *_ALIASES,
        "from collections import OrderedDict",
        "from collections.abc import Callable, Iterator",
        "",
        *_native("."),
        "from . import return_types",
        "from ._C import TensorBase",
        "",
        _NUMBER,
        "",
        "class Tensor(TensorBase):",
        "    def __init__(self, *args: Any, **options: Any) -> None: ...",
    ]
    rows = [name for name, value in own.items() if isinstance(value, _C.Method)]
    slots = {f"__{slot}__" for slot in _SLOTS}
    python = [name for name in sorted(own) if name not in rows and name not in slots and not _is_internal(name)]
    body = [*_definitions("method", rows), *_operators(rows), *_members(own, python)]
    return _text(lines + [f"    {line}" for line in body])


def _module(module: ModuleType, place: str) -> str:
    rows = [name for name, value in vars(module).items() if isinstance(value, _C.Function)]
    extra = ["from ._C import _LinAlgError as LinAlgError"] if module is linalg else []
    lines = [*_ALIASES, *_native("."), "from . import return_types", "from ._tensor import Tensor", *extra, ""]
    return _text([*lines, _NUMBER, "", *_definitions(place, rows)])


def _functional() -> str:
    """torch.nn.functional: the imports of its source, and what follows from rows."""
    lines = [*_ALIASES, *_native(".."), "from .. import return_types", "from .._tensor import Tensor as Tensor"]
    lines += _imports(_PACKAGE / "nn" / "functional.py")
    lines += ["", _NUMBER, ""]
    operators = {name: entry.operator for name, entry in FUNCTIONAL.items() if not entry.parameters}
    for place in ("nn", "function"):
        here = {name: own for name, own in operators.items() if own in BOUND[place]}
        operators = {name: own for name, own in operators.items() if name not in here}
        lines += _definitions(place, here)
    for name in sorted(FUNCTIONAL):
        if FUNCTIONAL[name].parameters:
            lines += _form(name)
    return _text(lines)


def _imports(path: Path) -> Iterator[str]:
    """Imports of a source from the package, handed on."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("mindtorch_v2")):
            names = [
                each.name if each.name == "*" else f"{each.name} as {each.asname or each.name}" for each in node.names
            ]
            yield f"from {'.' * node.level}{node.module or ''} import {', '.join(names)}"


def _is_of_another_file(function: Any, module: Any) -> bool:
    """Whether a function that classes may take over is written elsewhere, and only says that it is of this module."""
    return isinstance(function, _C.Overridable) and function.__code__.co_filename != module.__file__


def _handed_on(name: str) -> str:
    module = importlib.import_module(f"mindtorch_v2.{name.removesuffix('.__init__')}")
    own = [
        value
        for value in vars(module).values()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not _is_of_another_file(value, module)
    ]
    imports = [*_imports(_PACKAGE / f"{name.replace('.', '/')}.py")]
    lines = [*imports, ""]
    lines += [f"def {value.__name__}{_python_signature(value)}: ..." for value in own]
    return _text(["from typing import Any", *lines])


def _form(name: str) -> Iterator[str]:
    operator, parameters, doc = FUNCTIONAL[name]
    handle = next(each for place in ("nn", "function") for each in BOUND[place].get(operator, ()))
    types = {_name(argument, "function"): _python_type(argument["type"]) for argument in handle.arguments}
    parts = []
    for parameter in parameters.split(","):
        short, default, _ = parameter.partition("=")
        short = short.strip()
        parts.append(f"{short}: {types.get(short, '_bool')}{' = ...' if default else ''}")
    yield f"def {name}({', '.join(parts)}) -> {_result(handle)}:"
    yield f'    """{doc}"""'


def _return_types() -> str:
    lines = ["from ._tensor import Tensor", ""]
    fields_of: dict[str, list[tuple[str, ...]]] = {}
    for name, fields in RETURN_TYPES:
        fields_of.setdefault(name, []).append(fields)
    for name in sorted(fields_of):
        fields = fields_of[name][0]
        lines.append(f"class {name}(tuple[{', '.join(['Tensor'] * len(fields))}]):")
        for field in fields:
            lines += ["    @property", f"    def {field}(self) -> Tensor: ..."]
    return _text(lines)


def _named_by_tables(name: str) -> str:
    module = importlib.import_module(f"mindtorch_v2.{name.removesuffix('.__init__')}")
    lines = [*_ALIASES, "from collections import OrderedDict", "from typing import Never", "", "__all__: list[str]"]
    for public in module.__all__:
        value = getattr(module, public)
        if isinstance(value, ModuleType):
            lines.append(f"from . import {public} as {public}")
        elif inspect.isfunction(value):
            lines.append(f"def {public}{_python_signature(value)}: ...")
        else:
            lines.append(f"{public}: Any")
    if any("torch." in line for line in lines):  # as sources that annotate their functions call it
        lines.insert(len(_ALIASES), "import mindtorch_v2 as torch")
    return _text(lines)


def _text(lines: Iterable[str]) -> str:
    return _HEAD + "\n".join(lines) + "\n"


def _native(root: str) -> list[str]:
    return [line.format(root=root) for line in _NATIVE]


# ---- rows ----


def _definitions(place: str, names: Iterable[str] | dict[str, str]) -> Iterator[str]:
    """The definitions of these names of one place, each with its overloads in the order in which a call tries them.

    A dict gives the names under which the place has them.
    """
    own = names if isinstance(names, dict) else {}
    docs = {}
    outs = {}
    for row in every_row().values():
        for handle in filter(None, (row.handle, row.inplace)):
            docs[handle] = row.doc
        if row.out is not None:
            outs[row.handle] = row.out
    for name in sorted(names):
        if not name.isidentifier() or keyword.iskeyword(name):
            continue
        variants: dict[str, str] = {}
        for handle in in_order(BOUND[place].get(own.get(name, name), [])):
            if handle in docs:
                for signature in _signatures(handle, outs.get(handle), place):
                    variants.setdefault(signature, docs[handle])
        for signature, doc in variants.items():
            if len(variants) > 1:
                yield "@overload"
            yield f"def {name}{signature}:"
            yield f'    """{doc}"""'


_OPTIONS = {"dtype", "layout", "device", "pin_memory"}


def _signatures(handle: Any, out: Any, place: str) -> Iterator[str]:
    arguments = [dict(argument) for argument in handle.arguments]
    head = []
    if place == "method":
        del arguments[next(i for i, argument in enumerate(arguments) if argument["name"] == "self")]
        head = ["self"]
    positional = [argument for argument in arguments if not argument["kwarg_only"]]
    named = [_parameter(argument, place) for argument in arguments if argument["kwarg_only"]]
    if out is not None and place != "method":
        count = len(handle.returns)
        named.append(f"out: {'Tensor' if count == 1 else 'tuple[' + ', '.join(['Tensor'] * count) + ']'} | None = ...")
    if place == "function" and handle.form == "out":  # of a factory: options may stand beside out
        for sibling in BOUND[place].get(handle.name, ()):
            options = [dict(a) for a in sibling.arguments if a["name"] in _OPTIONS]
            others = {a["name"]: a["type"] for a in sibling.arguments if a["name"] not in _OPTIONS}
            if len(options) == len(_OPTIONS) and others == {
                a["name"]: a["type"] for a in arguments if a["name"] != "out"
            }:
                named += [_parameter(option, place) for option in options]
                arguments += options
                break
    if _OPTIONS <= {argument["name"] for argument in arguments}:
        named.append("requires_grad: _bool = ...")
    result = _result(handle)
    starred = ["*", *named] if named else []
    yield f"({', '.join([*head, *(_parameter(argument, place) for argument in positional), *starred])}) -> {result}"
    if len(positional) == 1 and re.fullmatch(r"(Sym)?[Ii]nt\[\]", positional[0]["type"]):
        # Sizes and dimensions may be given one by one.
        yield f"({', '.join([*head, f'*{_name(positional[0], place)}: _int', *named])}) -> {result}"


def _name(argument: dict[str, Any], place: str) -> str:
    name = "input" if argument["name"] == "self" and place != "method" else argument["name"]
    return f"{name}_" if keyword.iskeyword(name) else name


def _parameter(argument: dict[str, Any], place: str) -> str:
    return f"{_name(argument, place)}: {_python_type(argument['type'])}{' = ...' if argument['has_default'] else ''}"


def _result(handle: Any) -> str:
    fields = tuple(result["name"] for result in handle.returns)
    bare = handle.schema.partition("(")[0].rpartition("::")[2].partition(".")[0].lstrip("_")
    if len(fields) > 1 and (bare, fields) in RETURN_TYPES:
        return f"return_types.{bare}"
    results = ["tuple[Tensor, ...]" if r["type"] == "Tensor[]" else _python_type(r["type"]) for r in handle.returns]
    return results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]" if results else "None"


def _python_type(spelled: str) -> str:
    match = _TYPE.match(spelled.strip())
    if match is None:
        raise ValueError(f"no Python type is known for the schema's {spelled!r}")
    made = _TYPES[match[1]]
    for suffix in re.findall(r"\[\d*\]|\?", match[2]):
        if suffix == "?":
            made = f"{made} | None"
        else:
            made = f"_Sequence[{made}]" + (f" | {made}" if suffix != "[]" else "")
    return made


# ---- what Python defines ----


def _operators(rows: list[str]) -> Iterator[str]:
    """Python's operators, which are number slots and comparisons of the native type."""
    for slot in _SLOTS:
        if f"__{slot}__" in rows:
            continue
        if slot in ("neg", "pos", "abs", "invert"):
            yield f"def __{slot}__(self) -> Tensor: ..."
        elif slot in ("eq", "ne"):
            yield f"def __{slot}__(self, other: Any, /) -> Tensor: ..."
        elif slot.removeprefix("r") == "matmul":
            yield f"def __{slot}__(self, other: Tensor, /) -> Tensor: ..."
        elif f"__{slot}__" in dir(mindtorch_v2.Tensor):
            yield f"def __{slot}__(self, other: Tensor | _Number, /) -> Tensor: ..."


_INTERNAL = {"__module__", "__doc__", "__dict__", "__weakref__", "__hash__", "__new__", "__annotations__", "__slots__"}
_INTERNAL |= {
    "__firstlineno__",
    "__static_attributes__",
    "__annotate_func__",
    "__annotations_cache__",
}  # CPython 3.13, 3.14


def _is_internal(name: str) -> bool:
    return name in _INTERNAL or (name.startswith("_") and not name.startswith("__"))


def _members(own: Any, names: Iterable[str]) -> Iterator[str]:
    """Properties, attributes and methods written in Python, with their annotations."""
    for name in names:
        value = own[name]
        if isinstance(value, property):
            kind = _annotation(inspect.signature(value.fget).return_annotation) if value.fget else "Any"
            yield "@property"
            yield f"def {name}(self) -> {'Tensor' if kind == 'Any' else kind}: ..."
            if value.fset is not None:
                yield f"@{name}.setter"
                yield f"def {name}(self, value: Any) -> None: ..."
            continue
        if isinstance(value, types.GetSetDescriptorType):  # an attribute that is an operator
            yield "@property"
            yield f"def {name}(self) -> {'Any' if name == 'volatile' else 'Tensor'}: ..."
            if name in ("real", "imag", "volatile"):
                yield f"@{name}.setter"
                yield f"def {name}(self, value: Any) -> None: ..."
            continue
        decorator = {classmethod: "@classmethod", staticmethod: "@staticmethod"}.get(type(value))
        function = value.__func__ if decorator else value
        if not inspect.isfunction(function):
            yield f"{name}: {_name_of_type(value)}"
            continue
        if decorator:
            yield decorator
        # What only subclasses have returns nothing here; theirs would not fit.
        yield f"def {name}{_python_signature(function).replace('-> Never', '-> Any')}: ..."


def _python_signature(function: Any) -> str:
    signature = inspect.signature(function)
    parts = []
    starred = False
    for place, parameter in enumerate(signature.parameters.values()):
        kind = (
            "*"
            if parameter.kind is parameter.VAR_POSITIONAL
            else "**"
            if parameter.kind is parameter.VAR_KEYWORD
            else ""
        )
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        annotation = (
            "" if place == 0 and parameter.name in ("self", "cls") else f": {_annotation(parameter.annotation)}"
        )
        default = "" if parameter.default is parameter.empty else " = ..."
        # A name with an underscore only keeps the loop variables of the module where it stands.
        if parameter.name.startswith("_"):
            continue
        parts.append(f"{kind}{parameter.name}{annotation}{default}")
    return f"({', '.join(parts)}) -> {_annotation(signature.return_annotation)}"


def _annotation(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return "Any"
    spelled = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _BUILTINS.sub(r"_\1", _BARE.sub(lambda match: match[0] + _PARAMETERS[match[1]], spelled))


# Generic classes that an annotation names alone, and their parameters then: strict checkers ask for them.
_PARAMETERS = {
    "Callable": "[..., Any]",
    "OrderedDict": "[str, Any]",
    "dict": "[Any, Any]",
    "list": "[Any]",
    "tuple": "[Any, ...]",
}
_BARE = re.compile(rf"\b({'|'.join(_PARAMETERS)})\b(?![\[.])")


def _source(name: str, value: Any) -> str | None:
    """The module of the package that a name of the namespace is imported from; None if it is a value made there."""
    if name in _namespace.LAZY_NAMES and getattr(value, "__module__", None) != "torch":  # else made in a loop there
        return _namespace.LAZY_NAMES[name]
    if isinstance(value, type) and name in ("Tensor", "device", "dtype", "layout", "memory_format", "Generator"):
        return "_tensor" if name == "Tensor" else "_C"
    if name in _namespace.__all__:
        return "_namespace"
    if name in vars(_C) and not isinstance(value, _C.dtype):
        return "_C"
    for module in (
        "_as_torch",
        "_core.autograd.grad_mode",
        "_core.device",
        "_core.dtype",
        "_core.storage",
        "_operators.tensor_types",
    ):
        if name in vars(sys.modules[f"mindtorch_v2.{module}"]) and not isinstance(value, _C.dtype):
            return module
    return None


def _name_of_type(value: Any) -> str:
    if isinstance(value, _C.dtype):
        return "_dtype"
    if isinstance(value, type):
        return "type[Any]"
    return {int: "_int", float: "_float", bool: "_bool", str: "str"}.get(type(value), "Any")


if __name__ == "__main__":
    sys.exit(main())
