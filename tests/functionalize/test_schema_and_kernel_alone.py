"""Operators with nothing but a schema and a kernel: where the schema says all that they give, they can be captured."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import UnsupportedOperatorException
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx


@pytest.fixture
def ops():
    def both(x, y):
        x.add_(y)
        y.mul_(2)

    library = torch.library.Library("alone", "FRAGMENT")
    for schema, kernel in (
        ("both(Tensor(a!) x, Tensor(b!) y) -> ()", both),
        ("add_(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: x.add_(y)),
        ("new(Tensor(a!) x) -> Tensor", lambda x: x.clone()),
    ):
        library.define(schema)
        library.impl(schema.partition("(")[0], kernel, "CPU")
    yield torch.ops.alone
    library._destroy()


def test_writes_are_captured(ops):
    def program(x, y):
        x, y = x.clone(), y.clone()
        before = x * 3
        ops.both(x[1:], y[1:])
        return before, ops.add_(x, y) * y

    given = torch.ones(3), torch.arange(3.0)
    expected = program(*given)
    captured = make_fx(torch.func.functionalize(program), tracing_mode="fake")(*given)
    compiled = torch.compile(program, fullgraph=True)
    for found in (captured(*given), compiled(*given), compiled(*given)):
        assert all(map(torch.equal, found, expected))
    assert "alone.both_functional" in captured.code


def test_a_new_result_needs_a_meta_kernel(ops):
    with pytest.raises(UnsupportedOperatorException):
        make_fx(lambda x: ops.new(x), tracing_mode="fake")(torch.ones(2))
    with pytest.raises(NotImplementedError, match="no fake impl or Meta kernel registered"):
        torch.ops.alone.both(torch.ones(2, device="meta"), torch.ones(2, device="meta"))
