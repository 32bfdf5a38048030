"""Resizing and sampling of images."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

if TYPE_CHECKING:
    from mindtorch_v2.jit._recorder import TracedSize


__all__ = [
    "GRID_SAMPLE_INTERPOLATION_MODES",
    "GRID_SAMPLE_PADDING_MODES",
    "affine_grid",
    "grid_sample",
    "interpolate",
    "upsample",
    "upsample_bilinear",
    "upsample_nearest",
]


GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}

_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
# Modes that belong to one number of dimensions.
_MODE_DIMS = {"linear": 3, "bilinear": 4, "trilinear": 5}
_UPSAMPLE = {
    (3, "nearest"): "upsample_nearest1d",
    (4, "nearest"): "upsample_nearest2d",
    (5, "nearest"): "upsample_nearest3d",
    (3, "nearest-exact"): "_upsample_nearest_exact1d",
    (4, "nearest-exact"): "_upsample_nearest_exact2d",
    (5, "nearest-exact"): "_upsample_nearest_exact3d",
    (3, "linear"): "upsample_linear1d",
    (4, "bilinear"): "upsample_bilinear2d",
    (5, "trilinear"): "upsample_trilinear3d",
    (4, "bicubic"): "upsample_bicubic2d",
}


def _check_align_corners(mode, align_corners) -> bool | None:
    """The value of `align_corners` for a mode that has it; None for the others, which must not be given one."""
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the "
                "interpolating modes: linear | bilinear | bicubic | trilinear"
            )
        return None
    return False if align_corners is None else align_corners


def _output_size_and_factors(input, size, scale_factor) -> tuple:
    """`size` and `scale_factor` as a pair of which one is a list and the other None."""
    dim = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if not isinstance(size, (list, tuple)):
            return [size for _ in range(dim)], None
        if len(size) != dim:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {list(input.shape[2:])} and output size of {size}. "
                "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "output size in (o1, o2, ...,oK) format."
            )
        if not all(isinstance(x, int) for x in size):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
                f"Tuple[int, int, int], but got size with types {[type(x) for x in size]}"
            )
        return size, None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if not isinstance(scale_factor, (list, tuple)):
        return None, [scale_factor for _ in range(dim)]
    if len(scale_factor) != dim:
        raise ValueError(
            "Input and scale_factor must have the same number of spatial dimensions, but "
            f"got input with spatial dimensions of {list(input.shape[2:])} and "
            f"scale_factor of shape {scale_factor}. "
            "Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            "scale_factor in (s1, s2, ...,sK) format."
        )
    return None, scale_factor


@overridable
def interpolate(
    input: torch.Tensor,
    size: int | Sequence[int | TracedSize] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> torch.Tensor:
    """Resize the spatial dimensions of `(N, C, *)`, of which there are one to three, to a size or by a factor.

    `mode` is "nearest", "nearest-exact", "linear" (3-D input), "bilinear" and "bicubic" (4-D), "trilinear" (5-D)
    or "area". `align_corners` makes the outer pixels' centres fall together instead of their edges.

    >>> torch.nn.functional.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    align_corners = _check_align_corners(mode, align_corners)
    output_size, scale_factors = _output_size_and_factors(input, size, scale_factor)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "area" and output_size is None:
        recompute_scale_factor = True
    if recompute_scale_factor:
        output_size = [int(float(n) * f) for n, f in zip(input.shape[2:], scale_factors, strict=True)]
        scale_factors = None
    ndim = input.dim()
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and ndim == 4:
        raise NotImplementedError("interpolate: mode 'lanczos' is not implemented")
    if mode == "area" and ndim in (3, 4, 5):
        pool = (
            torch.nn.functional.adaptive_avg_pool1d,
            torch.nn.functional.adaptive_avg_pool2d,
            torch.nn.functional.adaptive_avg_pool3d,
        )[ndim - 3]
        return pool(input, output_size)
    name = _UPSAMPLE.get((ndim, mode))
    if name is None:
        if ndim in (3, 4, 5) and mode in _MODE_DIMS:
            raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_MODE_DIMS[mode]}D input")
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: "
            f"{_MODES} (got {mode})"
        )
    if antialias:
        name = f"_{name}_aa"
    operator = getattr(torch._C._nn, name, None)
    if operator is None:
        raise NotImplementedError(f"interpolate: the operator aten::{name} is not implemented")
    if align_corners is None:
        return operator(input, output_size, scale_factors)
    return operator(input, output_size, align_corners, scale_factors)


def upsample(
    input: torch.Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> torch.Tensor:
    """Deprecated alias of `interpolate`.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample(torch.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: torch.Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> torch.Tensor:
    """Deprecated: `interpolate` with mode "nearest".

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample_nearest(torch.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(
    input: torch.Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> torch.Tensor:
    """Deprecated: `interpolate` with mode "bilinear" and aligned corners.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.functional.upsample_bilinear(torch.tensor([[[[0.0, 2.0]]]]), size=(1, 3))
    tensor([[[[0., 1., 2.]]]])
    """
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_default_align_corners() -> None:
    warnings.warn(
        "Default grid_sample and affine_grid behavior has changed "
        "to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. "
        "See the documentation of grid_sample for details.",
        stacklevel=3,
    )


@overridable
def grid_sample(
    input: torch.Tensor,
    grid: torch.Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> torch.Tensor:
    """Sample `(N, C, H, W)` at the points `grid` `(N, H', W', 2)` in [-1, 1], or the 3-D analogue.

    `mode` is "bilinear", "nearest" or "bicubic"; `padding_mode` "zeros", "border" or "reflection".

    >>> grid = torch.zeros(1, 1, 1, 2)
    >>> torch.nn.functional.grid_sample(torch.tensor([[[[1.0, 3.0]]]]), grid, align_corners=True)
    tensor([[[[2.]]]])
    """
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode "
            "to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    if align_corners is None:
        _warn_default_align_corners()
        align_corners = False
    return torch.grid_sampler(
        input,
        grid,
        GRID_SAMPLE_INTERPOLATION_MODES[mode],
        GRID_SAMPLE_PADDING_MODES[padding_mode],
        align_corners,
    )


@overridable
def affine_grid(theta: torch.Tensor, size: Sequence[int], align_corners: bool | None = None) -> torch.Tensor:
    """The points that affine maps `theta` `(N, 2, 3)` give for an output of `size` `(N, C, H, W)`: `(N, H, W, 2)`.

    In three dimensions `(N, 3, 4)` and `(N, C, D, H, W)` give `(N, D, H, W, 3)`.

    >>> torch.nn.functional.affine_grid(torch.eye(2, 3)[None], [1, 1, 2, 2], align_corners=True).shape
    torch.Size([1, 2, 2, 2])
    """
    if align_corners is None:
        _warn_default_align_corners()
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, "
            "for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    d = len(size) - 2
    if theta.dim() != 3 or theta.shape[-2] != d or theta.shape[-1] != d + 1:
        raise ValueError(
            f"Expected a batch of {d}D affine matrices of shape Nx{d}x{d + 1} for size {size}. Got {theta.shape}."
        )
    spatial_size = size[2:]
    if align_corners and min(spatial_size) == 1:
        warnings.warn(
            "Since version 1.3.0, affine_grid behavior has changed "
            "for unit-size grids when align_corners=True. "
            "This is not an intended use case of affine_grid. "
            "See the documentation of affine_grid for details.",
            stacklevel=2,
        )
    elif min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align_corners)
