"""Optimizer steps over lists of tensors, each element's state read and written once."""

from __future__ import annotations

from ..table import op

_ADAM = (
    "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, Tensor(d!)[] exp_avg_sqs,"
    " Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, {lr} lr, float beta1, float beta2, float weight_decay,"
    " float eps, bool amsgrad, bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
)
_SGD = (
    "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, float weight_decay,"
    " float momentum, {lr} lr, float dampening, bool nesterov, bool maximize, bool is_first_step,"
    " Tensor? grad_scale=None, Tensor? found_inf=None) -> ()"
)
_ADAGRAD = (
    "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] state_sums, {steps} state_steps, *, {lr} lr,"
    " float lr_decay, float weight_decay, float eps, bool maximize, Tensor? grad_scale=None,"
    " Tensor? found_inf=None) -> ()"
)

op(
    "_fused_adagrad_" + _ADAGRAD.format(lr="float", steps="Tensor(d!)[]"),
    "One step of Adagrad.",
    bind="function",
    grad=None,
)
op(
    "_fused_adagrad_.tensor_lr" + _ADAGRAD.format(lr="Tensor", steps="Tensor[]"),
    "One step of Adagrad, the learning rate a tensor.",
    bind="function",
    kernel="_fused_adagrad_",
    grad=None,
)
op("_fused_adam_" + _ADAM.format(lr="float"), "One step of Adam.", bind="function", grad=None)
op(
    "_fused_adam_.tensor_lr" + _ADAM.format(lr="Tensor"),
    "One step of Adam, the learning rate a tensor.",
    bind="function",
    kernel="_fused_adam_",
    grad=None,
)
op("_fused_adamw_" + _ADAM.format(lr="float"), "One step of AdamW.", bind="function", grad=None)
op(
    "_fused_adamw_.tensor_lr" + _ADAM.format(lr="Tensor"),
    "One step of AdamW, the learning rate a tensor.",
    bind="function",
    kernel="_fused_adamw_",
    grad=None,
)
op(
    "_fused_rmsprop_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] square_avgs, Tensor(d!)[] grad_avgs,"
    " Tensor(e!)[] momentum_buffers, *, float lr, float alpha, float eps, float weight_decay, float momentum,"
    " bool centered, bool maximize) -> ()",
    "One step of RMSprop; ours, PyTorch has none. `grad_avgs` and `momentum_buffers` may be empty.",
    bind="",
    grad=None,
)
op("_fused_sgd_" + _SGD.format(lr="float"), "One step of SGD.", bind="function", grad=None)
op(
    "_fused_sgd_.tensor_lr" + _SGD.format(lr="Tensor"),
    "One step of SGD, the learning rate a tensor.",
    bind="function",
    kernel="_fused_sgd_",
    grad=None,
)
