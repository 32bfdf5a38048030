"""Activation functions that are made of other operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.dtype import DTYPES
from ..table import S, T, aten, composite

if TYPE_CHECKING:
    from ..._C import Generator
    from ..._tensor import Tensor
    from ...types import Number


@composite(
    "celu(Tensor self, Scalar alpha=1.0) -> Tensor",
    "`max(0, self) + min(0, alpha * (exp(self / alpha) - 1))`.",
    bind="function out",
    out_dtype="exact",
    functional="celu(input, alpha=1.0, inplace=False)",
    tags="pointwise",
    out_tags="generated",
    samples=[S(3, 4), S(T(3, 4), 0.5)],
    node="CeluBackward0",
)
def celu(self: Tensor, alpha: Number = 1.0) -> Tensor:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return aten.elu(self, alpha, 1.0, 1.0 / alpha)


@composite(
    "log_sigmoid(Tensor self) -> Tensor",
    "`log(1 / (1 + exp(-self)))`.",
    bind="nn out",
    quiet_out=True,
    out_dtype="expected scalar type {result} but found {out}",
    functional="logsigmoid",
    samples=[S(3, 4)],
)
def log_sigmoid(self: Tensor) -> Tensor:
    return aten.log_sigmoid_forward(self)[0]


@composite(
    "prelu(Tensor self, Tensor weight) -> Tensor",
    "`self` where positive, `weight * self` elsewhere; one weight, or one for each channel.",
    bind="function method",
    functional="prelu",
    autocast="lower",
    samples=[S(T(3, 4), T(1)), S(T(3, 4), T(4))],
)
def prelu(self: Tensor, weight: Tensor) -> Tensor:
    if self.dtype != weight.dtype:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {_class_name(self)} and {_class_name(weight)}")
    if weight.numel() != 1:
        if self.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.size(1) if self.dim() >= 2 else 1
        if channels != weight.numel():
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {weight.numel()} "
                f"and channel size = {channels}."
            )
    if weight.dim() > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}")
    if self.dim() != weight.dim():
        weight = weight.reshape([weight.numel() if d == 1 else 1 for d in range(self.dim())])
    return aten._prelu_kernel(self, weight)


@composite(
    "_rrelu_slope(Tensor self, Scalar lower, Scalar upper, Generator? generator=None) -> Tensor",
    "1 where `self` is positive; elsewhere numbers drawn in order, one for each such element.",
    explicit=True,
    tags="nondeterministic_seeded",
    samples=None,
)
def _rrelu_slope(self, lower, upper, generator=None):
    if self.is_meta:
        return aten.empty_like(self)
    negative = self <= 0
    # As doubles, whatever the dtype: so PyTorch takes them from the generator.
    count = int(negative.sum().item())
    drawn = aten.zeros([count], dtype=DTYPES["float64"], device=self.device)
    aten.uniform_(drawn, lower, upper, generator=generator)
    return aten.masked_scatter(aten.ones_like(self), negative, drawn.to(self.dtype))


def _class_name(t):
    names = {"torch.float32": "Float", "torch.float64": "Double", "torch.float16": "Half", "torch.bfloat16": "BFloat16"}
    return names.get(str(t.dtype), str(t.dtype))


@composite(
    "relu6(Tensor self) -> Tensor",
    "`self` moved into [0, 6].",
    bind="nn",
    functional="relu6(input, inplace=False)",
    tags="pointwise",
    samples=[S(3, 4)],
)
def relu6(self: Tensor) -> Tensor:
    return aten.hardtanh(self, 0, 6)


def _check_slopes(lower, upper) -> None:
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")


@composite(
    "rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, Generator? generator=None) -> Tensor",
    "Leaky ReLU whose slope is drawn from [lower, upper] in training and is their mean otherwise.",
    bind="function",
    functional="rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False)",
    tags="pointwise nondeterministic_seeded",
    samples=[S(3, 4)],
    node="RreluWithNoiseBackward0",
)
def rrelu(
    self: Tensor,
    lower: Number = 0.125,
    upper: Number = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    _check_slopes(lower, upper)
    if not training:
        return aten.leaky_relu(self, (lower + upper) / 2)
    return self * aten._rrelu_slope(self.detach(), lower, upper, generator)


def _noisy_slope(self, noise, lower, upper, generator):
    if noise.shape != self.shape:
        raise RuntimeError(
            "noise tensor shape must match self tensor shape. "
            f"Got self.shape = {list(self.shape)} noise.shape = {list(noise.shape)}"
        )
    if noise.dtype != self.dtype:
        raise RuntimeError(f"expected scalar type {_class_name(self)} but found {_class_name(noise)}")
    slope = aten._rrelu_slope(self.detach(), lower, upper, generator)
    aten.copy_(noise, slope)
    return slope


_NOISY = (
    "Tensor(b!) noise, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, "
    "Generator? generator=None"
)


@composite(
    f"rrelu_with_noise(Tensor self, {_NOISY}) -> Tensor",
    "`rrelu` that writes the slopes which it drew into `noise`, 1 where `self` is positive.",
    bind="nn out",
    tags="nondeterministic_seeded",
    node="RreluWithNoiseBackward0",
    samples=None,
)
def rrelu_with_noise(
    self: Tensor,
    noise: Tensor,
    lower: Number = 0.125,
    upper: Number = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    if not training:
        return aten.leaky_relu(self, (lower + upper) / 2)
    return self * _noisy_slope(self, noise, lower, upper, generator)


@composite(
    f"rrelu_with_noise_(Tensor(a!) self, {_NOISY}) -> Tensor(a!)",
    "`rrelu_with_noise` in place.",
    bind="nn",
    tags="nondeterministic_seeded",
    samples=None,
)
def rrelu_with_noise_(
    self: Tensor,
    noise: Tensor,
    lower: Number = 0.125,
    upper: Number = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    if not training:
        return aten.leaky_relu_(self, (lower + upper) / 2)
    return aten.mul_(self, _noisy_slope(self, noise, lower, upper, generator))


@composite(
    "selu(Tensor self) -> Tensor",
    "Scaled ELU: keeps mean 0 and variance 1.",
    bind="function",
    functional="selu(input, inplace=False)",
    tags="pointwise",
    samples=[S(3, 4)],
)
def selu(self: Tensor) -> Tensor:
    return aten.elu(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)


# ---- in place: through the in-place form of the operator that they are made of ----


@composite(
    "celu_(Tensor(a!) self, Scalar alpha=1.0) -> Tensor(a!)",
    "`celu` in place.",
    bind="function",
    functional="celu_",
    tags="pointwise",
    node="CeluBackward1",
)
def celu_(self: Tensor, alpha: Number = 1.0) -> Tensor:
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return aten.elu_(self, alpha, 1.0, 1.0 / alpha)


@composite("relu6_(Tensor(a!) self) -> Tensor(a!)", "`relu6` in place.", bind="nn")
def relu6_(self: Tensor) -> Tensor:
    return aten.hardtanh_(self, 0, 6)


@composite(
    "rrelu_(Tensor(a!) self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
    "Generator? generator=None) -> Tensor(a!)",
    "`rrelu` in place.",
    bind="function",
    functional="rrelu_",
    tags="nondeterministic_seeded",
    node="RreluWithNoiseBackward1",
)
def rrelu_(
    self: Tensor,
    lower: Number = 0.125,
    upper: Number = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    _check_slopes(lower, upper)
    if not training:
        return aten.leaky_relu_(self, (lower + upper) / 2)
    return aten.mul_(self, aten._rrelu_slope(self.detach(), lower, upper, generator))


@composite(
    "selu_(Tensor(a!) self) -> Tensor(a!)",
    "`selu` in place.",
    bind="function",
    functional="selu_",
    tags="pointwise",
    node="EluBackward1",
)
def selu_(self: Tensor) -> Tensor:
    return aten.elu_(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946)
