"""Operators that users register, in a functionalized program: the guide's plug-in, and operators with a schema and a
kernel only."""

import os
import pathlib
import subprocess
import sys

import pytest
from inplace_guide import PLUGIN

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.functional import functional_variant
from mindtorch_v2.func import functionalize
from mindtorch_v2.library import Library

STAND_IN = pathlib.Path(__file__).with_name("torch_npu_stand_in.py")

WITHOUT_ONE_OF_ITS_OWN = "import torch\nimport torch_npu\n"

CHECK = """
from torch.func import functionalize

called = []


class Watch(torch.utils._python_dispatch.TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        called.append(str(func))
        return func(*args, **(kwargs or {}))


def program(x, y):
    before = x * 3
    torch.ops.npu.my_inplace(x, y)
    torch.ops.npu.my_inplace(x[1:], y[:2])
    return before, x + y


def given():
    return [torch._C._alias_on_device(torch.tensor([1.0, 2.0, 3.0]), "npu") for _ in range(2)]


def shown(tensors):
    return [torch._C._alias_on_device(t, "cpu").tolist() for t in tensors]


x, y = given()
print(shown([*program(x, y), x, y]))
x, y = given()
results = functionalize(program)(x, y)
print(shown([*results, x, y]))
x, y = given()
with Watch():
    functionalize(program)(x, y)
print([name for name in called if "my_inplace" in name])
print([name for name in called if name.split(".")[1].endswith("_")])
a, b = torch.empty(2, device="meta"), torch.empty(2, device="meta")
print(torch.ops.npu.my_inplace_functional(a, b)[1].shape)
"""


@pytest.mark.parametrize("registered", [PLUGIN, WITHOUT_ONE_OF_ITS_OWN], ids=["guide", "schema and kernel only"])
def test_the_guides_operator(tmp_path, registered):
    if registered is WITHOUT_ONE_OF_ITS_OWN:
        registered += '@torch.library.impl(torch_npu.operators, "my_inplace", "Meta")\ndef _(x, y): pass\n'
    (tmp_path / "torch_npu.py").write_text(STAND_IN.read_text())
    (tmp_path / "program.py").write_text(registered + CHECK)
    said = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "utf-8"},
    )
    assert said.returncode == 0, said.stderr
    eager, functional, calls, writes, meta = said.stdout.splitlines()
    assert eager == "[[3.0, 6.0, 9.0], [6.0, 12.0, 11.0], [2.0, 4.0, 5.0], [4.0, 8.0, 6.0]]"
    assert functional == eager
    assert calls == "['npu.my_inplace_functional.default', 'npu.my_inplace_functional.default']"
    assert writes == "['aten.copy_.default', 'aten.copy_.default']"  # to the caller's own tensors, at the end
    assert meta == "torch.Size([2])"


@pytest.fixture
def library():
    made = Library("functional_plugins", "FRAGMENT")
    yield made
    made._destroy()


OPS = torch.ops.functional_plugins


def _silent(kernel):
    """The kernel without a result."""

    def without(*args):
        kernel(*args)

    return without


def _same_as_eager(program, *given):
    eager, functional = [t.clone() for t in given], [t.clone() for t in given]
    expected, found = program(*eager), functionalize(program)(*functional)
    for mine, theirs in zip([*found, *functional], [*expected, *eager], strict=True):
        assert torch.equal(mine, theirs)
    return found


def _variant(name):
    return functional_variant(getattr(OPS, name).default._handle)


def test_results_beside_the_written_argument(library):
    library.define("push(Tensor(a!) stack, Tensor item, int times=2) -> (Tensor, Tensor)")

    def push(stack, item, times=2):
        before = stack.sum()
        stack.add_(item * times)
        return before, stack.sum()

    library.impl("push", push, "CPU")
    found = _same_as_eager(lambda s, i: (*OPS.push(s, i), *OPS.push(s[1:], i[1:], 3)), torch.ones(3), torch.arange(3.0))
    assert [t.item() for t in found] == [3, 9, 8, 17]
    assert _variant("push").op.schema == (
        "functional_plugins::push_functional(Tensor stack, Tensor item, int times=2) -> (Tensor, Tensor, Tensor)"
    )


