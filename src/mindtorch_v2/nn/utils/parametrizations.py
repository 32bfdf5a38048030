"""Parametrizations that come with PyTorch: orthogonal, weight norm, spectral norm."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING

import mindtorch_v2 as torch

from ..modules.module import Module
from . import parametrize

if TYPE_CHECKING:
    pass


__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def _is_orthogonal(Q, eps=None):
    """Whether the columns of Q are orthonormal, to some multiple of the machine epsilon."""
    n, k = Q.size(-2), Q.size(-1)
    Id = torch.eye(k, dtype=Q.dtype, device=Q.device)
    eps = 10.0 * n * torch.finfo(Q.dtype).eps
    return torch.allclose(Q.mH @ Q, Id, atol=eps)


def _make_orthogonal(A) -> torch.Tensor:
    """The Q of A's QR decomposition whose R has a positive diagonal."""
    X, tau = torch.geqrf(A)
    Q = torch.linalg.householder_product(X, tau)
    # Columns of which the diagonal is zero have no sign; they stay.
    Q *= X.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)
    return Q


def _householder_product(A, tau) -> torch.Tensor:
    """The product of reflections of which A's strictly lower triangle holds the vectors; differentiable."""
    n, k = A.size(-2), A.size(-1)
    identity = torch.eye(n, k, dtype=A.dtype, device=A.device)
    Q = identity.expand(A.shape)
    for i in reversed(range(k)):
        v = (A[..., i] + identity[:, i]).unsqueeze(-1)
        Q = Q - tau[..., i, None, None] * (v @ (v.mT @ Q))
    return Q


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """An orthogonal (or semi-orthogonal) matrix made from any matrix by one of three maps."""

    def __init__(self, weight: torch.Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: torch.Tensor) -> torch.Tensor:
        n, k = X.size(-2), X.size(-1)
        transposed = n < k
        if transposed:
            X = X.mT
            n, k = k, n
        if self.orthogonal_map in (_OrthMaps.matrix_exp, _OrthMaps.cayley):
            # Here n >= k: the lower triangle is what varies.
            X = X.tril()
            if n != k:
                X = torch.cat([X, X.new_zeros(n, n - k).expand(*X.shape[:-2], -1, -1)], dim=-1)
            A = X - X.mH
            if self.orthogonal_map == _OrthMaps.matrix_exp:
                Q = torch.matrix_exp(A)
            else:
                Id = torch.eye(n, dtype=A.dtype, device=A.device)
                Q = torch.linalg.solve(torch.add(Id, A, alpha=-0.5), torch.add(Id, A, alpha=0.5))
            if n != k:
                Q = Q[..., :k]
        else:
            A = X.tril(diagonal=-1)
            tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
            Q = _householder_product(A, tau)
            # The diagonal of X carries signs only, and no gradient.
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        if hasattr(self, "base"):
            Q = self.base @ Q
        return Q.mT if transposed else Q

    @torch.autograd.no_grad()
    def right_inverse(self, Q: torch.Tensor) -> torch.Tensor:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        n, k = Q.size(-2), Q.size(-1)
        transpose = n < k
        if transpose:
            Q = Q.mT
            n, k = k, n
        if not hasattr(self, "base"):
            return self._inverse_without_base(Q, transpose)
        if n == k:
            # A matrix that is not orthogonal is projected.
            Q = Q.clone() if _is_orthogonal(Q) else _make_orthogonal(Q)
        else:
            # The base is square: the columns that are missing are random.
            N = torch.randn(*(Q.size()[:-2] + (n, n - k)), dtype=Q.dtype, device=Q.device)
            Q = _make_orthogonal(torch.cat([Q, N], dim=-1))
        self.base = Q
        # The map of this is the identity, so that the result is the base.
        neg_Id = torch.zeros_like(Q, memory_format=torch.contiguous_format)
        neg_Id.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        Id = neg_Id[..., :k]
        return Id.mT if transpose else Id

    def _inverse_without_base(self, Q, transpose):
        """An original for a matrix by Householder reflections, the only map whose inverse is cheap."""
        if self.orthogonal_map != _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations "
                "when use_trivialization=False."
            )
        A, tau = torch.geqrf(Q)
        A.diagonal(dim1=-2, dim2=-1).sign_()
        # geqrf leaves columns without a reflection with tau zero; there the sign is one.
        A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
        return A.mT if transpose else A


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Make a matrix parameter orthogonal (its rows or columns orthonormal); return the module.

    `orthogonal_map` is "matrix_exp", "cayley" or "householder"; the default is the first for square and complex
    matrices, the last for others.

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    orth_enum = getattr(_OrthMaps, orthogonal_map, None)
    if orth_enum is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    orth = _Orthogonal(weight, orth_enum, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, orth, unsafe=True)
    return module


