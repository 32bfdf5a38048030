"""MINDTORCH_STRICT_SCHEMA=1: operators of users take values of their schema's types as they are, or not at all.

Each value is taken without the variable, by PyTorch's conversions (tests/library/test_binding.py compares those), and refused with it.
"""

import json
import os
import re
import subprocess
import sys

import pytest

# Schema type: expressions that are taken as they are, expressions that PyTorch would convert.
VALUES = {
    "Tensor": (["torch.ones(1)", "torch.nn.Parameter(torch.ones(1))"], ["None"]),
    "Tensor?": (["torch.ones(1)", "None"], []),
    "int": (["3", "-1", "E.three"], ["True", "np.int64(3)", "torch.tensor(3)", "HasIndex()", "torch.float32"]),
    "int?": (["3", "None"], ["True"]),
    "SymInt": (["3"], ["True", "np.int64(3)", "HasIndex()"]),
    "float": (["1.5", "float('nan')", "np.float64(1.5)"], ["1", "True", "torch.tensor(1.5)", "np.float32(1.5)"]),
    "float?": (["1.5", "None"], ["1"]),
    "complex": (["1j"], ["1.5", "1"]),
    "Scalar": (["1", "1.5", "True", "1j"], ["torch.float32"]),
    "bool": (["True", "False"], ["1", "None", "torch.tensor(True)"]),
    "str": (["'text'"], ["b'text'"]),
    "ScalarType": (["torch.float32"], ["6"]),
    "Layout": (["torch.strided"], ["0"]),
    "MemoryFormat": (["torch.channels_last"], ["2"]),
    "Device": (["torch.device('cpu')", "'cpu'"], ["b'cpu'"]),
    "int[]": (["[1, 2]", "(1, 2)", "[]", "torch.Size([1])"], ["range(2)", "[True]", "[np.int64(1)]", "np.array([1])"]),
    "int[2]": (["[1, 2]", "5"], ["[1, 2, 3]", "[1]", "[]", "True"]),
    "int[2]?": (["[1, 2]", "None"], ["[1]"]),
    "float[]": (["[1.5]"], ["[1]"]),
    "float[2]": (["[1.5, 2.5]", "1.5"], ["[1.5]"]),
    "bool[2]": (["[True, False]"], ["[True]", "[1, 0]"]),
    "str[2]": (["['a', 'b']"], ["['a']"]),
    "Scalar[]": (["[1, 1.5]"], ["range(2)"]),
    "Tensor[]": (["[torch.ones(1)]", "[]"], []),
    "Tensor[2]": (["[torch.ones(1), torch.ones(1)]"], ["[torch.ones(1)]"]),
    "Tensor?[]": (["[torch.ones(1), None]"], []),
    "(int, float)": (["(1, 1.5)"], ["[1, 1.5]", "(True, 1.5)", "(1, 1)"]),
    "(Tensor, Tensor, Tensor)?": (["None", "(x, x, x)"], ["[x, x, x]"]),
    "Dict(str, int)": (["{'a': 1}", "{}"], ["[]", "{'a': True}"]),
    "Any": (["1", "'text'", "[1, 2]", "torch.ones(1)"], ["object()", "{1}"]),
    "Stream": (["torch.npu.Stream.__new__(torch.npu.Stream)"], ["3", "object()"]),
}

PROGRAM = """
import enum, json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import torch

class E(enum.IntEnum):
    three = 3

class HasIndex:
    def __index__(self):
        return 5

library = torch.library.Library("strict", "FRAGMENT")
names = {"torch": torch, "np": np, "E": E, "HasIndex": HasIndex, "x": torch.ones(1)}
found = {}

def attempt(key, call):
    try:
        call()
        found[key] = ""
    except Exception as error:
        found[key] = str(error)

values, calls = json.loads(sys.stdin.read())
for number, (kind, expressions) in enumerate(values):
    library.define(f"takes{number}({kind} v) -> ()")
    library.impl(f"takes{number}", lambda *args: None, "CompositeExplicitAutograd")
    for expression in expressions:
        value = eval(expression, names)
        attempt(f"{kind} <- {expression}", lambda: getattr(torch.ops.strict, f"takes{number}")(value))
    library.define(f"gives{number}(int which) -> ({kind} r)")
    library.impl(f"gives{number}", lambda which: eval(expressions[which], names), "CompositeExplicitAutograd")
    for which, expression in enumerate(expressions):
        attempt(f"{kind} -> {expression}", lambda: getattr(torch.ops.strict, f"gives{number}")(which))
for number, (schema, call) in enumerate(calls):
    name, _, rest = schema.partition("(")
    library.define(f"{name}{number}({rest}")
    library.impl(f"{name}{number}", lambda *args, **kwargs: args[0] if args else None, "CompositeExplicitAutograd")
    attempt(f"{schema}: {call}", lambda: eval(f"op({call})", {"op": getattr(torch.ops.strict, f"{name}{number}"), **names}))
attempt("aten", lambda: torch.ops.aten.leaky_relu(torch.ones(1), 1).add(torch.ops.aten.sum.dim_IntList(torch.ones(1), range(1))))
print(json.dumps(found))
"""

# Wrong calls, the first four of the operator registration document, and the rule that each breaks.
CALLS = [
    ("add(Tensor a, Tensor b) -> Tensor", "x, x, axis=1", "unexpected keyword 'axis'"),
    ("topk(Tensor x, int k=1, int axis=-1) -> Tensor", "x, 5, k=3", "argument 'k' specified twice"),
    ("matmul(Tensor a, Tensor b) -> Tensor", "x", "missing required argument 'b'"),
    (
        "drop(Tensor x, float p=0.5, *, bool training=True) -> Tensor",
        "x, 0.2, False",
        "keyword-only argument 'training'",
    ),
    ("two(Tensor x) -> Tensor", "x, x", r"takes 1 positional argument\(s\) but 2"),
    ("kw(Tensor x, *, int k) -> Tensor", "x", "missing required argument 'k'"),
    ("rest(Tensor x, *, int k, ...) -> Tensor", "x, 1, more=2", "unexpected keyword 'more'"),
    ("any(Tensor x, ...) -> Tensor", "x, object()", "argument 1 is of the type 'object'"),
]
RIGHT = [
    ("add(Tensor a, Tensor b) -> Tensor", "x, b=x"),
    ("drop(Tensor x, float p=0.5, *, bool training=True) -> Tensor", "x, training=False"),
    ("rest(Tensor x, *, int k, ...) -> Tensor", "x, 1, 'two', x, k=3"),
]


def _ask(**variables):
    values = [(kind, [*taken, *converted]) for kind, (taken, converted) in VALUES.items()]
    calls = [(schema, call) for schema, call, _ in CALLS] + RIGHT
    environment = {name: value for name, value in os.environ.items() if name != "MINDTORCH_STRICT_SCHEMA"}
    said = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-c", PROGRAM],
        input=json.dumps([values, calls]),
        capture_output=True,
        text=True,
        check=False,
        env=environment | variables,
    )
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


@pytest.fixture(scope="module")
def strict():
    return _ask(MINDTORCH_STRICT_SCHEMA="1")


@pytest.fixture(scope="module")
def permissive():
    return _ask()


@pytest.mark.parametrize("kind", VALUES)
def test_nothing_is_converted(strict, kind):
    taken, converted = VALUES[kind]
    assert {each: strict[f"{kind} <- {each}"] for each in taken} == dict.fromkeys(taken, "")
    for each in converted:
        said = strict[f"{kind} <- {each}"]
        assert "Expected a value of type" in said and "MINDTORCH_STRICT_SCHEMA=1: nothing is converted" in said, (
            each,
            said,
        )


@pytest.mark.parametrize("kind", VALUES)
def test_without_the_variable_pytorchs_conversions_are_made(permissive, kind):
    taken, converted = VALUES[kind]
    assert {each: permissive[f"{kind} <- {each}"] for each in (*taken, *converted)} == dict.fromkeys(
        (*taken, *converted), ""
    )


@pytest.mark.parametrize("kind", [kind for kind in VALUES if "[2]" not in kind])
def test_results_are_not_converted_either(strict, kind):
    taken, converted = VALUES[kind]
    assert {each: strict[f"{kind} -> {each}"] for each in taken} == dict.fromkeys(taken, "")
    for each in converted:
        assert "as result but the kernel returned" in strict[f"{kind} -> {each}"], each


@pytest.mark.parametrize(("schema", "call", "rule"), CALLS)
def test_the_rule_that_a_call_breaks_is_named(strict, schema, call, rule):
    said = strict[f"{schema}: {call}"]
    assert re.search(rule, said), said


@pytest.mark.parametrize(("schema", "call"), RIGHT)
def test_right_calls_are_taken(strict, permissive, schema, call):
    assert strict[f"{schema}: {call}"] == permissive[f"{schema}: {call}"] == ""


def test_operators_of_the_framework_stay_pytorchs(strict):
    assert strict["aten"] == ""
