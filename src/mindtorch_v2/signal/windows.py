"""Windows: `M` weights by which a stretch of a signal is multiplied.

Every window takes `sym` (whether it is symmetric; otherwise it is one period of a periodic one, for use with Fourier
transforms), and `dtype`, `layout`, `device` and `requires_grad` as `torch.ones` does.

    >>> torch.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(name, M, sym, dtype, layout, device, requires_grad, shape) -> torch.Tensor:
    """`shape` gives the weights from a function that makes the places first, first + step, ... of M weights."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if M == 0:
        return torch.empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    if M == 1:
        return torch.ones((1,), dtype=dtype, device=device, requires_grad=requires_grad)
    last = M - 1 if sym else M

    def places(first: float, step: float) -> torch.Tensor:
        return torch.linspace(first, first + (M - 1) * step, M, dtype=dtype, device=device)

    made = shape(places, last).detach()
    return made.requires_grad_() if requires_grad else made


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """A triangle from zero to one and back.

    >>> torch.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """

    def shape(places: Callable[..., Any], last: float) -> torch.Tensor:
        return 1 - torch.abs(places(-1, 2 / last))

    return _window("bartlett", M, sym, dtype, layout, device, requires_grad, shape)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """Three terms of a cosine series, zero at the ends.

    >>> torch.signal.windows.blackman(3).round(decimals=4).abs()
    tensor([0., 1., 0.])
    """
    return _window("blackman", M, sym, dtype, layout, device, requires_grad, _cosines([0.42, 0.5, 0.08]))


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """Half a period of a sine, the samples half a step inside it.

    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """

    def shape(places: Callable[..., Any], last: float) -> torch.Tensor:
        step = math.pi / (last + 1)
        return torch.sin(places(0.5 * step, step))

    return _window("cosine", M, sym, dtype, layout, device, requires_grad, shape)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """`exp(-|n - center| / tau)`; `center` is the middle unless given, which a symmetric window must not be.

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")

    def shape(places: Callable[..., Any], last: float) -> torch.Tensor:
        middle = last / 2.0 if center is None else center
        return torch.exp(-torch.abs(places(-middle / tau, 1 / tau)))

    return _window("exponential", M, sym, dtype, layout, device, requires_grad, shape)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """The bell curve of deviation `std` samples.

    >>> torch.signal.windows.gaussian(3, std=1.0)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")

    def shape(places: Callable[..., Any], last: float) -> torch.Tensor:
        step = 1 / (std * math.sqrt(2))
        return torch.exp(-(places(-last / 2.0 * step, step) ** 2))

    return _window("gaussian", M, sym, dtype, layout, device, requires_grad, shape)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """The sum of `(-1)**i * a[i] * cos(2 pi i n / M)` over the coefficients `a`.

    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5]).round(decimals=4).abs()
    tensor([0., 1., 0.])
    """
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    coefficients = list(a)
    if not coefficients:
        raise ValueError("Coefficients cannot be empty")
    return _window("general_cosine", M, sym, dtype, layout, device, requires_grad, _cosines(coefficients))


def _cosines(coefficients):
    def shape(places: Callable[..., Any], last: float) -> torch.Tensor:
        angles = places(0, 2 * math.pi / last)
        signed = [(-1) ** i * weight for i, weight in enumerate(coefficients)]
        weights = torch.tensor(signed, device=angles.device, dtype=angles.dtype)
        orders = torch.arange(len(signed), dtype=angles.dtype, device=angles.device)
        return (weights.unsqueeze(-1) * torch.cos(orders.unsqueeze(-1) * angles)).sum(0)

    return shape


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """A cosine of height `1 - alpha` on a pedestal of height `alpha`.

    >>> torch.signal.windows.general_hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """The general Hamming window of 0.54.

    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """A raised cosine, zero at the ends.

    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """The Kaiser window: a Bessel function of an arc, the narrower the greater `beta`.

    >>> torch.signal.windows.kaiser(3)
    tensor([5.2773e-05, 1.0000e+00, 5.2773e-05])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(places: Callable[..., Any], last: float) -> torch.Tensor:
        at = places(-beta, 2.0 * beta / last)
        top = torch.tensor(beta, dtype=at.dtype, device=at.device)
        return torch.i0(torch.sqrt(torch.clamp_min(top * top - at * at, 0))) / torch.i0(top)

    return _window("kaiser", M, sym, dtype, layout, device, requires_grad, shape)


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: torch.dtype | None = None,
    layout: torch.layout = torch.strided,
    device: Device | None = None,
    requires_grad: bool = False,
) -> torch.Tensor:
    """Four terms of a cosine series with small side lobes.

    >>> torch.signal.windows.nuttall(3).round(decimals=4).abs()
    tensor([4.0000e-04, 1.0000e+00, 4.0000e-04])
    """
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )
