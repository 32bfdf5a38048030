"""The `.vec` overloads of interpolation: sizes or scale factors as lists, as nn.functional.interpolate passes them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..table import aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _target(input, output_size, scale_factors, spatial) -> tuple:
    """The output size, and the scales to compute positions with (None: from the sizes)."""
    if (output_size is None) == (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    if output_size is not None:
        if len(output_size) != spatial:
            raise RuntimeError(f"Expected output_size to have {spatial} entries, but got {len(output_size)}")
        return list(output_size), [None] * spatial
    if len(scale_factors) != spatial:
        raise RuntimeError(f"Expected scale_factors to have {spatial} entries, but got {len(scale_factors)}")
    sizes = [math.floor(float(n) * f) for n, f in zip(input.shape[2:], scale_factors, strict=True)]
    return sizes, list(scale_factors)


def _define(name, spatial, corners) -> None:
    if corners:

        def body(
            input: Tensor, output_size: Sequence[int] | None, align_corners: bool, scale_factors: Sequence[float] | None
        ) -> Tensor:
            size, scales = _target(input, output_size, scale_factors, spatial)
            return getattr(aten, name)(input, size, align_corners, *scales)

    else:

        def body(input: Tensor, output_size: Sequence[int] | None, scale_factors: Sequence[float] | None) -> Tensor:  # type: ignore[misc]  # (two signatures, one for each kind of schema)
            size, scales = _target(input, output_size, scale_factors, spatial)
            return getattr(aten, name)(input, size, *scales)

    generated = name in ("upsample_nearest2d", "upsample_bilinear2d")
    align = ", bool align_corners" if corners else ""
    composite(
        f"{name}.vec(Tensor input, SymInt[]? output_size{align}, float[]? scale_factors) -> Tensor",
        f"{name} with lists of sizes or factors.",
        bind="nn generated_out" if generated else "nn",
        tags="core" if generated else "",
    )(body)


for _spatial in (1, 2, 3):
    _define(f"_upsample_nearest_exact{_spatial}d", _spatial, False)
    _define(f"upsample_nearest{_spatial}d", _spatial, False)
_define("upsample_linear1d", 1, True)
_define("upsample_bilinear2d", 2, True)
_define("upsample_trilinear3d", 3, True)
_define("upsample_bicubic2d", 2, True)
_define("_upsample_bilinear2d_aa", 2, True)
_define("_upsample_bicubic2d_aa", 2, True)
