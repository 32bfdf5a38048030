"""Masks of every layout: spread to an input's sizes, put through a reduction, and the results of sparse inputs."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.dimensions import wrap_dim

REDUCTIONS = frozenset(
    ("sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp")
)
NORMALIZATIONS = frozenset(("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod"))
_LAYOUTS = (torch.strided, torch.sparse_coo, torch.sparse_csr)


def dense(x: Any) -> Any:
    """A tensor with all its elements side by side; what is none as it is."""
    return x.to_dense() if isinstance(x, torch.Tensor) and x.layout != torch.strided else x


def held_at(pattern: torch.Tensor, values: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    """A sparse tensor in the layout of `like` that holds those of `values` where the dense `pattern` is True."""
    if like.layout == torch.sparse_csr:
        held = pattern.to_sparse_csr()
        return torch.sparse_csr_tensor(held.crow_indices(), held.col_indices(), values[pattern], values.shape)
    indices = pattern.nonzero().t().contiguous()
    return torch.sparse_coo_tensor(indices, values[pattern], values.shape, is_coalesced=True)


def input_mask(input: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """The mask in the sizes of an input, dense and of bool; all True for None."""
    if mask is None:
        return torch.ones(input.shape, dtype=torch.bool, device=input.device)
    if mask.layout not in _LAYOUTS:
        raise TypeError(f"_input_mask expected strided/sparse_coo/sparse_csr mask, got {mask.layout} layout")
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    mask = dense(mask).expand(input.shape)
    return mask if mask.dtype == torch.bool else mask.ne(0)


def _input_mask(input: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """The keyword `mask` in the sizes of an input, in its layout."""
    if input.layout not in _LAYOUTS:
        raise TypeError(f"_input_mask expected strided/sparse_coo/sparse_csr tensor but got {input.layout}")
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    mask = input_mask(input, mask)
    return mask if input.layout == torch.strided else held_at(mask, mask, input)


def output_mask(name: str, input: torch.Tensor, dims: tuple[int, ...], keepdim: bool, mask: Any) -> torch.Tensor:
    """Which results of a reduction or normalisation have an element that counts."""
    found = input_mask(input, mask)
    if name in NORMALIZATIONS:
        return found
    for dim in sorted(dims, reverse=True):
        found = found.any(dim, keepdim)
    return found


def arguments(op: Callable[..., Any], input: torch.Tensor, args: Any, kwargs: Any) -> tuple[Any, bool, Any]:
    """`dim`, `keepdim` and `mask` of a call."""
    bound = inspect.signature(op).bind(input, *args, **kwargs)
    bound.apply_defaults()
    given = bound.arguments
    return given.get("dim"), bool(given.get("keepdim")), given.get("mask")


def any_layout(op: Callable[..., Any]) -> Callable[..., Any]:
    """A function of masks for sparse inputs and masks too: sparse inputs give results of their layout.

    They are computed as dense ones; a sparse result holds the elements that the mask lets count.
    """

    @functools.wraps(op)
    def with_layouts(input: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
        mask = kwargs.get("mask")
        if mask is not None and mask.layout != torch.strided:
            kwargs["mask"] = dense(mask)
        if not isinstance(input, torch.Tensor) or input.layout == torch.strided:
            return op(input, *args, **kwargs)
        result = op(dense(input), *args, **kwargs)
        if mask is None:
            return result.to_sparse_csr() if input.layout == torch.sparse_csr else result.to_sparse()
        dim, keepdim, mask = arguments(op, input, args, kwargs)
        pattern = output_mask(op.__name__, dense(input), canonical_dim(dim, input.dim()), keepdim, mask)
        return held_at(pattern, result, input)

    return with_layouts


def canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """Each dimension of `dim`, from 0 up; all of them for None and ()."""
    if ndim == 0:
        dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
        for d in dims:
            wrap_dim(d, 1)
        return ()
    if dim is None or (isinstance(dim, tuple) and not dim):
        return tuple(range(ndim))
    result: list[int] = []
    for d in [dim] if isinstance(dim, int) else dim:
        place = wrap_dim(d, ndim)
        if place in result:
            raise RuntimeError(f"dim={place} appears multiple times in the list of dims")
        result.append(place)
    return tuple(result)


def _where(mask: torch.Tensor, input: torch.Tensor, fill_value: torch.Tensor) -> torch.Tensor:
    """The input where the mask is True, the fill value elsewhere: of a sparse mask, which is what the result holds."""
    if mask.layout == torch.strided:
        return torch.where(mask, input, fill_value)
    if mask.layout not in _LAYOUTS:
        raise ValueError(f"_where expected strided or sparse_coo or sparse_csr tensor but got {mask.layout}")
    if mask.shape != input.shape or mask.layout != input.layout:
        raise ValueError("_where expects a mask and an input of the same shape and layout")
    counts, values = mask.to_dense(), input.to_dense()
    if mask.layout == torch.sparse_coo and mask.dense_dim():
        rows = counts
        for dim in range(mask.dim() - 1, mask.sparse_dim() - 1, -1):
            rows = rows.any(dim)
        return held_at(rows, torch.where(counts, values, fill_value), input)
    return held_at(counts, values, input)
