"""The core acts on facts that rows state: no operator's name stands in csrc/core outside the Python bindings."""

import re
from pathlib import Path

import pytest

from mindtorch_v2._operators.table import ROWS

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
}
NAMES = {form.name for row in ROWS.values() for form in (row.handle, row.inplace, row.out) if form is not None}
NODES = re.compile(r"[A-Z]\w*Backward\d*s?")


def operators_in(source: str) -> set[str]:
    """Quoted names of operators or of their nodes; what names a shape rule is none."""
    code = re.sub(r"//[^\n]*", "", source)
    code = re.sub(r'\bshape(?:<[^>]*>)?\("\w+"', "", code)
    found = set()
    for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code):
        name = text.removeprefix("aten::").partition(".")[0]
        if name in NAMES or NODES.fullmatch(name):
            found.add(name)
    return found


@pytest.mark.parametrize("path", sorted(p.name for p in CORE.iterdir() if p.suffix in (".h", ".cpp")))
def test_core_names_no_operator(path):
    found = operators_in((CORE / path).read_text()) - WORDS.get(path, set())
    assert not found, f"csrc/core/{path} knows {sorted(found)}: let the rows state what it needs to know of them"


def test_every_word_still_stands_there():
    for path, words in WORDS.items():
        assert words == operators_in((CORE / path).read_text()) & words, path


def test_names_are_found():
    planted = 'if (op.name == "index_put_" || name_of(n) == "ToCopyBackward0") find("aten::zeros"); shape("where", f);'
    assert operators_in(planted) == {"index_put_", "ToCopyBackward0", "zeros"}
