"""Reductions and normalisations of the elements that a mask leaves in.

`mask` is True where an element counts, and broadcasts to the input; without one every element does. What is masked out has
no part in the result: it stands for the operation's identity, and so does a row without any element left.

    >>> x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> mask = torch.tensor([[True, False, True], [False, False, False]])
    >>> torch.masked.sum(x, 1, mask=mask)
    tensor([4., 0.])
    >>> torch.masked.mean(x, 1, mask=mask)
    tensor([2., nan])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch

from ._layouts import (
    NORMALIZATIONS,
    REDUCTIONS,
    _input_mask,
    _where,
    any_layout,
    arguments,
    held_at,
    input_mask,
    output_mask,
)
from ._layouts import canonical_dim as _canonical_dim

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

# ---- what all share ----


def _fill(input, mask, value) -> torch.Tensor:
    return input if mask is None else torch.where(input_mask(input, mask), input, value)


def _lowest(dtype) -> float:
    if dtype == torch.bool:
        return False
    return -math.inf if dtype.is_floating_point or dtype.is_complex else torch.iinfo(dtype).min


def _highest(dtype) -> float:
    if dtype == torch.bool:
        return True
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def _identity(value, like) -> torch.Tensor:
    return torch.tensor(value, dtype=like.dtype, device=like.device)


def _reduction_identity(op_name: str, input: torch.Tensor, *args: Any) -> torch.Tensor | None:
    """The value that leaves a reduction as it is, in the dtype of `input`; None for one that has none.

    `op_name` may have a module before it; `args` is the order of a norm. NotImplementedError for what has no such value.
    """
    name, dtype = op_name.rpartition(".")[2], input.dtype
    if name in ("mean", "std", "var"):
        return None
    if name == "median":
        return torch.tensor(math.nan, dtype=dtype if dtype.is_floating_point else None, device=input.device)
    if name == "norm":
        return _identity(math.inf if args and args[0] == -math.inf else 0, input)
    if name in ("sum", "cumsum", "prod", "cumprod"):
        return _identity(int(name.endswith("prod")), input)
    ordered = name in ("amax", "amin", "argmax", "argmin", "logaddexp")
    if dtype != torch.bool and (name == "logsumexp" or ordered):
        if dtype.is_complex and ordered:
            raise TypeError(f"{name} of complex numbers has no identity: they are not ordered")
        return _identity(_highest(dtype) if name.endswith("min") else _lowest(dtype), input)
    raise NotImplementedError(f"identity of {name} on {dtype} input")


def _wide(dtype: Any, given: Any) -> Any:
    """The dtype of sums and products: small integers grow to int64."""
    if given is not None:
        return given
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


def _mean_dtype(dtype: Any, given: Any) -> Any:
    """The dtype of a mean, which has to be one that holds fractions."""
    dtype = dtype if given is None else given
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {dtype}"
        )
    return dtype


# ---- reductions ----


@any_layout
def sum(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Sum of the elements that count; 0 if none does.

    >>> x, mask = torch.tensor([1.0, 3.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.sum(x, 0, mask=mask)
    tensor(4.)
    """
    dtype = _wide(input.dtype, dtype)
    return torch.sum(
        _fill(input, mask, _identity(0, input)), _canonical_dim(dim, input.dim()), bool(keepdim), dtype=dtype
    )


