"""Fused optimizer steps: one launch for each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...common.adam import AdamOptions, AdamState, register_adam
from ..pointwise import Pointwise
from ..table import kernel

if TYPE_CHECKING:
    pass


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
