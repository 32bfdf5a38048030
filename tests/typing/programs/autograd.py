"""A custom function, hooks, gradients of gradients, and per-sample gradients."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.func import functional_call, grad, vmap


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Tensor:
        (x,) = ctx.saved_tensors
        result: Tensor = grad_outputs[0] * 3 * x**2
        return result


def penalty(model: torch.nn.Module, x: Tensor) -> Tensor:
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    return slope.pow(2).mean()


def per_sample(model: torch.nn.Module, x: Tensor, y: Tensor) -> dict[str, Tensor]:
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        out: Tensor = functional_call(model, parameters, (x.unsqueeze(0),))
        return torch.nn.functional.mse_loss(out.squeeze(0), y)

    made: dict[str, Tensor] = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    return made


def main() -> None:
    x = torch.linspace(-1, 1, 8, dtype=torch.float64, requires_grad=True)
    handle = x.register_hook(lambda grad: grad * 2)
    cubes: Tensor = Cube.apply(x)
    cubes.sum().backward()
    handle.remove()
    assert x.grad is not None
    print(torch.allclose(x.grad, 6 * x.detach() ** 2), torch.autograd.gradcheck(Cube.apply, (x,)))
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    points, targets = torch.randn(5, 3), torch.randn(5, 1)
    print(float(penalty(model, points)) >= 0)
    print({name: tuple(g.shape) for name, g in per_sample(model, points, targets).items()})


if __name__ == "__main__":
    main()
