"""Binding of calls to operators: call shapes, conversions, overloads and their errors, as PyTorch 2.13 does them."""

import decimal
import enum
import fractions
import gc
import json
import pathlib
import random
import sys

import numpy as np
import pytest

import mindtorch_v2 as torch

SNAPSHOTS = pathlib.Path(__file__).parents[1] / "snapshots" / "library"


def _lines(name):
    return [json.loads(line) for line in (SNAPSHOTS / name).read_text().splitlines()]


class HasIdx:
    def __index__(self):
        return 5


class HasInt:
    def __int__(self):
        return 5


class HasFloat:
    def __float__(self):
        return 2.5


class S(str):
    """A string of a class of its own."""


class E(enum.IntEnum):
    three = 3


def _values():
    x = torch.ones(2)
    return {
        "(1,2)": (1, 2),
        "(1,x)": (1, x),
        "(x,x)": (x, x),
        "Decimal": decimal.Decimal("1.5"),
        "Fraction": fractions.Fraction(1, 2),
        "Generator": torch.Generator(),
        "IntEnum": E.three,
        "None": None,
        "Parameter(ones(2))": torch.nn.Parameter(torch.ones(2)),
        "S('a')": S("a"),
        "Storage": torch.ones(2).untyped_storage(),
        "['a','b']": ["a", "b"],
        "[1,2.5]": [1, 2.5],
        "[1,2]": [1, 2],
        "[1,None]": [1, None],
        "[1.0,2.0]": [1.0, 2.0],
        "[1]": [1],
        "[None]": [None],
        "[True,False]": [True, False],
        "[[1],[2]]": [[1], [2]],
        "[]": [],
        "[np.int64(1),2]": [np.int64(1), 2],
        "[tensor(1),2]": [torch.tensor(1), 2],
        "[x,None]": [x, None],
        "[x,x]": [x, x],
        "__float__": HasFloat(),
        "__index__": HasIdx(),
        "__int__": HasInt(),
        "bool True": True,
        "bytes": b"a",
        "complex 1j": 1j,
        "float 1.0": 1.0,
        "float 1.5": 1.5,
        "float nan": float("nan"),
        "gen": (item for item in [1]),
        "int -1": -1,
        "int 1": 1,
        "int 2**40": 2**40,
        "int 2**63": 2**63,
        "np.array(3)": np.array(3),
        "np.array([1,2])": np.array([1, 2]),
        "np.bool_(True)": np.bool_(True),
        "np.complex64(1j)": np.complex64(1j),
        "np.float32(1.5)": np.float32(1.5),
        "np.float64(1.5)": np.float64(1.5),
        "np.int32(3)": np.int32(3),
        "np.int64(3)": np.int64(3),
        "np.str_('a')": np.str_("a"),
        "np.uint8(3)": np.uint8(3),
        "object()": object(),
        "range(2)": range(2),
        "set": {1},
        "str 'a'": "a",
        "str 'cpu'": "cpu",
        "tensor(1.5)": torch.tensor(1.5),
        "tensor(1.5,requires_grad)": torch.tensor(1.5, requires_grad=True),
        "tensor(3)": torch.tensor(3),
        "tensor(True)": torch.tensor(True),
        "tensor([1,2])": torch.tensor([1, 2]),
        "tensor([3])": torch.tensor([3]),
        "torch.Size([1,2])": torch.Size([1, 2]),
        "torch.channels_last": torch.channels_last,
        "torch.device('cpu')": torch.device("cpu"),
        "torch.finfo": torch.finfo(torch.float32),
        "torch.float32": torch.float32,
        "torch.strided": torch.strided,
        "type int": int,
        "{'a':1}": {"a": 1},
        "{'a':x}": {"a": x},
        "{1:2}": {1: 2},
        "{}": {},
    }


def _shown(value):
    """A value as the snapshots write it: its type beside it."""
    if isinstance(value, torch.Tensor):
        return f"tensor({value.tolist()},{str(value.dtype).removeprefix('torch.')})"
    if isinstance(value, (list, tuple)):
        items = ", ".join(map(_shown, value))
        return f"[{items}]" if isinstance(value, list) else f"({items})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_shown(item)}" for key, item in value.items()) + "}"
    return f"{type(value).__name__}:{value!r}"


