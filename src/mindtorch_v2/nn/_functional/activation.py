"""Activations. All take tensors of any shape and return the same shape, unless they say otherwise."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

__all__ = [
    "glu",
    "gumbel_softmax",
    "hardtanh",
    "log_softmax",
    "sigmoid",
    "softmax",
    "softmin",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
]


@overridable
def _threshold(input, threshold, value, inplace=False) -> torch.Tensor:
    """`x` where `x > threshold`, else `value`.

    >>> torch.nn.functional.threshold(torch.tensor([-1.0, 0.0, 2.0]), 0.1, 20.0)
    tensor([20., 20.,  2.])
    """
    if inplace:
        return torch.threshold_(input, threshold, value)
    return torch.threshold(input, threshold, value)


threshold = _threshold


@overridable
def glu(input: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """`a * sigmoid(b)` with `a`, `b` the halves of the input along `dim`, which must be even.

    >>> torch.nn.functional.glu(torch.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return torch._C._nn.glu(input, dim)


@overridable
def hardtanh(input: torch.Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> torch.Tensor:
    """`x` clamped to [min_val, max_val].

    >>> torch.nn.functional.hardtanh(torch.tensor([-4.0, 0.5, 4.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if inplace:
        return torch._C._nn.hardtanh_(input, min_val, max_val)
    return torch._C._nn.hardtanh(input, min_val, max_val)


@overridable
def tanhshrink(input: torch.Tensor) -> torch.Tensor:
    """`x - tanh(x)`.

    >>> torch.nn.functional.tanhshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.0360])
    """
    return input - input.tanh()


@overridable
def softsign(input: torch.Tensor) -> torch.Tensor:
    """`x / (1 + |x|)`.

    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """
    return input / (input.abs() + 1)


def tanh(input: torch.Tensor) -> torch.Tensor:
    """The hyperbolic tangent.

    >>> torch.nn.functional.tanh(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.7616,  0.0000,  0.9640])
    """
    return input.tanh()


def sigmoid(input: torch.Tensor) -> torch.Tensor:
    """`1 / (1 + exp(-x))`.

    >>> torch.nn.functional.sigmoid(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.2689, 0.5000, 0.8808])
    """
    return input.sigmoid()


def _get_softmax_dim(name, ndim, stacklevel) -> int:
    """The dimension that old programs leave out."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


@overridable
def softmin(
    input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """`softmax(-x)` along `dim`; computed in `dtype` if given.

    >>> torch.nn.functional.softmin(torch.tensor([[0.0, 1.0]]), dim=1)
    tensor([[0.7311, 0.2689]])
    """
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


@overridable
def softmax(
    input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """`exp(x) / sum(exp(x))` along `dim`; computed in `dtype` if given.

    >>> torch.nn.functional.softmax(torch.zeros(1, 2), dim=1)
    tensor([[0.5000, 0.5000]])
    """
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


@overridable
def log_softmax(
    input: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None
) -> torch.Tensor:
    """`log(softmax(x))` along `dim`; computed in `dtype` if given.

    >>> torch.nn.functional.log_softmax(torch.zeros(1, 2), dim=1)
    tensor([[-0.6931, -0.6931]])
    """
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


@overridable
def gumbel_softmax(
    logits: torch.Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1
) -> torch.Tensor:
    """Samples of the Gumbel-softmax distribution (Jang et al. 2016); with `hard` one-hot, with soft gradients.

    >>> torch.nn.functional.gumbel_softmax(torch.zeros(1, 3), hard=True).sum()
    tensor(1.)
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    gumbels = -torch.empty_like(logits, memory_format=torch.contiguous_format).exponential_().log()
    y_soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return y_soft
    index = y_soft.max(dim, keepdim=True)[1]
    y_hard = torch.zeros_like(logits, memory_format=torch.contiguous_format).scatter_(dim, index, 1.0)
    # The value is the hard sample's, the gradient the soft one's.
    return y_hard - y_soft.detach() + y_soft
