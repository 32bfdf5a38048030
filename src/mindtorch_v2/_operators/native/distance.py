"""Distances between rows."""

from __future__ import annotations

from ..table import S, T, aten, op, rule

op(
    "_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
    "The gradient of `_cdist_forward` by x1.",
    bind="generated_out",
    meta=rule("cdist_backward"),
    grad=None,
    underived=True,
)
op(
    "_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor",
    "p-norm distances between the rows of two batches of matrices.",
    bind="generated_out",
    tags="core",
    meta=rule("cdist", "x1", "x2", "p"),
    grad={
        "x1": lambda grad, x1, x2, p, result: aten._cdist_backward(grad, x1, x2, p, result),
        "x2": lambda grad, x1, x2, p, result: aten._cdist_backward(grad.mT, x2, x1, p, result.mT),
    },
    samples=[S(T(3, 4), T(5, 4), 2.0, None), S(T(2, 3, 4), T(2, 5, 4), 1.0, None)],
    node="CdistBackward0",
)
op(
    "_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor",
    "The gradient of `_pdist_forward`.",
    bind="generated_out",
    meta=rule("pdist_backward"),
    grad=None,
    underived=True,
)
op(
    "_pdist_forward(Tensor self, float p=2.0) -> Tensor",
    "p-norm distances between every two rows.",
    bind="generated_out",
    tags="core",
    meta=rule("pdist", "self", "p"),
    grad={"self": lambda grad, self, p, result: aten._pdist_backward(grad, self, p, result)},
    samples=[S(4, 3)],
    node="PdistBackward0",
)