# What differs on purpose. An object that the schema language has no type for is handed to the kernel as it is, and what
# PyTorch takes for a pointer or a number that stands for nothing is refused.
PASSED_THROUGH = {"Any", "Stream", "QScheme"}
NO_SUCH_NUMBER = {
    ("ScalarType", "int -1"), ("ScalarType", "int 2**40"), ("ScalarType?", "int -1"), ("ScalarType?", "int 2**40"),
    ("Layout", "int -1"), ("Layout", "int 2**40"), ("Layout?", "int -1"), ("Layout?", "int 2**40"),
    ("MemoryFormat", "int -1"), ("MemoryFormat", "int 2**40"),
}  # fmt: skip
# Layouts that no tensor here has.
OTHER_LAYOUTS = {"layout:torch._mkldnn", "layout:torch.sparse_bsr"}


@pytest.fixture(scope="module")
def library():
    library = torch.library.Library("bnd", "FRAGMENT")
    yield library
    library._destroy()


CONVERSIONS = _lines("conversions.jsonl")


def _received(library, row, value):
    """The argument that a kernel gets for `value`, given for an argument of the row's type."""
    received = []
    library.impl(row["operator"], lambda *args: received.append(args[0] if args else None), "CompositeExplicitAutograd")
    getattr(torch.ops.bnd, row["operator"].partition("::")[2])(value)
    return received[0]


def _check_conversion(library, row, name, value):
    kind = row["type"]
    if kind in PASSED_THROUGH:
        assert _shown(_received(library, row, value)) == _shown(value)
        return
    expected = row["takes"].get(name)
    if (kind, name) in NO_SUCH_NUMBER or expected in OTHER_LAYOUTS:
        expected = None
    if expected is None:
        try:
            taken = _received(library, row, value)
        except (RuntimeError, TypeError) as error:
            said = str(error)
        else:
            raise AssertionError(f"taken as {_shown(taken)}")
        if name in row["refuses"]:
            message = (
                f"{row['operator']}() Expected a value of type '{row['annotation']}' for argument 'v' but instead found type "
                f"'{row['refuses'][name]}'.\nPosition: 0\nValue: "
            )
            assert said.startswith(message), said
            assert f"\nDeclaration: {row['schema']}" in said
        return
    result = _received(library, row, value)
    if name == "gen" and kind == "SymInt[]":
        assert result == [1]  # PyTorch asks the generator twice, and finds it empty
    elif "object" in expected or expected.startswith("UntypedStorage"):
        assert result is value
    else:
        assert _shown(result) == expected


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Overriding a previously registered kernel", "ignore:Converting a tensor with")
@pytest.mark.parametrize("row", CONVERSIONS, ids=lambda row: row["type"])
def test_conversions(library, row):
    row = {"operator": "bnd::a_other", "schema": f"bnd::a_other({row['type']} v) -> ()"} | row
    library.define(row["schema"])
    wrong = []
    for name in row["takes"] | row["refuses"] | row["raises"]:
        if name == "qscheme" or (name == "Storage" and "[" in row["type"]):
            continue  # no quantised tensors here; a storage is no list of its bytes
        try:
            _check_conversion(library, row, name, _values()[name])
        except (AssertionError, RuntimeError, TypeError, ValueError, KeyError) as error:
            wrong.append(f"{name}: {error}")
    assert not wrong


CALLS = _lines("calls.jsonl")


def define_called(library, received):
    """Operators whose kernels write what they are given into `received`."""

    def kernel(*args, **kwargs):
        received[:] = [args, kwargs]

    for schema in (
        "one(Tensor x) -> ()",
        "two(Tensor x, int k) -> ()",
        'dflt(Tensor x, int k=1, *, bool flag=False, str mode="sum") -> ()',
        "kwreq(Tensor x, *, int k) -> ()",
    ):
        library.define(schema)
        library.impl(schema.partition("(")[0], kernel, "CompositeExplicitAutograd")


@pytest.fixture(scope="module")
def calls(library):
    received = []
    define_called(library, received)
    return received


