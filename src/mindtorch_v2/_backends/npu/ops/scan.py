"""Running sums and products."""

from ..table import aclnn, call, kernel


@kernel("cumsum")
def cumsum(self, dim, dtype, out) -> None:
    call("aclnnCumsum", self, dim, out.dtype, out)


@kernel("cumprod")
def cumprod(self, dim, dtype, out) -> None:
    call("aclnnCumprod", self, dim, out.dtype, out)


aclnn("cummax", "aclnnCummax")
aclnn("cummin", "aclnnCummin")