def test_lists_and_optional_arguments(library):
    library.define("spread(Tensor(a!)[] parts, Tensor(b!)? total=None, *, float by=2.) -> ()")

    def spread(parts, total=None, *, by=2.0):
        for part in parts:
            part.mul_(by)
        if total is not None:
            total.add_(sum(part.sum() for part in parts))

    library.impl("spread", spread, "CPU")

    def program(x, total):
        OPS.spread([x[0], x[2:]], total)
        OPS.spread([x])
        OPS.spread([x, total], by=0.5)
        return x * 1, total * 1

    _same_as_eager(program, torch.ones(4, 2), torch.zeros(1))
    assert "spread_functional(Tensor[] parts, Tensor? total=None, *, float by=2.)" in _variant("spread").op.schema


def test_an_operator_that_returns_what_it_writes(library):
    library.define("twice_(Tensor(a!) x) -> Tensor(a!)")
    library.impl("twice_", lambda x: x.mul_(2), "CPU")
    _same_as_eager(lambda x: (OPS.twice_(x[0]).add_(1), x.sum()), torch.ones(2, 2))
    assert functionalize(lambda x: OPS.twice_(x) is x)(torch.ones(2))


def test_an_out_of_place_operator_is_taken_where_there_is_one(library):
    called = []
    library.define("grow_(Tensor(a!) x, int by) -> Tensor(a!)")
    library.define("grow(Tensor x, int by) -> Tensor")
    library.define("grow.out(Tensor x, int by, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("grow_", lambda x, by: x.add_(by), "CPU")
    library.impl("grow", lambda x, by: called.append(by) or x + by, "CPU")
    library.impl("grow.out", lambda x, by, *, out: out.copy_(x + by), "CPU")

    def program(x, out):
        OPS.grow_(x, 1)
        OPS.grow.out(x, 2, out=out)
        return x, out

    _same_as_eager(program, torch.ones(2), torch.zeros(2))
    assert called == [1, 2]
    assert _variant("grow_").op.name == "grow"


def test_a_view_of_ones_own(library):
    library.define("odd(Tensor(a) x) -> Tensor(a)")
    library.impl("odd", lambda x: x[1::2], "CPU")
    _same_as_eager(lambda x: (OPS.odd(x).mul_(5), x.sum()), torch.arange(5.0))


def test_the_users_kernel_for_the_key_wins(library):
    library.define("write(Tensor(a!) x) -> ()")
    library.define("write_functional(Tensor x) -> Tensor")
    library.impl("write", _silent(lambda x: x.fill_(1)), "CPU")
    library.impl("write_functional", lambda x: torch.full_like(x, 1), "CPU")
    x = torch.zeros(2)
    functionalize(lambda x: OPS.write(x))(x)
    assert x.tolist() == [1, 1]
    library.impl("write", _silent(lambda x: x.copy_(OPS.write_functional(x) + 6)), "Functionalize")
    functionalize(lambda x: OPS.write(x[:1]))(x)
    assert x.tolist() == [7, 1]


def test_a_functional_operator_registered_later_takes_the_derived_ones_place(library):
    library.define("late(Tensor(a!) x) -> ()")
    library.impl("late", _silent(lambda x: x.add_(1)), "CPU")
    functionalize(lambda x: OPS.late(x))(torch.zeros(1))
    assert "late_functional" in dir(OPS) or OPS.late_functional
    library.define("late_functional(Tensor x) -> Tensor")
    library.impl("late_functional", lambda x: x + 100, "CPU")
    x = torch.zeros(1)
    functionalize(lambda x: OPS.late(x))(x)
    assert x.tolist() == [100]


def test_custom_op():
    @torch.library.custom_op("functional_plugins::rotate", mutates_args={"x"})
    def rotate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.copy_(x.roll(1))
        return x * y

    found = _same_as_eager(lambda x, y: (rotate(x[1:], y[1:]), x * 1), torch.arange(4.0), torch.ones(4))
    assert found[1].tolist() == [0, 3, 1, 2]


# ---- registrations that contradict each other ----


def test_a_functional_form_with_the_wrong_results(library):
    library.define("short(Tensor(a!) x, Tensor(b!) y) -> ()")
    library.impl("short", lambda x, y: None, "CPU")
    library.define("short_functional(Tensor x, Tensor y) -> Tensor")
    with pytest.raises(RuntimeError) as raised:
        functionalize(lambda x: OPS.short(x, x * 2))(torch.ones(1))
    assert str(raised.value) == (
        "functional_plugins::short_functional is by its name the functional form of functional_plugins::short, and its schema "
        "is not: functional_plugins::short_functional(Tensor x, Tensor y) -> Tensor. It should be: "
        "short_functional(Tensor x, Tensor y) -> (Tensor, Tensor)"
    )


@pytest.mark.parametrize("kernel", [lambda x: x, lambda x: x[:1]], ids=["itself", "a view"])
def test_a_functional_operator_that_returns_its_argument(library, kernel):
    library.define("same(Tensor x) -> Tensor")
    library.impl("same", kernel, "CPU")
    with pytest.raises(RuntimeError, match="same: result 0 shares memory with the argument 'x'.*Return a clone of it"):
        functionalize(lambda x: OPS.same(x))(torch.ones(2))


CHECKED = """
import warnings

import torch
from torch.library import Library

library = Library("checked", "DEF")
kernels = {
    "shape": lambda x: torch.empty(x.shape[0]),
    "dtype": lambda x: torch.empty(x.shape, dtype=torch.int32),
    "strides": lambda x: x.t().clone(memory_format=torch.contiguous_format).t(),
    "right": lambda x: x + 1,
    "data_dependent": lambda x: x[x > 0],
}
for name, kernel in kernels.items():
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, kernel, "CPU")
    if name != "data_dependent":
        library.impl(name, torch.empty_like, "Meta")
library.define("number(Tensor x) -> Tensor[]")
library.impl("number", lambda x: [x + 1, x + 2], "CPU")
library.impl("number", lambda x: [torch.empty_like(x)], "Meta")
library.define("device(Tensor x) -> Tensor")
library.impl("device", lambda x: x + 1, "CPU")
library.impl("device", lambda x: torch.empty(x.shape), "Meta")
library.define("writes(Tensor(a!) x) -> ()")
library.impl("writes", lambda x: [x.add_(1)].clear(), "CPU")
library.impl("writes", lambda x: None, "Meta")
for name in (*kernels, "number", "device", "writes"):
    try:
        getattr(torch.ops.checked, name)(torch.ones(3, 2))
        print(name)
    except RuntimeError as error:
        print(error)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    library.define("returns_it(Tensor(a!) x, Tensor y) -> Tensor(a!)")
print(*[w.message for w in caught])
"""


def _run(program, **variables):
    said = subprocess.run(
        [sys.executable, "-m", "mindtorch_v2", "-"],
        input=program,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )
    assert said.returncode == 0, said.stderr
    return said.stdout.splitlines()


def test_meta_kernels_that_say_something_else():
    lines = _run(CHECKED, MINDTORCH_CHECK_META="1", MINDTORCH_CHECK_MUTATION="1")
    beginnings = (
        "checked::shape: for result 0 the Meta kernel gives the shape [3, 2]; the kernel that ran gave [3].",
        "checked::dtype: for result 0 the Meta kernel gives the dtype torch.float32; the kernel that ran gave torch.int32.",
        "checked::strides: for result 0 the Meta kernel gives the strides [2, 1]; the kernel that ran gave [1, 3].",
        "right",
        "data_dependent",
        "checked::number: for result 0 the Meta kernel gives 1 tensors; the kernel that ran gave 2.",
        "checked::device: for result 0 the Meta kernel gives the device cpu instead of meta; the kernel that ran gave cpu.",
        "writes",
        "checked::returns_it: the operator returns what it writes to (x).",
    )
    assert len(lines) == len(beginnings)
    for line, beginning in zip(lines, beginnings, strict=True):
        assert line.startswith(beginning), line
    assert "Correct what register_fake" in lines[0]
    assert lines[-1].endswith("Return nothing: returns_it(Tensor(a!) x, Tensor y) -> ()")


def test_nothing_is_checked_unasked():
    assert _run(CHECKED)[:3] == ["shape", "dtype", "strides"]


# ---- opcheck ----


def test_opcheck_runs_the_functional_form(library):
    library.define("add_one(Tensor(a!) x) -> ()")
    library.impl("add_one", _silent(lambda x: x.add_(1)), "CPU")
    library.impl("add_one", lambda x: None, "Meta")
    opcheck = torch.library.opcheck
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_static", "test_aot_dispatch_dynamic")
    assert set(opcheck(OPS.add_one.default, (torch.ones(2),), test_utils=tests).values()) == {"SUCCESS"}
    library.define("add_one_functional(Tensor x) -> Tensor")
    library.impl("add_one_functional", lambda x: x + 2, "CPU")
    library.impl("add_one_functional", torch.empty_like, "Meta")
    with pytest.raises(torch.library.OpCheckError, match="whose mutations are carried out functionally differ"):
        opcheck(OPS.add_one.default, (torch.ones(2),), test_utils="test_aot_dispatch_static")
