"""Fused optimizer steps: one launch for each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...common.adam import AdamOptions, AdamState, register_adam
from ..pointwise import Pointwise
from ..table import kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _adam_steps(words: dict[str, Any]) -> str:
    """The step of Adam in the parameters' arithmetic, with `words` for what is on: outputs are what it writes."""
    second = "v"
    lines = [
        "T p = to<T>(param), g = to<T>(grad), m = to<T>(exp_avg), v = to<T>(exp_avg_sq);",
        "if (has_grad_scale) g = g / to<T>(grad_scale);",
        "const T unscaled = g;" if words.get("maximize") is None else "const T unscaled = g; if (maximize) g = -g;",
        "if (weight_decay != 0) { if (decoupled) p = p - to<T>(lr) * to<T>(weight_decay) * p; else g = g + to<T>(weight_decay) * p; }",
        "m = to<T>(beta1) * m + (T(1) - to<T>(beta1)) * g;",
        "v = to<T>(beta2) * v + (T(1) - to<T>(beta2)) * g * g;",
    ]
    if words["amsgrad"]:
        lines.append("const T top = larger(to<T>(max_exp_avg_sq), v);")
        second = "top"
    lines += [
        "const T first = T(1) - to<T>(pow(to<double>(beta1), to<double>(step))), other = T(1) - to<T>(pow(to<double>(beta2), "
        "to<double>(step)));",
        f"p = p - to<T>(lr) / first * m / (sqrt({second}) / sqrt(other) + to<T>(eps));",
        "const bool skip = has_found_inf && to<T>(found_inf) != T(0);",
        "r0 = skip ? to<T>(param) : p; r1 = skip ? to<T>(exp_avg) : m; r2 = skip ? to<T>(exp_avg_sq) : v;",
        "r3 = skip ? to<T>(grad) : unscaled;",
    ]
    if words["amsgrad"]:
        lines.append("r4 = skip ? to<T>(max_exp_avg_sq) : top;")
    return " ".join(lines)


_NAMES = (
    "param exp_avg exp_avg_sq grad max_exp_avg_sq step lr beta1 beta2 weight_decay eps grad_scale found_inf amsgrad maximize decoupled"
).split()
_RAW = tuple(_NAMES[:13])
_ADAM = Pointwise("Adam", 4, _NAMES, _adam_steps, raw=_RAW)
_AMSGRAD = Pointwise("Adam (amsgrad)", 5, _NAMES, _adam_steps, raw=_RAW)


def _adam(states: list[AdamState], options: AdamOptions) -> None:
    for of in states:
        written = (of.param, of.exp_avg, of.exp_avg_sq, of.grad)
        numbers = (*options[:5], options.grad_scale, options.found_inf, *options[5:7], options.decoupled)
        operands = (*written, of.max_exp_avg_sq, of.step, *numbers)
        if of.max_exp_avg_sq is None:
            _ADAM.launcher.run(written, operands)
        else:
            _AMSGRAD.launcher.run((*written, of.max_exp_avg_sq), operands)


register_adam(kernel, ["_fused_adam_", "_fused_adam_.tensor_lr"], False, _adam)
register_adam(kernel, ["_fused_adamw_", "_fused_adamw_.tensor_lr"], True, _adam)


def _sgd_step(words: dict[str, Any]) -> str:
    lines = [
        "T p = to<T>(param), g = to<T>(grad);",
        "if (has_grad_scale) g = g / to<T>(grad_scale);",
        f"const T unscaled = g; {'g = -g;' if words['maximize'] else ''}",
        "g = g + to<T>(weight_decay) * p;",
    ]
    kept = ""
    if words["moving"]:
        first = "g" if words["first"] else "to<T>(momentum) * to<T>(buffer) + to<T>(1 - dampening) * g"
        lines.append(f"const T b = {first}; g = {'g + to<T>(momentum) * b' if words['nesterov'] else 'b'};")
        kept = "r2 = skip ? to<T>(buffer) : b;"
    lines.append("const bool skip = has_found_inf && to<T>(found_inf) != T(0);")
    lines.append(f"r0 = skip ? to<T>(param) : p - to<T>(lr) * g; r1 = skip ? to<T>(grad) : unscaled; {kept}")
    return " ".join(lines)


_SGD_NAMES = (
    "param grad buffer weight_decay momentum lr dampening grad_scale found_inf moving first nesterov maximize".split()
)
_SGD = {n: Pointwise("SGD", n, _SGD_NAMES, _sgd_step, raw=tuple(_SGD_NAMES[:9])) for n in (2, 3)}


