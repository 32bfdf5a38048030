"""Layer, RMS, batch and group norm.

Their gradients are kernels. Where a gradient of the gradient is asked for, the formulas spell the same gradient in
differentiable operators instead, so that every further order follows.
"""

from __future__ import annotations

from ... import _C
from ..._core.dtype import finfo
from ..table import S, T, aten, op, rule


def _want(mask, *values) -> tuple:
    return tuple(v if m else None for m, v in zip(mask, values, strict=True))


def _row_gradient(grad_hat, hat, scale, dims, centred: bool):
    """Gradient of x -> hat, a normalisation over ``dims`` with factor ``scale``."""
    along = hat * (grad_hat * hat).mean(dims, keepdim=True)
    level = grad_hat.mean(dims, keepdim=True) if centred else 0
    return scale * (grad_hat - level - along)


def _layer_norm_grad(grad, input, normalized_shape, weight, bias, eps, result1, result2, needs):
    if not _C.is_grad_enabled():
        return aten.native_layer_norm_backward(
            grad, input, normalized_shape, result1, result2, weight, bias, list(needs)
        )
    trailing = list(range(input.dim() - len(normalized_shape), input.dim()))
    leading = list(range(input.dim() - len(normalized_shape)))
    centred = input - input.mean(trailing, keepdim=True)
    scale = (centred.square().mean(trailing, keepdim=True) + eps).rsqrt()
    hat = centred * scale
    grad_hat = grad if weight is None else grad * weight
    sums = (lambda x: x.sum(leading)) if leading else (lambda x: x)
    return _want(needs, _row_gradient(grad_hat, hat, scale, trailing, True), sums(grad * hat), sums(grad))


def _rms_norm_grad(grad, input, normalized_shape, weight, eps, result1, needs):
    if not _C.is_grad_enabled():
        return aten._fused_rms_norm_backward(grad, input, normalized_shape, result1, weight, list(needs))
    trailing = list(range(input.dim() - len(normalized_shape), input.dim()))
    leading = list(range(input.dim() - len(normalized_shape)))
    if eps is None:
        eps = finfo(input.dtype).eps
    scale = (input.square().mean(trailing, keepdim=True) + eps).rsqrt()
    hat = input * scale
    grad_hat = grad if weight is None else grad * weight
    along = grad * hat
    return _want(
        needs,
        _row_gradient(grad_hat, hat, scale, trailing, False),
        along.sum(leading) if leading else along,
    )