@pytest.mark.parametrize("case", CALLS, ids=lambda case: case["call"])
def test_calls(calls, case):
    kind, _, text = case["call"].partition(" ")
    name, _, arguments = text.partition("(")
    operator = getattr(torch.ops.bnd, name)
    operator = operator.default if kind == "[overload]" else operator

    def call():
        return eval(f"operator({arguments}", {"operator": operator, "x": torch.ones(2)})

    if "error" in case:
        with pytest.raises(RuntimeError) as raised:
            call()
        assert str(raised.value) == case["error"]
        return
    call()
    args, kwargs = calls
    assert "(" + ", ".join(map(_shown, args)) + ")" == case["received"]
    assert case["keywords"] == (
        ("{" + ", ".join(f"'{k}': {_shown(v)}" for k, v in kwargs.items()) + "}") if kwargs else ""
    )


# ---- the calls of the Paddle RFC ----

RFC = [
    (
        "nms(Tensor boxes, Tensor scores, float iou=0.5, int topk=-1, *, bool normalized=False) -> Tensor",
        "x, x, topk=200",
    ),
    ("roi_align(Tensor x, Tensor rois, int pooled_h=7, int pooled_w=7) -> Tensor", "x, x"),
    (
        "topk(Tensor x, int k=1, int axis=-1, bool largest=True, bool sorted=True) -> (Tensor, Tensor)",
        "x, 5, sorted=False",
    ),
    ("softmax(Tensor x, int axis=-1, *, bool use_cudnn=True) -> Tensor", "x, axis=1, use_cudnn=False"),
    ("clamp(Tensor x, float? min=None, float? max=None) -> Tensor", "x, max=0.0"),
    ("blend((Tensor, Tensor) inputs, float alpha=0.5) -> Tensor", "(x, x), alpha=0.3"),
    (
        "add_video_stream(Tensor(a!) decoder, *, (Tensor, Tensor, Tensor)? custom_frame_mappings=None) -> ()",
        "x, custom_frame_mappings=None",
    ),
    (
        "add_video_stream.mapped(Tensor(a!) decoder, *, (Tensor, Tensor, Tensor)? custom_frame_mappings=None) -> ()",
        "x, custom_frame_mappings=(x, x, x)",
    ),
    ("normalize_(Tensor(a!) x, float eps=1e-5) -> Tensor(a!)", "x, eps=1e-6"),
]
BOUND = [
    ("xx", {"topk": 200}, "xx,0.5,200"),
    ("xx", {}, None),
    ("x", {}, "x,5,-1,True"),
    ("x", {"use_cudnn": False}, "x,1"),
    ("x", {}, "x,None,0.0"),
    ("", {}, "t,0.3"),
    ("x", {}, "x"),
    ("x", {"custom_frame_mappings": "t"}, "x"),
    ("x", {}, "x,1e-06"),
]


@pytest.mark.parametrize(
    ("case", "bound"), list(zip(RFC, BOUND, strict=True)), ids=[text.partition("(")[0] for text, _ in RFC]
)
def test_calls_of_the_rfc(case, bound):
    schema, arguments = case
    seen = []
    with torch.library._scoped_library("rfc", "FRAGMENT") as library:
        name = library.define(schema)
        several = "(Tensor, Tensor)" in schema.partition("->")[2]

        def kernel(*args, **kwargs):
            seen[:] = [args, kwargs]
            if schema.endswith("()"):
                return None
            result = args[0][0] if isinstance(args[0], tuple) else args[0]
            return (result, result) if several else result

        overload = schema.partition("(")[0].partition(".")[2]
        library.impl(f"{name}.{overload}" if overload else name, kernel, "CompositeExplicitAutograd")
        operator = getattr(getattr(torch.ops.rfc, name), overload or "default")
        x = torch.ones(2)
        eval(f"operator({arguments})", {"operator": operator, "x": x})
        args, kwargs = seen

        def short(value):
            return "x" if value is x else "t" if isinstance(value, tuple) else repr(value)

        if bound[2] is not None:
            expected = bound[2].replace("xx,", "x,x,")
            if "topk(" in schema:
                assert [short(value) for value in args] == ["x", "5", "-1", "True", "False"]
                return
            if schema.startswith("nms"):
                assert [short(value) for value in args] == ["x", "x", "0.5", "200"]
                assert kwargs == {}
                return
            assert ",".join(short(value) for value in args) == expected
        else:
            assert len(args) == 2
        if schema.startswith("softmax"):
            assert kwargs == {"use_cudnn": False}


