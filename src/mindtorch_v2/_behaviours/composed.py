"""Operators as PyTorch composes them, where modes and graphs look at calls.

Some operators that PyTorch makes of others, `linear` of `t` and `addmm` say, are one kernel here, with a gradient of their own. Who looks
at calls below autograd, a mode of the user's, `make_fx` or a back end behind `aot_function`, knows PyTorch's operators, and finds these in
their parts: kernels at the key PythonDispatcher, which is there while such a mode is on (`torch_dispatch.push`). What the
parts give is what the one kernel gives, up to rounding.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.composing import composing
from mindtorch_v2._core.dimensions import broadcast_sizes
from mindtorch_v2._core.dtype import DTYPES, finfo
from mindtorch_v2._operators.composite.dropout import drop
from mindtorch_v2._operators.composite.loss import cross_entropy
from mindtorch_v2._operators.table import aten
from mindtorch_v2._tensor import Tensor

__all__ = ["install"]

_RULES: dict[str, Callable[..., Any]] = {}


def _parts_of(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        _RULES[name] = rule
        return rule

    return register


@functools.cache
def install() -> None:
    """Register the kernels; once."""
    for name, rule in _RULES.items():
        operator, _, overload = name.partition(".")
        handle = _C._find_operator(f"aten::{operator}", overload)
        handle.impl("PythonDispatcher", composing()(rule), 0)


# ---- products ----


@_parts_of("linear")
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    rank = input.dim()
    if weight.dim() == 1:
        made = aten.mv(input, weight) if rank == 2 else aten.matmul(input, weight)
        return made if bias is None else aten.add(made, bias)
    if rank == 2 and bias is not None:
        return aten.addmm(bias, input, aten.t(weight))
    if rank and bias is not None and input.is_contiguous() and bias.is_contiguous():
        rows = aten.view(input, [math.prod(input.shape[:-1]), input.size(-1)])
        made = aten.addmm(bias, rows, aten.t(weight))
        return aten.view(made, [*input.shape[:-1], made.size(1)])
    made = aten.matmul(input, aten.t(weight))
    return made if bias is None else aten.add(made, bias)


def _folds(first: Tensor, second: Tensor) -> bool:
    """Whether a product with a matrix or vector is one product of matrices, the batches being further rows."""
    large, small = (first, second) if first.dim() >= second.dim() else (second, first)
    if large.dim() < 3 or small.dim() > 2:
        return False
    if small.requires_grad:
        return True
    if first.dim() == 2:
        return False
    if large.numel() == 0:
        return True
    strides, sizes = large.stride(), large.shape
    return all(strides[place] == strides[place + 1] * sizes[place + 1] for place in range(large.dim() - 2))


def _folded(first: Tensor, second: Tensor) -> Tensor:
    turned = second.dim() > first.dim()
    large = aten.transpose(second, -2, -1) if turned else first
    small = (aten.t(first) if first.dim() == 2 else first) if turned else second
    shape = [*large.shape[:-1]]
    rows = aten.reshape(large, [math.prod(shape), large.size(-1)])
    if small.dim() == 1:
        return aten._unsafe_view(aten.mv(rows, small), shape)
    made = aten._unsafe_view(aten.mm(rows, small), [*shape, small.size(1)])
    return aten.transpose(made, -2, -1).contiguous() if turned else made


def _batched(first: Tensor, second: Tensor) -> Tensor:
    left = aten.unsqueeze(first, 0) if first.dim() == 1 else first
    right = aten.unsqueeze(second, 1) if second.dim() == 1 else second
    batch = broadcast_sizes(left.shape[:-2], right.shape[:-2])
    count = math.prod(batch)
    one = aten.reshape(aten.expand(left, [*batch, *left.shape[-2:]]), [count, *left.shape[-2:]])
    other = aten.reshape(aten.expand(right, [*batch, *right.shape[-2:]]), [count, *right.shape[-2:]])
    shape = list(batch)
    shape += [left.size(-2)] if first.dim() > 1 else []
    shape += [right.size(-1)] if second.dim() > 1 else []
    made = aten.bmm(one, other)
    if second.dim() == 1:
        made = aten.squeeze(made, -1)
    elif first.dim() == 1:
        made = aten.squeeze(made, 1)
    return aten._unsafe_view(made, shape)


@_parts_of("matmul")
def _matmul(self: Tensor, other: Tensor) -> Tensor:
    ranks = (self.dim(), other.dim())
    if 0 in ranks:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {ranks[0]}D and {ranks[1]}D")
    if ranks == (1, 1):
        return aten.dot(self, other)
    if ranks == (2, 1):
        return aten.mv(self, other)
    if ranks == (1, 2):
        return aten.squeeze_(aten.mm(aten.unsqueeze(self, 0), other), 0)
    if ranks == (2, 2):
        return aten.mm(self, other)
    return _folded(self, other) if _folds(self, other) else _batched(self, other)


# ---- losses, norms, dropout ----


@_parts_of("cross_entropy_loss")
def _cross_entropy_loss(
    self: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:
    return cross_entropy(self, target, weight, reduction, ignore_index, label_smoothing, whole=False)


@_parts_of("rms_norm")
def _rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    first = input.dim() - len(normalized_shape)
    if not normalized_shape or first < 0 or [*input.shape[first:]] != [*normalized_shape]:
        return aten._fused_rms_norm(input, normalized_shape, weight, eps)[0]  # it says what is wrong
    wide = input.float() if input.element_size() == 2 else input
    smallest = finfo(wide.dtype).eps if eps is None else eps
    scale = wide.pow(2).mean([*reversed(range(first, input.dim()))], True).add_(smallest).rsqrt()
    made = wide * scale
    return (made if weight is None else made * weight).to(input.dtype)


@_parts_of("dropout")
def _dropout(input: Tensor, p: float, train: bool) -> Tensor:
    return drop(input, p, train, False, False, False)


# ---- small ones ----


@_parts_of("square")
def _square(self: Tensor) -> Tensor:
    return aten.pow(self, 2)


@_parts_of("narrow")
def _narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    begin = start + self.size(dim) if start < 0 else start
    return aten.slice(self, dim, begin, begin + length)


@_parts_of("isfinite")
def _isfinite(self: Tensor) -> Tensor:
    if not self.is_floating_point() and not self.is_complex():
        return aten.ones_like(self, dtype=DTYPES["bool"])
    if self.is_complex():
        return aten.isfinite(aten.real(self)).mul(aten.isfinite(aten.imag(self)))
    bounded = self.abs().ne(math.inf)
    return self.eq(self).mul(bounded)


@_parts_of("adaptive_avg_pool2d")
def _adaptive_avg_pool2d(self: Tensor, output_size: Sequence[int]) -> Tensor:
    if [*output_size] == [1, 1] and self.dim() in (3, 4) and self.numel():
        return self.mean([-1, -2], True)
    return aten._adaptive_avg_pool2d(self, output_size)


def _number(value: Any, other: Tensor) -> Tensor:
    """A number as a tensor beside another, of the dtype that the two have together."""
    return aten.scalar_tensor(value, dtype=_C.result_type(other, value), device=other.device)


@_parts_of("where.ScalarOther")
def _where_other(condition: Tensor, self: Tensor, other: Any) -> Tensor:
    return aten.where(condition, self, _number(other, self))


@_parts_of("where.ScalarSelf")
def _where_self(condition: Tensor, self: Any, other: Tensor) -> Tensor:
    return aten.where(condition, _number(self, other), other)