def _batch_norm_grad(grad, input, weight, running_mean, running_var, training, eps, result1, result2, needs):
    if not _C.is_grad_enabled():
        return aten.native_batch_norm_backward(
            grad, input, weight, running_mean, running_var, result1, result2, training, eps, list(needs)
        )
    dims = [d for d in range(input.dim()) if d != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    grad_hat = grad if weight is None else grad * weight.view(shape)
    if training:
        centred = input - input.mean(dims, keepdim=True)
        scale = (centred.square().mean(dims, keepdim=True) + eps).rsqrt()
        hat = centred * scale
        into_input = _row_gradient(grad_hat, hat, scale, dims, True)
    else:
        scale = (running_var.view(shape) + eps).rsqrt()
        hat = (input - running_mean.view(shape)) * scale
        into_input = grad_hat * scale
    return _want(needs, into_input, (grad * hat).sum(dims), grad.sum(dims))


def _batch_norm_no_stats_grad(grad, input, weight, training, eps, result1, result2, needs):
    return _batch_norm_grad(grad, input, weight, None, None, True, eps, result1, result2, needs)


def _batch_norm_no_training_grad(grad, input, weight, running_mean, running_var, eps, needs):
    return _batch_norm_grad(grad, input, weight, running_mean, running_var, False, eps, None, None, needs)


def _group_norm_grad(grads, input, weight, N, C, HxW, group, eps, result1, result2, needs):
    grad, to_mean, to_rstd = grads
    if not _C.is_grad_enabled() and to_mean is None and to_rstd is None:
        return aten.native_group_norm_backward(grad, input, result1, result2, weight, N, C, HxW, group, list(needs))
    rows, each = [N, group, C // group, HxW], [N, group, 1, 1]
    x, count = input.reshape(rows), C // group * HxW
    centred = x - x.mean([2, 3], keepdim=True)
    scale = (centred.square().mean([2, 3], keepdim=True) + eps).rsqrt()
    hat = centred * scale
    into_input = to_weight = to_bias = None
    if grad is not None:
        g = grad.reshape(rows)
        grad_hat = g if weight is None else g * weight.view([1, group, C // group, 1])
        into_input = _row_gradient(grad_hat, hat, scale, [2, 3], True)
        to_weight, to_bias = (g * hat).sum([0, 3]).reshape([C]), g.sum([0, 3]).reshape([C])
    if to_mean is not None:
        part = (to_mean.reshape(each) / count).expand_as(x)
        into_input = part if into_input is None else into_input + part
    if to_rstd is not None:
        part = to_rstd.reshape(each) * (scale * scale * hat / -count)
        into_input = part if into_input is None else into_input + part
    return _want(needs, None if into_input is None else into_input.reshape(input.shape), to_weight, to_bias)


_BATCH = ("input", "weight", "training", "running_mean", "running_var", "bias")

op(
    "_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
    "RMS norm over the trailing dimensions, and the reciprocal root mean squares.",
    bind="function",
    meta=rule("rms_norm", "input", "normalized_shape", "weight"),
    grad={("input", "weight"): _rms_norm_grad},
    nondiff=(1,),
)
op(
    "_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight,"
    " bool[2] output_mask) -> (Tensor, Tensor)",
    "The gradients of RMS norm by input and weight.",
    meta=rule("norm_backward", "input", "output_mask", "weight"),
    grad=None,
    underived=True,
)
op(
    "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean,"
    " Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "Batch norm that says that it updates its running statistics.",
    bind="function",
    tags="core",
    meta=rule("batch_norm", *_BATCH),
    grad={("input", "weight", "bias"): _batch_norm_grad},
    nondiff=(1, 2),
    node="NativeBatchNormLegitBackward0",
)
op(
    "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum,"
    " float eps) -> (Tensor, Tensor, Tensor)",
    "Batch norm without running statistics.",
    bind="function",
    tags="core",
    meta=rule("batch_norm", "input", "weight", "training", -1, -1, "bias"),
    grad={("input", "weight", "bias"): _batch_norm_no_stats_grad},
    nondiff=(1, 2),
    samples=[S(T(3, 4, 2), T(4), T(4), True, 0.1, 1e-5)],
    node="NativeBatchNormLegitBackward1",
)
op(
    "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean,"
    " Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "Batch norm with its running statistics.",
    bind="function generated_out",
    tags="core",
    meta=rule("batch_norm", "input", "weight", -1, "running_mean", "running_var", "bias"),
    grad={("input", "weight", "bias"): _batch_norm_no_training_grad},
    nondiff=(1, 2),
    node="NativeBatchNormLegitNoTrainingBackward0",
)
op(
    "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    " bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    "Normalises each channel over all other dimensions; in training updates the running statistics.",
    bind="function",
    meta=rule("batch_norm", *_BATCH),
    grad={("input", "weight", "bias"): _batch_norm_grad},
    nondiff=(1, 2),
    unmarked="running_mean running_var",
    samples=[S(T(3, 4, 2), T(4), T(4), None, None, True, 0.1, 1e-5)],
)
op(
    "native_batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, Tensor? running_mean,"
    " Tensor? running_var, Tensor? save_mean, Tensor? save_invstd, bool train, float eps, bool[3] output_mask)"
    " -> (Tensor, Tensor, Tensor)",
    "The gradients of batch norm by input, weight and bias.",
    bind="function generated_out",
    meta=rule("channel_norm_backward", "input", "output_mask", "weight", "grad_out"),
    grad=None,
    underived=True,
)
op(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group,"
    " float eps) -> (Tensor, Tensor, Tensor)",
    "Normalises each sample's groups of channels.",
    bind="function generated_out",
    tags="core",
    meta=rule("group_norm", "input", "weight", "N", "C", "HxW", "group", "bias"),
    grad={("input", "weight", "bias"): _group_norm_grad},
)
op(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N,"
    " SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    "The gradients of group norm by input, weight and bias.",
    bind="function generated_out",
    tags="core",
    meta=rule("channel_norm_backward", "input", "output_mask", "weight", "grad_out"),
    grad=None,
    underived=True,
)
op(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    "Layer norm over the trailing dimensions, with the means and reciprocal standard deviations.",
    bind="function generated_out",
    tags="core",
    meta=rule("layer_norm", "input", "normalized_shape", "weight", "bias"),
    grad={("input", "weight", "bias"): _layer_norm_grad},
    nondiff=(1, 2),
    samples=[S(T(3, 4), [4], T(4), T(4), 1e-5), S(T(2, 3, 4), [3, 4], None, None, 1e-5)],
)
op(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd,"
    " Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    "The gradients of layer norm by input, weight and bias.",
    bind="generated_out",
    tags="core",
    meta=rule("norm_backward", "input", "output_mask", "weight", "bias"),
    grad=None,
    underived=True,
)
