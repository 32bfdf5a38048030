"""Extrema, sums of powers, running extrema and other reductions by names of PyTorch's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ... import _C
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._C import dtype
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "_aminmax(Tensor self) -> (Tensor, Tensor)",
    "The least and the greatest element.",
    bind="function generated_out",
    explicit=True,
    samples=[S(T(3, 4, grad=False))],
)
def _aminmax(self):
    return tuple(aten.aminmax(self))


@composite(
    "_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)",
    "The least and the greatest element along `dim`.",
    bind="function generated_out",
    explicit=True,
    samples=[S(T(3, 4, grad=False), 1), S(T(3, 4, grad=False), 0, True)],
)
def _aminmax_dim(self, dim, keepdim=False):
    return tuple(aten.aminmax(self, dim=dim, keepdim=keepdim))


@composite(
    "linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)"
    " -> Tensor",
    "The sum of the absolute values to the power of `ord`.",
    bind="linalg",
    tags="reduction",
    samples=[S(T(3, 4), 3, [0]), S(T(3, 4), 2), S(T(3, 4), 2.5, [1], True)],
)
def linalg__powsum(
    self: Tensor,
    ord: Number = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
) -> Tensor:
    x = self if dtype is None else self.to(dtype)
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(
            f"linalg._powsum: Expected a floating point or complex tensor as input. Got {str(x.dtype).rpartition('.')[2]}"
        )
    x = x.abs()
    dims = list(range(x.dim())) if dim is None else list(dim)
    terms = x.ne(0).to(x.dtype) if ord == 0 else x if ord == 1 else x.square() if ord == 2 else x.pow(ord)
    return terms.sum(dims, keepdim)


@composite(
    "_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]",
    "The sum of the absolute values to the power of `ord`, of each tensor.",
    bind="function generated_out",
    samples=[S([T(3, 4), T(2)], 3)],
)
def _foreach_powsum(self, ord=2, dtype=None):
    return [linalg__powsum(each, ord, dtype=dtype) for each in self]


@composite(
    "_logcumsumexp(Tensor self, int dim) -> Tensor",
    "`logcumsumexp`.",
    bind="function out",
    explicit=True,
    samples=[S(T(3, 4, grad=False), 1)],
)
def _logcumsumexp(self, dim):
    return aten.logcumsumexp(self, dim)


def _running(name) -> None:
    of = name[1:].removesuffix("_helper")

    @composite(
        f"{name}(Tensor self, Tensor(a!) values, Tensor(b!) indices, int dim) -> ()",
        f"What `{of}` gives, into two tensors.",
        bind="function",
        explicit=True,
    )
    def into(self: Tensor, values: Tensor, indices: Tensor, dim: int) -> None:
        for out, made in zip((values, indices), getattr(aten, of)(self, dim), strict=True):
            aten.copy_(out, made)


_running("_cummax_helper")
_running("_cummin_helper")


@composite(
    "_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor",
    "`softmax` of the elements where `mask` is false; the others become zero. A matrix for four dimensions is one of queries "
    "and keys (type 0) or of samples and keys (type 1).",
    bind="function generated_out",
    explicit=True,
    grad={
        "self": lambda grad, mask, dim, result: aten._masked_softmax_backward(
            grad, result, _spread(mask, result) if mask.shape != result.shape else mask, dim
        )
    },
    samples=[S(T(3, 4), T(3, 4, dtype="bool"), 1, 2), S(T(3, 4), T(3, 4, dtype="bool"), 0)],
)
def _masked_softmax(self, mask, dim=None, mask_type=None):
    if mask.dtype != _C._dtypes["bool"]:
        raise RuntimeError("Mask should be a boolean tensor")
    if mask.dim() != 2 or self.dim() != 4:
        mask_type = 2
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    if mask_type == 2:
        if mask.shape != self.shape:
            raise RuntimeError("For mask_type == 2 mask shape should match input shape")
    elif mask_type == 1:
        if self.size(0) != mask.size(0) or self.size(2) != mask.size(1):
            raise RuntimeError("For mask_type == 1 mask shape should be (B, L)")
        mask = mask.view([self.size(0), 1, 1, self.size(2)]).expand(self.shape)
    elif mask_type == 0:
        if [self.size(2)] * 2 != list(mask.shape):
            raise RuntimeError("For mask_type == 0 mask shape should be (L, L)")
        mask = mask.view([1, 1, *mask.shape]).expand(self.shape)
    else:
        raise RuntimeError("Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask)")
    return aten.softmax(self.masked_fill(mask, float("-inf")), self.dim() - 1 if dim is None else dim)


def _spread(mask, result):
    """A mask of queries and keys, or of samples and keys, for four dimensions."""
    by_query = list(mask.shape) == [result.size(2)] * 2
    return mask.view([1, 1, *mask.shape] if by_query else [mask.size(0), 1, 1, mask.size(1)]).expand(result.shape)


@composite(
    "_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> Tensor",
    "The gradient of `_masked_softmax`.",
    bind="generated_out",
    explicit=True,
    samples=[S(T(3, 4, grad=False), T(3, 4, grad=False), T(3, 4, dtype="bool"), 1)],
)
def _masked_softmax_backward(grad_output, output, mask, dim=None):
    dim = output.dim() - 1 if dim is None else dim
    grad, result = grad_output.masked_fill(mask, 0), output.masked_fill(mask, 0)
    return result * (grad - (grad * result).sum(dim, keepdim=True))


@composite(
    "_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim,"
    " int unroll_dim=1) -> Tensor",
    "Sum over `sumdim` of the product of three tensors, each with new dimensions where it is to be repeated.",
    bind="function generated_out",
    samples=[S(T(2, 3), T(4, 3, 5), T(2, 5), [1, 3], [0], [1, 2], [2, 3])],
)
def _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim=1):
    spread = []
    for x, places in ((i1, expand1), (i2, expand2), (i3, expand3)):
        for place in sorted(places):
            x = x.unsqueeze(place)
        spread.append(x)
    product = spread[0] * spread[1] * spread[2]
    return product.sum(list(sumdim)) if sumdim else product


@composite(
    "_euclidean_dist(Tensor x1, Tensor x2) -> Tensor",
    "Distances of all pairs of rows, by one product of matrices.",
    bind="function generated_out",
    samples=[S(T(3, 4), T(2, 4))],
)
def _euclidean_dist(x1, x2):
    squares = [x.square().sum(-1, keepdim=True) for x in (x1, x2)]
    left = aten.cat([x1 * -2, squares[0], aten.ones_like(squares[0])], -1)
    right = aten.cat([x2, aten.ones_like(squares[1]), squares[1]], -1)
    return aten.matmul(left, right.mT).clamp_min(0).sqrt()
