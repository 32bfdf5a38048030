"""Schemas: PyTorch's answers for every corner of the language, and the schemas of all of its operators."""

import gzip
import json
import pathlib
import random
import re

import pytest
from generated_schemas import COUNT, SEED, generated

import mindtorch_v2 as torch

SNAPSHOTS = pathlib.Path(__file__).parents[1] / "snapshots" / "library"
CASES = [json.loads(line) for line in (SNAPSHOTS / "schemas.jsonl").read_text().splitlines()]

# Where PyTorch reports a failure of its own (an internal assertion, the name of a C++ function): what is wrong here.
ERRORS = {
    "stoll": "does not fit 64 bits",
    "stod": "out of range|a complex default is written as an imaginary number",
    "INTERNAL ASSERT": "Non-default positional argument follows default|NoneType\\? is no type|as an item of the default",
    "codec can't decode": "expected a valid token|expected ident|expected eof",
    "device type at start of device string": "device type at start of device string",
}
# PyTorch wraps the size around.
REFUSED = {"f(int[2147483648] x) -> ()": "the size of a list must be between"}


def _described(argument):
    alias = argument.alias_info
    default = argument.default_value
    if isinstance(default, torch.device):
        default = {"repr": repr(default), "type": "device"}
    said = {
        "name": argument.name,
        "type": str(argument.type),
        "real": str(argument.real_type) if str(argument.real_type) != str(argument.type) else None,
        "kind": argument.type.kind(),
        "size": argument.N,
        "keyword": argument.kwarg_only or None,
        "out": argument.is_out or None,
        "default": [type(argument.default_value).__name__, _plain(default)] if argument.has_default_value() else None,
        "alias": [sorted(alias.before_set), sorted(alias.after_set), alias.is_write] if alias else None,
    }
    return {key: value for key, value in said.items() if value is not None}


