"""Images at another size, and the gradients. A scale that is not given is what the sizes say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..table import call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


def _scales(given, larger, smaller) -> list:
    """The scales for the operator: of `larger` to `smaller` sizes where none is given."""
    return [to / of if scale is None else scale for scale, to, of in zip(given, larger, smaller, strict=True)]


def _nearest(dims) -> None:
    """Nearest places: the sizes decide, or the scales do, by the second version of the operator."""

    @kernel(f"upsample_nearest{dims}d")
    def forward(self: Tensor, output_size: int, *rest: Any) -> None:
        *scales, out = rest
        if all(scale is None for scale in scales):
            call(f"aclnnUpsampleNearest{dims}d", self, output_size, out)
        else:
            call(
                f"aclnnUpsampleNearest{dims}dV2",
                self,
                output_size,
                *_scales(scales, output_size, self.shape[2:]),
                out,
            )


def _with_scales(name, symbol, flags=0) -> None:
    """An operator of sizes, `flags` more arguments, and scales; and its gradient, which takes the sizes of both."""

    @kernel(name)
    def forward(self: Tensor, output_size: int, *rest: Any) -> None:
        *scales, out = rest[flags:]
        scales = _scales(scales, output_size, self.shape[2:])
        call(symbol, self, output_size, *rest[:flags], *scales, out)

    _backward(name, symbol, flags)


def _backward(name, symbol, flags=0) -> None:
    @kernel(f"{name}_backward")
    def backward(grad_output: Tensor, output_size: int, input_size: Sequence[int], *rest: Any) -> None:
        *scales, out = rest[flags:]
        scales = _scales(scales, output_size, input_size[2:])
        call(f"{symbol}Backward", grad_output, output_size, input_size, *rest[:flags], *scales, out)


for _dims in (1, 2):
    _nearest(_dims)
    _backward(f"upsample_nearest{_dims}d", f"aclnnUpsampleNearest{_dims}d")
    _with_scales(f"_upsample_nearest_exact{_dims}d", f"aclnnUpsampleNearestExact{_dims}d")
_with_scales("upsample_linear1d", "aclnnUpsampleLinear1d", flags=1)
_with_scales("upsample_bilinear2d", "aclnnUpsampleBilinear2d", flags=1)
_with_scales("upsample_bicubic2d", "aclnnUpsampleBicubic2d", flags=1)
