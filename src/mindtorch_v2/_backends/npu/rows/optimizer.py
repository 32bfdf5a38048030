"""A step of AdamW, or of Adam, as one operator, and sampling from the likeliest."""

from __future__ import annotations

import math
from typing import Any

from ...._core.dtype import DTYPES
from ...._operators.table import S, T, aten
from .checks import composite, no_gradient, require, wide


@composite(
    "npu::npu_apply_adam_w.out(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar weight_decay, Scalar beta1, "
    "Scalar beta2, Scalar epsilon, Tensor grad, Tensor? max_grad_norm, bool? amsgrad, bool? maximize, *, "
    "Tensor(a!) var, Tensor(b!) m, Tensor(c!) v) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
    "One step of AdamW on var and its moments m and v, in place; the powers are those of the step before.",
    explicit=True,
)
def npu_apply_adam_w(
    beta1_power: Any, beta2_power: float, lr: float, weight_decay: float, beta1: float, beta2: float, epsilon: float,
    grad: Any, max_grad_norm: Any, amsgrad: Any, maximize: Any, *, var: Any, m: Any, v: Any,
) -> tuple:  # fmt: skip
    operator = "npu_apply_adam_w"
    for name, x in (("m", m), ("v", v), ("grad", grad)):
        require(
            x.shape == var.shape,
            operator,
            f"{name} must have the sizes of var, {list(var.shape)}, but it has {list(x.shape)}",
        )
    g = wide(grad)
    if maximize:
        g = -g
    first, second = wide(m), wide(v)  # the tensors themselves, or copies in the wide type
    aten.add_(aten.mul_(first, beta1), g, alpha=1 - beta1)
    aten.addcmul_(aten.mul_(second, beta2), g, g, value=1 - beta2)
    largest = second
    if amsgrad:
        require(max_grad_norm is not None, operator, "amsgrad takes max_grad_norm, the largest second moment so far")
        largest = aten.maximum(wide(max_grad_norm), second)
        aten.copy_(max_grad_norm, largest)
    root = aten.add_(aten.sqrt_(largest / (1 - beta2_power * beta2)), epsilon)
    moved = wide(var)
    aten.addcdiv_(aten.mul_(moved, 1 - lr * weight_decay), first, root, value=-lr / (1 - beta1_power * beta1))
    for tensor, made in ((var, moved), (m, first), (v, second)):
        if made is not tensor:
            aten.copy_(tensor, made)
    return var, m, v


@composite(
    "npu::npu_bert_apply_adam.out(Scalar lr, Scalar beta1, Scalar beta2, Scalar epsilon, Tensor grad, Scalar max_grad_norm, "
    "Scalar global_grad_norm, Scalar weight_decay, Scalar? step_size=None, int adam_mode=0, *, Tensor(a!) var, "
    "Tensor(b!) m, Tensor(c!) v) -> (Tensor(a!), Tensor(b!), Tensor(c!))",
    "One step of BERT's Adam on var and its moments m and v, in place: moments as they are, no correction for the first steps, "
    "weight_decay * var added to the direction; a positive max_grad_norm limits the gradient of global_grad_norm to it.",
    explicit=True,
)
def npu_bert_apply_adam(
    lr: float, beta1: float, beta2: float, epsilon: float, grad: Any, max_grad_norm: float, global_grad_norm: float,
    weight_decay: float, step_size: Any = None, adam_mode: int = 0, *, var: Any, m: Any, v: Any,
) -> tuple:  # fmt: skip
    operator = "npu_bert_apply_adam"
    require(
        adam_mode == 0 and step_size is None,
        operator,
        f"adam_mode 0 without step_size is known, but they are {adam_mode} and {step_size}",
    )
    for name, x in (("m", m), ("v", v), ("grad", grad)):
        require(
            x.shape == var.shape,
            operator,
            f"{name} must have the sizes of var, {list(var.shape)}, but it has {list(x.shape)}",
        )
    g = wide(grad)
    if 0 < max_grad_norm < global_grad_norm:
        g = g * (max_grad_norm / global_grad_norm)
    first = wide(m) * beta1 + g * (1 - beta1)
    second = wide(v) * beta2 + g * g * (1 - beta2)
    direction = first / (aten.sqrt(second) + epsilon) + wide(var) * weight_decay
    for target, value in ((m, first), (v, second), (var, wide(var) - direction * lr)):
        aten.copy_(target, value)
    return var, m, v


@composite(
    "npu::npu_top_k_top_p(Tensor logits, Tensor? p=None, Tensor? k=None) -> Tensor",
    "Scores (B, V) of which those outside the k largest, or outside the likeliest that sum to p, are minus infinity.",
    explicit=True,
    grad=no_gradient("npu_top_k_top_p", "logits"),
    samples=[S(T(3, 7, grad=False))],
)
def npu_top_k_top_p(logits: Any, p: Any = None, k: Any = None) -> Any:
    values, order = aten.sort(logits, stable=True, dim=-1, descending=False)
    hidden = aten.zeros_like(values, dtype=DTYPES["bool"])
    count = logits.shape[-1]
    if k is not None:
        at = (count - k.to(DTYPES["int64"]).clamp(1, count)).unsqueeze(-1)
        hidden = values < aten.gather(values, -1, at)
    if p is not None:
        probabilities = aten.softmax(aten.masked_fill(wide(values), hidden, float("-inf")), -1)
        low = aten.cumsum(probabilities, -1) <= 1 - wide(p).unsqueeze(-1)
        low = aten.cat([low[..., :-1], aten.zeros_like(low[..., -1:])], -1)
        hidden = hidden | low
    kept = aten.masked_fill(values, hidden, float("-inf"))
    return aten.scatter(kept, -1, order, kept)


@composite(
    "npu::npu_apply_adam.out(Scalar beta1_power, Scalar beta2_power, Scalar lr, Scalar beta1, Scalar beta2, Scalar "
    "epsilon, Tensor grad, bool? use_locking, bool? use_nesterov, *, Tensor(a!) var, Tensor(b!) m, Tensor(c!) v) -> "
    "(Tensor(a!), Tensor(b!), Tensor(c!))",
    "One step of Adam on var and its moments m and v, in place; the powers are those of this step.",
    explicit=True,
)
def npu_apply_adam(
    beta1_power: Any, beta2_power: float, lr: float, beta1: float, beta2: float, epsilon: float, grad: Any,
    use_locking: Any, use_nesterov: Any, *, var: Any, m: Any, v: Any,
) -> tuple:  # fmt: skip
    operator = "npu_apply_adam"
    for name, x in (("m", m), ("v", v), ("grad", grad)):
        require(
            x.shape == var.shape,
            operator,
            f"{name} must have the sizes of var, {list(var.shape)}, but it has {list(x.shape)}",
        )
    g = wide(grad)
    first = wide(m) * beta1 + g * (1 - beta1)
    second = wide(v) * beta2 + g * g * (1 - beta2)
    rate = lr * math.sqrt(1 - beta2_power) / (1 - beta1_power)
    ahead = first * beta1 + g * (1 - beta1) if use_nesterov else first
    for target, value in ((m, first), (v, second), (var, wide(var) - rate * ahead / (aten.sqrt(second) + epsilon))):
        aten.copy_(target, value)
    return var, m, v
