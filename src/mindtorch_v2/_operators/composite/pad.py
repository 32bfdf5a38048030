"""torch.nn.functional.pad's modes, and wrapping around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


_SUPPORTED = """Supported combinations for non-constant padding:
  - 2D or 3D input: padding size = 2 (pads last dimension)
  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)
  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"""


@composite(
    "_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
    "Continues with the other end.",
    bind="nn",
    samples=[S(T(2, 3, 5), [2, 1]), S(T(2, 3, 4, 5), [1, 2, 3, 0])],
)
def _pad_circular(self, pad):
    for i in range(len(pad) // 2):
        dim = self.dim() - 1 - i
        before, after = pad[2 * i], pad[2 * i + 1]
        size = self.size(dim)
        if before > size or after > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + before + after < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        kept = self.narrow(dim, max(0, -before), size + min(0, before) + min(0, after))
        parts = [kept]
        if before > 0:
            parts.insert(0, self.narrow(dim, size - before - max(0, -after), before))
        if after > 0:
            parts.append(self.narrow(dim, max(0, -before), after))
        self = aten.cat(parts, dim) if len(parts) > 1 else kept.clone()
    return self.contiguous()


@composite(
    'pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor',
    "Pads the last dimensions: constant, reflect, replicate or circular.",
    bind="nn",
    samples=[S(T(2, 3, 4), [1, 2]), S(T(2, 3, 4), [1, 2], "reflect"), S(T(2, 3, 4), [1, 2], "circular")],
)
def pad(self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    if len(pad) % 2 != 0:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * self.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {self.dim()}"
        )
    if mode == "constant":
        return aten.constant_pad_nd(self, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    spatial = len(pad) // 2
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if spatial not in (1, 2, 3) or self.dim() not in (spatial + 1, spatial + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {self.dim()}D input tensor.\n{_SUPPORTED}"
        )
    if mode == "circular":
        return aten._pad_circular(self, pad)
    family = "reflection_pad" if mode == "reflect" else "replication_pad"
    return getattr(aten, f"{family}{spatial}d")(self, pad)
