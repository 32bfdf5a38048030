"""Activation layers: one module for each function of the same name in `functional`.

All take and return tensors of any shape `(*)`, unless they say otherwise.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module
from .multihead_attention import MultiheadAttention

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "Threshold",
    "ReLU",
    "RReLU",
    "Hardtanh",
    "ReLU6",
    "Sigmoid",
    "Hardsigmoid",
    "Tanh",
    "SiLU",
    "Mish",
    "Hardswish",
    "ELU",
    "CELU",
    "SELU",
    "GLU",
    "GELU",
    "Hardshrink",
    "LeakyReLU",
    "LogSigmoid",
    "Softplus",
    "Softshrink",
    "MultiheadAttention",
    "PReLU",
    "Softsign",
    "Tanhshrink",
    "Softmin",
    "Softmax",
    "Softmax2d",
    "LogSoftmax",
]


def _inplace_text(inplace, separator=", ") -> str:
    """How a repr says that a layer works in place."""
    return f"{separator}inplace=True" if inplace else ""


class Threshold(Module):
    """`x` where `x > threshold`, else `value`.

    >>> torch.nn.Threshold(0.1, 20.0)(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([20., 20.,  2.])
    """

    __constants__ = ["threshold", "value", "inplace"]

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}{_inplace_text(self.inplace)}"


class ReLU(Module):
    """`max(0, x)`.

    >>> torch.nn.ReLU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return _inplace_text(self.inplace, "")


class RReLU(Module):
    """`x` where positive, else `x` times a slope drawn from [lower, upper] (in evaluation their mean).

    >>> torch.nn.RReLU().eval()(torch.tensor([-4.8, 0.0, 2.0]))
    tensor([-1.1000,  0.0000,  2.0000])
    """

    __constants__ = ["lower", "upper", "inplace"]

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}{_inplace_text(self.inplace)}"


class Hardtanh(Module):
    """`x` clamped to [min_val, max_val]; `min_value` and `max_value` are deprecated names.

    >>> torch.nn.Hardtanh()(torch.tensor([-4.0, 0.5, 4.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """

    __constants__ = ["min_val", "max_val", "inplace"]

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            warnings.warn(
                "keyword argument `min_value` is deprecated and renamed to `min_val`", FutureWarning, stacklevel=2
            )
            min_val = min_value
        if max_value is not None:
            warnings.warn(
                "keyword argument `max_value` is deprecated and renamed to `max_val`", FutureWarning, stacklevel=2
            )
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}{_inplace_text(self.inplace)}"


class ReLU6(Hardtanh):
    """`min(max(0, x), 6)`.

    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _inplace_text(self.inplace, "")


class Sigmoid(Module):
    """`1 / (1 + exp(-x))`.

    >>> torch.nn.Sigmoid()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.2689, 0.5000, 0.8808])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(input)


class Hardsigmoid(Module):
    """`clamp(x / 6 + 1/2, 0, 1)`.

    >>> torch.nn.Hardsigmoid()(torch.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.hardsigmoid(input, self.inplace)


class Tanh(Module):
    """The hyperbolic tangent.

    >>> torch.nn.Tanh()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.7616,  0.0000,  0.9640])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return torch.tanh(input)


class SiLU(Module):
    """`x * sigmoid(x)`, also called swish.

    >>> torch.nn.SiLU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.silu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return _inplace_text(self.inplace, "")


class Mish(Module):
    """`x * tanh(softplus(x))`.

    >>> torch.nn.Mish()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.mish(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return _inplace_text(self.inplace, "")


class Hardswish(Module):
    """`x * clamp(x + 3, 0, 6) / 6`.

    >>> torch.nn.Hardswish()(torch.tensor([-4.0, 0.0, 4.0]))
    tensor([-0., 0., 4.])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.hardswish(input, self.inplace)


class ELU(Module):
    """`x` where positive, else `alpha * (exp(x) - 1)`.

    >>> torch.nn.ELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{_inplace_text(self.inplace)}"


class CELU(Module):
    """`max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.

    >>> torch.nn.CELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """

    __constants__ = ["alpha", "inplace"]

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}{_inplace_text(self.inplace)}"


class SELU(Module):
    """ELU with the constants that make activations normalize themselves (Klambauer et al. 2017).

    >>> torch.nn.SELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.1113,  0.0000,  2.1014])
    """

    __constants__ = ["inplace"]

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return _inplace_text(self.inplace, "")


class GLU(Module):
    """`a * sigmoid(b)`, where `a` and `b` are the halves of the input along `dim`.

    >>> torch.nn.GLU()(torch.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """`x` times the normal distribution's cdf at `x`; `approximate` is "none" or "tanh".

    >>> torch.nn.GELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """

    __constants__ = ["approximate"]

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """`x` where `|x| > lambd`, else 0.

    >>> torch.nn.Hardshrink()(torch.tensor([-1.0, 0.3, 2.0]))
    tensor([-1.,  0.,  2.])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class LeakyReLU(Module):
    """`x` where positive, else `negative_slope * x`.

    >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1000,  0.0000,  2.0000])
    """

    __constants__ = ["negative_slope", "inplace"]

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}{_inplace_text(self.inplace)}"


class LogSigmoid(Module):
    """`log(sigmoid(x))`.

    >>> torch.nn.LogSigmoid()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.3133, -0.6931, -0.1269])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.logsigmoid(input)


class Softplus(Module):
    """`log(1 + exp(beta * x)) / beta`, and `x` where `beta * x > threshold`.

    >>> torch.nn.Softplus()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3133, 0.6931, 2.1269])
    """

    __constants__ = ["beta", "threshold"]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """`x - lambd` above lambd, `x + lambd` below -lambd, else 0.

    >>> torch.nn.Softshrink()(torch.tensor([-1.0, 0.3, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """

    __constants__ = ["lambd"]

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class PReLU(Module):
    """`max(0, x) + weight * min(0, x)`, the slope learned: one, or one for each channel (dimension 1).

    >>> torch.nn.PReLU()(torch.tensor([-1.0, 0.0, 2.0])).tolist()
    [-0.25, 0.0, 2.0]
    """

    __constants__ = ["num_parameters"]

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(torch.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slopes to their initial value."""
        init.constant_(self.weight, self.init)

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """`x / (1 + |x|)`.

    >>> torch.nn.Softsign()(torch.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.softsign(input)


class Tanhshrink(Module):
    """`x - tanh(x)`.

    >>> torch.nn.Tanhshrink()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.0360])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.tanhshrink(input)


class Softmin(Module):
    """`softmax(-x)` along `dim`.

    >>> torch.nn.Softmin(dim=1)(torch.tensor([[0.0, 1.0]]))
    tensor([[0.7311, 0.2689]])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "dim"):
            self.dim = None

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(Module):
    """`exp(x) / sum(exp(x))` along `dim`.

    >>> torch.nn.Softmax(dim=1)(torch.zeros(1, 2))
    tensor([[0.5000, 0.5000]])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "dim"):
            self.dim = None

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """Softmax over the channels at each position: `(N, C, H, W)` or `(C, H, W)`.

    >>> torch.nn.Softmax2d()(torch.zeros(1, 2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(Module):
    """`log(softmax(x))` along `dim`.

    >>> torch.nn.LogSoftmax(dim=1)(torch.zeros(1, 2))
    tensor([[-0.6931, -0.6931]])
    """

    __constants__ = ["dim"]

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "dim"):
            self.dim = None

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
