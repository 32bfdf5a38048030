"""Reductions and what follows them over dimensions some of which have one element, compiled: the loops' rows must be those of the call."""

import random
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

F = torch.nn.functional
ROWS: dict[str, Callable[..., Any]] = {
    "softmax": F.softmax,
    "log_softmax": F.log_softmax,
    "softmin": F.softmin,
    "sum": lambda x, dim: x.sum(dim, keepdim=True),
    "mean": lambda x, dim: x.mean(dim, keepdim=True),
    "amax": lambda x, dim: x.amax(dim, keepdim=True),
    "var": lambda x, dim: x.var(dim, keepdim=True, correction=0),
    "std": lambda x, dim: x.std(dim, keepdim=True, correction=0),
    "logsumexp": lambda x, dim: x.logsumexp(dim, keepdim=True),
    "norm": lambda x, dim: x.norm(dim=dim, keepdim=True),
    "normalize": lambda x, dim: F.normalize(x, dim=dim),
    "cumsum": lambda x, dim: x.cumsum(dim),
    "layer_norm": lambda x, dim: F.layer_norm(x, x.shape[dim:]),
}
AFTER: list[Callable[[Any, Any], Any]] = [
    lambda made, weight: (made * weight).sum(),
    lambda made, weight: made * 2 + 1,
    lambda made, weight: (made * weight).tanh(),
    lambda made, weight: (made * weight).sum(-1) * 2,
]


@pytest.mark.parametrize("name", ROWS)
def test_any_shape(name: str) -> None:
    draw = random.Random(name)
    for _ in range(16):
        shape = tuple(draw.choice([1, 1, 2, 3, 5]) for _ in range(draw.randint(1, 4)))
        dim, after = draw.randrange(-len(shape), 0), draw.choice(AFTER)
        generator = torch.Generator().manual_seed(draw.randrange(1000))
        x = torch.randn(shape, generator=generator).requires_grad_()
        weight = torch.rand(shape, generator=generator)

        def program(x: Any, dim: int = dim, after: Any = after, weight: Any = weight) -> Any:
            return after(ROWS[name](x * 2, dim), weight)

        torch._dynamo.reset()
        wanted, made = program(x), torch.compile(program)(x)
        torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-4, msg=f"{shape}, {dim}", equal_nan=True)
        right, got = (torch.autograd.grad(each.sum(), x)[0] for each in (wanted, made))
        torch.testing.assert_close(got, right, rtol=1e-3, atol=1e-4, msg=f"{shape}, {dim}", equal_nan=True)


# An element for each row beside the sums of rows whose last dimension has one element.
BESIDE: dict[str, Callable[[Any, Any], Any]] = {
    "added": lambda x, each: x * (x * 2).sum(1, keepdim=True) + each,
    "dividing": lambda x, each: x / each * (x * 2).sum(1, keepdim=True),
    "masking": lambda x, each: torch.where(each > 1, (x * 2).sum(1, keepdim=True), 0) * x,
    "multiplied": lambda x, each: (x * 2).sum(1, keepdim=True) * each * x,
}


@pytest.mark.parametrize("name", BESIDE)
def test_an_element_for_each_row(name: str) -> None:
    x, each = torch.arange(6.0).reshape(2, 3, 1), torch.tensor([0.5, 1.5]).reshape(2, 1, 1)
    torch.testing.assert_close(torch.compile(BESIDE[name])(x, each), BESIDE[name](x, each))
