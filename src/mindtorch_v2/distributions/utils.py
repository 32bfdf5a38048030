"""Broadcasting of parameters, probabilities and logits, values computed once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values: Any) -> tuple[torch.Tensor, ...]:
    """Tensors and numbers as tensors of one shape; numbers take the first tensor's dtype and device.

    Raises ValueError if one of them is neither a tensor nor a number.

    >>> from mindtorch_v2.distributions.utils import broadcast_all
    >>> broadcast_all(torch.tensor([1.0, 2.0]), 3)
    (tensor([1., 2.]), tensor([3., 3.]))
    """
    like = [isinstance(value, torch.Tensor) or torch.overrides.is_tensor_like(value) for value in values]
    if not all(known or isinstance(value, (int, float, complex)) for known, value in zip(like, values)):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
        )
    if not all(like):
        options: dict[str, Any] = {"dtype": torch.get_default_dtype()}
        for value in values:
            if isinstance(value, torch.Tensor):
                options = {"dtype": value.dtype, "device": value.device}
                break
        values = tuple(value if known else torch.tensor(value, **options) for known, value in zip(like, values))
    return torch.broadcast_tensors(*values)


def _standard_normal(shape, dtype, device):
    return torch.normal(torch.zeros(shape, dtype=dtype, device=device), torch.ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value, dim):
    """`value` summed over its `dim` rightmost dimensions."""
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def clamp_probs(probs: Any) -> torch.Tensor:
    """`probs` kept off 0 and 1 by the dtype's epsilon, so that logarithms are finite.

    >>> from mindtorch_v2.distributions.utils import clamp_probs
    >>> clamp_probs(torch.tensor([0.0, 0.5, 1.0])).log()
    tensor([-1.5942e+01, -6.9315e-01, -1.1921e-07])
    """
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> torch.Tensor:
    """Probabilities of log odds (`is_binary`), else of unnormalised logarithms along the last dimension.

    >>> from mindtorch_v2.distributions.utils import logits_to_probs
    >>> logits_to_probs(torch.tensor([0.0, 0.0])), logits_to_probs(torch.tensor(0.0), is_binary=True)
    (tensor([0.5000, 0.5000]), tensor(0.5000))
    """
    return torch.sigmoid(logits) if is_binary else torch.nn.functional.softmax(logits, dim=-1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> torch.Tensor:
    """Log odds of probabilities (`is_binary`), else their logarithms.

    >>> from mindtorch_v2.distributions.utils import probs_to_logits
    >>> probs_to_logits(torch.tensor([0.5, 0.5])), probs_to_logits(torch.tensor(0.5), is_binary=True)
    (tensor([-0.6931, -0.6931]), tensor(0.))
    """
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


class lazy_property:
    """A property that is computed at its first use, with gradients, and then kept in the instance.

    >>> from mindtorch_v2.distributions.utils import lazy_property
    >>> class Square:
    ...     side = 3
    ...     @lazy_property
    ...     def area(self):
    ...         print("computed")
    ...         return self.side**2
    >>> square = Square()
    >>> square.area, square.area
    computed
    (9, 9)
    """

    def __init__(self, wrapped: Callable[..., Any]) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]  # (it stands for the function)

    def __get__(self, instance: Any, obj_type: Any = None) -> Any:
        if instance is None:
            return property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def tril_matrix_to_vec(mat: torch.Tensor, diag: int = 0) -> torch.Tensor:
    """The lower triangles of `(..., n, n)` matrices, row by row, up to diagonal `diag`, as vectors.

    >>> from mindtorch_v2.distributions.utils import tril_matrix_to_vec
    >>> tril_matrix_to_vec(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 3, 4])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    arange = torch.arange(n, device=mat.device)
    return mat[..., arange < arange.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec: torch.Tensor, diag: int = 0) -> torch.Tensor:
    """The inverse of `tril_matrix_to_vec`: `(..., D)` vectors as `(..., n, n)` matrices.

    Raises ValueError if no n fits D.

    >>> from mindtorch_v2.distributions.utils import vec_to_tril_matrix
    >>> vec_to_tril_matrix(torch.tensor([1.0, 3.0, 4.0]))
    tensor([[1., 0.],
            [3., 4.]])
    """
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    eps = torch.finfo(vec.dtype).eps
    if not round(n) - eps <= n <= round(n) + eps:
        raise ValueError(
            f"The size of last dimension is {vec.shape[-1]} which cannot be expressed as the lower "
            "triangular part of a square D x D matrix."
        )
    n = round(n)
    mat = vec.new_zeros(vec.shape[:-1] + (n, n))
    arange = torch.arange(n, device=vec.device)
    mat[..., arange < arange.view(-1, 1) + (diag + 1)] = vec
    return mat