WRONG = [
    ("add(Tensor a, Tensor b) -> Tensor", "x, b=x, axis=1", "expected at most 2 argument.s. but received 3"),
    (
        "add3(Tensor a, Tensor b, int c=1) -> Tensor",
        "x, x, axis=1",
        "Unknown keyword argument 'axis' for operator 'rfc::add3'",
    ),
    ("topk(Tensor x, int k=1, int axis=-1) -> (Tensor, Tensor)", "x, 5, k=3", "argument 'k' specified twice"),
    ("matmul(Tensor a, Tensor b) -> Tensor", "x", "is missing value for argument 'b'"),
    (
        "dropout(Tensor x, float p=0.5, *, bool training=True) -> Tensor",
        "x, 0.2, False",
        "takes 2 positional argument.s. but 3 was/were given",
    ),
]


@pytest.mark.parametrize(("schema", "arguments", "message"), WRONG)
def test_wrong_calls_of_the_rfc(schema, arguments, message):
    with torch.library._scoped_library("rfc", "FRAGMENT") as library:
        name = library.define(schema)
        library.impl(name, lambda *args, **kwargs: args[0], "CompositeExplicitAutograd")
        operator = getattr(torch.ops.rfc, name)
        with pytest.raises(RuntimeError, match=message):
            eval(f"operator({arguments})", {"operator": operator, "x": torch.ones(2)})


# ---- overloads, results, attributes ----

OVERLOADS = dict(_lines("overloads.jsonl"))


@pytest.fixture(scope="module")
def c2():
    library = torch.library.Library("c2", "FRAGMENT")
    for schema, kernel in {
        "ov.T(Tensor x) -> Tensor": lambda x: x.clone(),
        "ov.S(Tensor x, Scalar s) -> Tensor": lambda x, s: x.clone(),
        "ov.I(Tensor x, int s) -> Tensor": lambda x, s: x.clone(),
    }.items():
        library.define(schema)
        library.impl(schema.partition("(")[0], kernel, "CPU")
    yield library
    library._destroy()


def test_overloads(c2):
    x = torch.ones(1)
    ov = torch.ops.c2.ov
    assert ov(x, 1).tolist() == ov(x, 1.5).tolist() == [1.0]
    for call, given in (("ov(x,'a')", (x, "a")), ("ov()", ())):
        with pytest.raises(RuntimeError) as raised:
            ov(*given)
        # "Cast error details" of the last line is a C++ library's own text.
        assert str(raised.value) == OVERLOADS[call].removeprefix("RuntimeError: ")
    assert ov.overloads() == ["T", "S", "I"]
    assert repr(ov) == OVERLOADS["repr(ov)"].removeprefix("OK ")
    with pytest.raises(AttributeError) as raised:
        _ = ov.Z
    assert str(raised.value) == OVERLOADS["ov.Z"].removeprefix("AttributeError: ")


