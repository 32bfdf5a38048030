"""The core acts on facts that rows state: no operator's name stands in csrc/core but where an operator is called."""

import re
from pathlib import Path

import pytest

from mindtorch_v2._operators.table import aliases_of, every_row

CORE = Path(__file__).parents[2] / "csrc" / "core"
# Words that are names of operators too and mean something else where they stand.
WORDS = {
    "basics.cpp": {"bfloat16", "bool", "cpu", "double", "float", "int"},  # dtypes and devices
    "number_fits.cpp": {"double", "float", "int"},  # types of C++ in messages
    "pointwise_shape.cpp": {"floor", "trunc"},  # rounding modes
    "schema_lexer.cpp": {"eq", "ge", "le", "ne"},  # tokens
    "schema_parser.cpp": {"bfloat16", "bool", "cdouble", "cfloat", "chalf", "complex", "double", "float", "half"}
    | {"int", "long", "short"},  # types of the schema language
    "schema_type.cpp": {"bool", "complex", "float", "int"},  # likewise
    "typed_kernel.h": {"bool", "double"},  # types of C++ in messages
    "python/bind.cpp": {"dim"},  # an argument
    "python/bind_errors.cpp": {"bool", "double", "float", "int"},  # types in messages
    "python/box.cpp": {"bool", "float"},  # types of NumPy
    # Attributes of others' arrays, arguments, dispatch keys, and the kernel that Python's numbers need.
    "python/interop.cpp": {"H", "_local_scalar_dense", "conj", "copy", "empty", "neg", "negative"},
    # What the engine calls, by the name of its slot; an argument's attribute and a fact.
    "python/operator_types.cpp": {
        "_as_strided_backward",
        "add",
        "add_",
        "alias",
        "as_strided",
        "clone",
        "copy_",
        "detach",
    }
    | {"new_empty_strided", "random", "real", "sum_to_size", "zero_", "zeros"},
    "python/scalar_types.cpp": {"index", "is_signed", "to"},  # attributes and arguments of dtypes, devices, random_
    "python/storage_type.cpp": {"copy_", "from_file", "resize_"},  # methods of storages
    "python/tensor_new.cpp": {"copy"},  # an argument
    # Slots of Python's number protocol, and methods that answer without an operator.
    "python/tensor_type.cpp": {
        "abs",
        "add",
        "dim",
        "eq",
        "ge",
        "gt",
        "is_contiguous",
        "is_pinned",
        "is_signed",
        "le",
        "lt",
    }
    | {"matmul", "mul", "ne", "neg", "pow", "rsub", "sub"},
}
# Questions that the tensor type itself answers are attributes before they are operators.
ROWS = [row for row in every_row().values() if row.family != "queries"]
FORMS = [form for row in ROWS for form in (row.handle, row.inplace, row.out) if form is not None]
NAMES = {name for form in FORMS for name in (form.name, *aliases_of(form))}
NODES = re.compile(r"[A-Z]\w*Backward\d*s?")


def operators_in(source: str) -> set[str]:
    """Quoted names of operators or of their nodes; what names a shape rule is none, and `OperatorName op(...)` is a call."""
    code = re.sub(r"//[^\n]*", "", source)
    code = re.sub(r"\bOperatorName \w+\([^;]*;", "", code)
    code = re.sub(r'\bshape(?:<[^>]*>)?\("\w+"', "", code)
    found = set()
    for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
        name = text.removeprefix("aten::").partition(".")[0]
        if name in NAMES or NODES.fullmatch(name):
            found.add(name)
    return found


@pytest.mark.parametrize(
    "path", sorted(str(p.relative_to(CORE)) for p in CORE.rglob("*") if p.suffix in (".h", ".cpp"))
)
def test_core_names_no_operator(path):
    found = operators_in((CORE / path).read_text()) - WORDS.get(path, set())
    assert not found, f"csrc/core/{path} knows {sorted(found)}: let the rows state what it needs to know of them"


def test_every_word_still_stands_there():
    for path, words in WORDS.items():
        assert words == operators_in((CORE / path).read_text()) & words, path


def test_names_are_found():
    planted = 'if (op.name == "index_put_" || name_of(n) == "ToCopyBackward0") find("aten::zeros"); shape("where", f);'
    assert operators_in(planted) == {"index_put_", "ToCopyBackward0", "zeros"}
    assert operators_in('names{"add", "subtract", "mul"};') == {"add", "subtract", "mul"}
    assert operators_in('OperatorName op_alias("aten::alias"), op_view("aten::view");\nif (name == "sub")') == {"sub"}
