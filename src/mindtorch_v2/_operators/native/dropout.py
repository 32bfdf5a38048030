"""Dropout kernels: the mask and the scaling in one pass."""

from __future__ import annotations

from ..table import S, T, aten, op, rule

op(
    "_fused_dropout(Tensor self, float p, Generator? generator=None) -> (Tensor, Tensor)",
    "Keeps each element with probability `p` and divides it by `p`; also the mask.",
    bind="function generated_out",
    tags="nondeterministic_seeded",
    meta=rule("dropout", "self"),
    grad={"self": lambda grad, p, result1: aten._masked_scale(grad, result1, 1.0 / p)},
    nondiff=(1,),
    samples=[],
    node="MulBackward0",
)
op(
    "_masked_scale(Tensor self, Tensor mask, float scale) -> Tensor",
    "`self * mask * scale`.",
    bind="function generated_out",
    elementwise=True,
    meta=rule("dropout_backward"),
    grad={"self": lambda grad, mask, scale: aten._masked_scale(grad, mask, scale)},
    samples=[S(T(3, 4), T(3, 4, dtype="bool"), 2.0)],
)
op(
    "native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    "Drops each element with probability `p` and scales the others by 1 / (1 - p); also the mask.",
    bind="function generated_out",
    tags="core nondeterministic_seeded",
    meta=rule("dropout", "input"),
    grad={
        "input": lambda grad, p, train, result1: aten.native_dropout_backward(
            grad, result1, 1.0 if train is False else 0.0 if p == 1 else 1.0 / (1.0 - p)
        )
    },
    nondiff=(1,),
    samples=[],
)
op(
    "native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
    "The gradient of dropout.",
    bind="generated_out",
    tags="pointwise",
    meta=rule("dropout_backward"),
    grad={"grad_output": lambda grad, mask, scale: aten.native_dropout_backward(grad, mask, scale)},
    samples=[S(T(3, 4), T(3, 4, dtype="bool"), 2.0)],
)
