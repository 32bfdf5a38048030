"""Conversions of tensors as autograd Functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mindtorch_v2.autograd.function import Function

__all__ = ["Resize", "Type"]


class Resize(Function):
    """A tensor of other sizes and as many elements.

    >>> from mindtorch_v2.autograd._functions import Resize
    >>> Resize.apply(torch.ones(4), (2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """

    @staticmethod
    def forward(ctx: Any, tensor: Any, sizes: Sequence[int]) -> Any:
        if tensor.numel() != math.prod(sizes):
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))} ({math.prod(sizes)} elements in total), but the given tensor "
                f"has a size of {'x'.join(map(str, tensor.shape))} ({tensor.numel()} elements). autograd's resize can only "
                "change the shape of a given tensor, while preserving the number of elements. "
            )
        ctx.input_sizes = tensor.shape
        return tensor.contiguous().view(*sizes)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        return grad_output.contiguous().view(ctx.input_sizes), None


class Type(Function):
    """A tensor of another dtype.

    >>> from mindtorch_v2.autograd._functions import Type
    >>> Type.apply(torch.ones(2), torch.float64)
    tensor([1., 1.], dtype=torch.float64)
    """

    @staticmethod
    def forward(ctx: Any, tensor: Any, dtype: Any) -> Any:
        ctx.input_type = tensor.dtype
        return tensor.type(dtype)

    @staticmethod
    def backward(ctx: Any, grad_output: Any) -> Any:
        return grad_output.type(ctx.input_type), None
