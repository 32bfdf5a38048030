"""Make the type stubs from the operator rows: `python tools/make_stubs.py [--check]`.

Writes `src/mindtorch_v2/__init__.pyi` (functions) and `src/mindtorch_v2/_tensor.pyi` (methods of Tensor). What the rows do
not state, because it is written in Python, is listed without a signature. `--check` writes nothing and exits with 1 if the
committed stubs are not what would be written.
"""

import inspect
import keyword
import re
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import mindtorch_v2
from mindtorch_v2._ops._table import ROWS

_PACKAGE = Path(__file__).parent.parent / "src" / "mindtorch_v2"
_HEAD = '"""Made from the operator rows by tools/make_stubs.py."""\n\n'
_TYPES = {
    "Tensor": "Tensor",
    "Scalar": "Number",
    "int": "int",
    "SymInt": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "ScalarType": "dtype",
    "Layout": "layout",
    "Device": "device | str | int",
    "MemoryFormat": "memory_format",
    "Generator": "Generator",
    "Dimname": "str",
    "Storage": "UntypedStorage",
}
_TYPE = re.compile(r"^([A-Za-z]+)(\([a-z!*| ->]*\))?((?:\[\d*\]|\?)*)$")


def main() -> int:
    """Write both stubs, or compare."""
    stubs = {_PACKAGE / "__init__.pyi": _package_stub(), _PACKAGE / "_tensor.pyi": _tensor_stub()}
    if "--check" in sys.argv[1:]:
        stale = [path.name for path, text in stubs.items() if not path.exists() or path.read_text() != text]
        if stale:
            print(f"out of date: {', '.join(stale)}; run `make stubs`", file=sys.stderr)
        return bool(stale)
    for path, text in stubs.items():
        path.write_text(text, encoding="utf-8")
        print(f"{path}: {len(text.splitlines())} lines")
    return 0


def _package_stub() -> str:
    functions = _signatures("function", drop_self=False)
    lines = [
        "from typing import Any, overload",
        "",
        "from ._C import Generator, device, dtype, layout, memory_format",
        "from ._dtype import Size",
        "from ._storage import UntypedStorage",
        "from ._tensor import Tensor as Tensor",
        "",
        "Number = int | float | bool | complex",
        "",
        *_definitions(functions, indent=""),
    ]
    known = {*functions, "Generator", "device", "dtype", "layout", "memory_format", "Size", "Tensor", "Number"}
    lines += _others(mindtorch_v2, known, indent="")
    return _HEAD + "\n".join(lines) + "\n"


def _tensor_stub() -> str:
    methods = _signatures("method", drop_self=True)
    lines = [
        "from typing import Any, overload",
        "",
        "from ._C import Generator, TensorBase, device, dtype, layout, memory_format",
        "from ._storage import UntypedStorage",
        "",
        "Number = int | float | bool | complex",
        "",
        "class Tensor(TensorBase):",
        *_definitions(methods, indent="    "),
    ]
    lines += _others(mindtorch_v2.Tensor, set(methods), indent="    ")
    return _HEAD + "\n".join(lines) + "\n"


def _signatures(where: str, drop_self: bool) -> dict[str, list[tuple[str, str]]]:
    """Name -> (signature, doc) of each overload, in-place forms included."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in sorted(ROWS):
        row = ROWS[name]
        if where not in row.bind:
            continue
        for handle in filter(None, (row.handle, row.inplace)):
            signature = _signature(handle, drop_self)
            if signature is not None:
                found[handle.name.rpartition("::")[2].partition(".")[0]].append((signature, row.doc))
    return found


def _signature(handle: Any, drop_self: bool) -> str | None:
    arguments = list(handle.arguments)
    parts = []
    if drop_self:
        own = next((number for number, argument in enumerate(arguments) if argument["name"] == "self"), None)
        if own is None:
            return None
        del arguments[own]
        parts.append("self")
    starred = False
    for argument in arguments:
        if argument["kwarg_only"] and not starred:
            parts.append("*")
            starred = True
        name = argument["name"] if drop_self or argument["name"] != "self" else "input"
        name = f"{name}_" if keyword.iskeyword(name) else name
        default = " = ..." if argument["has_default"] else ""
        parts.append(f"{name}: {_python_type(argument['type'])}{default}")
    results = [_python_type(result["type"]) for result in handle.returns]
    result = results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]" if results else "None"
    return f"({', '.join(parts)}) -> {result}"


def _python_type(spelled: str) -> str:
    match = _TYPE.match(spelled.strip())
    if match is None:
        return "Any"
    made = _TYPES.get(match[1], "Any")
    for suffix in re.findall(r"\[\d*\]|\?", match[3]):
        if suffix == "?":
            made = f"{made} | None"
        else:
            made = f"list[{made}] | tuple[{made}, ...]" + (f" | {made}" if suffix != "[]" else "")
    return made


def _definitions(signatures: dict[str, list[tuple[str, str]]], indent: str) -> Iterable[str]:
    for name in sorted(signatures):
        if not name.isidentifier() or keyword.iskeyword(name):
            continue
        variants = list(dict.fromkeys(signatures[name]))
        for signature, doc in variants:
            if len(variants) > 1:
                yield f"{indent}@overload"
            yield f"{indent}def {name}{signature}:"
            yield f'{indent}    """{doc}"""'


def _others(owner: ModuleType | type, known: set[str], indent: str) -> Iterable[str]:
    """What Python gives the owner beyond the rows, without signatures."""
    for name in sorted(set(dir(owner)) - known):
        if name.startswith("_") or keyword.iskeyword(name) or inspect.ismodule(getattr(owner, name, None)):
            continue
        yield f"{indent}{name}: Any"


if __name__ == "__main__":
    sys.exit(main())
