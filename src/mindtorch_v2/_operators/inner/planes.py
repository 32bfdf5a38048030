"""Gradients of pooling, of sampling on grids and of reductions of segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..table import S, T, aten, composite
from .gradients import by_recording

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _fractional(spatial) -> None:
    shape, out = (2, 3, *([5] * spatial)), [2] * spatial

    @composite(
        f"fractional_max_pool{spatial}d_backward(Tensor grad_output, Tensor self, int[{spatial}] kernel_size,"
        f" int[{spatial}] output_size, Tensor indices) -> Tensor",
        "The gradient of pooling by windows at random places.",
        bind="out",
        out_overload="grad_input grad_input",
        out_dtype="exact" if spatial == 2 else "expected scalar type {result} but found {out}",
        explicit=True,
        samples=[
            S(
                T(2, 3, *out, grad=False),
                T(*shape, grad=False),
                [2] * spatial,
                out,
                T(2, 3, *out, dtype="int64", low=0, high=5**spatial),
            )
        ],
    )
    def backward(
        grad_output: Tensor, self: Tensor, kernel_size: Sequence[int], output_size: Sequence[int], indices: Tensor
    ) -> Tensor:
        lead = list(self.shape[: self.dim() - spatial])
        flat = grad_output.new_zeros([*lead, math.prod(self.shape[-spatial:])])
        count = math.prod(grad_output.shape[-spatial:])
        made = aten.scatter_add(flat, -1, indices.reshape([*lead, count]), grad_output.reshape([*lead, count]))
        return made.reshape(self.shape)


_fractional(2)
_fractional(3)


@composite(
    "grid_sampler_3d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode,"
    " bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
    "The gradients of `grid_sampler_3d`.",
    bind="generated_out",
    explicit=True,
    samples=[
        S(
            T(1, 2, 2, 2, 2, grad=False),
            T(1, 2, 3, 4, 3, grad=False),
            T(1, 2, 2, 2, 3, low=-0.9, high=0.9, grad=False),
            mode,
            0,
            False,
            [True, True],
        )
        for mode in (0, 1)
    ],
)
def grid_sampler_3d_backward(
    grad_output: Tensor,
    input: Tensor,
    grid: Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, ...]:
    made = by_recording(
        lambda x, at: aten.grid_sampler_3d(x, at, interpolation_mode, padding_mode, align_corners),
        list(zip((input, grid), (output_mask[0], True), strict=True)),
        grad_output,
    )
    to_grid = made[1] if made[1] is not None else aten.zeros_like(grid)
    return made[0], to_grid


_SAMPLED = "Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners"


@composite(
    f"_grid_sampler_2d_cpu_fallback({_SAMPLED}) -> Tensor",
    "`grid_sampler_2d`.",
    bind="function generated_out",
    samples=[S(T(1, 2, 3, 4), T(1, 2, 2, 2, low=-0.9, high=0.9), 0, 0, False)],
)
def _grid_sampler_2d_cpu_fallback(input, grid, interpolation_mode, padding_mode, align_corners):
    return aten.grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(
    f"_grid_sampler_2d_cpu_fallback_backward(Tensor grad_output, {_SAMPLED}) -> (Tensor, Tensor)",
    "The gradients of `grid_sampler_2d`.",
    explicit=True,
    samples=[
        S(
            T(1, 2, 2, 2, grad=False),
            T(1, 2, 3, 4, grad=False),
            T(1, 2, 2, 2, low=-0.9, high=0.9, grad=False),
            0,
            0,
            False,
        )
    ],
)
def _grid_sampler_2d_cpu_fallback_backward(grad_output, input, grid, interpolation_mode, padding_mode, align_corners):
    return aten.grid_sampler_2d_backward(
        grad_output, input, grid, interpolation_mode, padding_mode, align_corners, [True, True]
    )


@composite(
    "affine_grid_generator_backward(Tensor grad, SymInt[] size, bool align_corners) -> Tensor",
    "The gradient of `affine_grid_generator`.",
    samples=[
        S(T(2, 3, 4, 2, grad=False), [2, 1, 3, 4], False),
        S(T(1, 2, 3, 4, 3, grad=False), [1, 1, 2, 3, 4], True),
    ],
)
def affine_grid_generator_backward(grad: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    spatial = len(size) - 2
    theta = grad.new_zeros([size[0], spatial, spatial + 1])
    made = by_recording(
        lambda x: aten.affine_grid_generator(x, size, align_corners),
        [(theta, True)],
        grad.reshape([size[0], *size[2:], spatial]),
    )
    return made[0]


@composite(
    "_segment_reduce_backward(Tensor grad, Tensor output, Tensor data, str reduce, *, Tensor? lengths=None,"
    " Tensor? offsets=None, int axis=0, Scalar? initial=None) -> Tensor",
    "The gradient of `segment_reduce`, which gave `output`.",
    bind="generated_out",
    explicit=True,
)
def _segment_reduce_backward(grad, output, data, reduce, *, lengths=None, offsets=None, axis=0, initial=None):
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    made = by_recording(
        lambda x: aten.segment_reduce(
            x, reduce, lengths=lengths, offsets=offsets, axis=axis, unsafe=True, initial=initial
        ),
        [(data, True)],
        grad,
    )
    return made[0]
