"""Dropout functions. All return their input if not `training`."""

from __future__ import annotations

import warnings

import mindtorch_v2 as torch
from mindtorch_v2._core.overridable import overridable

__all__ = [
    "alpha_dropout",
    "dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
    "feature_alpha_dropout",
]


def _check_probability(p) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


@overridable
def dropout(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Zero elements with probability `p` and scale the others by `1 / (1 - p)`; any shape.

    >>> torch.nn.functional.dropout(torch.ones(3), p=0.5, training=False)
    tensor([1., 1., 1.])
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


@overridable
def alpha_dropout(input: torch.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> torch.Tensor:
    """Dropout that keeps mean and variance of SELU's activations; any shape.

    >>> torch.nn.functional.alpha_dropout(torch.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    _check_probability(p)
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


@overridable
def feature_alpha_dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> torch.Tensor:
    """`alpha_dropout` of whole channels: `(N, C, *)`.

    >>> torch.nn.functional.feature_alpha_dropout(torch.ones(1, 3), training=False)
    tensor([[1., 1., 1.]])
    """
    _check_probability(p)
    if inplace:
        return torch.feature_alpha_dropout_(input, p, training)
    return torch.feature_alpha_dropout(input, p, training)


def _feature_dropout(input, p, training, inplace, is_batched) -> torch.Tensor:
    if not is_batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)
    if not is_batched:
        result = result.squeeze_(0) if inplace else result.squeeze(0)
    return result


@overridable
def dropout1d(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Zero whole channels of `(N, C, L)` or `(C, L)`.

    >>> torch.nn.functional.dropout1d(torch.ones(1, 3), training=False)
    tensor([[1., 1., 1.]])
    """
    _check_probability(p)
    inp_dim = input.dim()
    if inp_dim not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {inp_dim}D input. "
            "Note that dropout1d exists to provide channel-wise dropout on inputs with 1 "
            "spatial dimension, a channel dimension, and an optional batch dimension "
            "(i.e. 2D or 3D inputs)."
        )
    return _feature_dropout(input, p, training, inplace, inp_dim == 3)


@overridable
def dropout2d(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Zero whole channels of `(N, C, H, W)`.

    >>> torch.nn.functional.dropout2d(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])
    """
    _check_probability(p)
    inp_dim = input.dim()
    if inp_dim not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {inp_dim}-D input to dropout2d, which is deprecated "
            "and will result in an error in a future release. To retain the behavior "
            "and silence this warning, please use dropout instead. Note that dropout2d "
            "exists to provide channel-wise dropout on inputs with 2 spatial dimensions, "
            "a channel dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if inp_dim == 3:
        # PyTorch still takes dimension 1 as the channels here, that is, the first as a batch.
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise "
            "1D dropout behavior is desired - input is interpreted as shape (N, C, L), where C "
            "is the channel dim. This behavior will change in a future release to interpret the "
            "input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D "
            "channel-wise dropout behavior, please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _feature_dropout(input, p, training, inplace, True)


@overridable
def dropout3d(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """Zero whole channels of `(N, C, D, H, W)` or `(C, D, H, W)`.

    >>> torch.nn.functional.dropout3d(torch.ones(2, 3, 4, 4, 4)).shape
    torch.Size([2, 3, 4, 4, 4])
    """
    _check_probability(p)
    inp_dim = input.dim()
    if inp_dim not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {inp_dim}-D input to dropout3d, which is deprecated "
            "and will result in an error in a future release. To retain the behavior "
            "and silence this warning, please use dropout instead. Note that dropout3d "
            "exists to provide channel-wise dropout on inputs with 3 spatial dimensions, "
            "a channel dimension, and an optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    return _feature_dropout(input, p, training, inplace, inp_dim == 5)
