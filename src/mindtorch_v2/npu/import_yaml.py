"""Operators that a file in the form of `op_plugin_functions.yaml` describes, as a Python module that registers them.

    python -m mindtorch_v2.npu import-yaml my_functions.yaml --output my_operators.py

An entry with `gen_opapi` says all that there is to an operator: its schema (`func`), sizes and dtypes of its results, and which
ACLNN operator fills them (`exec`). Where sizes, dtypes or arguments are expressions in C++ that this does not know, the entry is
left out, and the summary says why.
"""

from __future__ import annotations

import keyword
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any

import mindtorch_v2 as torch

__all__ = ["entries", "main", "module_of"]

_DTYPES = {
    "kFloat": "float32", "kDouble": "float64", "kHalf": "float16", "kBFloat16": "bfloat16", "kLong": "int64", "kInt": "int32",
    "kShort": "int16", "kChar": "int8", "kByte": "uint8", "kBool": "bool",
}  # fmt: skip
_SECTIONS = ("official", "custom", "autograd", "symint", "quant")
_BROADCAST = re.compile(r"broadcast_ops_npu_output_size\((\w+), (\w+)\)")
_SIZE = re.compile(r"(\w+)\.size\((-?\d+)\)")
_HEAD = '''"""Operators of {file}, as `python -m mindtorch_v2.npu import-yaml` read them. Import this module to have them."""

import functools

import mindtorch_v2 as torch
from mindtorch_v2.npu import AclnnLauncher

library = torch.library.Library("{namespace}", "FRAGMENT")


@functools.cache
def launcher() -> AclnnLauncher:
    return AclnnLauncher()
'''
_MADE = """

library.define({schema!r})


def {function}_results({parameters}):
    return {results}


def {function}({parameters}):
    made = {function}_results({passed})
    launcher().launch({arguments})
    return made{first}


library.impl({name!r}, {function}, "NPU")
library.impl({name!r}, lambda *args, **kwargs: {function}_results(*args, **kwargs){first}, "Meta")
"""
_WRITTEN = """

library.define({schema!r})


def {function}({parameters}):
    launcher().launch({arguments})
    return {results}


library.impl({name!r}, {function}, "NPU")
"""


class _Unread(Exception):
    """The reason why an entry is left out."""


def entries(text: str) -> Iterator[dict[str, Any]]:
    """The entries of a file's sections; ValueError for what is no such file. ImportError without PyYAML."""
    try:
        import yaml
    except ImportError:
        raise ImportError("import-yaml reads its files with PyYAML: pip install pyyaml") from None
    try:
        read = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"not YAML: {error}") from None
    if not isinstance(read, dict) or not any(section in read for section in _SECTIONS):
        raise ValueError(f"none of the sections {', '.join(_SECTIONS)} is there")
    for section in _SECTIONS:
        for entry in read.get(section) or ():
            if not isinstance(entry, dict) or "func" not in entry:
                raise ValueError(f"{section}: expected entries with func, got {entry!r}")
            yield entry


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _sizes(text: Any, tensors: set[str], numbers: set[str]) -> str:
    """The sizes of a result, as Python."""
    if isinstance(text, str):
        text = text.removesuffix(".sizes()")
        if text in tensors:
            return f"{_safe(text)}.shape"
        broadcast = _BROADCAST.fullmatch(text)
        if broadcast and {broadcast[1], broadcast[2]} <= tensors:
            return f"torch.broadcast_shapes({_safe(broadcast[1])}.shape, {_safe(broadcast[2])}.shape)"
    if not isinstance(text, dict):  # {x.size(0), 8L} is a mapping, to YAML
        raise _Unread(f"size {text!r} is neither a tensor argument nor a list such as {{x.size(0), 8L}}")
    made = []
    for part in map(str, text):
        found = _SIZE.fullmatch(part)
        if found and found[1] in tensors:
            made.append(f"{_safe(found[1])}.shape[{found[2]}]")
        elif re.fullmatch(r"\d+L?", part):
            made.append(part.rstrip("L"))
        elif part in numbers:
            made.append(_safe(part))
        else:
            raise _Unread(f"size {part!r} is neither a size of a tensor argument nor a number")
    return f"[{', '.join(made)}]"


