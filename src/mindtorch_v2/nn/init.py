"""Initialization of tensors in place, taking random numbers from the generator in PyTorch's order."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.torch_function import hand_over as handle_torch_function
from mindtorch_v2._core.torch_function import has_torch_function

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]

_UNIT_GAIN = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def _no_grad_uniform_(tensor, a, b, generator=None) -> torch.Tensor:
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor, mean, std, generator=None) -> torch.Tensor:
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _redrawn_until(tensor, draw, accepts) -> torch.Tensor:
    """Fill `tensor` with what `draw(t)` draws, whole tensors at a time, each element until it is accepted."""
    draw(tensor)
    open_places = ~accepts(tensor)
    while open_places.any():
        proposal = draw(torch.empty_like(tensor))
        tensor.copy_(torch.where(open_places, proposal, tensor))
        open_places &= ~accepts(tensor)
    return tensor


def _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=None) -> torch.Tensor:
    """Rejection sampling: from the normal distribution, or where that hits [a, b] seldom from the uniform one."""

    def norm_cdf(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=3,
        )
    with torch.no_grad():
        low, high = (a - mean) / std, (b - mean) / std
        if norm_cdf(high) - norm_cdf(low) >= 0.3:
            return _redrawn_until(
                tensor,
                lambda t: t.normal_(mean, std, generator=generator),
                lambda t: (t >= a) & (t <= b),
            )
        # The density is highest at the mean, or at the bound next to it.
        mode = min(max(0.0, low), high)

        def accepts(t: torch.Tensor) -> torch.Tensor:
            z = (t - mean) / std
            chance = torch.exp((mode * mode - z * z) / 2)
            return torch.empty_like(t).uniform_(0, 1, generator=generator) <= chance

        return _redrawn_until(tensor, lambda t: t.uniform_(a, b, generator=generator), accepts)


def _no_grad_fill_(tensor, val) -> torch.Tensor:
    with torch.no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor) -> torch.Tensor:
    with torch.no_grad():
        return tensor.zero_()


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended gain for a nonlinearity, by its name in `functional`; `param` is leaky_relu's slope.

    >>> torch.nn.init.calculate_gain("leaky_relu", 0.2)
    1.3867504905630728
    """
    if nonlinearity in _UNIT_GAIN:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(
    tensor: torch.Tensor, a: float = 0.0, b: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fill with numbers uniform in [a, b).

    >>> bool(torch.nn.init.uniform_(torch.empty(100)).max() <= 1)
    True
    """
    if has_torch_function((tensor,)):
        return handle_torch_function(uniform_, (tensor,), tensor=tensor, a=a, b=b, generator=generator)
    return _no_grad_uniform_(tensor, a, b, generator)


def normal_(
    tensor: torch.Tensor, mean: float = 0.0, std: float = 1.0, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fill with normal numbers of the given mean and standard deviation.

    >>> torch.nn.init.normal_(torch.empty(3, 5), std=0.02).shape
    torch.Size([3, 5])
    """
    if has_torch_function((tensor,)):
        return handle_torch_function(normal_, (tensor,), tensor=tensor, mean=mean, std=std, generator=generator)
    return _no_grad_normal_(tensor, mean, std, generator)


def trunc_normal_(
    tensor: torch.Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Fill with normal numbers, truncated to [a, b]; best where `a <= mean <= b`.

    >>> bool(torch.nn.init.trunc_normal_(torch.empty(100), a=-1.0, b=1.0).abs().max() <= 1)
    True
    """
    return _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=generator)


def constant_(tensor: torch.Tensor, val: float) -> torch.Tensor:
    """Fill with `val`.

    >>> torch.nn.init.constant_(torch.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    if has_torch_function((tensor,)):
        return handle_torch_function(constant_, (tensor,), tensor=tensor, val=val)
    return _no_grad_fill_(tensor, val)


def ones_(tensor: torch.Tensor) -> torch.Tensor:
    """Fill with one.

    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return _no_grad_fill_(tensor, 1.0)


def zeros_(tensor: torch.Tensor) -> torch.Tensor:
    """Fill with zero.

    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return _no_grad_zero_(tensor)


def eye_(tensor: torch.Tensor) -> torch.Tensor:
    """Make a matrix the identity.

    >>> torch.nn.init.eye_(torch.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        torch.eye(*tensor.shape, out=tensor, requires_grad=tensor.requires_grad)
    return tensor


def dirac_(tensor: torch.Tensor, groups: int = 1) -> torch.Tensor:
    """Make a convolution weight (3 to 5 dimensions) the identity on as many channels as possible, per group.

    >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    out_chans_per_grp = sizes[0] // groups
    center = tuple(size // 2 for size in sizes[2:])
    with torch.no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(out_chans_per_grp, sizes[1])):
                tensor[(g * out_chans_per_grp + d, d, *center)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor) -> tuple:
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive_field_size = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive_field_size, tensor.size(0) * receptive_field_size


def _calculate_correct_fan(tensor, mode) -> int:
    mode = mode.lower()
    valid_modes = ["fan_in", "fan_out"]
    if mode not in valid_modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {valid_modes}")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: torch.Tensor, gain: float = 1.0, generator: torch.Generator | None = None) -> torch.Tensor:
    """Fill uniformly so that variance is kept forward and backward (Glorot & Bengio 2010).

    >>> bool(torch.nn.init.xavier_uniform_(torch.empty(30, 20)).abs().max() <= (6 / 50) ** 0.5)
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: torch.Tensor, gain: float = 1.0, generator: torch.Generator | None = None) -> torch.Tensor:
    """Fill normally so that variance is kept forward and backward (Glorot & Bengio 2010).

    >>> torch.nn.init.xavier_normal_(torch.empty(30, 20)).shape
    torch.Size([30, 20])
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return _no_grad_normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor, a, mode, nonlinearity) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    gain = calculate_gain(nonlinearity, a)
    return gain / math.sqrt(fan)


def _warn_zero_element() -> None:
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)


def kaiming_uniform_(
    tensor: torch.Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Fill uniformly so that variance is kept through the nonlinearity (He et al. 2015).

    `a` is the slope of leaky_relu; `mode` "fan_in" keeps the variance of the forward pass, "fan_out" of the backward.

    >>> bool(torch.nn.init.kaiming_uniform_(torch.empty(30, 20)).abs().max() <= (6 / 20) ** 0.5)
    True
    """
    if has_torch_function((tensor,)):
        return handle_torch_function(
            kaiming_uniform_, (tensor,), tensor=tensor, a=a, mode=mode, nonlinearity=nonlinearity, generator=generator
        )
    if 0 in tensor.shape:
        _warn_zero_element()
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return _no_grad_uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: torch.Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: torch.Generator | None = None,
) -> torch.Tensor:
    """Fill normally so that variance is kept through the nonlinearity (He et al. 2015).

    >>> torch.nn.init.kaiming_normal_(torch.empty(30, 20), mode="fan_out").shape
    torch.Size([30, 20])
    """
    if 0 in tensor.shape:
        _warn_zero_element()
        return tensor
    return _no_grad_normal_(tensor, 0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: torch.Tensor, gain: float = 1, generator: torch.Generator | None = None) -> torch.Tensor:
    """Fill with a (semi-)orthogonal matrix, trailing dimensions flattened (Saxe et al. 2013).

    >>> weight = torch.nn.init.orthogonal_(torch.empty(2, 2))
    >>> torch.allclose(weight @ weight.T, torch.eye(2), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    flattened = tensor.new_empty((rows, cols)).normal_(0, 1, generator=generator)
    if rows < cols:
        flattened.t_()
    q, r = torch.linalg.qr(flattened)
    # The signs of R's diagonal make Q uniform over orthogonal matrices (arXiv math-ph/0609050).
    q *= torch.diag(r, 0).sign()
    if rows < cols:
        q.t_()
    with torch.no_grad():
        tensor.view_as(q).copy_(q)
        tensor.mul_(gain)
    return tensor


def sparse_(
    tensor: torch.Tensor, sparsity: float, std: float = 0.01, generator: torch.Generator | None = None
) -> torch.Tensor:
    """Fill a matrix normally, then set a fraction `sparsity` of each column to zero (Martens 2010).

    >>> int((torch.nn.init.sparse_(torch.empty(10, 2), sparsity=0.4) == 0).sum())
    8
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    num_zeros = math.ceil(sparsity * rows)
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for col_idx in range(cols):
            row_indices = torch.randperm(rows)
            tensor[row_indices[:num_zeros], col_idx] = 0
    return tensor


# What the examples of deprecated names give beside the tensor.
_DEPRECATED = {"constant": ", 0.5", "sparse": ", sparsity=0.5"}


def _make_deprecate(meth):
    """The deprecated name of an initializer, without the underscore."""
    new_name = meth.__name__
    old_name = new_name[:-1]

    @functools.wraps(meth)
    def deprecated_init(*args: Any, **kwargs: Any) -> torch.Tensor:
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.",
            FutureWarning,
            stacklevel=2,
        )
        return meth(*args, **kwargs)

    given = _DEPRECATED.get(old_name, "")
    made = "torch.empty(2, 2, 1)" if old_name == "dirac" else "torch.empty(2, 2)"
    deprecated_init.__doc__ = (
        f"Deprecated alias of `{new_name}`.\n\n"
        f">>> import warnings\n>>> x = {made}\n>>> with warnings.catch_warnings(action='ignore'):\n"
        f"...     torch.nn.init.{old_name}(x{given}) is x\nTrue\n"
    )
    deprecated_init.__name__ = old_name
    return deprecated_init


uniform = _make_deprecate(uniform_)
normal = _make_deprecate(normal_)
constant = _make_deprecate(constant_)
eye = _make_deprecate(eye_)
dirac = _make_deprecate(dirac_)
xavier_uniform = _make_deprecate(xavier_uniform_)
xavier_normal = _make_deprecate(xavier_normal_)
kaiming_uniform = _make_deprecate(kaiming_uniform_)
kaiming_normal = _make_deprecate(kaiming_normal_)
orthogonal = _make_deprecate(orthogonal_)
sparse = _make_deprecate(sparse_)
