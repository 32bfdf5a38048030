"""Running sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..table import aclnn, call, kernel

if TYPE_CHECKING:
    from ...._tensor import Tensor


@kernel("cumsum")
def cumsum(self: Tensor, dim: int, dtype: Any, out: Tensor) -> None:
    call("aclnnCumsum", self, dim, out.dtype, out)


@kernel("cumprod")
def cumprod(self: Tensor, dim: int, dtype: Any, out: Tensor) -> None:
    call("aclnnCumprod", self, dim, out.dtype, out)


aclnn("cummax", "aclnnCummax")
aclnn("cummin", "aclnnCummin")