def _dtype(text: str, tensors: set[str], types: set[str]) -> str:
    if text in tensors:
        return f"{_safe(text)}.dtype"
    if text in types:
        return _safe(text)
    name = _DTYPES.get(text.removeprefix("at::").removeprefix("c10::").removeprefix("ScalarType::"))
    if name is None:
        raise _Unread(f"dtype {text!r} is neither a tensor argument nor a dtype that is known")
    return f"torch.{name}"


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def _operator(entry: dict[str, Any], namespace: str) -> str:
    """The source that registers one operator."""
    given = entry.get("gen_opapi")
    if not isinstance(given, dict):
        raise _Unread("without gen_opapi, its adaptation is C++")
    if "exec" not in given:
        raise _Unread(
            "structured_inherit: the entry that it names says the rest" if "structured_inherit" in given else "no exec"
        )
    schema = torch._C.parse_schema(f"{namespace}::{entry['func']}")
    kinds = {argument.name: str(argument.type) for argument in schema.arguments}
    tensors = {name for name, kind in kinds.items() if kind == "Tensor"}
    results = {key: value for key, value in given.items() if key not in ("exec", "new_params") and key not in kinds}
    symbol, *order = _parts(given["exec"])
    made = []
    for key, value in results.items():
        if not isinstance(value, dict) or "size" not in value or "dtype" not in value:
            raise _Unread(f"result {key} does not say size and dtype")
        numbers, types = ({name for name, kind in kinds.items() if kind == of} for of in ("int", "ScalarType"))
        sizes, dtype = _sizes(value["size"], tensors, numbers), _dtype(value["dtype"], tensors, types)
        device = next((_safe(name) for name, kind in kinds.items() if kind == "Tensor"), None)
        if device is None:
            raise _Unread("no argument is a tensor, so that the device is not known")
        made.append(f"torch.empty({sizes}, dtype={dtype}, device={device}.device)")
    order = order or [*kinds, *results]
    unknown = [name for name in order if name not in kinds and name not in results]
    if unknown:
        raise _Unread(f"exec passes {', '.join(unknown)}, which new_params makes in C++")
    written = [
        next(_safe(a.name) for a in schema.arguments if a.alias_info and a.alias_info.before_set & r.alias_info.before_set)
        for r in schema.returns
        if r.alias_info is not None
    ]  # fmt: skip
    if len(written or made) != len(schema.returns) or (written and made):
        raise _Unread(f"{len(schema.returns)} results are returned, but {len(written or made)} are described")
    places = {key: f"made[{number}]" for number, key in enumerate(results)}
    own = schema.name.partition("::")[2]
    name = f"{own}.{schema.overload_name}" if schema.overload_name else own
    passed = [_safe(each) if each in kinds else places[each] for each in order]
    returned = written or made
    return (_MADE if made else _WRITTEN).format(
        schema=entry["func"],
        name=name,
        function=_safe(re.sub(r"\W", "_", name)),
        parameters=_parameters(schema, defaults=True),
        passed=_parameters(schema, defaults=False),
        arguments=", ".join([repr(symbol), *passed]),
        results=f"({', '.join(returned)},)" if made or len(returned) > 1 else next(iter(returned), "None"),
        first="[0]" if len(made) == 1 else "",
    )


def _parameters(schema: Any, *, defaults: bool) -> str:
    """The parameters of a function with a schema's arguments, or the arguments of a call of it."""
    if not defaults:
        return ", ".join(
            f"{_safe(a.name)}={_safe(a.name)}" if a.kwarg_only else _safe(a.name) for a in schema.arguments
        )
    made: list[str] = []
    needed = True  # from the last to the first: whether what comes after has a default too
    for argument in reversed([each for each in schema.arguments if not each.kwarg_only]):
        needed = needed and _has_default(argument)
        made.insert(0, _safe(argument.name) + (f"={argument.default_value!r}" if needed else ""))
    named = [each for each in schema.arguments if each.kwarg_only]
    made += ["*"] if named else []
    made += [_safe(each.name) + (f"={each.default_value!r}" if _has_default(each) else "") for each in named]
    return ", ".join(made)


def _has_default(argument: Any) -> bool:
    return argument.default_value is not None or str(argument.type).startswith("Optional")


def module_of(text: str, namespace: str, file: str) -> tuple[str, list[str], list[str]]:
    """The source of the module, the operators that it registers, and why others of the file's are left out ("name: ...")."""
    made, read, unread = [_HEAD.format(namespace=namespace, file=file)], [], []
    for entry in entries(text):
        name = entry["func"].partition("(")[0]
        try:
            made.append(_operator(entry, namespace))
        except (_Unread, RuntimeError, KeyError) as reason:
            unread.append(f"{name}: {str(reason).partition(chr(10))[0]}")
        else:
            read.append(name)
    return "".join(made), read, unread


def main(path: str, namespace: str, output: str | None) -> int:
    """Write the module to a file, or to the standard output; 1 if nothing could be read."""
    try:
        source, read, unread = module_of(pathlib.Path(path).read_text("utf-8"), namespace, pathlib.Path(path).name)
    except (OSError, ValueError, ImportError) as error:
        print(f"import-yaml: {path}: {error}", file=sys.stderr)
        return 1
    if output is None:
        print(source, end="")
    else:
        pathlib.Path(output).write_text(source, "utf-8")
    print(f"{len(read)} operators were read, {len(unread)} entries were left out", file=sys.stderr)
    for reason in unread:
        print(f"  {reason}", file=sys.stderr)
    return int(not read)