class _WeightNorm(Module):
    """`g * v / |v|`, the norm over all dimensions but `dim`."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: torch.Tensor, weight_v: torch.Tensor) -> torch.Tensor:
        return torch._weight_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: torch.Tensor) -> tuple:
        return torch.norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a parameter into magnitude (`original0`) and direction (`original1`); return the module.

    `dim` is the dimension that keeps a magnitude for each entry; None is one magnitude for all.

    >>> sorted(dict(torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3)).named_parameters()))
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def _weight_norm_compat_hook(
        state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ) -> None:
        # Files of the older weight norm name the parts otherwise.
        g_key = f"{prefix}{name}_g"
        v_key = f"{prefix}{name}_v"
        if g_key in state_dict and v_key in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(g_key)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(v_key)

    module._register_load_state_dict_pre_hook(_weight_norm_compat_hook)
    return module


class _SpectralNorm(Module):
    """A matrix divided by its largest singular value, which power iteration estimates."""

    _u: torch.Tensor
    _v: torch.Tensor

    def __init__(self, weight: torch.Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            # A vector's largest singular value is its norm.
            self.n_power_iterations = n_power_iterations
            weight_mat = self._reshape_weight_to_matrix(weight)
            h, w = weight_mat.size()
            u = weight_mat.new_empty(h).normal_(0, 1)
            v = weight_mat.new_empty(w).normal_(0, 1)
            normalize = torch.nn.functional.normalize
            self.register_buffer("_u", normalize(u, dim=0, eps=self.eps))
            self.register_buffer("_v", normalize(v, dim=0, eps=self.eps))
            self._power_method(weight_mat, 15)

    def _reshape_weight_to_matrix(self, weight):
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.dim()) if d != self.dim))
        return weight.flatten(1)

    @torch.autograd.no_grad()
    def _power_method(self, weight_mat, n_power_iterations) -> None:
        # In place: replicas and copies of the module share the vectors.
        normalize = torch.nn.functional.normalize
        for _ in range(n_power_iterations):
            self._u = normalize(torch.mv(weight_mat, self._v), dim=0, eps=self.eps, out=self._u)
            self._v = normalize(torch.mv(weight_mat.H, self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        if weight.ndim == 1:
            return torch.nn.functional.normalize(weight, dim=0, eps=self.eps)
        weight_mat = self._reshape_weight_to_matrix(weight)
        if self.training:
            self._power_method(weight_mat, self.n_power_iterations)
        # Copies: the vectors may change before backward.
        u = self._u.clone(memory_format=torch.contiguous_format)
        v = self._v.clone(memory_format=torch.contiguous_format)
        sigma = torch.vdot(u, torch.mv(weight_mat, v))
        return weight / sigma

    def right_inverse(self, value: torch.Tensor) -> torch.Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a parameter, as a matrix, by its largest singular value; return the module (Miyato et al. 2018).

    `dim` is the dimension that counts the outputs: by default 0, and 1 for transposed convolutions.

    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(3, 3))
    >>> layer.weight.shape
    torch.Size([3, 3])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        transposed = (torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d)
        dim = 1 if isinstance(module, transposed) else 0
    parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
    return module
