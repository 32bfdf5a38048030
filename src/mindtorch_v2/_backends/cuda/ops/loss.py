"""Losses and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...._core.dtype import DTYPES
from ...._operators.table import aten
from .. import copies
from ..pointwise import Pointwise
from ..table import CONTIGUOUS, Source, blocks, element, kernel, pack

if TYPE_CHECKING:
    from ...._tensor import Tensor

_NONE, _MEAN = 0, 1
_SCALED = Pointwise("loss_scaled", 1, ["x", "factor"], "x * factor")


def _math(like: Tensor, shape: Sequence[int]) -> Tensor:
    """A new tensor of the type that losses are computed in."""
    dtype = like.dtype if str(like.dtype) == "torch.float64" else DTYPES["float32"]
    return aten.empty(list(shape), dtype=dtype, device=like.device)


def _into(out: Tensor, each: Tensor, reduction: int) -> None:
    """The mean or the sum of elements."""
    copies.copy(out, each.mean() if reduction == _MEAN else each.sum())


# ---- of elements ----


def _elementwise(name: str, value: str, slope: str, parameter: bool = False, weighted: bool = False) -> None:
    """A loss of two tensors; `x`, `t` and `p` are their elements and the parameter."""
    names = ["x", "t", *(["p"] if parameter else []), *(["w"] if weighted else [])]
    value, slope = (f"({text}) * w" if weighted else text for text in (value, slope))
    forward_ = Pointwise(name, 1, names, value)
    backward_ = Pointwise(f"{name}_backward", 1, [*names, "g", "factor"], f"g * factor * ({slope})")

    def given(rest: tuple[Any, ...]) -> tuple[tuple[Any, ...], int]:
        """(the parameter and the weight, reduction) of what follows self and target in a schema"""
        if weighted:
            return (1.0 if rest[0] is None else rest[0],), rest[1]
        return ((float(rest[1]),) if parameter else ()), rest[0]

    @kernel(name)
    def forward(self: Tensor, target: Tensor, *rest: Any) -> None:
        out = rest[-1]
        words, reduction = given(rest)
        if reduction == _NONE:
            forward_.launcher.run((out,), (self, target, *words))
            return
        shape = list(self.shape) if self.shape == target.shape else list((self + target).shape)
        each = _math(out, shape)
        forward_.launcher.run((each,), (self, target, *words))
        _into(out, each, reduction)

    @kernel(f"{name}_backward")
    def backward(grad_output: Tensor, self: Tensor, target: Tensor, *rest: Any) -> None:
        out = rest[-1]
        words, reduction = given(rest)
        factor = 1.0 / max(out.numel(), 1) if reduction == _MEAN else 1.0
        backward_.launcher.run((out,), (self, target, *words, grad_output, factor))


_elementwise("mse_loss", "(x - t) * (x - t)", "T(2) * (x - t)")
_elementwise(
    "smooth_l1_loss",
    "[](T d, T b) { return d < b ? T(0.5) * d * d / b : d - T(0.5) * b; }(fabs(x - t), p)",
    "[](T d, T b) { return fabs(d) < b ? d / b : is_nan(d) ? d : T(d > T(0)) - T(d < T(0)); }(x - t, p)",
    parameter=True,
)
_elementwise(
    "huber_loss",
    "[](T d, T b) { return d <= b ? T(0.5) * d * d : b * (d - T(0.5) * b); }(fabs(x - t), p)",
    "[](T d, T b) { return d < -b ? -b : d > b ? b : d; }(x - t, p)",
    parameter=True,
)
_elementwise(
    "binary_cross_entropy",
    "(t - T(1)) * larger(log1p(-x), T(-100)) - t * larger(log(x), T(-100))",
    "(x - t) / larger((T(1) - x) * x, T(1e-12))",
    weighted=True,
)


# ---- of classes ----

_NLL, _NLL_BACKWARD = Source("nll.cuh", "nll"), Source("nll.cuh", "nll_backward")
_ENTROPY, _ENTROPY_BACKWARD = Source("cross_entropy.cuh", "entropy"), Source("cross_entropy.cuh", "entropy_backward")


def _geometry(self: Tensor) -> tuple[int, int, int]:
    """(samples, classes, places of a sample)"""
    if self.dim() == 1:
        return 1, self.shape[0], 1
    places = 1
    for size in self.shape[2:]:
        places *= size
    return self.shape[0], self.shape[1], places


def _words(x: Tensor, target: Tensor, out: Tensor, weight: Tensor | None) -> tuple[tuple[str, str], ...]:
    weights = element((x if weight is None else weight).dtype)
    return (
        ("IN", element(x.dtype)), ("TARGET", element(target.dtype)), ("OUT", element(out.dtype)), ("WEIGHT", weights),
        ("HAS_WEIGHT", str(int(weight is not None))),
    )  # fmt: skip


def _reduced(out: Tensor, total_weight: Tensor, each: Tensor, weights: Tensor, reduction: int) -> None:
    sums = weights.sum()
    total = each.sum()
    copies.copy(out, (total / sums if reduction == _MEAN else total).view(out.shape))
    copies.copy(total_weight, sums.view(total_weight.shape))


@kernel("nll_loss_forward", "nll_loss2d_forward", flags=CONTIGUOUS)
def nll_loss_forward(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    out: Tensor,
    total_weight: Tensor,
) -> None:
    samples, classes, places = _geometry(self)
    n = samples * places
    x, target = aten.contiguous(self), aten.contiguous(target)
    weight = None if weight is None else aten.contiguous(weight)
    each, weights = _math(x, [n]), _math(x, [n])
    if n:
        words = _words(x, target, each, weight)
        arguments = pack(n, classes, places, ignore_index, x, target, weight, each, weights)
        _NLL.launch(x.device.index, words, (blocks(n, 256),), (256,), arguments)
    if reduction == _NONE:
        copies.copy(out, each.view(out.shape))
        copies.fill(total_weight, 0)
    else:
        _reduced(out, total_weight, each, weights, reduction)


@kernel("nll_loss_backward", "nll_loss2d_backward", flags=CONTIGUOUS)
def nll_loss_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
    out: Tensor,
) -> None:
    samples, classes, places = _geometry(self)
    if not out.numel():
        return
    target, total = aten.contiguous(target), _math(out, [])
    grad = _math(out, grad_output.shape)
    copies.copy(grad, grad_output)
    copies.copy(total, total_weight.view(()))
    weight = None if weight is None else aten.contiguous(weight)
    words = (*_words(out, target, out, weight), ("MEAN", str(int(reduction == _MEAN))))
    single = int(reduction != _NONE or grad.numel() != samples * places)
    arguments = pack(out.numel(), classes, places, ignore_index, grad, target, weight, out, total, single)
    _NLL_BACKWARD.launch(out.device.index, words, (blocks(out.numel(), 256),), (256,), arguments)


@kernel("_cross_entropy", flags=CONTIGUOUS)
def cross_entropy(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    out: Tensor,
    statistics: Tensor,
    total_weight: Tensor,
) -> None:
    rows, classes = self.shape
    x, target = aten.contiguous(self), aten.contiguous(target)
    weight = None if weight is None else aten.contiguous(weight)
    each, weights = _math(x, [rows]), _math(x, [rows])
    if rows:
        words = _words(x, target, each, weight)
        arguments = pack(
            rows, classes, ignore_index, float(label_smoothing), x, target, weight, each, weights, statistics
        )  # fmt: skip
        threads = _threads(classes)
        _ENTROPY.launch(
            x.device.index, (*words, ("THREADS", str(threads))), (rows,), (threads,), arguments, 32 * 16
        )  # fmt: skip
    if reduction == _NONE:
        copies.copy(out, each.view(out.shape))
        copies.copy(total_weight, weights.sum().view(total_weight.shape))
    else:
        _reduced(out, total_weight, each, weights, reduction)


def _threads(classes: int) -> int:
    """Threads that share a row of scores."""
    return min(1024, max(32, 1 << max(0, blocks(classes, 8) - 1).bit_length()))


@kernel("_cross_entropy_backward", flags=CONTIGUOUS)
def cross_entropy_backward(
    grad_output: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    label_smoothing: float,
    statistics: Tensor,
    total_weight: Tensor,
    out: Tensor,
) -> None:
    rows, classes = self.shape
    if not out.numel():
        return
    x, target = aten.contiguous(self), aten.contiguous(target)
    all_weights = _math(x, [])
    if weight is None:
        copies.fill(all_weights, classes)
    else:
        weight = aten.contiguous(weight)
        copies.copy(all_weights, weight.to(all_weights.dtype).sum())
    grad = _math(x, grad_output.shape)
    _SCALED.launcher.run((grad,), (grad_output, 1.0))
    if reduction == _MEAN:
        copies.copy(grad, grad / total_weight.view(()))
    words = (*_words(x, target, out, weight), ("EACH", str(int(reduction == _NONE))))
    threads = _threads(classes)
    arguments = pack(
        rows, classes, ignore_index, float(label_smoothing), x, target, weight, grad, all_weights,
        aten.contiguous(statistics), out,
    )  # fmt: skip
    _ENTROPY_BACKWARD.launch(
        x.device.index, (*words, ("THREADS", str(threads))), (rows,), (threads,), arguments, 32 * 16
    )  # fmt: skip
