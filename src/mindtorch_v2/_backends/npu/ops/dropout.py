"""Dropout: a mask of bools, drawn by the device, as PyTorch's operator returns it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..table import call, kernel
from .random import draw_bernoulli

if TYPE_CHECKING:
    from ...._C import Generator
    from ...._tensor import Tensor


@kernel("native_dropout")
def native_dropout(input: Tensor, p: Any, train: bool, out: Tensor, mask: Tensor) -> None:
    if train is False:
        call("aclnnInplaceCopy", out, input)
        call("aclnnInplaceOne", mask)
        return
    draw_bernoulli(mask, 1.0 - p)
    call("aclnnMul", input, mask, out)
    call("aclnnMuls", out, 0.0 if p == 1 else 1.0 / (1.0 - p), out)


@kernel("_fused_dropout")
def fused_dropout(self: Tensor, keep: float, generator: Generator, out: Tensor, mask: Tensor) -> None:
    draw_bernoulli(mask, float(keep), generator)
    call("aclnnMul", self, mask, out)
    call("aclnnMuls", out, 0.0 if keep == 0 else 1.0 / keep, out)


@kernel("_masked_scale")
def masked_scale(self: Tensor, mask: Tensor, scale: Tensor, out: Tensor) -> None:
    call("aclnnMul", self, mask, out)
    call("aclnnMuls", out, float(scale), out)


@kernel("native_dropout_backward")
def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: Tensor, out: Tensor) -> None:
    call("aclnnMul", grad_output, mask, out)
    call("aclnnMuls", out, float(scale), out)
