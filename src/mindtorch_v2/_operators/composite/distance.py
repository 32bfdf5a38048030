"""Distances and similarities as users call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import _C
from ..table import S, T, aten, class_name, composite

if TYPE_CHECKING:
    from ..._tensor import Tensor


def _at_least(size, eps):
    """`size`, at least `eps`; the gradient goes through as if nothing were held back, as in PyTorch."""
    return size + (size.clamp_min(eps) - size).detach()


@composite(
    "cdist(Tensor x1, Tensor x2, float p=2.0, int? compute_mode=None) -> Tensor",
    "p-norm distances between the rows of two batches of matrices.",
    autocast="float32",
    samples=[S(T(3, 4), T(5, 4))],
)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    return aten._cdist_forward(x1, x2, p, compute_mode)


@composite(
    "cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
    "Cosine of the angle between vectors along `dim`.",
    bind="function",
    functional="cosine_similarity",
    samples=[S(T(3, 4), T(3, 4)), S(T(3, 4), T(3, 4), 0)],
)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    common = _C.promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {class_name(common)}")
    x1, x2 = aten.broadcast_tensors([x1.to(common), x2.to(common)])
    size1 = _at_least(aten.linalg_vector_norm(x1, 2, [dim], True), eps)
    size2 = _at_least(aten.linalg_vector_norm(x2, 2, [dim], True), eps)
    return ((x1 / size1) * (x2 / size2)).sum(dim)


@composite(
    "pairwise_distance(Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False) -> Tensor",
    "p-norm of the differences along the last dimension.",
    bind="function",
    functional="pairwise_distance",
    samples=[S(T(3, 4), T(3, 4))],
)
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    return aten.linalg_vector_norm(x1 - x2 + eps, p, [max(x1.dim(), x2.dim()) - 1], keepdim)


@composite(
    "pdist(Tensor self, float p=2.0) -> Tensor",
    "p-norm distances between every two rows.",
    bind="function",
    functional="pdist",
    samples=[S(4, 3)],
)
def pdist(self: Tensor, p: float = 2.0) -> Tensor:
    return aten._pdist_forward(self.contiguous(), p)
