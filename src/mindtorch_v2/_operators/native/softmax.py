"""softmax and log_softmax with their gradients."""

from __future__ import annotations

from ..table import S, T, aten, op, rule

op(
    "_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    "Logarithm of the softmax along `dim`.",
    bind="function out",
    out_dtype="exact",
    batching="dims",
    tags="core",
    meta=rule("softmax", "self", "dim", "half_to_float"),
    grad={
        "self": lambda grad, dim, result: aten._log_softmax_backward_data(grad, result, dim, result.dtype),
    },
    samples=[S(T(3, 4), 1, False), S(T(3, 4, 2), 1, False)],
    node="LogSoftmaxBackward0",
)
op(
    "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    "The gradient of log_softmax.",
    bind="function out",
    out_dtype="exact",
    batching="dims",
    meta=rule("softmax_backward", "grad_output", "output", "dim", "input_dtype"),
    grad={
        "grad_output": lambda grad, output, dim: grad - (grad * output.exp()).sum(dim, keepdim=True),
        "output": lambda grad, grad_output, output, dim: -grad * output.exp() * grad_output.sum(dim, keepdim=True),
    },
    samples=[],
)
op(
    "_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    "Exponentials along `dim`, divided by their sum.",
    bind="function out",
    out_dtype="exact",
    batching="dims",
    tags="core",
    meta=rule("softmax", "self", "dim", "half_to_float"),
    grad={"self": lambda grad, dim, result: aten._softmax_backward_data(grad, result, dim, result.dtype)},
    samples=[S(T(3, 4), 1, False), S(T(3, 4, 2), 1, False)],
    node="SoftmaxBackward0",
)
op(
    "_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    "The gradient of softmax.",
    bind="function out",
    out_dtype="exact",
    out_overload="out grad_input",
    batching="dims",
    meta=rule("softmax_backward", "grad_output", "output", "dim", "input_dtype"),
    grad={
        "grad_output": lambda grad, output, dim: (grad - (grad * output).sum(dim, keepdim=True)) * output,
        "output": lambda grad, grad_output, output, dim: (
            grad * (grad_output - (grad_output * output).sum(dim, keepdim=True))
            - grad_output * (grad * output).sum(dim, keepdim=True)
        ),
    },
    samples=[],
)
