"""One fact about an operator in one place: no list of operator names away from the rows, no behaviour by file name."""

import ast
import inspect
import pathlib
import re
from typing import Any

import pytest

from mindtorch_v2._behaviours import batched, sharded
from mindtorch_v2._operators.table import every_row, row_of

pytestmark = pytest.mark.no_torch

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src" / "mindtorch_v2"
MANY = 3  # so many names of operators in one place, half of what stands there, are a list of operators
# Questions about a tensor are attributes and methods before they are operators.
_ROWS = [row for row in every_row().values() if row.family != "queries"]
NAMES = {name for row in _ROWS for form in (row.handle, row.inplace, row.out) if form for name in
         (form.name, f"{form.name}.{form.overload}", f"aten::{form.name}", f"aten::{form.name}.{form.overload}")}  # fmt: skip

_PACKAGES: dict[str, Any] = {"batched": batched, "sharded": sharded}
_PYTHONS = "Python's own operators, which tensors and numbers share"
_DTYPES = "names of dtypes, or of sets of them"
_REDUCTIONS = "names of ways to reduce: words of an argument, not operators"
_ATTRIBUTES = "attributes of tensors"
_CONVERTERS = "converters: GE calls these as PyTorch does"
_MASKED = "which operators PyTorch's MaskedTensor takes, whatever there are"
_NESTED = "which operators nested tensors take, and functions with a rule of their own"
_IDENTITIES = "names that PyTorch's `_reduction_identity` and masked functions are asked for"
# Lists that are no facts about operators, with the reason: file -> how many, why. What a function is registered for is none:
# `@rule("sum", "mean")` names the operators that the function under it is the rule of.
_QUANTIZED = "of modules, functions and methods, as PyTorch's configurations of quantization name them"
_ON_QUANTIZED = "one kernel for several operators on quantized tensors: to become a word of their rows"
ALLOWED = {
    "overrides.py": (1, "private functions that PyTorch has tests for: only these of all are listed there"),
    "fx/experimental/proxy_tensor.py": (1, "functions in Python that PyTorch's tracer puts others in the place of"),
    "npu/torch_npu/contrib/transfer_to_npu.py": (1, "functions in Python whose device argument torch_npu moves"),
    "_core/absent_operators.py": (2, "functions in Python of rows that are read when one is asked for"),
    "_behaviours/quantized/activation.py": (2, _ON_QUANTIZED),
    "_behaviours/quantized/comparison.py": (1, _ON_QUANTIZED),
    "_behaviours/quantized/order.py": (1, _ON_QUANTIZED),
    "_behaviours/quantized/pool.py": (1, _ON_QUANTIZED),
    "_behaviours/quantized/reduction.py": (1, _ON_QUANTIZED),
    "_behaviours/quantized/view.py": (2, _ON_QUANTIZED),
    "ao/quantization/backend_config/_patterns.py": (2, _QUANTIZED),
    "ao/quantization/fx/_lowered_tables.py": (1, _QUANTIZED),
    "ao/quantization/backend_config/executorch.py": (1, _QUANTIZED),
    "ao/quantization/utils.py": (2, _QUANTIZED),
    "_dispatch/schema_info.py": (
        1,
        "what PyTorch's schemas cannot say of operators that train, most of which are no rows here",
    ),
    "_subclasses/sized_by_data.py": (
        1,
        "results on fake tensors, which the rows lie below: to become a word of the rows",
    ),
    "_backends/cuda/ops/index.py": (3, "names of combinations, which arguments of scatter_reduce and its kin say"),
    "_backends/ge/converters/arithmetic.py": (3, _CONVERTERS),
    "_backends/npu/ops/unary.py": (1, "kernels of the back end: CANN calls these as PyTorch does"),
    "_behaviours/sharded/_shared.py": (2, _REDUCTIONS),
    "_behaviours/sparse/reduced_product.py": (1, _REDUCTIONS),
    "_capture/_builtins.py": (1, _PYTHONS),
    "distributed/tensor/_api.py": (1, _REDUCTIONS),
    "_capture/_operators.py": (3, _PYTHONS),
    "_capture/_tensors.py": (1, _ATTRIBUTES),
    "_core/dtype.py": (1, _DTYPES),
    "_core/exchange.py": (1, _DTYPES),
    "_namespace.py": (1, "names of torch, by the module that has them"),
    "_operators/help.py": (1, _DTYPES),
    "_operators/load.py": (1, "operators that the engine of C++ calls itself, by its names for them"),
    "_operators/table/facts.py": (2, "words of rows, `sharding=` and `dtypes=`"),
    "_sizes/numbers.py": (2, _PYTHONS),
    "_sizes/recorded.py": (2, _PYTHONS),
    "_tensor_str.py": (2, _ATTRIBUTES),
    "distributed/_functional_operators.py": (1, _REDUCTIONS),
    "fx/_codegen.py": (1, "Python's operators as graphs print them"),
    "fx/node.py": (1, "functions, not operators, that PyTorch's passes keep"),
    "jit/_recorder.py": (2, f"{_PYTHONS}, and {_ATTRIBUTES}"),
    "jit/_script_source.py": (1, "Python's types, which scripts call"),
    "npu/_calls_of_main.py": (1, "calls that `verify` makes on a user's device, as programs make them"),
    "utils/_cpp_headers.py": (1, "methods that PyTorch's C++ tensors have, and Python's have not"),
    "utils/_flop_formulas.py": (1, "rules: what PyTorch counts in place of operators that are several there"),
    "masked/_layouts.py": (2, _IDENTITIES),
    "masked/_ops.py": (3, _IDENTITIES),
    "masked/maskedtensor/binary.py": (2, _MASKED),
    "masked/maskedtensor/passthrough.py": (1, _MASKED),
    "masked/maskedtensor/reductions.py": (1, _MASKED),
    "masked/maskedtensor/unary.py": (3, _MASKED),
    "nested/_internal/nested_tensor.py": (1, _NESTED),
    "nested/_internal/ops.py": (2, _NESTED),
    "export/_archive.py": (1, "functions of Python's module `operator`, by the names that files have for them"),
    "nested/_internal/strided.py": (4, _NESTED),
    "nn/_functional/embedding.py": (2, _REDUCTIONS),
    "nn/init.py": (1, "names of layers and activations that `calculate_gain` takes"),
    "npu/verify.py": (1, _DTYPES),
    "serialization/_legacy_format.py": (1, "C's types, whose sizes a file tells"),
    "storage.py": (1, _DTYPES),
}


