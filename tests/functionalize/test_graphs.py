"""Functionalized programs as graphs: nothing in them writes, and what they compute is what the program did."""

import re

import mutating_programs
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.func import functionalize, grad
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.graph import verify
from mindtorch_v2.library import Library


def _writes(module):
    """The operators of a graph that write, but for the arguments that are given back at the end."""
    targets = [node.target for node in module.graph.nodes if node.op == "call_function"]
    return [str(t) for t in targets if getattr(t, "_schema", None) is not None and t._schema.is_mutable]


def _program(x):
    y = x.view(-1)
    y.add_(1)
    z = x[0]
    z.mul_(2)
    return x, y, z


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_a_program_of_views_and_writes(remove):
    module = make_fx(functionalize(_program, remove=remove))(torch.ones(2, 3))
    assert _writes(verify(module, functional=True)) == ["aten.copy_.default"]
    eager, traced = torch.arange(6.0).reshape(2, 3), torch.arange(6.0).reshape(2, 3)
    for mine, theirs in zip([*module(traced), traced], [*_program(eager), eager], strict=True):
        assert torch.equal(mine, theirs)
    if remove == "mutations_and_views":
        assert "aten.view.default" not in module.code
        assert "aten.select.int" not in module.code
        assert "aten.view_copy.default" in module.code


@pytest.mark.parametrize("read_first", [True, False], ids=["read, then written", "written, then read"])
def test_the_order_of_a_read_and_a_write(read_first):
    """The hazard of a graph whose order is data flow alone: one operator reads what another writes."""
    library = Library("functional_graphs", "FRAGMENT")
    library.define("bump(Tensor(a!) x) -> ()")
    library.impl("bump", lambda x: [x.add_(1)].clear(), "CPU")
    library.impl("bump", lambda x: None, "Meta")

    def program(x):
        before = x * 10 if read_first else None
        torch.ops.functional_graphs.bump(x)
        return before if read_first else x * 10

    try:
        module = make_fx(functionalize(program))(torch.ones(2))
        nodes = [node for node in module.graph.nodes if node.op == "call_function"]
        (bump,) = [node for node in nodes if "bump" in str(node.target)]
        (times,) = [node for node in nodes if "mul" in str(node.target)]
        assert str(bump.target) == "functional_graphs.bump_functional.default"
        reads_the_result = any(user is times for user in bump.users)
        assert reads_the_result != read_first
        x = torch.ones(2)
        assert module(x).tolist() == ([10, 10] if read_first else [20, 20])
        assert x.tolist() == [2, 2]
    finally:
        library._destroy()


def test_forward_and_backward_in_one_graph():
    def loss(x):
        y = x * 2
        y[1:].mul_(y[0].clone())
        y.t()[0].cos_()
        return (y * x).sum()

    x = (torch.arange(9, dtype=torch.float64) * 0.3).sin().reshape(3, 3)
    module = make_fx(functionalize(grad(loss)))(x)
    assert _writes(verify(module, functional=True)) == []
    other = x.cos()
    assert torch.allclose(module(other), grad(loss)(other))


@pytest.mark.parametrize("seed", range(0, mutating_programs.SEEDS, 4))
def test_random_programs(seed):
    program, aliasing = mutating_programs.seeded(seed)
    # A number that is assigned by a mask is filled into a constant of the graph first.
    program = [step for step in program if step[1] != "setitem_mask"]
    function = mutating_programs.body(torch, program)

    def given():
        first, second = (leaf.detach() for leaf in mutating_programs.leaves(torch))
        return mutating_programs.arguments([first, second], "none" if aliasing == "none" else "same")

    try:
        expected = function(*given())
    except RuntimeError as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            make_fx(functionalize(function))(*given())
        return
    module = make_fx(functionalize(function))(*given())
    assert set(_writes(module)) <= {"aten.copy_.default"}
    for mine, theirs in zip(module(*given()), expected, strict=True):
        assert torch.allclose(mine, theirs, equal_nan=True)