ATTRIBUTES = {
    "ov.T.name()": lambda ov: ov.T.name(),
    "str(ov.T)": lambda ov: str(ov.T),
    "ov.T.__name__": lambda ov: ov.T.__name__,
    "ov.T._overloadname": lambda ov: ov.T._overloadname,
    "ov.T.overloadpacket": lambda ov: ov.T.overloadpacket,
    "ov.T.namespace": lambda ov: ov.T.namespace,
    "ov.T._opname": lambda ov: ov.T._opname,
    "ov.T._qualified_op_name": lambda ov: ov.T._qualified_op_name,
    "ov.__name__": lambda ov: ov.__name__,
    "ov.T.tags": lambda ov: ov.T.tags,
    "ov.T.has_kernel_for_dispatch_key(CPU)": lambda ov: ov.T.has_kernel_for_dispatch_key(torch._C.DispatchKey.CPU),
    "hash": lambda ov: hash(ov.T) == hash(ov.T),
    "O.ov.T.is_view": lambda ov: ov.T.is_view,
    "hasattr": lambda ov: hasattr(torch.ops.c2, "nope"),
    "copy.deepcopy": lambda ov: __import__("copy").deepcopy(ov.T) is ov.T,
    "O.ov.T == same": lambda ov: ov.T == torch.ops.c2.ov.T,
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_operators(c2, name):
    assert f"OK {ATTRIBUTES[name](torch.ops.c2.ov)!r}" == OVERLOADS[name]


def _result_of(schema, result):
    with torch.library._scoped_library("c2", "FRAGMENT") as library:
        name = library.define(schema)
        library.impl(name, lambda x: result, "CPU")
        return getattr(torch.ops.c2, name)(torch.ones(2))


def test_results_of_kernels():
    x = torch.ones(2)
    assert _result_of("r1(Tensor x) -> Tensor", None) is None
    assert _result_of("ri(Tensor x) -> int", 1) == 1
    assert _result_of("ri(Tensor x) -> int", True) == 1
    number, tensor = _result_of("rtt(Tensor x) -> (int, Tensor)", (3, x))
    assert number == 3 and tensor is x
    assert _result_of("r2(Tensor x) -> (Tensor, Tensor)", [x, x]) == (x, x)
    assert _result_of("r0(Tensor x) -> ()", None) is None
    for result in (1, (), x):
        with pytest.raises(RuntimeError) as raised:
            _result_of("r0(Tensor x) -> ()", result)
        assert str(raised.value) == OVERLOADS["r0 returns int"].removeprefix("RuntimeError: ")
    with pytest.raises(TypeError, match="Object of type 'NoneType' is not an instance of 'sequence'"):
        _result_of("r2(Tensor x) -> (Tensor, Tensor)", None)
    # PyTorch gives the one tensor, or ends the process.
    for wrong in ((x,), (x, x, x)):
        with pytest.raises(RuntimeError, match=f"must return 2 values, as its schema says, but returned {len(wrong)}"):
            _result_of("r2(Tensor x) -> (Tensor, Tensor)", wrong)
    for schema, wrong in (("ri(Tensor x) -> int", 1.5), ("ri(Tensor x) -> int", None), ("rt(Tensor x) -> Tensor", 1)):
        with pytest.raises(RuntimeError, match="the kernel returned"):
            _result_of(schema, wrong)


def test_what_a_kernel_raises_comes_through():
    class Boom(Exception):
        pass

    def kernel(x):
        raise Boom("boom")

    with torch.library._scoped_library("c2", "FRAGMENT") as library:
        library.define("boom(Tensor x) -> Tensor")
        library.impl("boom", kernel, "CPU")
        with pytest.raises(Boom, match="boom"):
            torch.ops.c2.boom(torch.ones(1))


def test_kernels_are_not_given_defaults():
    seen = []
    x = torch.ones(1)
    with torch.library._scoped_library("c2", "FRAGMENT") as library:
        library.define("el(Tensor x, int b=1, int c=3, *, str d='y') -> ()")
        library.impl("el", lambda *args, **kwargs: seen.append((len(args), args[1:], kwargs)), "CPU")
        el = torch.ops.c2.el
        el(x), el(x, 7), el(x, c=3), el(x, d="z"), el(x, c=9)
        el(x, 1, 3, d="y")
    assert seen == [(1, (), {}), (2, (7,), {}), (1, (), {}), (1, (), {"d": "z"}), (3, (1, 9), {}), (1, (), {})]


def test_missing_kernels_say_what_there_is():
    with torch.library._scoped_library("c2", "FRAGMENT") as library:
        library.define("nok(Tensor x) -> Tensor")
        with pytest.raises(NotImplementedError, match="no fake impl or Meta kernel registered") as raised:
            torch.ops.c2.nok(torch.ones(1, device="meta"))
        start = OVERLOADS["nok(meta)"].removeprefix("NotImplementedError: ").partition(" registered.")[0]
        assert str(raised.value).startswith(start)
        library.impl("nok", lambda x: x, "Meta")
        with pytest.raises(NotImplementedError, match=r"only available for these backends: \[Meta\]") as raised:
            torch.ops.c2.nok(torch.ones(1))
        theirs = OVERLOADS["nok(x) with Meta only"].removeprefix("NotImplementedError: ")
        assert str(raised.value).startswith(theirs.partition(", or was omitted")[0])
        library.define("noargs() -> Tensor")
        library.impl("noargs", lambda: torch.ones(1), "CPU")
        with pytest.raises(NotImplementedError) as raised:
            torch.ops.c2.noargs()
        theirs = OVERLOADS["noargs()"].removeprefix("NotImplementedError: ")
        assert str(raised.value).startswith(theirs.partition("[")[0])


def test_aten_by_schema():
    x = torch.ones(1)
    assert torch.ops.aten.add(x, x, alpha=2).tolist() == [3.0]
    with pytest.raises(RuntimeError) as raised:
        torch.ops.aten.add.Scalar(x, torch.tensor(2.0))
    theirs = OVERLOADS["aten.add.Scalar(x, tensor(2.))"].removeprefix("RuntimeError: ")
    assert str(raised.value).partition("\nDeclaration")[0] == theirs.partition("\nDeclaration")[0]
    with pytest.raises(
        RuntimeError, match="failed to match any schema:\naten::add.. Expected a value of type 'Tensor' for"
    ):
        torch.ops.aten.add(x, "a")
    with pytest.raises(TypeError, match="add\\(\\)"):
        torch.add(x, "a")


@pytest.mark.parametrize("name", ["sub", "mul_", "copy", "true_divide"])
def test_users_operators_take_no_number_for_a_tensor(name):
    """PyTorch lets aten's arithmetic take one; an operator of the same name in another namespace is none of that."""
    x = torch.ones(2)
    with torch.library._scoped_library("no_numbers", "FRAGMENT") as library:
        library.define(f"{name}.Tensor(Tensor x, Tensor y) -> Tensor")
        library.impl(f"{name}.Tensor", lambda x, y: x * 2, "CPU")
        packet = getattr(torch.ops.no_numbers, name)
        assert packet(x, x).tolist() == [2.0, 2.0]
        for call in (packet, packet.Tensor):
            with pytest.raises(
                RuntimeError, match="a value of type 'Tensor' for argument 'y' but instead found type 'flo"
            ):
                call(x, 1.5)
    with torch.library._scoped_library("own_numbers", "FRAGMENT") as library:
        for overload, other in (("Tensor", 2.0), ("Scalar", 3.0)):
            library.define(f"{name}.{overload}(Tensor x, {overload} y) -> Tensor")
            library.impl(f"{name}.{overload}", lambda x, y, other=other: x * other, "CPU")
        packet = getattr(torch.ops.own_numbers, name)
        assert packet(x, x).tolist() == [2.0, 2.0] and packet(x, 1.5).tolist() == [3.0, 3.0]


def test_all_of_prims_takes_numbers_for_tensors():
    with torch.library._scoped_library("prims", "FRAGMENT") as library:
        library.define("weighed(Tensor x, Tensor y) -> Tensor")
        library.impl("weighed", lambda x, y: x * y, "CPU")
        assert torch.ops.prims.weighed(torch.ones(2), 1.5).tolist() == [1.5, 1.5]


# ---- strict schemas ----


def test_strict_schemas(monkeypatch):
    program = """
import mindtorch_v2 as torch
library = torch.library.Library("strict", "DEF")
library.define("f(Tensor x, Any v) -> ()")
library.impl("f", lambda x, v: None, "CPU")
torch.ops.strict.f(torch.ones(1), 3)
try:
    torch.ops.strict.f(torch.ones(1), object())
except RuntimeError as error:
    print(str(error).partition(chr(10))[0])
else:
    print("taken")
"""
    import os
    import subprocess

    said = [
        subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True, env=os.environ | extra
        ).stdout.strip()
        for extra in ({}, {"MINDTORCH_STRICT_SCHEMA": "1"})
    ]
    assert said == [
        "taken",
        "strict::f() Expected a value of type 'Any' for argument 'v' but instead found type 'object'.",
    ]


