"""The operator table: derived forms, and rows that say what no row knows."""

import pytest

import mindtorch_v2
from mindtorch_v2 import _C
from mindtorch_v2._operators.table import ROWS, composite, op
from mindtorch_v2._operators.table.schemas import define_inplace, define_out

pytestmark = pytest.mark.no_torch


@pytest.fixture
def define():
    made = []

    def define(schema):
        made.append(_C._define("table_test", schema))
        return made[-1], made.append

    yield define
    for handle in made:
        _C._erase_operator(handle)


@pytest.mark.parametrize(
    ("schema", "inplace", "out"),
    [
        (
            'f(Tensor self, str s="a, b) -> c", int[2] size=[1, 2], *, bool x=False) -> Tensor',
            'f_(Tensor(a!) self, str s="a, b) -> c", int[2] size=[1, 2], *, bool x=False) -> Tensor(a!)',
            'f.out(Tensor self, str s="a, b) -> c", int[2] size=[1, 2], *, bool x=False, Tensor(a!) out) -> Tensor(a!)',
        ),
        (
            "g.Tensor(Tensor self, Tensor? other=None) -> (Tensor values, Tensor indices)",
            None,
            "g.out(Tensor self, Tensor? other=None, *, Tensor(a!) values, Tensor(b!) indices)"
            " -> (Tensor(a!) values, Tensor(b!) indices)",
        ),
        (
            "h.dim(Tensor self) -> Tensor",
            "h_.dim(Tensor(a!) self) -> Tensor(a!)",
            "h.dim_out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)",
        ),
    ],
)
def test_forms_follow_from_the_schema(define, schema, inplace, out):
    handle, keep = define(schema)
    if inplace is not None:
        made = define_inplace(handle)
        keep(made)
        assert (made.schema, made.form) == (f"table_test::{inplace}", "inplace")
    made = define_out(handle, first=True)
    keep(made)
    assert (made.schema, made.form) == (f"table_test::{out}", "out")


@pytest.mark.parametrize(
    ("schema", "form", "message"),
    [
        ("f(int n) -> Tensor", define_inplace, "needs a Tensor as first argument"),
        ("f(*, Tensor x) -> Tensor", define_inplace, "needs a Tensor as first argument"),
        ("f(Tensor(a) x) -> Tensor(a)", define_inplace, "needs a Tensor as first argument"),
        ("f(Tensor x) -> ()", lambda f: define_out(f, first=True), "needs results"),
        ("f(Tensor x) -> Tensor[]", lambda f: define_out(f, first=True), "needs new Tensors as results"),
        ("f(Tensor(a) x) -> Tensor(a)", lambda f: define_out(f, first=True), "needs new Tensors as results"),
    ],
)
def test_forms_that_a_schema_has_not(define, schema, form, message):
    handle, _ = define(schema)
    with pytest.raises(ValueError, match=message):
        form(handle)


def test_words_that_a_row_does_not_know():
    with pytest.raises(TypeError, match="unexpected keyword argument 'pointwize'"):
        op("_never(Tensor self) -> Tensor", "Nothing.", grad=None, pointwize=True)
    with pytest.raises(TypeError, match="unexpected keyword argument 'pointwize'"):
        composite("_never(Tensor self) -> Tensor", "Nothing.", pointwize=True)(lambda self: self)
    with pytest.raises(ValueError, match="unknown bind words"):
        op("_never(Tensor self) -> Tensor", "Nothing.", grad=None, bind="methods")
    with pytest.raises(ValueError, match="neither grad="):
        op("_never(Tensor self) -> Tensor", "Nothing.")
    assert "_never" not in ROWS and not hasattr(mindtorch_v2.ops.aten, "_never")
