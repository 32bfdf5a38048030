"""torch.autograd.functional: Jacobians, Hessians and products with them, by repeated backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import _C
from .._autograd.backward import grad
from .._autograd.grad_mode import enable_grad


def _prepare(inputs: Any, create_graph: bool) -> tuple[bool, tuple]:
    single = isinstance(inputs, _C.TensorBase)
    given = (inputs,) if single else tuple(inputs)
    if create_graph:
        return single, tuple(x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in given)
    return single, tuple(x.detach().requires_grad_() for x in given)


def _gradients(output: Any, inputs: tuple, seed: Any, create_graph: bool) -> tuple:
    return grad(
        output, inputs, seed, retain_graph=True, create_graph=create_graph, allow_unused=True, materialize_grads=True
    )


def _unwrap(single: bool, items: Any) -> Any:
    return items[0] if single else tuple(items)


@enable_grad()
def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func``: for each output and input a tensor of shape output.shape + input.shape."""
    if strategy != "reverse-mode":
        raise NotImplementedError(f"torch.autograd.functional.jacobian(strategy={strategy!r}) is not built yet")
    single_in, xs = _prepare(inputs, create_graph)
    outputs = func(*xs)
    single_out = isinstance(outputs, _C.TensorBase)
    rows = []
    for output in (outputs,) if single_out else outputs:
        columns: list[list] = [[] for _ in xs]
        flat = output.reshape(-1)
        for i in range(flat.numel()):
            if not output.requires_grad:
                if strict:
                    raise RuntimeError(
                        "The output of the user-provided function is independent of the inputs. This is not allowed in strict mode."
                    )
                gs = tuple(x.detach().clone().zero_() for x in xs)
            else:
                gs = _gradients(flat[i], xs, None, create_graph)
            for column, g in zip(columns, gs, strict=True):
                column.append(g)
        stack = _C._find_operator("aten::stack", "")
        rows.append(
            _unwrap(
                single_in,
                [
                    (stack(c).view(*output.shape, *x.shape) if c else x.new_zeros((*output.shape, *x.shape)))
                    for c, x in zip(columns, xs, strict=True)
                ],
            )
        )
    return _unwrap(single_out, rows)


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function."""

    def gradient(*xs: Any) -> Any:
        output = func(*xs)
        if output.numel() != 1:
            raise RuntimeError("The output of the user-provided function should be a single-element Tensor")
        gs = grad(output, xs, create_graph=True, allow_unused=True, materialize_grads=True)
        return gs[0] if isinstance(inputs, _C.TensorBase) else gs

    return jacobian(gradient, inputs, create_graph=create_graph, strict=strict, strategy=outer_jacobian_strategy)


@enable_grad()
def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(outputs, vᵀ·Jacobian)."""
    single, xs = _prepare(inputs, create_graph)
    outputs = func(*xs)
    many = (outputs,) if isinstance(outputs, _C.TensorBase) else tuple(outputs)
    if v is None and (len(many) != 1 or many[0].numel() != 1):
        raise RuntimeError(
            "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
        )
    seeds = None if v is None else ((v,) if isinstance(v, _C.TensorBase) else tuple(v))
    return outputs, _unwrap(single, _gradients(many, xs, seeds, create_graph))


@enable_grad()
def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(outputs, Jacobian·v), by differentiating vjp with respect to its vector."""
    single, xs = _prepare(inputs, create_graph)
    outputs = func(*xs)
    many = (outputs,) if isinstance(outputs, _C.TensorBase) else tuple(outputs)
    seeds = tuple(o.detach().clone().zero_().requires_grad_() for o in many)
    pulled = _gradients(many, xs, seeds, True)
    vs = (
        tuple(x.detach().clone().fill_(1) for x in xs)
        if v is None
        else ((v,) if isinstance(v, _C.TensorBase) else tuple(v))
    )
    pushed = _gradients(pulled, seeds, vs, create_graph)
    return outputs, _unwrap(isinstance(outputs, _C.TensorBase), pushed)


@enable_grad()
def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(output, vᵀ·Hessian) of a scalar function."""
    single, xs = _prepare(inputs, create_graph)
    output = func(*xs)
    first = _gradients(output, xs, None, True)
    vs = None if v is None else ((v,) if isinstance(v, _C.TensorBase) else tuple(v))
    return output, _unwrap(single, _gradients(first, xs, vs, create_graph))


hvp = vhp  # the Hessian of a scalar function is symmetric

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
