"""Files that an operator touches: in how many hand-written sources its name has to stand.

    python tools/count_touched.py              # the distribution, by kind of operator
    python tools/count_touched.py softplus     # the files of one operator
    python tools/count_touched.py --record     # writes the operators above the bar to tests/snapshots/touched.json, and in how
                                               # many files each stands

A name has to stand where an operator is stated or registered: the string of its row, of its kernel, of a rule or of a
converter, an overload (`aten.softplus.default`) that a function is registered for, an entry of a list, a function of its name
in `nn.functional`. Calls (`aten.softplus(...)`) are uses, which a new operator has none of. Tests, type stubs, documentation
and tables of data are not counted.

Names such as "add" or "mean" are words of other things too: their count is too high. Those that a loop puts together from
parts are counted where the whole name stands.
"""

from __future__ import annotations

import argparse
import ast
import functools
import importlib.util
import json
import pathlib
import re
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "mindtorch_v2"
RECORD = ROOT / "tests" / "snapshots" / "touched.json"
# The most files that a new operator of a kind may touch.
BARS = {"composite": 1, "native with a gradient": 2, "with a form in nn.functional": 2, "with an NPU kernel": 3}
# Operators of other namespaces, `torch.ops.quantized`, and the modules that call them, by the same names.
_OTHER_OPERATORS = ("_quantized", "ao")
# Kernels for quantized tensors, one function for several operators: to become a word of their rows.
_ON_QUANTIZED = ("_behaviours", "quantized")
# A plug-in that serves operators which there are, and classes of tensors that take those which PyTorch's take.
# Kernels for GPUs, and decompositions, are one line or function more for each operator that has one.
_CHOSEN = [
    PACKAGE / each
    for each in (
        "_backends/cuda",
        "_decomp",
        "_backends/cuda/ops",
        "backends/mindspore",
        "masked/maskedtensor",
        "nested/_internal",
    )
]
_CALLS = PACKAGE / "npu/_calls_of_main.py"  # it calls operators by name, as programs do
# Forms for complex numbers: one function more for an operator that has one.
_ON_COMPLEX = PACKAGE / "_backends/npu/complex_numbers.py"
_WORD = re.compile(r"(?:aten::)?([A-Za-z_]\w*)(?:\.\w+)?$")
_SCHEMA = re.compile(r"\s*(?:aten::)?([A-Za-z_]\w*)(?:\.\w+)?\(.*\)\s*->", re.S)
_CPP_STRING = re.compile(r'"((?:aten::)?[A-Za-z_]\w*(?:\.\w+)?)"')


def _docstrings(tree: ast.AST) -> set[int]:
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}


def names_in(text: str) -> list[str]:
    """The operators that a string may name: itself, the words of a list, or the head of a schema."""
    if match := _SCHEMA.match(text):
        return [match[1]]
    words = text.split()
    found = [match[1] for word in words if (match := _WORD.match(word))]
    return found if len(found) == len(words) else []


def overload_name(node: ast.AST | None) -> str | None:
    """The operator that an expression names: softplus of `aten.softplus`, `torch.ops.aten.softplus.default`; else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.insert(0, node.id.lstrip("_"))
    place = parts.index("aten") + 1 if "aten" in parts else len(parts)
    return parts[place] if place < len(parts) <= place + 2 else None


def _registered(tree: ast.AST) -> Iterator[str]:
    """The operators that stand as overloads in the arguments of a decorator, and as entries of lists."""
    for node in ast.walk(tree):
        entries: list = []
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call):
                    entries += [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Call):  # what the decorator would be, by hand
            entries = node.func.args
        elif isinstance(node, (ast.List, ast.Set, ast.Tuple)):
            entries = node.elts
        elif isinstance(node, ast.Dict):
            entries = node.keys
        yield from (name for entry in entries if (name := overload_name(entry)))


def python_names(text: str, in_functional: bool = False) -> Iterator[str]:
    """The operators that a Python source states or registers; those in `nn.functional` by functions of their names."""
    tree = ast.parse(text)
    skipped = _docstrings(tree)
    yield from _registered(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield from names_in(node.value)
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            yield from names_in(str(node.values[0].value).partition("(")[0])
    if in_functional:
        yield from (node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@functools.cache
def mentions() -> dict[str, set[str]]:
    """Name -> the sources, relative to the root, in which it stands so."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).parts
        if (
            path.parent in _CHOSEN
            or path in (_CALLS, _ON_COMPLEX)
            or parts[0] in _OTHER_OPERATORS
            or parts[:2] == _ON_QUANTIZED
        ):
            continue
        in_functional = parts[0] == "nn" and any("functional" in part for part in parts)
        for name in python_names(path.read_text("utf-8"), in_functional):
            found[name].add(str(path.relative_to(ROOT)))
    for path in sorted((ROOT / "csrc").rglob("*.cpp")):
        if path.parent.name == "stable":  # it calls operators by name, as programs do
            continue
        for text in _CPP_STRING.findall(path.read_text("utf-8")):
            found[text.removeprefix("aten::").partition(".")[0]].add(str(path.relative_to(ROOT)))
    return found


def files_of(name: str) -> set[str]:
    """The sources in which an operator's name stands; that of its in-place form is its own."""
    return mentions()[name] | mentions()[f"{name}_"]


@functools.cache
def kinds() -> dict[str, list[str]]:
    """Kind -> the public operators of it that have a row."""
    if importlib.util.find_spec("mindtorch_v2") is None:  # an installed one has libraries that the sources may lack
        sys.path.insert(0, str(ROOT / "src"))
    from mindtorch_v2._operators.table import every_row

    names: dict[str, set[str]] = {kind: set() for kind in BARS}
    for row in every_row().values():
        name = row.handle.name
        if name.startswith("_") or name.endswith(("_", "_backward", "_copy")):
            continue
        if any("/npu/ops/" in file for file in files_of(name)):
            names["with an NPU kernel"].add(name)
        elif any("/nn/" in file for file in files_of(name)) or "nn" in row.bind:
            names["with a form in nn.functional"].add(name)
        elif row.body is not None:
            names["composite"].add(name)
        elif row.grad:
            names["native with a gradient"].add(name)
    return {kind: sorted(found) for kind, found in names.items()}


def above_the_bar() -> dict[str, dict[str, int]]:
    """Kind -> the operators that stand in more files than a new one of that kind may, with the number of files."""
    return {
        kind: {name: count for name in names if (count := len(files_of(name))) > BARS[kind]}
        for kind, names in kinds().items()
    }


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description="Files that an operator touches.")
    parser.add_argument("names", nargs="*", help="operators to list the files of")
    parser.add_argument("--record", action="store_true", help="record the operators above the bar")
    given = parser.parse_args()
    if given.record:
        RECORD.write_text(json.dumps(above_the_bar(), indent=1) + "\n")
    for name in given.names:
        print(f"{name}:", *sorted(files_of(name)), sep="\n    ")
    if given.names or given.record:
        return
    for kind, names in kinds().items():
        counts = [len(files_of(name)) for name in names]
        within = sum(count <= BARS[kind] for count in counts)
        print(f"{kind}: {len(names)} operators, bar {BARS[kind]}, median {statistics.median(counts)}, {within} within")
        print("   ", ", ".join(f"{many} in {files}" for files, many in sorted(Counter(counts).items())))


if __name__ == "__main__":
    main()
