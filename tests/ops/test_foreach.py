"""Operators on lists of tensors, both forms, with lists, numbers and lists of numbers."""

import pytest
from agreement import agree, agree_on_error


def _lists(torch):
    a = [torch.tensor([1.0, 2.0]), torch.tensor([[0.5], [4.0]]), torch.tensor(3.0)]
    b = [torch.tensor([2.0, 0.5]), torch.tensor([[1.5], [1.0]]), torch.tensor(2.0)]
    return a, b


@pytest.mark.parametrize(
    "name",
    [
        "abs",
        "ceil",
        "cos",
        "erf",
        "exp",
        "floor",
        "log",
        "neg",
        "reciprocal",
        "round",
        "rsqrt",
        "sigmoid",
        "sign",
        "sqrt",
        "tanh",
        "trunc",
    ],
)
def test_one_list(name):
    def program(torch):
        a, _ = _lists(torch)
        new = getattr(torch, f"_foreach_{name}")(a)
        getattr(torch, f"_foreach_{name}_")(a)
        return [new, a]

    agree(program)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "clamp_min", "clamp_max", "pow"])
def test_operands(name):
    def program(torch):
        a, b = _lists(torch)
        function, inplace = getattr(torch, f"_foreach_{name}"), getattr(torch, f"_foreach_{name}_")
        results = [function(a, b), function(a, 2.0), function(a, [1.0, 2.0, 3.0])]
        inplace(a, b)
        inplace(b, 0.5)
        return [results, a, b]

    agree(program)


def test_options():
    def program(torch):
        a, b = _lists(torch)
        results = [torch._foreach_add(a, b, alpha=2), torch._foreach_mul(a, torch.tensor(3.0))]
        torch._foreach_addcmul_(a, b, b, value=0.5)
        torch._foreach_addcdiv_(a, b, b, [0.5, 1.0, 2.0])
        torch._foreach_lerp_(a, b, 0.25)
        return [results, a, torch._foreach_norm(a), torch._foreach_norm(a, 1), torch._foreach_clone(a)]

    agree(program)


def test_zero_and_copy():
    def program(torch):
        a, b = _lists(torch)
        torch._foreach_copy_(a, b)
        torch._foreach_zero_(b)
        return [a, b]

    agree(program)


def test_gradients():
    def program(torch):
        a, b = _lists(torch)
        for t in a + b:
            t.requires_grad_()
        total = sum(t.sum() for t in torch._foreach_mul(torch._foreach_exp(a), b))
        return torch.autograd.grad(total, a + b)

    agree(program)


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t._foreach_add([t.ones(1)], [t.ones(1), t.ones(1)]),
        lambda t: t._foreach_exp([]),
    ],
)
def test_errors(program):
    agree_on_error(program)
