"""Autograd's parts: own functions, hooks, higher derivatives, functional transformations, checkpointing."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function, gradcheck
from torch.autograd.function import FunctionCtx, once_differentiable
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vjp, vmap
from torch.utils.checkpoint import checkpoint


class Cube(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x**3 * scale

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2 * ctx.scale, None


class Step(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: Tensor) -> Tensor:
        ctx.mark_non_differentiable()
        return (x > 0).to(x.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad_output: Tensor) -> Tensor:
        return grad_output


def cube(x: Tensor) -> Tensor:
    return Cube.apply(x, 2.0)


def hooks() -> list[str]:
    seen: list[str] = []
    layer = torch.nn.Linear(3, 2)

    def forward_hook(module: torch.nn.Module, args: tuple[Any, ...], output: Tensor) -> Tensor:
        seen.append(type(module).__name__)
        return output * 2

    handle = layer.register_forward_hook(forward_hook)
    pre = layer.register_forward_pre_hook(lambda module, args: seen.append("pre"))
    weight_hook = layer.weight.register_hook(lambda g: g.clamp(-1, 1))
    layer(torch.ones(1, 3)).sum().backward()
    handle.remove()
    pre.remove()
    weight_hook.remove()
    for name, parameter in layer.named_parameters():
        if parameter.grad is not None:
            seen.append(f"{name}{tuple(parameter.grad.shape)}")
    return seen


def per_sample(model: torch.nn.Module, xs: Tensor, ys: Tensor) -> dict[str, Tensor]:
    parameters = {k: v.detach() for k, v in model.named_parameters()}
    buffers = {k: v.detach() for k, v in model.named_buffers()}

    def loss(p: dict[str, Tensor], b: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        out = functional_call(model, (p, b), (x.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(out, y.unsqueeze(0))

    found: dict[str, Tensor] = vmap(grad(loss), in_dims=(None, None, 0, 0))(parameters, buffers, xs, ys)
    return found


def main() -> None:
    x = torch.linspace(-1, 1, 5, dtype=torch.float64, requires_grad=True)
    assert gradcheck(cube, (x,))
    (first,) = torch.autograd.grad(cube(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    print(second.tolist(), Step.apply(x))
    print(hooks())
    out, tangent = jvp(torch.sin, (x.detach(),), (torch.ones_like(x),))
    value, pull = vjp(torch.cos, x.detach())
    print(out.shape, tangent.shape, value.shape, pull(torch.ones_like(value))[0].shape)
    print(jacrev(torch.sin)(x.detach()).shape, hessian(lambda t: (t**3).sum())(x.detach()).shape)
    models = [torch.nn.Linear(4, 3) for _ in range(2)]
    parameters, buffers = stack_module_state(models)
    assert parameters["weight"].shape == (2, 3, 4) and not buffers
    grads = per_sample(models[0], torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2]))
    print({name: tuple(g.shape) for name, g in grads.items()})
    y: Tensor = checkpoint(torch.exp, x, use_reentrant=False)
    y.sum().backward()
    assert x.grad is not None and torch.allclose(x.grad, x.detach().exp())
    with torch.autograd.set_detect_anomaly(True), torch.enable_grad():
        z = (x * 2).norm()
    z.backward()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(), lambda n: torch.from_numpy(n)):
        w = x.detach() * 2
    assert isinstance(w, Tensor)


if __name__ == "__main__":
    main()
