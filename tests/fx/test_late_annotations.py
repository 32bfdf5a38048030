"""Annotations that name what only type checkers import: from Python 3.14 on, nobody has evaluated them before we ask."""

import sys

import pytest

import mindtorch_v2 as torch

pytestmark = pytest.mark.skipif(sys.version_info < (3, 14), reason="before Python 3.14 the definition itself raises")

_SOURCE = """
def scaled(x: Missing, factor: "Absent" = 2) -> list[Nowhere]:
    return x * factor

class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(x: Missing):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output: Missing):
        pass

    @staticmethod
    def backward(ctx, gradient: Missing):
        return gradient * 2
"""


@pytest.fixture
def defined():
    space = {"torch": torch, "__name__": __name__}
    exec(_SOURCE, space)
    return space


def test_symbolic_trace_keeps_the_name(defined):
    traced = torch.fx.symbolic_trace(defined["scaled"])
    assert [node.type for node in traced.graph.nodes if node.op == "placeholder"] == ["Missing", "Absent"]
    assert traced(torch.ones(2)).tolist() == [2.0, 2.0]


def test_jit_trace(defined):
    traced = torch.jit.trace(defined["scaled"], (torch.ones(2),))
    assert traced(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_functions_with_a_separate_context(defined):
    x = torch.ones(2, requires_grad=True)
    defined["Doubled"].apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
