"""Values that hooks return are checked before backward goes on with it; the texts are PyTorch 2.13's."""

import pytest

import mindtorch_v2 as torch


def ones(*sizes, **named):
    return torch.ones(*sizes, **named)


def five(*_):
    return ones(5)


class Callable:
    def __call__(self, *_):
        return ones(5)


@pytest.mark.parametrize(
    ("hook", "error", "text"),
    [
        (five, RuntimeError, "hook 'five' has changed the size of value"),
        (Callable(), RuntimeError, "hook '<unknown>' has changed the size of value"),
        (lambda g: g.reshape(2, 1), RuntimeError, "hook '<lambda>' has changed the size of value"),
        (
            lambda g: g.double(),
            RuntimeError,
            "hook '<lambda>' has changed the type of value (was torch.FloatTensor got torch.DoubleTensor)",
        ),
        (lambda g: 5, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda g: (g,), TypeError, "expected Variable, but hook returned 'tuple'"),
    ],
)
@pytest.mark.parametrize("leaf", [False, True])
def test_tensor_hooks(hook, error, text, leaf):
    x = ones(2, requires_grad=True)
    y = x * 2
    (x if leaf else y).register_hook(hook)
    with pytest.raises(error) as raised:
        y.sum().backward()
    assert str(raised.value) == text
    assert x.grad is None


@pytest.mark.parametrize(
    ("returned", "error", "text"),
    [
        ((5,), TypeError, "expected Variable, but hook returned 'int'"),
        (ones(2), TypeError, "expected tuple, but hook returned 'Tensor'"),
        ((ones(7),), RuntimeError, "hook '<lambda>' has changed the size of value"),
        (
            (None,) * 7,
            RuntimeError,
            "hook '<lambda>' has returned an incorrect number of values (got 7, but expected 1)",
        ),
    ],
)
@pytest.mark.parametrize("before", [False, True])
def test_node_hooks(returned, error, text, before):
    x = ones(2, requires_grad=True)
    y = x.exp()
    if before:
        y.grad_fn.register_prehook(lambda grads: returned)
    else:
        y.grad_fn.register_hook(lambda grads, outer: returned)
    with pytest.raises(error) as raised:
        y.sum().backward()
    assert str(raised.value) == text


def test_a_gradient_that_is_not_there_cannot_be_replaced():
    x = ones(2, requires_grad=True)
    first, second = torch.split(x, 1)
    first.grad_fn.register_prehook(lambda grads: (ones(1), ones(1)))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        first.sum().backward()


def test_none_takes_a_gradient_away():
    x = ones(2, requires_grad=True)
    y = x * 2
    y.grad_fn.register_prehook(lambda grads: (None,))
    y.sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("number", [-1, 1, 7, 2**40])
def test_an_edge_names_an_output_that_exists(number):
    edge = torch.autograd.graph.GradientEdge(ones(2, requires_grad=True).mul(2).grad_fn, number)
    with pytest.raises(IndexError):
        torch.autograd.backward([edge], [ones(2)])


class _OneOfTwo(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * 2 + b

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None


def test_a_hook_hears_of_a_gradient_that_did_not_come() -> None:
    seen = []
    leaf, other = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    leaf.register_hook(lambda g: seen.append(("leaf", g)))
    _OneOfTwo.apply(other, leaf).sum().backward()
    middle = leaf * 2
    middle.register_hook(lambda g: seen.append(("middle", g)))
    _OneOfTwo.apply(other, middle).sum().backward()
    assert seen == [("leaf", None), ("middle", None), ("leaf", None)]
    assert leaf.grad is None


def test_a_hook_cannot_make_a_gradient_where_none_came() -> None:
    leaf = torch.ones(2, requires_grad=True)
    leaf.register_hook(lambda g: torch.ones(2))
    with pytest.raises(RuntimeError, match="can't replace a None gradient with a non-None value"):
        _OneOfTwo.apply(torch.ones(2, requires_grad=True), leaf).sum().backward()


def test_hooks_see_gradients_of_inputs_that_need_none():
    """The gradients that a Function's backward gives, as they are; a module's hooks see zeros for such inputs."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 1

        @staticmethod
        def backward(ctx, g):
            return g, g * 2

    seen = []
    y = Twice.apply(torch.ones(2, requires_grad=True), torch.ones(2))
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append([each.tolist() for each in inputs]))
    y.sum().backward()
    assert seen == [[[1.0, 1.0], [2.0, 2.0]]]

    class Gather(torch.nn.Module):
        def forward(self, x, index, shift):
            return x[index] + shift

    module, told = Gather(), []
    module.register_full_backward_hook(lambda module, inputs, outputs: told.extend(inputs))
    module(torch.ones(3, requires_grad=True), torch.tensor([1, 1]), torch.zeros(2)).sum().backward()
    assert [(each.tolist(), each.dtype) for each in told] == [
        ([0.0, 2.0, 0.0], torch.float32),
        ([0, 0], torch.int64),
        ([0.0, 0.0], torch.float32),
    ]
