"""Sliding blocks of images, and images read at the positions of a grid."""

from ... import _C
from ..._core.autograd.backward import grad as gradients_of
from ..composite.volume import read_cubic
from ..table import S, T, aten, op, rule


def _grid_sampler_grad(grad, input, grid, interpolation_mode, padding_mode, align_corners, needs):
    """The kernel; where its own gradients may be asked for, through the same sampling made of operators that have some."""
    if not _C.is_grad_enabled():
        return aten.grid_sampler_2d_backward(
            grad, input, grid, interpolation_mode, padding_mode, align_corners, list(needs)
        )
    image, places = (x if x.requires_grad else x.detach().requires_grad_() for x in (input, grid))
    if interpolation_mode == 2:
        result = read_cubic(image, places, padding_mode, align_corners)
    else:  # as a volume one deep
        places_in_volume = aten.cat([places, aten.zeros_like(places[..., :1])], -1).unsqueeze(1)
        result = aten.grid_sampler_3d(
            image.unsqueeze(2), places_in_volume, interpolation_mode, padding_mode, align_corners
        ).squeeze(2)
    wanted = [x for x, need in zip((image, places), needs, strict=True) if need]
    found = gradients_of(result, wanted, grad, create_graph=True, allow_unused=True)
    made = iter(aten.zeros_like(x) if one is None else one for x, one in zip(wanted, found, strict=True))
    return tuple(next(made) if need else None for need in needs)


def _no_second_derivative(grads):
    raise RuntimeError("derivative for aten::grid_sampler_2d_backward is not implemented")


op(
    "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)"
    " -> Tensor",
    "Columns of blocks summed back into an image.",
    bind="nn out",
    out_dtype="expected scalar type {result} but found {out}",
    tags="core",
    linear="self",
    meta=rule("col2im"),
    grad={
        "self": lambda grad, kernel_size, dilation, padding, stride: aten.im2col(
            grad, kernel_size, dilation, padding, stride
        )
    },
    samples=[S(T(2, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])],
)

op(
    "grid_sampler_2d(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners) -> Tensor",
    "An image read at the positions of a grid.",
    bind="function generated_out",
    batching="planes",
    tags="core",
    autocast="float32",
    meta=rule("grid_sampler_2d"),
    grad={
        ("input", "grid"): _grid_sampler_grad,
    },
    dtypes="float",
    samples=[S(T(2, 3, 4, 5), T(2, 3, 2, 2), 0, 0, False), S(T(2, 3, 4, 5), T(2, 3, 2, 2), 2, 1, True)],
)

op(
    "grid_sampler_2d_backward(Tensor grad_output, Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
    "bool align_corners, bool[2] output_mask) -> (Tensor, Tensor)",
    "Gradients of grid_sampler_2d.",
    bind="generated_out",
    batching="planes",
    meta=rule("grid_sampler_2d_backward"),
    grad={("grad_output", "input", "grid"): _no_second_derivative},
)

op(
    "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    "Blocks of an image as columns.",
    bind="nn out",
    out_dtype="expected scalar type {result} but found {out}",
    linear="self",
    meta=rule("im2col"),
    grad={
        "self": lambda grad, self, kernel_size, dilation, padding, stride: aten.col2im(
            grad, list(self.shape[-2:]), kernel_size, dilation, padding, stride
        )
    },
    samples=[S(T(2, 3, 5, 6), [2, 3], [1, 2], [1, 0], [2, 1]), S(T(3, 5, 6), [2, 2], [1, 1], [0, 0], [1, 1])],
)
