"""Activations at their kinks, far out, in place, and their second derivatives."""

import pytest
from agreement import agree, agree_on_error

_KINKS = [-100.0, -20.0, -6.0, -3.0, -2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 20.0, 25.0, 100.0]
_FUNCTIONS = {
    "celu": {"alpha": 0.7},
    "elu": {"alpha": 0.7},
    "gelu": {},
    "gelu_tanh": {},
    "hardshrink": {},
    "hardsigmoid": {},
    "hardswish": {},
    "hardtanh": {"min_val": -0.5, "max_val": 2.0},
    "leaky_relu": {"negative_slope": 0.2},
    "log_sigmoid": {},
    "mish": {},
    "relu": {},
    "relu6": {},
    "selu": {},
    "sigmoid": {},
    "silu": {},
    "softplus": {"beta": 2.0, "threshold": 12.0},
    "softshrink": {},
    "tanh": {},
    "threshold": {"threshold": 0.5, "value": 3.0},
}


def _function(torch, name):
    options = dict(_FUNCTIONS[name])
    if name == "gelu_tanh":
        name, options = "gelu", {"approximate": "tanh"}
    return lambda x: getattr(torch.ops.aten, name)(x, **options)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("name", sorted(_FUNCTIONS))
def test_values_and_gradients_at_kinks(name, dtype):
    def program(torch):
        x = torch.tensor(_KINKS, dtype=getattr(torch, dtype), requires_grad=True)
        y = _function(torch, name)(x)
        y.backward(torch.ones_like(y) * 0.5)
        return [y, x.grad]

    agree(program, factor=2)


# PyTorch's vectorised gelu makes NaN of infinity; hardsigmoid's second derivative it does not have.
@pytest.mark.parametrize("name", sorted(set(_FUNCTIONS) - {"gelu"}))
def test_nan_and_infinities(name):
    def program(torch):
        x = torch.tensor([float("nan"), float("inf"), float("-inf")], requires_grad=True)
        y = _function(torch, name)(x)
        return [y]

    agree(program)


@pytest.mark.parametrize("name", sorted(set(_FUNCTIONS) - {"hardsigmoid"}))
def test_second_derivative(name):
    def program(torch):
        x = torch.tensor([-4.1, -2.2, -0.6, 0.3, 1.4, 3.7], dtype=torch.float64, requires_grad=True)
        y = _function(torch, name)(x)
        (first,) = torch.autograd.grad((y * torch.arange(1.0, 7.0)).sum(), x, create_graph=True)
        if not first.requires_grad:
            return [first]
        (second,) = torch.autograd.grad((first * first).sum(), x, allow_unused=True)
        return [first, second if second is not None else torch.zeros(6)]

    agree(program)


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh"])
def test_in_place(name):
    def program(torch):
        leaf = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
        x = leaf * 1
        getattr(torch, name + "_")(x)
        x.sum().backward()
        return [x, leaf.grad]

    agree(program)


def test_prelu():
    def program(torch):
        x = torch.arange(-6.0, 6.0).reshape(2, 3, 2).requires_grad_()
        one, each = torch.tensor([0.25], requires_grad=True), torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
        y, z = torch.prelu(x, one), torch.prelu(x, each)
        return [y, z, torch.autograd.grad(y.sum() + (z * z).sum(), (x, one, each))]

    agree(program)


def test_glu():
    def program(torch):
        x = torch.linspace(-2, 2, 24).reshape(4, 6).requires_grad_()
        a, b = torch.nn.functional.glu(x), torch.nn.functional.glu(x, 0)
        return [a, b, torch.autograd.grad(a.sum() + b.sum(), x)]

    agree(program)


def test_rrelu_without_training_is_leaky():
    agree(lambda torch: torch.rrelu(torch.tensor([-2.0, 0.0, 1.0]), 0.1, 0.3, False))


@pytest.mark.parametrize("shape", [(1000, 77), (64, 1025)])
def test_sizes_that_cross_threads(shape):
    def program(torch):
        n = shape[0] * shape[1]
        x = (torch.arange(n) % 401).to(torch.float32).reshape(shape) / 50 - 4
        return [
            torch.nn.functional.gelu(x),
            torch.nn.functional.silu(x),
            torch.nn.functional.gelu(x.t()),
            torch.relu(x[:, ::3]),
        ]

    agree(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t.relu(t.ones(2, dtype=t.bool)),
        lambda t: t.nn.functional.glu(t.ones(3)),
        lambda t: t.nn.functional.gelu(t.ones(3), approximate="no"),
        lambda t: t.prelu(t.ones(2, 3), t.ones(2)),
        lambda t: t.nn.functional.softshrink(t.ones(3), -1.0),
        lambda t: t.celu(t.ones(3), 0),
    ],
)
def test_errors(program):
    agree_on_error(program)
