"""Convolution and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..table import S, T, aten, op, rule

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _convolution_grads(grad, input, weight, stride, padding, dilation, transposed, output_padding, groups, needs):
    return aten.convolution_backward(
        grad,
        input,
        weight,
        [grad.size(1)],
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
        list(needs),
    )


def _convolution_backward_grads(
    grads,
    grad_output,
    input,
    weight,
    stride,
    padding,
    dilation,
    transposed,
    output_padding,
    groups,
    output_mask,
    needs,
) -> tuple:
    """All three outputs are bilinear in (grad_output, weight) or (grad_output, input); so are their gradients."""
    to_input, to_weight, to_bias = (g if m else None for g, m in zip(grads, output_mask, strict=True))
    settings = (stride, padding, dilation, transposed, output_padding, groups)

    def convolve(x: Tensor, w: Tensor) -> Tensor:
        return aten.convolution(x, w, None, *settings)

    def backward(x: Tensor, w: Tensor, mask: Sequence[bool]) -> tuple[Tensor | None, Tensor | None, None]:
        return aten.convolution_backward(grad_output, x, w, None, *settings, mask)

    for_grad = for_input = for_weight = None
    if needs[0]:
        parts = []
        if to_input is not None:
            parts.append(convolve(to_input, weight))
        if to_weight is not None:
            parts.append(convolve(input, to_weight))
        if to_bias is not None:
            parts.append(to_bias.reshape([1, -1] + [1] * (input.dim() - 2)).expand(grad_output.shape))
        for_grad = sum(parts[1:], parts[0]) if parts else None
    if needs[1] and to_weight is not None:
        for_input = backward(input, to_weight, [True, False, False])[0]
    if needs[2] and to_input is not None:
        for_weight = backward(to_input, weight, [False, True, False])[1]
    return for_grad, for_input, for_weight


op(
    "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, "
    "bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    "Convolution (or its transpose) over 1 to 3 spatial dimensions.",
    bind="function out",
    out_dtype="exact",
    tags="core",
    out_tags="generated",
    meta=rule("convolution"),
    grad={("input", "weight", "bias"): _convolution_grads},
    dtypes="float bfloat16 complex",
    samples=[
        S(T(2, 4, 7, 6), T(6, 2, 3, 3), T(6), [1, 1], [1, 1], [1, 1], False, [0, 0], 2),
        S(T(2, 3, 9), T(4, 3, 3), T(4), [2], [1], [2], False, [0], 1),
        S(T(2, 4, 5, 4), T(4, 3, 3, 3), None, [2, 2], [1, 1], [1, 1], True, [1, 0], 1),
        S(T(1, 2, 4, 5, 4), T(3, 2, 2, 2, 2), None, [1, 1, 1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1),
        S(T(2, 4, 5, 5), T(6, 4, 1, 1), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
    ],
)

op(
    "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, SymInt[] stride, "
    "SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3] output_mask)"
    " -> (Tensor, Tensor, Tensor)",
    "Gradients of convolution: of its input, weight and bias.",
    bind="generated_out",
    tags="core",
    meta=rule("convolution_backward"),
    grad={("grad_output", "input", "weight"): _convolution_backward_grads},
    dtypes="float",
    samples=[
        S(
            T(2, 4, 5, 4),
            T(2, 3, 5, 4),
            T(4, 3, 3, 3),
            [4],
            [1, 1],
            [1, 1],
            [1, 1],
            False,
            [0, 0],
            1,
            [True, True, True],
        )
    ],
)
