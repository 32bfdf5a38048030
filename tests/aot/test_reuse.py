"""Results take the memory of what is not needed any more, and of nothing else."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._lowered import reuse as _reuse
from mindtorch_v2._lowered.reuse import reuse_memory
from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
from mindtorch_v2.graph import verify

F = torch.nn.functional


def reused(function, *args):
    """The pass's graph of a function, which gives the function's results, and the names of the operators that write."""
    module = reuse_memory(make_fx(torch.func.functionalize(function), tracing_mode="fake")(*args))
    verify(module, args)
    before = [each.clone() for each in args]
    with torch.no_grad():
        expected, found = function(*args), module(*args)
    for one, other in zip(*(each if isinstance(each, (tuple, list)) else [each] for each in (expected, found))):
        assert torch.equal(one, other) and one.stride() == other.stride() and one.dtype is other.dtype
    for one, other in zip(before, args):
        assert torch.equal(one, other)
    return [node.target._opname for node in module.graph.nodes if "out" in node.kwargs]


X = torch.linspace(-2, 2, 64 * 96).view(64, 96)
W = torch.linspace(-1, 1, 96 * 96).view(96, 96)


@pytest.mark.parametrize(
    ("function", "writes"),
    [
        (lambda x, w: torch.tanh(x @ w), ["tanh"]),
        (lambda x, w: F.gelu(F.linear(x, w)) + x, ["gelu", "add"]),
        (lambda x, w: x + F.linear(x, w), ["add"]),
        (lambda x, w: torch.relu(x @ w).sigmoid().mul(2).exp(), ["relu", "sigmoid", "mul", "exp"]),
        (lambda x, w: torch.where(x > 0, (x @ w), x), []),
        (lambda x, w: F.layer_norm(x @ w, [96]) + 1, ["add"]),
        (lambda x, w: (x * 2).mul_(3)[0].neg(), ["mul"]),
    ],
)
def test_a_dead_value_is_written_over(function, writes):
    assert reused(function, X, W) == writes


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: torch.tanh(x),  # an argument
        lambda x, w: (x @ w).sum(0) + x,  # another shape
        lambda x, w: [y := x @ w, y.tanh()],  # a result
        lambda x, w: [(y := x @ w).t(), y.tanh()],  # a view of it is a result
        lambda x, w: [(y := x @ w).tanh(), y.sum()],  # used later
        lambda x, w: [v := (y := x @ w)[0], y.tanh(), v.sum()][1:],  # a view of it is used later
        lambda x, w: (y := w @ w) + y.t(),  # read in another order
        lambda x, w: (y := w @ w) * y,  # two operands at once
        lambda x, w: (x @ w) > 0,  # another dtype
        lambda x, w: (x @ w).t().tanh(),  # a view
        lambda x, w: [z := x.view(-1), z.tanh()],
        lambda x, w: (x @ w)[:, :1].expand(64, 96).tanh(),
        lambda x, w: [torch.tanh(each) for each in (x @ w).split(32)],
    ],
)
def test_what_is_needed_stays(function):
    assert reused(function, X, W) == []


def test_a_users_operator_may_keep_what_it_was_given():
    kept = []
    with torch.library._scoped_library("reuse_test", "FRAGMENT") as lib:
        lib.define("keep(Tensor x) -> Tensor")
        lib.impl("keep", lambda x: (kept.append(x), x.sum())[1], "CPU")
        torch.library.register_fake("reuse_test::keep", lambda x: x.new_empty(()), lib=lib)

        def function(x, w):
            y = x @ w
            s = torch.ops.reuse_test.keep(y)
            return torch.tanh(y) + s

        assert "tanh" not in reused(function, X, W)
    assert torch.equal(kept[-1], X @ W)


def test_small_values_are_left_alone():
    assert reused(lambda x, w: torch.tanh(x @ w), X[:2], W) == []


def test_dropout_and_gradients(monkeypatch):
    monkeypatch.setattr(_reuse, "_LEAST", 0)

    def step(x, w):
        y = F.dropout(F.gelu(x @ w), 0.3, training=True) + x
        z = F.layer_norm(y, [96]) * torch.sigmoid(y)
        return (z.tanh() + y).square().mean()

    found = []
    for run in (step, torch.compile(step, backend="aot_eager", fullgraph=True)):
        x, w = X.clone().requires_grad_(), W.clone().requires_grad_()
        torch.manual_seed(3)
        loss = run(x, w)
        loss.backward(retain_graph=True)
        loss.backward()  # what was kept for backward is as it was
        found.append((loss, x.grad, w.grad))
    for one, other in zip(*found):
        assert torch.equal(one, other)