def _plain(value):
    if isinstance(value, complex):
        return {"complex": str(value)}
    return [_plain(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["text"][:60])
def test_against_pytorch(case):
    text = case["text"]
    if text in REFUSED:
        with pytest.raises(RuntimeError, match=REFUSED[text]):
            torch._C.parse_schema(text)
        return
    if "error" in case:
        own = next((pattern for theirs, pattern in ERRORS.items() if theirs in case["error"]), None)
        with pytest.raises(RuntimeError, match=own) as raised:
            torch._C.parse_schema(text)
        if own is None:
            assert str(raised.value) == case["error"]
        return
    schema = torch._C.parse_schema(text)
    assert str(schema) == (
        'f(str x="\\303\\251") -> ()' if "é" in text else case["shown"]
    )  # PyTorch adds up signed bytes
    expected = json.loads(json.dumps(case).replace("privateuseone", "npu"))
    assert [_described(argument) for argument in schema.arguments] == expected["arguments"]
    assert [_described(result) for result in schema.returns] == expected["returns"]
    assert schema.is_mutable == any(argument.get("alias", [0, 0, False])[2] for argument in case["arguments"])
    if case.get("variables"):
        with pytest.raises(RuntimeError):
            torch._C.parse_schema(text, False)
    else:
        assert torch._C.parse_schema(text, allow_typevars=False) == schema


# What PyTorch shows of some schemas is no schema, or another one: strings where numbers belong stand there without quotes, "*"
# comes first in a set that it ends, and sets of lists in lists are left out or moved.
_NO_SCHEMA = re.compile(r"\(\*\|| -> \*\||\(!?\)\[\]|\?\([^)]*\)\[|=(?!True|False|None)[^\d\W]")


@pytest.mark.parametrize(
    "text",
    [
        case["text"]
        for case in CASES
        if "error" not in case and case["text"] not in REFUSED and not _NO_SCHEMA.search(case["shown"])
    ],
)
def test_the_text_of_a_schema_is_that_schema(text):
    schema = torch._C.parse_schema(text)
    again = torch._C.parse_schema(str(schema))
    assert again == schema
    assert not schema != again


def test_schemas_of_all_operators_of_pytorch():
    lines = gzip.decompress((SNAPSHOTS / "registered_schemas.txt.gz").read_bytes()).decode().splitlines()
    assert len(lines) > 4300
    for line in lines:
        schema = torch._C.parse_schema(line)
        again = torch._C.parse_schema(str(schema))
        assert again == schema
        assert str(again if "|" in line else schema) == line  # a set of two is shown the other way round


def _made_of(text):
    try:
        return str(torch._C.parse_schema(text))
    except RuntimeError as error:
        return "no device" if "Device string must not be empty" in str(error) else ""


def test_schemas_made_at_random():
    """Accepted or not, and the text, as in PyTorch; but that a device without a name is refused at once."""
    theirs = gzip.decompress((SNAPSHOTS / "generated_schemas.txt.gz").read_bytes()).decode().split("\n")
    texts = generated(SEED, COUNT)
    assert len(theirs) == COUNT and sum(map(bool, theirs)) > COUNT / 5
    differ = [
        (text, ours, text_of)
        for text, text_of in zip(texts, theirs, strict=True)
        if (ours := _made_of(text)) != text_of
    ]
    assert [found for found in differ if found[1] != "no device"] == [] and len(differ) < 5


def test_a_schema_is_frozen():
    schema = torch._C.parse_schema("f(Tensor(a!) x, int[2] y=[1, 2]) -> Tensor(a!)")
    for thing, name in ((schema, "name"), (schema.arguments[0], "name"), (schema.arguments[0].alias_info, "is_write")):
        with pytest.raises(AttributeError):
            setattr(thing, name, "other")
    schema.arguments.clear()
    assert len(schema.arguments) == 2


# New schema, old schema, whether the new one serves the callers of the old one (PyTorch 2.13).
COMPATIBLE = [
    ("f(int a, int b=1) -> ()", "f(int a) -> ()", True),
    ("f(int a, int b) -> ()", "f(int a) -> ()", False),
    ("f(int? a) -> ()", "f(int a) -> ()", True),
    ("f(int a) -> ()", "f(int? a) -> ()", False),
    ("f(int a) -> int", "f(int a) -> int?", True),
    ("f(int a=2) -> ()", "f(int a=1) -> ()", False),
    ("f(int a=1) -> ()", "f(int a) -> ()", True),
    ("f(int a) -> ()", "f(int a=1) -> ()", False),
    ("f(int a, *, int c=1) -> ()", "f(int a) -> ()", True),
    ("f(int b) -> ()", "f(int a) -> ()", False),
    ("f(Scalar a) -> ()", "f(int a) -> ()", True),
    ("f(SymInt a) -> ()", "f(int a) -> ()", True),
    ("f(int a) -> ()", "f(SymInt a) -> ()", True),
    ("f(int a, int b=1, *, Tensor(a!) out) -> ()", "f(int a, *, Tensor(a!) out) -> ()", True),
    ("f(Tensor(a) x) -> ()", "f(Tensor x) -> ()", False),
    ("f(*, int a, int b) -> ()", "f(*, int b, int a) -> ()", False),
    ("f(int a) -> ()", "f(int a, int b) -> ()", False),
    ("f(int[2] a) -> ()", "f(int[] a) -> ()", False),
    ("f(Any a) -> ()", "f(int a) -> ()", True),
    ("f(int a, *, int b=1, int c) -> ()", "f(int a, *, int c) -> ()", False),
    ("f.x() -> ()", "f() -> ()", False),
    ("f() -> int", "f() -> ()", False),
]


@pytest.mark.parametrize(("new", "old", "compatible"), COMPATIBLE)
def test_backward_compatibility(new, old, compatible):
    parse = torch._C.parse_schema
    assert parse(new).is_backward_compatible_with(parse(old)) is compatible


# Multi-line texts: three lines of context around the place.
PLACES = [
    ("f(int x=", "expected number but found 'eof' here:\nf(int x="),
    ("f() ->\n ()", "expected ident but found 'indent' here:\nf() ->\n ()\n"),
    (
        "f(int x\n,int y\n,int z\n,int w, @\n,int v\n,int u\n,int t\n)->()",
        "expected ident but found '@' here:\n,int y\n,int z\n,int w, @\n        ~ <--- HERE\n,int v\n,int u\n",
    ),
    (
        "f(int is not x) -> ()",
        "expected ident but found 'is not' here:\nf(int is not x) -> ()\n      ~~~~~~ <--- HERE\n",
    ),
]


@pytest.mark.parametrize(("text", "message"), PLACES)
def test_errors_show_the_place(text, message):
    with pytest.raises(RuntimeError) as raised:
        torch._C.parse_schema(text)
    assert str(raised.value).startswith(message.partition(",int v")[0])


def test_deep_types_are_refused():
    for text in ("(" * 5000, "Union(" * 5000, "Dict(str, " * 5000):
        with pytest.raises(RuntimeError, match="nested at most"):
            torch._C.parse_schema(f"f({text}")


PIECES = (
    "f ns :: . ( ) , -> * ... Tensor int float str bool Scalar SymInt Device Dict( Union( Future( ? [] [2] [ ] ! (a!) (a) "
    "(a -> *) (a|b) = 0 1 -1 1.5 1e3 1j True False None \"a\" 'b\\n' [1, 2] x y self out cpu $0 # \n \t é \\ \" '"
).split(" ")


def random_schema(draw):
    """A text that is a schema sometimes: pieces of schemas in any order, or a schema of PyTorch's with a few changes."""
    if draw.random() < 0.5:
        return draw.choice(("", "f(", "f(Tensor x, ", "ns::f.o(")) + " ".join(
            draw.choice(PIECES) for _ in range(draw.randrange(1, 12))
        )
    text = draw.choice(CASES)["text"]
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(text) + 1)
        cut = draw.randrange(3)
        text = text[:at] + draw.choice((draw.choice(PIECES), chr(draw.randrange(1, 300)), "")) + text[at + cut :]
    return text


def test_any_text_is_a_schema_or_an_error():
    draw = random.Random(0)
    accepted = 0
    for _ in range(20_000):
        text = random_schema(draw)
        try:
            schema = torch._C.parse_schema(text)
        except RuntimeError:
            continue  # what is accepted is counted
        accepted += 1
        if not _NO_SCHEMA.search(str(schema)):
            assert torch._C.parse_schema(str(schema)) == schema, text
    assert accepted > 500
