"""Reductions of MaskedTensors: of the elements that count."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .. import _ops
from .core import MaskedTensor, is_masked_tensor

__all__: list[str] = []

REDUCE_NAMES = ["sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "all", "norm", "var", "std"]
NATIVE_REDUCE_FNS = [getattr(torch.ops.aten, name) for name in REDUCE_NAMES]
_METHODS = {getattr(torch.Tensor, name): name for name in REDUCE_NAMES}
_FUNCTIONS = {getattr(torch, name): name for name in REDUCE_NAMES}
TORCH_REDUCE_FNS, TENSOR_REDUCE_FNS = list(_FUNCTIONS), list(_METHODS)


def _is_reduction(fn: Any) -> bool:
    return fn in NATIVE_REDUCE_FNS or fn in TORCH_REDUCE_FNS or fn in TENSOR_REDUCE_FNS


def _all(data: Any, dim: Any = None, keepdim: bool = False, *, mask: Any) -> Any:
    filled = data.masked_fill(~mask, True)
    return filled.all() if dim is None else filled.all(dim, keepdim)


def _any_over(mask: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None:
        return mask.any()
    for each in sorted([dim] if isinstance(dim, int) else dim, key=lambda d: d % mask.dim(), reverse=True):
        mask = mask.any(each, keepdim)
    return mask


def _place_of(data: Any, found: Any) -> Any:
    """Of a number among those that a tensor by coordinates holds, the place among all elements."""
    place = torch.zeros((), dtype=torch.int64)
    for dim, indices in enumerate(data.indices()):
        place = place * data.shape[dim] + indices[found.long()]
    return place


def reduce_masked(name: str, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None, **kwargs: Any) -> Any:
    """The reduction of what counts, as a MaskedTensor; masked where nothing does."""
    if not is_masked_tensor(x):
        raise TypeError("MaskedTensor reductions take a MaskedTensor as first argument")
    data, mask = x.get_data(), x.get_mask()
    options = dict(kwargs)
    if dtype is not None:
        options["dtype"] = dtype
    if name == "norm":
        order, dim = options.pop("p", 2.0), dim
        reduce: Callable[..., Any] = functools.partial(_ops.norm, ord=2.0 if order == "fro" else order)
    else:
        reduce = _all if name == "all" else getattr(_ops, name)
    if x.is_sparse:
        if dim is not None:
            return NotImplemented
        if name in ("argmin", "argmax") and x.is_sparse_coo():
            held = mask.values()
            found = reduce(data.values().detach(), mask=held)
            return MaskedTensor(_place_of(x._masked_data, found).to(data.dtype), held.any())
        data, mask = data.values() if x.is_sparse_coo() else x._masked_data.values(), mask.values()
    if dim is None:
        return MaskedTensor._from_values(reduce(data, mask=mask, **options), mask.any())
    result = reduce(data, dim=dim, keepdim=keepdim, mask=mask, **options)
    return MaskedTensor._from_values(result, _any_over(mask, dim, keepdim))


def of_function(fn: Any) -> Callable[..., Any]:
    """Meaning of a reduction of torch, or of tensors, for MaskedTensors."""
    name = _FUNCTIONS.get(fn) or _METHODS[fn]

    def reduction(x: Any = None, *args: Any, **kwargs: Any) -> Any:
        x = kwargs.pop("input", x)
        names: tuple[str, ...] = ("p", "dim", "keepdim", "dtype") if name == "norm" else ("dim", "keepdim", "dtype")
        if name in ("var", "std"):
            names = ("unbiased",) if args and isinstance(args[0], bool) else ("dim", "unbiased", "keepdim")
        return reduce_masked(name, x, **dict(zip(names, args, strict=False)), **kwargs)

    return reduction


def of_operator(fn: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Meaning of a reduction's operator for MaskedTensors."""
    return of_function(getattr(torch, fn.__name__))(x, *args, **kwargs)