def _overload(node: ast.AST) -> str | None:
    """The operator that `aten.add.Tensor` or `torch.ops.aten.add` names; None for another expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name):
        parts.insert(0, node.id.lstrip("_"))
    place = parts.index("aten") + 1 if "aten" in parts else len(parts)
    return ".".join(parts[place:]).removesuffix(".default") if place < len(parts) <= place + 2 else None


def _entries(node: ast.AST) -> tuple[list[str], int]:
    """Names that a list, set, tuple, the keys of a dict, the arguments of a call or the words of a string give; and the number
    of all entries."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        words = node.value.split() if len(node.value) < 4000 else []
        return words, len(words)
    items: list = []
    if isinstance(node, (ast.List, ast.Set, ast.Tuple)):
        items = node.elts
    elif isinstance(node, ast.Dict):
        items = [key for key in node.keys if key]
    elif isinstance(node, ast.Call):
        items = node.args
    named = [item.value if isinstance(item, ast.Constant) else _overload(item) for item in items]
    return [name for name in named if isinstance(name, str)], len(items)


def _without_facts(tree: ast.AST) -> set[int]:
    """Lists that say nothing of operators: `__all__`, and what a function is registered for, `@rule("sum", "mean")`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_exports(node.targets[0]):
            found.add(id(node.value))
        elif isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                found |= {id(decorator), *map(id, decorator.args if isinstance(decorator, ast.Call) else ())}
        elif isinstance(node, ast.Call):
            found.add(id(node.func))  # rule("sum", "mean")(function)
    return found


def _is_exports(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == "__all__"


def _lists_of(text: str) -> list[int]:
    """The lines of a source where a list of operators begins: names of rows for half of it or more."""
    found = []
    tree = ast.parse(text)
    skipped = _without_facts(tree)
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        names, count = _entries(node)
        named = sum(name in NAMES for name in names)
        if named >= MANY and named >= 0.5 * count:
            found.append(node.lineno)
    return found


def _sources() -> dict[str, str]:
    """The package's sources, but for the rows."""
    return {
        str(path.relative_to(SOURCE)): path.read_text("utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[:2]
        not in (("_operators", "native"), ("_operators", "composite"), ("_operators", "inner"))
    }


def test_lists_of_operators_stand_in_rows() -> None:
    """Facts that hold for some operators are words of their rows (`FactWords`), not a list elsewhere."""
    wrong = {}
    for name, text in _sources().items():
        lines = _lists_of(text)
        if len(lines) != ALLOWED.get(name, (0, ""))[0]:
            wrong[name] = lines
    assert not wrong


def test_a_list_is_found() -> None:
    assert _lists_of('CHEAP = frozenset("add sub mul div exp".split())') == [1]
    assert _lists_of('CHEAP = {"add.Tensor", "sub.Tensor", "aten::mul", "div_", "exp"}') == [1]
    assert _lists_of('CHEAP = {"add": 1, "sub": 2, "mul": 3, "div": 4, "exp": 5}') == [1]
    assert _lists_of('CHEAP = ("add", "sub", "mul", "a", "b", "c")') == [1]
    assert _lists_of("CHEAP = {aten.add.Tensor: 1, torch.ops.aten.exp.default: 2, _aten.sub: 3}") == [1]
    assert _lists_of('def f(op):\n    return op in ("add", "sub", "mul")') == [2]
    assert _lists_of('CHEAP = frozenset(("add", "sub", "mul"))') == [1]
    assert _lists_of('CHEAP = ("add", "sub", "a", "b")') == []
    assert _lists_of('CHEAP = ("add", "sub", "mul", "a", "b", "c", "d")') == []
    assert _lists_of("CHEAP = (torch.add, aten.add.Tensor.name.x, aten)") == []
    assert _lists_of('"""A docstring on how to add a value to each of the rows."""') == []
    assert _lists_of('@rule("add", "sub", "mul")\ndef f(x): ...\nrule("add", "sub", "mul")(f)') == []
    assert _lists_of('@rule(("add", "sub", "mul"))\ndef f(x): ...') == []
    assert _lists_of('def f(x):\n    rule("add", "sub", "mul")') == [2]


def test_the_row_knows_its_file_for_the_reader_only() -> None:
    """Moving a row to another file changes nothing: its family names snapshots and is shown, no code decides by it."""
    shown = {"ops.py"}  # torch.ops.explain says where a row stands
    reads = re.compile(r"\brow\.family\b|\b\w+\.family\b|\.rpartition\(\"\.\"\)\[2\] in \{")
    found = {name for name, text in _sources().items() if reads.search(text)}
    for path in (SOURCE / "_operators").rglob("*.py"):
        if path.name != "rows.py" and reads.search(path.read_text("utf-8")):
            found.add(str(path.relative_to(SOURCE)))
    assert found == shown


_REGISTERING = {"rule", "kernel", "inplace", "out"}


def _stated_rules(text: str) -> list[str]:
    """The rows that a source registers rules for by name: `@rule("sum")`, `kernel("mm", CSR)(f)`."""
    return [
        argument.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _REGISTERING
        for argument in node.args
        if isinstance(argument, ast.Constant) and argument.value in every_row()
    ]


def _rules(place: str) -> set[tuple[str, str, str]]:
    """Of a package of rules: the file of each rule, the operator that it is for, and that one's family."""
    found = set()
    for path in (SOURCE / "_behaviours" / place).glob("*.py"):
        found |= {(path.stem, name, every_row()[name].family) for name in _stated_rules(path.read_text("utf-8"))}
    if place == "sparse":  # kernels of the operators themselves
        rules = [
            (row, kernel)
            for row in every_row().values()
            for form in (row.handle, row.inplace, row.out)
            if form is not None
            for key, kernel in form.kernels().items()
            if key in ("SparseCPU", "SparseCsrCPU")
        ]
    else:
        rules = [(row_of(handle), inspect.unwrap(rule)) for handle, rule in _PACKAGES[place].RULES.items()]
    for row, rule in rules:
        package, _, file = getattr(rule, "__module__", "").rpartition(".")
        if row is not None and package.endswith(f"_behaviours.{place}"):
            found.add((file, row.name, row.family))
    return found


@pytest.mark.parametrize(("place", "few"), [("batched", 500), ("sharded", 400), ("sparse", 100)])
def test_rules_stand_in_files_named_after_families(place: str, few: int) -> None:
    """A family has one name, and that name is its file's name everywhere; the family sparse has a folder. What rows share by
    their words is in `_shared.py`."""
    rules = _rules(place)
    assert len(rules) > few
    assert not {
        (file, name, family)
        for file, name, family in rules
        if file not in (family, "_shared", "_call") and (place, family) != ("sparse", "sparse")
    }


def test_rules_are_found() -> None:
    text = '@rule("sum", "mm")\ndef f(x): ...\nkernel("bmm", CSR)(f)\nother("mul.Tensor")\nx.rule("sub.Tensor")'
    assert _stated_rules(text) == ["sum", "mm", "bmm"]
    assert ("embedding", "embedding", "embedding") in _rules("batched") & _rules("sharded")
    assert ("arithmetic", "div.Tensor_mode", "arithmetic") in _rules("sparse")  # registered in a loop
