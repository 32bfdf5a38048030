"""`torch.cond` and `torch.while_loop`: what they choose, what they refuse, gradients, and compiled functions around them.

The classes of errors, and which programs are errors, are PyTorch 2.13's.
"""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo.exc import UncapturedHigherOrderOpError
from mindtorch_v2._higher_order_ops import while_loop

X = torch.tensor([1.0, 2.0])


@pytest.mark.parametrize("yes", [True, 1, 0.5, torch.tensor(True), torch.tensor([2.0]), torch.tensor([[1]])])
@pytest.mark.parametrize("no", [False, 0, torch.tensor(False), torch.tensor([0.0])])
def test_cond_chooses(yes, no):
    assert torch.cond(yes, torch.sin, torch.cos, (X,)).equal(X.sin())
    assert torch.cond(no, torch.sin, torch.cos, [X]).equal(X.cos())


def test_operands_and_results_may_be_nested():
    def added(tree, y):
        return {"a": tree["x"] + y, "b": [y * 2]}

    def multiplied(tree, y):
        return {"a": tree["x"] * y, "b": [y - 1]}

    found = torch.cond(X.sum() < 0, added, multiplied, ({"x": X}, X + 1))
    assert found["a"].tolist() == [2, 6] and found["b"][0].tolist() == [1, 2]
    assert torch.cond(torch.tensor(False), lambda: torch.ones(1), lambda: torch.zeros(1)).item() == 0


def test_gradients_are_those_of_the_chosen_function():
    for choice, expected in ((True, [1.0, 2.0]), (False, [1.0, 1.0])):
        w, x = torch.ones(2, requires_grad=True), X.clone().requires_grad_()
        torch.cond(torch.tensor(choice), lambda x, w=w: x * w, lambda x, w=w: x + w, (x,)).sum().backward()
        assert w.grad.tolist() == expected and x.grad.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((torch.tensor([True, False]), torch.sin, torch.cos, (X,)), "bool or single-element tensor"),
        ((None, torch.sin, torch.cos, (X,)), "Expected pred to be bool or tensor, but got None"),
        ((torch.tensor(True), 3, torch.cos, (X,)), "Expect both branches to be callable"),
        ((torch.tensor(True), torch.sin, torch.cos, X), "Expect operands to be a tuple"),
        ((torch.tensor(True), torch.mul, torch.mul, (X, 3)), "only consists of tensor leaves"),
    ],
)
def test_arguments_of_cond(arguments, text):
    with pytest.raises(RuntimeError, match=text):
        torch.cond(*arguments)


def _writes(x):
    return x.add_(1) * 2


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: x.sum(), "shape"),
        (lambda x: x.int(), "dtype"),
        (lambda x: [x + 1], "structure"),
        (lambda x: x, "aliasing"),
        (lambda x: x.view(-1), "aliasing"),
        (_writes, "mutation"),
    ],
)
@pytest.mark.parametrize("chosen", [True, False])
def test_functions_that_do_not_fit(function, text, chosen):
    with pytest.raises(UncapturedHigherOrderOpError, match=text):
        torch.cond(torch.tensor(chosen), function, torch.cos, (X,))
    assert X.tolist() == [1, 2]


def test_while_loop():
    n, x = while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, x * 2), (torch.tensor(0), X))
    assert n.item() == 3 and x.tolist() == [8, 16]
    assert torch.while_loop(lambda n, x: n < 2, lambda n, x: (n + 1, x * 2), (0, X))[1].tolist() == [4, 8]
    assert torch.while_loop(lambda n, x: False, lambda n, x: (n + 1, x * 2), (0, X)) == (0, X)
    w = torch.tensor(3.0, requires_grad=True)
    torch.while_loop(lambda n, x: n < 2, lambda n, x: (n + 1, x * w), (0, torch.tensor(1.0)))[1].backward()
    assert w.grad.item() == 6


@pytest.mark.parametrize(
    ("condition", "body", "carried", "error"),
    [
        (3, lambda x: (x,), (X,), RuntimeError),
        (lambda x: True, lambda x: (x,), X, RuntimeError),
        (lambda x, s: True, lambda x, s: (x, s), (X, "a"), AssertionError),
        (lambda x: x < 3, lambda x: (x * 2,), (X,), UncapturedHigherOrderOpError),
        (lambda x: True, lambda x: (torch.cat([x, x]),), (X,), UncapturedHigherOrderOpError),
        (lambda x: True, lambda x: (x.double(),), (X,), UncapturedHigherOrderOpError),
        (lambda x: True, lambda x: (x * 2, x), (X,), UncapturedHigherOrderOpError),
        (lambda x: True, lambda x: (x,), (X,), UncapturedHigherOrderOpError),
        (lambda x: True, lambda x: (_writes(x),), (X,), UncapturedHigherOrderOpError),
        (lambda x: _writes(x).sum() > 0, lambda x: (x * 2,), (X,), UncapturedHigherOrderOpError),
    ],
)
def test_loops_that_do_not_fit(condition, body, carried, error):
    with pytest.raises(error):
        torch.while_loop(condition, body, carried)
    assert X.tolist() == [1, 2]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_in_compiled_functions(backend):
    def program(x):
        y = torch.cond((x * 2).sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() - 1, (x * 3,))
        n, z = torch.while_loop(lambda n, y: y.sum() < 10, lambda n, y: (n + 1, y + 2), (torch.tensor(0), y * 1))
        return z * 2, n

    compiled = torch.compile(program, backend=backend)
    for value in (1.0, -1.0, 2.0):
        x = torch.tensor([value, value])
        for one, other in zip(compiled(x), program(x)):
            assert torch.equal(one, other)
