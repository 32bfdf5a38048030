"""Images at another size, and the gradients: every row is one kernel, whose MODE says how items are weighed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._operators.table import aten
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_FORWARD, _BACKWARD = Source("upsample.cuh", "upsample"), Source("upsample.cuh", "upsample_gradient")
_FLOATS = ("float", "double", "f16", "bf16")


def _axis(mode: str, small: int, large: int, given: float | None, corners: bool, whole: bool) -> list[Any]:
    """The struct of an axis from `small` to `large`; `whole`: nearest items stay where they are if the sizes are equal."""
    nearest = mode.startswith("NEAREST")
    if corners and not nearest:
        scale = (small - 1) / (large - 1) if large > 1 else 0.0
    else:
        scale = 1.0 / given if given is not None and given > 0 else small / large
    keeps = whole if nearest else mode != "CUBIC"
    return [small, large, float(scale), corners, small == large and keeps]


def _launch(
    source: Source, mode: str, given: Tensor, result: Tensor, small: Any, large: Any, corners: bool, scales: Any
) -> None:
    """One launch from `given` to `result`; `small` and `large` are the sizes before and after."""
    kind = element(result.dtype)
    if kind not in _FLOATS and not (mode.startswith("NEAREST") and kind == "uint8_t"):
        raise NotImplementedError(f'"upsample_{mode.lower()}" not implemented for {result.dtype} on CUDA devices')
    if not result.numel():
        return
    whole = mode == "NEAREST" and (len(scales) == 2 or kind == "uint8_t")
    axes = [[1, 1, 1.0, False, True]] * (3 - len(scales))
    for size, wide, scale in zip(small[2:], large[2:], scales, strict=True):
        axes.append(_axis(mode, size, wide, scale, corners, whole))
    words = (("ELEMENT", kind), ("A", "double" if kind == "double" else "float"), ("MODE", mode))
    pointers = (given, result) if source is _FORWARD else (result, given)
    arguments = pack(small[0] * small[1], *pointers, *axes)
    source.launch(result.device.index, words, (blocks(result.numel(), 256),), (256,), arguments)


def _resizing(name: str, mode: str, corners: bool) -> None:
    """The row `name` and its gradient; `corners`: whether they take align_corners."""

    @kernel(name, flags=CONTIGUOUS)
    def forward(self: Tensor, output_size: Sequence[int], *rest: Any) -> None:
        *given, out = rest
        aligned, scales = (given[0], given[1:]) if corners else (False, given)
        _launch(_FORWARD, mode, aten.contiguous(self), out, self.shape, out.shape, aligned, scales)

    @kernel(f"{name}_backward", flags=CONTIGUOUS)
    def backward(grad_output: Tensor, output_size: Sequence[int], input_size: Sequence[int], *rest: Any) -> None:
        *given, out = rest
        aligned, scales = (given[0], given[1:]) if corners else (False, given)
        grad = aten.contiguous(grad_output)
        _launch(_BACKWARD, mode, grad, out, input_size, grad_output.shape, aligned, scales)


for _dims in (1, 2, 3):
    _resizing(f"upsample_nearest{_dims}d", "NEAREST", False)
    _resizing(f"_upsample_nearest_exact{_dims}d", "NEAREST_EXACT", False)
_resizing("upsample_linear1d", "LINEAR", True)
_resizing("upsample_bilinear2d", "LINEAR", True)
_resizing("upsample_trilinear3d", "LINEAR", True)
_resizing("upsample_bicubic2d", "CUBIC", True)
_resizing("_upsample_bilinear2d_aa", "LINEAR_ANTIALIAS", True)
_resizing("_upsample_bicubic2d_aa", "CUBIC_ANTIALIAS", True)
