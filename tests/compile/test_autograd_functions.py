"""Autograd functions of the user's in compiled functions: sizes that vary, what is given beside tensors, gradients that are not there."""

import enum
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch_v2 as torch

BACKENDS = ["inductor", "aot_eager", "eager"]


class Scaled(torch.autograd.Function):
    """A factor that the sizes decide."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.factor = 3.0 if x.shape[0] > 4 else x.shape[0] * 0.5
        return x * ctx.factor

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * ctx.factor if grad.shape[0] % 2 else grad * (ctx.factor + 1)


class Repeated(torch.autograd.Function):
    @staticmethod
    def forward(x: torch.Tensor, times: int) -> torch.Tensor:
        return x.repeat(times, 1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
        ctx.times, ctx.rows = inputs[1], inputs[0].shape[0]

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        return grad.reshape(ctx.times, ctx.rows, -1).sum(0), None


class Product(torch.autograd.Function):
    """A product whose second factor has no gradient."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(y)
        return x * y

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        return grad * ctx.saved_tensors[0], None


class Kind(enum.Enum):
    SINE = 0
    COSINE = 1


class Wave(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, kind: Kind) -> torch.Tensor:
        ctx.kind = kind
        return x.sin() if kind is Kind.SINE else x.cos()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple:
        return grad * (2 if ctx.kind is Kind.SINE else 3), None


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "numbers of sizes": lambda x: Scaled.apply(x * 2) + 1,
    "a number beside": lambda x: Repeated.apply(x, x.shape[0]).relu(),
    "one in another": lambda x: Repeated.apply(Scaled.apply(x), 2),
}


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_sizes_that_vary(name: str, backend: str, dynamic: bool | None) -> None:
    program = PROGRAMS[name]
    compiled = torch.compile(program, backend=backend, dynamic=dynamic, fullgraph=True)
    for rows in (3, 5, 2, 7, 1, 4, 6):
        x = torch.linspace(-1.0, 1.0, rows * 4).reshape(rows, 4).requires_grad_()
        made, wanted = compiled(x), program(x)
        assert torch.allclose(made, wanted)
        got, right = (torch.autograd.grad(each.square().sum(), x)[0] for each in (made, wanted))
        assert torch.allclose(got, right)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_that_is_not_there_stays_away(backend: str) -> None:
    x, y = (torch.tensor(value, requires_grad=True) for value in (2.0, 3.0))
    torch.compile(lambda x, y: Product.apply(x, y), backend=backend, fullgraph=True)(x, y).backward()
    assert x.grad is not None
    assert x.grad.item() == 3.0
    assert y.grad is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_members_of_enumerations(backend: str) -> None:
    compiled = torch.compile(lambda x, kind: Wave.apply(x, kind) * 2, backend=backend, fullgraph=True)
    x = torch.linspace(-1.0, 1.0, 5, requires_grad=True)
    for kind in (Kind.SINE, Kind.COSINE, Kind.SINE):
        made = compiled(x, kind)
        assert torch.allclose(made, Wave.apply(x, kind) * 2)
        assert torch.autograd.grad(made.sum(), x)[0].tolist() == [4.0 if kind is Kind.SINE else 6.0] * 5


def test_a_backward_that_is_compiled_itself() -> None:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            result = x + x
            ctx.save_for_backward(result)
            return result

        @staticmethod
        @torch.compile(backend="eager", fullgraph=True)
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            (result,) = ctx.saved_tensors
            return grad * result.sin() if ctx.needs_input_grad[0] else None

    for _ in range(2):
        x = torch.linspace(-1.0, 1.0, 5, requires_grad=True)
        Doubled.apply(x).sum().backward()
        assert x.grad is not None
        assert torch.allclose(x.grad, (2 * x).sin())
