"""torch.autograd.backward and grad: arguments checked, roots filled in, the native engine called."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import _C
from ..._dispatch.keys import excluded
from .. import torch_function
from ..warn_once import warn_once
from .engine import run_backward

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _is_edge(value: Any) -> bool:
    """Whether it is a torch.autograd.graph.GradientEdge."""
    return (
        isinstance(value, tuple) and len(value) >= 2 and isinstance(value[0], _C.Node) and hasattr(value, "output_nr")
    )


def _is_root(value: Any) -> bool:
    return isinstance(value, _C.TensorBase) or _is_edge(value)


def _tuple(value: Any) -> tuple[Any, ...]:
    # An object that only takes calls over is one too.
    return (value,) if _is_root(value) or hasattr(type(value), "__torch_function__") else tuple(value)


def _ones_like(out: Any) -> Any:
    return _C._find_operator("aten::ones_like", "")(out)


def _root_gradients(outputs: tuple[Any, ...], grads: Sequence[Any], *, batched: bool = False) -> tuple[Any, ...]:
    made: list[Any] = []
    for out, grad in zip(outputs, grads, strict=True):
        if _is_edge(out):
            made.append(_edge_gradient(out, grad, len(made)))
            continue
        if isinstance(grad, _C.TensorBase):
            if not out.is_nested:  # which has no sizes to compare
                _check_gradient(grad, grad.shape if batched else out.shape, out.dtype, len(made))
            made.append(grad)
        elif grad is None:
            if out.requires_grad:
                if out.numel() != 1:
                    raise RuntimeError("grad can be implicitly created only for scalar outputs")
                if not out.dtype.is_floating_point:
                    raise RuntimeError(
                        f"grad can be implicitly created only for real scalar outputs but got {out.dtype}"
                    )
                made.append(_ones_like(out))
            else:
                made.append(None)
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    return tuple(made)


def _check_gradient(grad: Any, shape: Any, dtype: Any, place: int) -> None:
    """Raise RuntimeError for a gradient that an output of this shape and dtype cannot have."""
    if grad.shape != shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{place}] has a shape of {grad.shape} and output[{place}] has a shape of {shape}."
        )
    if dtype.is_complex != grad.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{place}] has a dtype of {grad.dtype} and output[{place}] has a dtype of {dtype}."
        )


def _edge_gradient(edge: Any, grad: Any, place: int) -> Any:
    shape, dtype, device = edge[0]._input_metadata[edge[1]]
    if grad is not None:
        _check_gradient(grad, shape, dtype, place)
        return grad if grad.dtype == dtype else grad.to(dtype)
    if any(n != 1 for n in shape):
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    return _C._find_operator("aten::ones", "")(shape, dtype=dtype, device=device)


def without_history(value: Any) -> Any:
    """The tensor, and its tangents, as results of operations that were not recorded."""
    before = _C.is_grad_enabled()
    _C._set_grad_enabled(False)
    try:
        with excluded("ADInplaceOrView"):  # a view would require grad as its base does
            return value.view_as(value)
    finally:
        _C._set_grad_enabled(before)


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of ``tensors`` to the ``.grad`` of the leaves.

    Args:
        tensors: one tensor or several; those that are no scalars need a gradient in ``grad_tensors``.
        retain_graph: keep what was saved for another backward; as ``create_graph`` unless given.
        create_graph: record the computation of the gradients themselves.
        inputs: the tensors whose `.grad` is added to; every leaf unless given.

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 2.])
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if _C._change_transforms(0) > 0:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
            "instead or call backward() outside of functorch transforms."
        )
    if inputs is not None:
        inputs = _tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    else:
        inputs = ()
    tensors = _tuple(tensors)
    grads = (None,) * len(tensors) if grad_tensors is None else _tuple(grad_tensors)
    if create_graph:
        warn_once(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which "
            "can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use "
            "this function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid "
            "the leak."
        )
    keep = create_graph if retain_graph is None else retain_graph
    run_backward(tensors, _root_gradients(tensors, grads), keep, create_graph, inputs, True, True)


def _batched(
    outputs: tuple[Any, ...],
    given: tuple[Any, ...],
    keep: bool,
    create_graph: bool,
    inputs: tuple[Any, ...],
    allow_unused: bool,
) -> tuple[Any, ...]:
    """The gradients for each slice of the given ones, stacked: one run backward after the other."""
    for place, (out, grad) in enumerate(zip(outputs, given, strict=True)):
        if isinstance(grad, _C.TensorBase) and grad[0].shape != out.shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
                f"mismatch was detected: grad_output[{place}] has a shape of {grad.shape} and output[{place}] has a shape "
                f"of {out.shape}. If you only want some tensors in `grad_output` to be considered batched, consider using "
                "vmap."
            )
    roots = _root_gradients(outputs, given, batched=True)
    if any(root is not None and root.dim() == 0 for root in roots):
        raise ValueError(
            "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of dimensionality "
            "0 so expected in_dim to satisfy 0 <= in_dim < 0."
        )
    sizes = sorted({len(root) for root in roots if root is not None})
    if len(sizes) != 1:
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    (size,) = sizes
    rows = []
    for number in range(size):
        slices = tuple(None if root is None else root[number] for root in roots)
        again = keep or number + 1 < size
        rows.append(run_backward(outputs, slices, again, create_graph, inputs, allow_unused, False))
    stack = _C._find_operator("aten::stack", "")
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows, strict=True))


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:
    """The gradients of ``outputs`` with respect to ``inputs``, without touching ``.grad``.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)

    With ``is_grads_batched`` the first dimension of each of ``grad_outputs`` is a batch: the graph is run backward once
    for each slice, and the results get that dimension in front.
    """
    outputs = _tuple(outputs)
    inputs = _tuple(inputs)
    if torch_function.has_torch_function((*outputs, *inputs)):
        answer: tuple[Tensor, ...] = torch_function.hand_over(
            grad,
            (*outputs, *inputs),
            outputs,
            inputs,
            grad_outputs=grad_outputs,
            retain_graph=retain_graph,
            create_graph=create_graph,
            only_inputs=only_inputs,
            allow_unused=allow_unused,
            is_grads_batched=is_grads_batched,
            materialize_grads=materialize_grads,
        )
        return answer
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    grads = (None,) * len(outputs) if grad_outputs is None else _tuple(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        result = _batched(outputs, grads, keep, create_graph, inputs, allow_unused)
    else:
        result = _one_backward(outputs, grads, keep, create_graph, inputs, allow_unused)
    if materialize_grads:
        for place, (gradient, i) in enumerate(zip(result, inputs, strict=True)):
            if gradient is None and not isinstance(i, _C.TensorBase):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge, as an edge has no sizes "
                    f"to make zeros of: input {place} was not reached"
                )
        zeros = _C._find_operator("aten::zeros_like", "")
        # As differentiable as those that are there: a third derivative of a parabola is asked for like the second.
        result = tuple(
            zeros(i.detach()).requires_grad_(create_graph) if g is None else g
            for g, i in zip(result, inputs, strict=True)
        )
    return result


def _one_backward(
    outputs: tuple[Any, ...],
    grads: tuple[Any, ...],
    keep: bool,
    create_graph: bool,
    inputs: tuple[Any, ...],
    allow_unused: bool,
) -> tuple[Any, ...]:
    # Tangents go through formulas that can themselves be differentiated: those of a recorded backward.
    record = create_graph or _C._forward_levels() > 0
    result = run_backward(outputs, _root_gradients(outputs, grads), keep, record, inputs, allow_unused, False)
    if record and not create_graph:
        result = tuple(None if g is None else without_history(g) for g in result)
    return result