@kernel("_fused_sgd_", "_fused_sgd_.tensor_lr")
def sgd(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    momentum_buffer_list: Sequence[Tensor],
    weight_decay: float,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    moving = momentum != 0 and len(momentum_buffer_list) > 0
    for i, (param, grad) in enumerate(zip(self, grads, strict=True)):
        buffer = momentum_buffer_list[i] if moving else None
        written = (param, grad) if buffer is None else (param, grad, buffer)
        _SGD[len(written)].launcher.run(
            written,
            (
                param, grad, buffer, weight_decay, momentum, lr, dampening, grad_scale, found_inf, moving, is_first_step, nesterov,
                maximize,
            ),
        )  # fmt: skip


def _adagrad_step(words: dict[str, Any]) -> str:
    return (
        "T p = to<T>(param), g = to<T>(grad); if (has_grad_scale) g = g / to<T>(grad_scale);"
        f" const T unscaled = g; {'g = -g;' if words['maximize'] else ''} g = g + to<T>(weight_decay) * p;"
        " const T sum = to<T>(state_sum) + g * g, rate = to<T>(to<double>(lr) / (1 + (to<double>(step) - 1) * lr_decay));"
        " const bool skip = has_found_inf && to<T>(found_inf) != T(0);"
        " r0 = skip ? to<T>(param) : p - rate * g / (sqrt(sum) + to<T>(eps)); r1 = skip ? to<T>(grad) : unscaled;"
        " r2 = skip ? to<T>(state_sum) : sum;"
    )


_ADAGRAD_NAMES = "param grad state_sum step lr lr_decay weight_decay eps grad_scale found_inf maximize".split()
_ADAGRAD = Pointwise("Adagrad", 3, _ADAGRAD_NAMES, _adagrad_step, raw=tuple(_ADAGRAD_NAMES[:10]))


@kernel("_fused_adagrad_", "_fused_adagrad_.tensor_lr")
def adagrad(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    state_sums: Sequence[Tensor],
    state_steps: Sequence[Tensor],
    lr: float | Tensor,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> None:
    for param, grad, total, step in zip(self, grads, state_sums, state_steps, strict=True):
        _ADAGRAD.launcher.run(
            (param, grad, total),
            (param, grad, total, step, lr, lr_decay, weight_decay, eps, grad_scale, found_inf, maximize),
        )


def _rmsprop_step(words: dict[str, Any]) -> str:
    lines = [
        f"T p = to<T>(param), g = {'-' if words['maximize'] else ''}to<T>(grad) + to<T>(weight_decay) * p;",
        "const T fresh = to<T>(1 - alpha), v = to<T>(square_avg) * to<T>(alpha) + fresh * (g * g); T spread = v; r1 = v;",
    ]
    place = 2
    if words["centered"]:
        lines.append("const T m = to<T>(grad_avg) + fresh * (g - to<T>(grad_avg)); spread = v - m * m; r2 = m;")
        place = 3
    lines.append("T step = g / (sqrt(spread) + to<T>(eps));")
    if words["moving"]:
        lines.append(f"step = to<T>(buffer) * to<T>(momentum) + step; r{place} = step;")
    return " ".join([*lines, "r0 = p - to<T>(lr) * step;"])


_RMSPROP_NAMES = (
    "param grad square_avg grad_avg buffer lr alpha eps weight_decay momentum centered moving maximize".split()
)
_RMSPROP = {
    n: Pointwise("RMSprop", n, _RMSPROP_NAMES, _rmsprop_step, raw=tuple(_RMSPROP_NAMES[:10])) for n in (2, 3, 4)
}


@kernel("_fused_rmsprop_")
def rmsprop(
    self: Sequence[Tensor],
    grads: Sequence[Tensor],
    square_avgs: Sequence[Tensor],
    grad_avgs: Sequence[Tensor],
    momentum_buffers: Sequence[Tensor],
    lr: float,
    alpha: float,
    eps: float,
    weight_decay: float,
    momentum: float,
    centered: bool,
    maximize: bool,
) -> None:
    if centered and not grad_avgs:
        raise RuntimeError("fused_rmsprop: the centered form needs grad_avgs")
    if momentum > 0 and not momentum_buffers:
        raise RuntimeError("fused_rmsprop: momentum needs momentum_buffers")
    for i, (param, grad) in enumerate(zip(self, grads, strict=True)):
        average = grad_avgs[i] if centered else None
        buffer = momentum_buffers[i] if momentum_buffers else None
        written = [t for t in (param, square_avgs[i], average, buffer) if t is not None]
        _RMSPROP[len(written)].launcher.run(
            tuple(written),
            (
                param, grad, square_avgs[i], average, buffer, lr, alpha, eps, weight_decay, momentum, centered, buffer is not None,
                maximize,
            ),
        )  # fmt: skip