# ---- any call at all ----

TYPES = (
    "Tensor Tensor? Tensor[] Tensor?[] int int? int[] int[2] SymInt[] int[][] float float[] float[2] bool bool[] str str[] "
    "complex Scalar Scalar[] ScalarType Device? Layout MemoryFormat Generator? Storage Any Dict(str,int) (int,Tensor) "
    "(int,(str,float?))? Union(int,str) Dict(str,Tensor[])"
).split()


class Hostile:
    """Object that raises where it is asked anything."""

    def __getattr__(self, name):
        raise ValueError(name)

    def __index__(self):
        raise ValueError("index")

    def __float__(self):
        raise ZeroDivisionError

    def __bool__(self):
        raise KeyError("bool")

    def __iter__(self):
        raise ValueError("iter")

    def __repr__(self):
        raise ValueError("repr")


def hostile_values():
    """Values of every kind, by name, and some that no caller should give."""
    recursive = []
    recursive.append(recursive)
    hostile = [Hostile(), recursive, "\ud800", b"\xff", -(2**63), 1e400, [[[]]], {"a": {}}, ("x", ()), [Hostile()]]
    return _values() | {f"hostile {i}": value for i, value in enumerate(hostile)}


class AnyCalls:
    """Calls of operators with random schemas with random values, results of random types: a result or an exception.

    Half of the values are of a kind that the argument takes. The operators are there as long as the object.
    """

    def __init__(self, draw, values, operators=30):
        self.draw, self.values = draw, list(values.values())
        taken = {row["type"]: [values[name] for name in row["takes"] if name in values] for row in CONVERSIONS}
        self.library = torch.library.Library("any_call", "FRAGMENT")
        self.operators = []
        for number in range(operators):
            kinds = [draw.choice(TYPES) for _ in range(draw.randrange(1, 6))]
            star = draw.randrange(len(kinds) + 1)
            arguments = [f"{kind} a{i}" for i, kind in enumerate(kinds)]
            if star < len(kinds):
                arguments.insert(star, "*")
            results = [draw.choice(TYPES) for _ in range(draw.randrange(0, 3))]
            self.library.define(f"op{number}({', '.join(arguments)}) -> ({', '.join(results)})")
            made = [taken.get(kind) or self.values for kind in results]
            self.library.impl(f"op{number}", self._kernel(made), "CompositeExplicitAutograd")
            operator = getattr(torch.ops.any_call, f"op{number}")
            self.operators.append((operator, [taken.get(kind) or self.values for kind in kinds], star))

    def _kernel(self, made):
        def kernel(*args, **kwargs):
            if self.draw.random() < 0.5:
                return self.draw.choice(self.values)
            results = tuple(self.draw.choice(values) for values in made)
            return results[0] if len(results) == 1 else results or None

        return kernel

    def make(self, count):
        """How many of `count` calls gave a result."""
        draw, good = self.draw, 0
        for _ in range(count):
            operator, fitting, star = draw.choice(self.operators)
            given = [draw.choice(values if draw.random() < 0.8 else self.values) for values in fitting]
            if draw.random() < 0.6:
                args, kwargs = given[:star], {f"a{i}": given[i] for i in range(star, len(given))}
            else:
                args = [draw.choice(self.values) for _ in range(draw.randrange(0, len(given) + 2))]
                names = draw.sample([*(f"a{i}" for i in range(len(given))), "zz"], draw.randrange(0, len(given) + 1))
                kwargs = {name: draw.choice(self.values) for name in names if draw.random() < 0.7}
            try:
                operator(*args, **kwargs)
                good += 1
            except (
                RuntimeError,
                TypeError,
                NotImplementedError,
                ValueError,
                ZeroDivisionError,
                KeyError,
                UnicodeError,
            ):
                pass
        return good

    def close(self):
        self.library._destroy()


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Converting a tensor with")
def test_any_call_is_a_result_or_an_exception():
    values = hostile_values()
    own = [value for value in values.values() if sys.getrefcount(value) < 20]  # not None, 1 and the like
    calls = AnyCalls(random.Random(0), values)
    calls.make(1000)
    before = [sys.getrefcount(value) for value in own]
    assert calls.make(20_000) > 2000
    gc.collect()
    assert [sys.getrefcount(value) for value in own] == before
    calls.close()


def test_a_conversion_that_raises_keeps_nothing():
    with torch.library._scoped_library("raising", "FRAGMENT") as library:
        hostile = Hostile()
        calls = []
        for name, kind, value in (
            ("lists", "int[][]", [[1], hostile]),
            ("pair", "(int, int[])", (1, hostile)),
            ("named", "Dict(str, int[])", {"k": hostile}),
        ):
            library.define(f"{name}({kind} v) -> ()")
            library.impl(name, lambda v: None, "CompositeExplicitAutograd")
            calls.append((getattr(torch.ops.raising, name), value))

        def objects(rounds):
            for _ in range(rounds):
                for operator, value in calls:
                    with pytest.raises(ValueError, match="iter"):
                        operator(value)
            gc.collect()
            return len(gc.get_objects())

        before = objects(5)
        assert objects(200) - before < 20
