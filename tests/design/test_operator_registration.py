"""The design document of operator registration, demand by demand: schemas, binding, back ends, in Python and in C++."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dispatch.schema import parse_schema
from mindtorch_v2.utils import cpp_extension

SOURCE = pathlib.Path(__file__).with_name("operator_registration.cpp")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    pytest.importorskip("pybind11", reason="torch/extension.h needs pybind11")
    folder = tmp_path_factory.mktemp("operator_registration")
    return cpp_extension.load("operator_registration", [str(SOURCE)], extra_cflags=["-O0"], build_directory=str(folder))


@pytest.mark.parametrize("what", ["schemas", "right_calls", "wrong_calls", "lists_of_arguments", "functions_alone"])
def test_in_cpp(compiled, what):
    getattr(compiled, what)()


def test_operators_of_cpp_are_called_from_python(compiled):
    ops, x = torch.ops.rfc_cpp, torch.ones(2)
    assert ops.nms(x, x, topk=200).tolist() == [1]
    assert ops.blend((x, x), alpha=0.3).tolist() == [1]
    assert ops.any("how", x, 3) == (2, x, 3) and ops.any("how") == 0
    assert ops.twice(x).tolist() == [2, 2] and ops.twice(x, times=3).tolist() == [3, 3]
    assert ops.twice(torch.empty(2, device="meta")).shape == (2,)
    with pytest.raises(RuntimeError, match="takes 2 positional argument"):
        ops.dropout(x, 0.2, False)


# ---- schemas ----

TYPES = {
    "float": "FloatType",
    "int": "IntType",
    "bool": "BoolType",
    "str": "StringType",
    "Tensor": "TensorType",
    "(Tensor, int)": "TupleType",
    "(Tensor, Tensor, Tensor)?": "OptionalType",
    "Tensor(a!)": "TensorType",
    "Tensor(a)": "TensorType",
    "float?": "OptionalType",
    "int?": "OptionalType",
    "bool?": "OptionalType",
    "str?": "OptionalType",
    "Tensor?": "OptionalType",
    "int[3]": "ListType",
    "int[3]?": "OptionalType",
    "Device": "DeviceObjType",
    "Scalar": "NumberType",
    "int[]": "ListType",
    "Dict(str, int)": "DictType",
}


@pytest.mark.parametrize("text", TYPES)
def test_every_type_is_parsed_and_printed(text):
    schema = parse_schema(f"f({text} v) -> ()")
    assert schema.arguments[0].type.kind() == TYPES[text] and str(schema) == f"f({text} v) -> ()"


def test_marks_of_aliases_and_writes_are_kept():
    schema = parse_schema("f(Tensor(a!) x, Tensor(b) y, Tensor z) -> (Tensor(a!), Tensor(b))")
    aliases = [argument.alias_info for argument in schema.arguments]
    assert [alias and alias.is_write for alias in aliases] == [True, False, None]
    assert aliases[0].before_set == {"a"} and schema.is_mutable


def test_names_defaults_and_keyword_only_arguments_are_kept():
    schema = parse_schema("op(Tensor x, int k=1, *, bool flag=False) -> Tensor")
    assert [(a.name, a.has_default_value(), a.default_value, a.kwarg_only) for a in schema.arguments] == [
        ("x", False, None, False),
        ("k", True, 1, False),
        ("flag", True, False, True),
    ]


def test_a_schema_is_kept_parsed_and_shown_from_that():
    library = torch.library.Library("design_registration", "DEF")
    library.define("op( Tensor   x,int k = 1 )->Tensor")
    assert (
        str(torch.ops.design_registration.op.default._schema) == "design_registration::op(Tensor x, int k=1) -> Tensor"
    )
    with pytest.raises(RuntimeError, match="<--- HERE"):
        library.define("broken(Tensor x -> Tensor")


# ---- several back ends ----


def test_kernels_of_several_back_ends_are_chosen_by_the_tensors():
    library = torch.library.Library("design_back_ends", "DEF")
    library.define("where(Tensor x) -> str")
    for key in ("CPU", "PrivateUse1", "Meta"):
        library.impl("where", lambda x, key=key: key, key)
    on = {"CPU": torch.ones(1), "PrivateUse1": torch._C._alias_on_device(torch.ones(1), "npu")}
    on["Meta"] = torch.empty(1, device="meta")
    assert {key: torch.ops.design_back_ends.where(x) for key, x in on.items()} == {key: key for key in on}
    fragment = torch.library.Library("design_back_ends", "FRAGMENT")
    fragment.define("more(Tensor x) -> Tensor")
    fragment.impl("more", lambda x: x + 1, "CPU")
    assert torch.ops.design_back_ends.more(torch.ones(1)).tolist() == [2]
    with pytest.raises(NotImplementedError, match="only available for these backends: \\[CPU\\]"):
        torch.ops.design_back_ends.more(on["PrivateUse1"])


# ---- strict or permissive ----

CALLS = """
import json, torch
library = torch.library.Library("rfc", "DEF")
x, said = torch.ones(2), {}
for schema in (
    "add(Tensor a, Tensor b) -> Tensor",
    "topk(Tensor x, int k=1, int axis=-1) -> (Tensor, Tensor)",
    "matmul(Tensor a, Tensor b) -> Tensor",
    "dropout(Tensor x, float p=0.5, *, bool training=True) -> Tensor",
    "opaque(Any v) -> ()",
):
    name = library.define(schema)
    several = "(Tensor, Tensor)" in schema.partition("->")[2]
    result = None if schema.endswith("()") else (x, x) if several else x
    library.impl(name, lambda *args, result=result, **kwargs: result, "CompositeExplicitAutograd")
ops = torch.ops.rfc
for name, call in {
    "keyword": lambda: ops.add(x, x, axis=1),
    "twice": lambda: ops.topk(x, 5, k=3),
    "missing": lambda: ops.matmul(x),
    "positional": lambda: ops.dropout(x, 0.2, False),
    "converted": lambda: ops.topk(x, True),
    "opaque": lambda: ops.opaque(object()),
}.items():
    try:
        call()
        said[name] = ""
    except RuntimeError as error:
        said[name] = str(error)
print(json.dumps(said))
"""


def _said(**variables):
    environment = {name: value for name, value in os.environ.items() if name != "MINDTORCH_STRICT_SCHEMA"}
    done = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-"],
        input=CALLS,
        capture_output=True,
        text=True,
        check=False,
        env=environment | variables,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_permissive_by_default_wrong_calls_have_pytorchs_errors_and_the_rest_goes_through():
    said = _said()
    assert said["converted"] == said["opaque"] == ""
    assert "argument 'k' specified twice" in said["twice"] and "missing value for argument 'b'" in said["missing"]
    assert "takes 2 positional argument(s) but 3" in said["positional"] and "at most 2 argument(s)" in said["keyword"]


def test_strict_by_a_variable_every_rule_is_held_and_named():
    said = _said(MINDTORCH_STRICT_SCHEMA="1")
    assert "unexpected keyword 'axis'" in said["keyword"]
    assert "argument 'k' specified twice" in said["twice"]
    assert "missing required argument 'b'" in said["missing"]
    assert "keyword-only argument 'training' passed as positional" in said["positional"]
    assert "Expected a value of type 'int'" in said["converted"] and "Expected a value of type 'Any'" in said["opaque"]