@any_layout
def prod(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Product of the elements that count; 1 if none does.

    >>> x, mask = torch.tensor([3.0, 4.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.prod(x, 0, mask=mask)
    tensor(12.)
    """
    dtype = _wide(input.dtype, dtype)
    result = _fill(input, mask, _identity(1, input)).to(dtype)
    for d in sorted(_canonical_dim(dim, input.dim()), reverse=True):
        result = result.prod(d, keepdim=bool(keepdim))
    return result


@any_layout
def amax(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Largest of the elements that count; the lowest number if none does.

    >>> x, mask = torch.tensor([[1.0, 9.0], [3.0, 4.0]]), torch.tensor([[True, False], [True, True]])
    >>> torch.masked.amax(x, 1, mask=mask)
    tensor([1., 4.])
    """
    x = _fill(input, mask, _identity(_lowest(input.dtype), input))
    return torch.amax(x if dtype is None else x.to(dtype), _canonical_dim(dim, x.dim()), bool(keepdim))


@any_layout
def amin(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Smallest of the elements that count; the highest number if none does.

    >>> x, mask = torch.tensor([[0.0, 9.0], [3.0, 4.0]]), torch.tensor([[False, True], [True, True]])
    >>> torch.masked.amin(x, 1, mask=mask)
    tensor([9., 3.])
    """
    x = _fill(input, mask, _identity(_highest(input.dtype), input))
    return torch.amin(x if dtype is None else x.to(dtype), _canonical_dim(dim, x.dim()), bool(keepdim))


@any_layout
def argmax(
    input: torch.Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Where the largest element that counts stands, in the input's dtype.

    >>> x, mask = torch.tensor([1.0, 9.0, 3.0]), torch.tensor([True, False, True])
    >>> torch.masked.argmax(x, 0, mask=mask)
    tensor(2.)
    """
    dtype = input.dtype if dtype is None else dtype
    x = input.to(dtype)
    return torch.argmax(_fill(x, mask, _identity(_lowest(x.dtype), x)), dim, bool(keepdim)).to(dtype)


@any_layout
def argmin(
    input: torch.Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Where the smallest element that counts stands, in the input's dtype.

    >>> x, mask = torch.tensor([1.0, 9.0, 3.0]), torch.tensor([False, True, True])
    >>> torch.masked.argmin(x, 0, mask=mask)
    tensor(2.)
    """
    dtype = input.dtype if dtype is None else dtype
    x = input.to(dtype)
    return torch.argmin(_fill(x, mask, _identity(_highest(x.dtype), x)), dim, bool(keepdim)).to(dtype)


def _count(input, dims, keepdim, dtype, mask) -> torch.Tensor:
    counted = torch.ones(input.shape, dtype=torch.int64, device=input.device)
    return torch.sum(_fill(counted, mask, _identity(0, counted)), dims, keepdim).to(dtype)


@any_layout
def mean(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Mean of the elements that count; nan if none does.

    >>> x, mask = torch.tensor([1.0, 3.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.mean(x, 0, mask=mask)
    tensor(2.)
    """
    dtype = _mean_dtype(input.dtype, dtype)
    dims = _canonical_dim(dim, input.dim())
    if mask is None:
        return torch.mean(input, dims, bool(keepdim), dtype=dtype)
    total = sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    return total / _count(input, dims, bool(keepdim), total.dtype, mask)


@any_layout
def median(
    input: torch.Tensor,
    dim: int = -1,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Lower median of the elements that count, nan if none does, which an integer cannot say.

    >>> x, mask = torch.tensor([1.0, 3.0, 5.0, 9.0]), torch.tensor([True, True, True, False])
    >>> torch.masked.median(x, 0, mask=mask)
    tensor(3.)
    """
    floating = input.is_floating_point()
    x = input if floating or dtype is None else input.to(dtype)
    if mask is None:
        return torch.median(x, dim, bool(keepdim)).values
    if not floating:
        if not bool(input_mask(input, mask).any(dim).all()):
            raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
        wide = torch.nanmedian(_fill(x.double(), mask, _identity(math.nan, x.double())), dim, bool(keepdim)).values
        return wide.to(x.dtype)
    return torch.nanmedian(_fill(x, mask, _identity(math.nan, x)), dim, bool(keepdim)).values


@any_layout
def logsumexp(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Logarithm of the sum of the exponentials of the elements that count; -inf if none does.

    >>> x, mask = torch.tensor([0.0, 0.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.logsumexp(x, 0, mask=mask)
    tensor(0.6931)
    """
    dtype = input.dtype if dtype is None else dtype
    x = _fill(input, mask, _identity(_lowest(input.dtype), input))
    return torch.logsumexp(x, _canonical_dim(dim, x.dim()), bool(keepdim)).to(dtype)


def logaddexp(
    input: torch.Tensor,
    other: torch.Tensor,
    *,
    dtype: Any = None,
    input_mask: torch.Tensor | None = None,
    other_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """`log(exp(input) + exp(other))` of the elements that count on either side.

    >>> x, y = torch.tensor([0.0, 0.0]), torch.tensor([0.0, 5.0])
    >>> torch.masked.logaddexp(x, y, other_mask=torch.tensor([True, False]))
    tensor([0.6931, 0.0000])
    """
    dtype = input.dtype if dtype is None else dtype
    a = _fill(input, input_mask, _identity(_lowest(input.dtype), input))
    b = _fill(other, other_mask, _identity(_lowest(other.dtype), other))
    return torch.logaddexp(a, b).to(dtype)


@any_layout
def norm(
    input: torch.Tensor,
    ord: float = 2.0,
    dim: int | Sequence[int] | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Vector norm of order `ord` of the elements that count.

    >>> x, mask = torch.tensor([3.0, 4.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.norm(x, 2.0, 0, mask=mask)
    tensor(5.)
    """
    value = math.inf if ord == -math.inf else 0
    x = _fill(input, mask, _identity(value, input))
    return torch.linalg.vector_norm(x, ord, _canonical_dim(dim, input.dim()), bool(keepdim), dtype=dtype)


def _variance(input, dim, unbiased, correction, keepdim, dtype, mask, root) -> torch.Tensor:
    if unbiased is not None and correction is not None:
        raise RuntimeError("Only one of unbiased and correction may be given")
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    if dtype is None:
        dtype = input.dtype if input.is_floating_point() or input.is_complex() else torch.float32
    dims = _canonical_dim(dim, input.dim())
    count = _count(input, dims, True, torch.int64, mask)
    centre = torch.sum(_fill(input, mask, _identity(0, input)), dims, True, dtype=dtype) / count
    away = _fill(input.to(dtype) - centre, mask, torch.zeros((), dtype=dtype, device=input.device))
    total = torch.sum(away * away.conj(), dims, bool(keepdim), dtype=dtype)
    if not keepdim:
        count = count.reshape(total.shape)
    freedom = torch.clamp_min(count - correction, 0)
    result = (total / freedom).to(dtype)
    return torch.sqrt(result) if root else result


@any_layout
def var(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Variance of the elements that count, divided by their number less `correction` (1; 0 if not `unbiased`).

    >>> x, mask = torch.tensor([1.0, 3.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.var(x, 0, unbiased=False, mask=mask)
    tensor(1.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, False)


@any_layout
def std(
    input: torch.Tensor,
    dim: int | Sequence[int] | None = None,
    unbiased: bool | None = None,
    *,
    correction: int | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Square root of `var`.

    >>> x, mask = torch.tensor([1.0, 3.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.std(x, 0, unbiased=False, mask=mask)
    tensor(1.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, True)


# ---- normalisations, of the input's sizes ----


@any_layout
def softmax(input: torch.Tensor, dim: int, *, dtype: Any = None, mask: torch.Tensor | None = None) -> torch.Tensor:
    """Softmax along `dim` of the elements that count; 0 elsewhere, nan in a row without any.

    >>> x, mask = torch.tensor([1.0, 1.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.softmax(x, 0, mask=mask)
    tensor([0.5000, 0.5000, 0.0000])
    """
    dtype = input.dtype if dtype is None else dtype
    return torch.softmax(_fill(input, mask, _identity(_lowest(input.dtype), input)), dim, dtype=dtype)


@any_layout
def log_softmax(input: torch.Tensor, dim: int, *, dtype: Any = None, mask: torch.Tensor | None = None) -> torch.Tensor:
    """Logarithm of `softmax`.

    >>> x, mask = torch.tensor([1.0, 1.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.log_softmax(x, 0, mask=mask)
    tensor([-0.6931, -0.6931,    -inf])
    """
    dtype = input.dtype if dtype is None else dtype
    return torch.log_softmax(_fill(input, mask, _identity(_lowest(input.dtype), input)), dim, dtype=dtype)


@any_layout
def softmin(input: torch.Tensor, dim: int, *, dtype: Any = None, mask: torch.Tensor | None = None) -> torch.Tensor:
    """`softmax` of the negative input.

    >>> x, mask = torch.tensor([1.0, 1.0, 0.0]), torch.tensor([True, True, False])
    >>> torch.masked.softmin(x, 0, mask=mask)
    tensor([0.5000, 0.5000, 0.0000])
    """
    dtype = input.dtype if dtype is None else dtype
    filled = _fill(input, mask, _identity(_highest(input.dtype), input))
    return torch.nn.functional.softmin(filled, dim, dtype=dtype)


@any_layout
def normalize(
    input: torch.Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """The elements that count divided by their norm along `dim`, which is taken to be `eps` at least.

    >>> x, mask = torch.tensor([3.0, 4.0, 9.0]), torch.tensor([True, True, False])
    >>> torch.masked.normalize(x, 2.0, 0, mask=mask)
    tensor([0.6000, 0.8000, 0.0000])
    """
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    size = torch.maximum(size, torch.full((), eps, dtype=size.dtype, device=size.device))
    return _fill(input, mask, _identity(0, input)) / size


@any_layout
def cumsum(input: torch.Tensor, dim: int, *, dtype: Any = None, mask: torch.Tensor | None = None) -> torch.Tensor:
    """Running sum of the elements that count.

    >>> x, mask = torch.tensor([2.0, 3.0, 4.0]), torch.tensor([True, False, True])
    >>> torch.masked.cumsum(x, 0, mask=mask)
    tensor([2., 2., 6.])
    """
    dtype = input.dtype if dtype is None else dtype
    return torch.cumsum(_fill(input, mask, _identity(0, input)), dim, dtype=dtype).to(dtype)


@any_layout
def cumprod(input: torch.Tensor, dim: int, *, dtype: Any = None, mask: torch.Tensor | None = None) -> torch.Tensor:
    """Running product of the elements that count.

    >>> x, mask = torch.tensor([2.0, 3.0, 4.0]), torch.tensor([True, False, True])
    >>> torch.masked.cumprod(x, 0, mask=mask)
    tensor([2., 2., 8.])
    """
    dtype = input.dtype if dtype is None else dtype
    return torch.cumprod(_fill(input, mask, _identity(1, input)), dim, dtype=dtype).to(dtype)


# ---- masks by themselves ----


def _output_mask(op: Any, input: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Which results of `op`, a function of this module, have an element that counts."""
    if not callable(op) or getattr(op, "__name__", "") not in REDUCTIONS | NORMALIZATIONS:
        raise ValueError(f"_output_mask expected masked operation (got {getattr(op, '__name__', op)})")
    dim, keepdim, mask = arguments(op, input, args, kwargs)
    found = output_mask(op.__name__, input, _canonical_dim(dim, input.dim()), keepdim, mask)
    return found if input.layout == torch.strided else held_at(found, found, input)


def _combine_input_and_mask(op: Any, input: torch.Tensor, mask: torch.Tensor | None, *args: Any) -> torch.Tensor:
    """The input with what leaves `op` as it is in place of what the mask leaves out."""
    if mask is None:
        return input
    name = op if isinstance(op, str) else op.__name__
    value = _reduction_identity(name, input, *args)
    if value is None:
        value = torch.zeros((), dtype=input.dtype, device=input.device)
    if input.layout == torch.strided:
        return torch.where(input_mask(input, mask), input, value)
    return _where(_input_mask(input, mask=mask), input, value)
