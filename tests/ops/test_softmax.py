"""softmax and log_softmax along every dimension, far out, masked, and twice differentiated."""

import pytest
from agreement import agree, agree_on_error


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_values_and_gradients(name, dim, dtype):
    def program(torch):
        x = (torch.sin(torch.arange(4 * 70 * 90.0)) * 8).reshape(4, 70, 90).to(getattr(torch, dtype)).requires_grad_()
        y = getattr(torch, name)(x, dim)
        y.backward(torch.cos(torch.arange(4 * 70 * 90.0)).reshape(4, 70, 90).to(y.dtype))
        return [y, x.grad]

    agree(program, factor=8)


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "_safe_softmax"])
def test_infinities(name):
    def program(torch):
        inf, nan = float("inf"), float("nan")
        x = torch.tensor([[1.0, -inf, 2.0], [-inf, -inf, -inf], [inf, 0.0, 1.0], [nan, 0.0, 1.0], [1e30, -1e30, 200.0]])
        return [getattr(torch, name)(x, 1), getattr(torch, name)(x.t().contiguous(), 0), torch.logsumexp(x, 1)]

    agree(program)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_second_derivative(name):
    def program(torch):
        x = torch.sin(torch.arange(12.0, dtype=torch.float64)).reshape(3, 4).requires_grad_()
        weights = torch.cos(torch.arange(12.0, dtype=torch.float64)).reshape(3, 4)
        (first,) = torch.autograd.grad((getattr(torch, name)(x, 1) * weights).sum(), x, create_graph=True)
        return [first, *torch.autograd.grad((first * first).sum(), x)]

    agree(program)


def test_computed_in_another_type():
    def program(torch):
        x = torch.arange(6.0).reshape(2, 3).to(torch.bfloat16).requires_grad_()
        y = torch.softmax(x, -1, dtype=torch.float32)
        y[0, 0].backward()
        return [y, x.grad, torch.log_softmax(torch.arange(3), 0, dtype=torch.float64)]

    agree(program)


def test_errors():
    agree_on_error(lambda torch: torch.softmax(torch.arange(3), 0))
    agree_on_error(lambda torch: torch.log_softmax(torch.arange(3), 0))
    agree_on_error(lambda torch: torch.softmax(torch.ones(3), 1))
