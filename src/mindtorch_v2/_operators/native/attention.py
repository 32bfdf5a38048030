"""Scaled dot product attention: the fused kernels."""

from ... import _C
from ..._core.autograd.backward import grad as gradients_of
from ..table import S, T, aten, op, rule


def _gradients(grads, query, key, value, result0, result1, dropout_p, is_causal, attn_mask, scale):
    return aten._scaled_dot_product_flash_attention_for_cpu_backward(
        grads[0], query, key, value, result0, result1, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
    )


def _dropout_gradients(grads, query, key, value, result0, result1, result2, dropout_p, is_causal, attn_mask, scale):
    """The kernel; where its own gradients may be asked for, through the same product made of operators that have some."""
    if _C.is_grad_enabled() and not (is_causal and attn_mask is not None):
        inputs = [x if x.requires_grad else x.detach().requires_grad_() for x in (query, key, value)]
        out = aten._scaled_dot_product_attention_math(*inputs, attn_mask, dropout_p, is_causal, result2, scale=scale)[0]
        return tuple(gradients_of(out, inputs, grads[0], create_graph=True))
    return aten._scaled_dot_product_attention_dropout_backward(
        grads[0], query, key, value, result0, result1, result2, dropout_p, is_causal, attn_mask=attn_mask, scale=scale
    )


def _no_second_derivative(grads):
    raise RuntimeError("derivative for aten::_scaled_dot_product_flash_attention_for_cpu_backward is not implemented")


op(
    "_scaled_dot_product_attention_dropout(Tensor query, Tensor key, Tensor value, float dropout_p, "
    "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor, Tensor, Tensor)",
    "Attention with dropout on the weights in one pass: output, logsumexp, and what dropout kept. Draws from the default "
    "generator what `dropout` of the weights would draw.",
    tags="nondeterministic_seeded",
    meta=rule("attention_dropout"),
    grad={("query", "key", "value"): _dropout_gradients},
    nondiff=(1, 2),
)

op(
    "_scaled_dot_product_attention_dropout_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor out, "
    "Tensor logsumexp, Tensor kept, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None)"
    " -> (Tensor, Tensor, Tensor)",
    "Gradients of attention with dropout.",
    meta=rule("attention_backward"),
    grad={("grad_out", "query", "key", "value"): _no_second_derivative},
)

op(
    "_scaled_dot_product_attention_statistics(Tensor query, Tensor key, Tensor value, bool is_causal=False, *, "
    "float? scale=None) -> (Tensor output, Tensor largest, Tensor total)",
    "Attention in blocks, and of each row of scores the largest and the sum of exp(score - largest).",
    meta=rule("attention_statistics"),
    grad=None,
)

op(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0.0, "
    "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
    "Attention in blocks; the matrix of weights is never whole in memory.",
    tags="nondeterministic_seeded",
    draws=False,  # the kernel has no dropout
    meta=rule("attention"),
    grad={("query", "key", "value"): _gradients},
    nondiff=(1,),
    samples=[
        S(T(2, 3, 5, 4), T(2, 3, 6, 4), T(2, 3, 6, 4)),
        S(T(2, 3, 5, 4), T(2, 3, 5, 4), T(2, 3, 5, 4), 0.0, True, scale=0.7),
    ],
)

op(
    "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, "
    "Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, Tensor? attn_mask=None, float? scale=None)"
    " -> (Tensor grad_query, Tensor grad_key, Tensor grad_value)",
    "Gradients of attention in blocks.",
    meta=rule("attention_backward"),
    grad={("grad_out", "query", "key", "value"): _no_second_derivative},
)
