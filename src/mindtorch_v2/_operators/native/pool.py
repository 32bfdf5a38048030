"""Pooling: maximum with indices, average, adaptive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..table import S, T, aten, op, rule

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _picked(values, indices, spatial):
    """The items of `values` that the pooling's indices point to."""
    shape = indices.shape
    flat = values.flatten(-spatial)
    return flat.gather(-1, indices.flatten(-spatial)).reshape(shape)


def _adaptive_avg_grad(backward):
    return lambda grad, self: getattr(aten, backward)(grad, self)


def _adaptive_avg_backward_grad(forward, spatial):
    return lambda grad, grad_output: getattr(aten, forward)(grad, list(grad_output.shape[-spatial:]))


def _adaptive_max_grad(backward):
    return lambda grad, self, result1: getattr(aten, backward)(grad, self, result1)


def _max_backward_grad(spatial):
    return lambda grad, indices: _picked(grad, indices, spatial)


def _zeros_of_self(grad, self):
    return aten.zeros_like(self)


def _avg_grad(backward):
    def formula(
        grad: Tensor,
        self: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        return getattr(aten, backward)(
            grad, self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    return formula


def _avg_backward_grad(forward):
    def formula(
        grad: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor:
        return getattr(aten, forward)(
            grad, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
        )

    return formula


def _max_grad(backward):
    def formula(
        grad: Tensor,
        self: Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
        result1: Tensor,
    ) -> Tensor:
        return getattr(aten, backward)(grad, self, kernel_size, stride, padding, dilation, ceil_mode, result1)

    return formula


for _d, _shape, _out in ((2, (2, 3, 6, 7), (2, 3)), (3, (2, 2, 4, 5, 6), (2, 3, 2))):
    op(
        f"_adaptive_avg_pool{_d}d(Tensor self, SymInt[{_d}] output_size) -> Tensor",
        "Mean over windows that split each spatial dimension evenly.",
        bind="out",
        out_dtype="exact",
        batching="planes",
        tags="core",
        out_tags="generated",
        linear="self",
        meta=rule(f"adaptive_avg_pool{_d}d"),
        grad={"self": _adaptive_avg_grad(f"_adaptive_avg_pool{_d}d_backward")},
        samples=[S(T(*_shape), list(_out))],
    )
    op(
        f"_adaptive_avg_pool{_d}d_backward(Tensor grad_output, Tensor self) -> Tensor",
        "Gradient of adaptive mean pooling.",
        bind="generated_out",
        batching="planes",
        tags="core" if _d == 2 else "",
        meta=rule(f"adaptive_avg_pool{_d}d_backward"),
        grad={"grad_output": _adaptive_avg_backward_grad(f"_adaptive_avg_pool{_d}d", _d), "self": _zeros_of_self},
        samples=[S(T(*_shape[:2], *_out), T(*_shape, grad=False))],
    )
    op(
        f"adaptive_max_pool{_d}d(Tensor self, int[{_d}] output_size) -> (Tensor, Tensor)",
        "Maximum over windows that split each spatial dimension evenly, and its index in the plane.",
        bind="nn out",
        out_dtype="exact",
        out_overload="out out indices",
        batching="planes",
        autocast="float32" if _d == 3 else "",
        meta=rule(f"adaptive_max_pool{_d}d"),
        grad={"self": _adaptive_max_grad(f"adaptive_max_pool{_d}d_backward")},
        samples=[S(T(*_shape), list(_out))],
    )
    op(
        f"adaptive_max_pool{_d}d_backward(Tensor grad_output, Tensor self, Tensor indices) -> Tensor",
        "Gradient of adaptive maximum pooling.",
        bind="out",
        out_dtype="exact",
        out_overload="grad_input grad_input",
        batching="planes",
        meta=rule(f"adaptive_max_pool{_d}d_backward"),
        grad={"grad_output": _max_backward_grad(_d), "self": _zeros_of_self},
        samples=[
            S(T(*_shape[:2], *_out), T(*_shape, grad=False), T(*_shape[:2], *_out, dtype="int64", low=0, high=20))
        ],
    )
    op(
        f"avg_pool{_d}d(Tensor self, int[{_d}] kernel_size, int[{_d}] stride=[], int[{_d}] padding=0, "
        "bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None) -> Tensor",
        "Mean over windows.",
        bind="nn out",
        out_dtype="exact",
        functional=f"avg_pool{_d}d",
        batching="planes",
        tags="core",
        linear="self",
        autocast="float32" if _d == 3 else "",
        meta=rule(f"avg_pool{_d}d"),
        grad={"self": _avg_grad(f"avg_pool{_d}d_backward")},
        samples=[
            S(T(*_shape), 2),
            S(T(*_shape), 3, 2, 1, True, False),
            S(T(*_shape), 3, 2, 1, True, True),
            S(T(*_shape), 2, divisor_override=3),
        ],
    )
    op(
        f"avg_pool{_d}d_backward(Tensor grad_output, Tensor self, int[{_d}] kernel_size, int[{_d}] stride, "
        f"int[{_d}] padding, bool ceil_mode, bool count_include_pad, int? divisor_override) -> Tensor",
        "Gradient of mean pooling.",
        bind="out",
        out_dtype="exact",
        out_overload="grad_input grad_input",
        batching="planes",
        tags="core" if _d == 2 else "",
        meta=rule("pool_backward"),
        grad={"grad_output": _avg_backward_grad(f"avg_pool{_d}d"), "self": _zeros_of_self},
        samples=[
            S(
                T(*_shape[:2], *(n // 2 for n in _shape[2:])),
                T(*_shape, grad=False),
                [2] * _d,
                [],
                [0] * _d,
                False,
                True,
                None,
            )
        ],
    )
    op(
        f"max_pool{_d}d_with_indices(Tensor self, int[{_d}] kernel_size, int[{_d}] stride=[], int[{_d}] padding=0, "
        f"int[{_d}] dilation=1, bool ceil_mode=False) -> (Tensor, Tensor)",
        "Maximum over windows and its index in the plane.",
        bind="nn out",
        out_dtype="exact" if _d == 2 else "expected scalar type {result} but found {out}",
        out_overload="out out indices",
        batching="planes",
        tags="core",
        meta=rule(f"max_pool{_d}d"),
        grad={"self": _max_grad(f"max_pool{_d}d_with_indices_backward")},
        samples=[S(T(*_shape), 2), S(T(*_shape), 3, 2, 1), S(T(*_shape), 2, 1, 0, 2, True)],
    )
    op(
        f"max_pool{_d}d_with_indices_backward(Tensor grad_output, Tensor self, int[{_d}] kernel_size, "
        f"int[{_d}] stride, int[{_d}] padding, int[{_d}] dilation, bool ceil_mode, Tensor indices) -> Tensor",
        "Gradient of maximum pooling.",
        bind="out",
        out_dtype="exact" if _d == 2 else "expected scalar type {result} but found {out}",
        out_overload="grad_input grad_input",
        batching="planes",
        tags="core" if _d == 2 else "",
        meta=rule("pool_backward"),
        grad={"grad_output": _max_backward_grad(_d), "self": _zeros_of_self},
        samples=[
            S(
                T(*(half := (*_shape[:2], *(n // 2 for n in _shape[2:])))),
                T(*_shape, grad=False),
                [2] * _d,
                [],
                [0] * _d,
                [1] * _d,
                False,
                T(*half, dtype="int64", low=0, high=20),
            )
        ],
    )
