"""Meanings of functions and operators for MaskedTensors: the tables of `core`, by function and by operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

from .binary import NATIVE_BINARY_FNS, NATIVE_INPLACE_BINARY_FNS, apply_binary, apply_binary_in_place
from .core import FUNCTIONS, OPERATORS, MaskedTensor, _get_data, _masks_match, _maybe_get_mask, is_masked_tensor
from .passthrough import PASSTHROUGH_FNS, apply_to_both
from .reductions import NATIVE_REDUCE_FNS, TENSOR_REDUCE_FNS, TORCH_REDUCE_FNS, of_function, of_operator
from .unary import NATIVE_INPLACE_UNARY_FNS, NATIVE_UNARY_FNS, apply_unary, apply_unary_in_place

__all__: list[str] = []

# They are made of operators that have gradients.
FUNCTIONS.update((fn, of_function(fn)) for fn in (*TORCH_REDUCE_FNS, *TENSOR_REDUCE_FNS))
# Each gets the packet, and the arguments.
for _names, _rule in (
    (NATIVE_REDUCE_FNS, of_operator),
    (PASSTHROUGH_FNS, apply_to_both),
    (NATIVE_UNARY_FNS, apply_unary),
    (NATIVE_INPLACE_UNARY_FNS, apply_unary_in_place),
    (NATIVE_BINARY_FNS, apply_binary),
    (NATIVE_INPLACE_BINARY_FNS, apply_binary_in_place),
):
    OPERATORS.update(dict.fromkeys(_names, _rule))


def _function(*functions: Any) -> Callable[[Any], Any]:
    def register(rule: Any) -> Any:
        FUNCTIONS.update(dict.fromkeys(functions, rule))
        return rule

    return register


def _operator(*names: str) -> Callable[[Any], Any]:
    def register(rule: Any) -> Any:
        OPERATORS.update({getattr(torch.ops.aten, name): rule for name in names})
        return rule

    return register


def _as_masked(x: Any) -> Any:
    return x if is_masked_tensor(x) else MaskedTensor(x, torch.ones_like(x, dtype=torch.bool))


# ---- functions with gradients of their own ----


class _Where(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, condition: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(condition)
        return torch.ops.aten.where(condition, x, y)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        (condition,) = ctx.saved_tensors
        mask, data = _maybe_get_mask(grad), _get_data(grad)

        def of(chosen: Any) -> Any:
            values = torch.where(chosen, data, torch.zeros_like(data))
            return values if mask is None else MaskedTensor(values, mask & chosen)

        return None, of(condition), of(~condition)


class _Contiguous(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if not is_masked_tensor(x):
            raise ValueError("MaskedContiguous forward: input must be a MaskedTensor.")
        if x.is_contiguous():
            return x
        return MaskedTensor(x._masked_data.contiguous(), x._masked_mask.contiguous())

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


def _converted(x: Any, layout: Any) -> Any:
    """A MaskedTensor in another layout; a sparse one holds what counts."""
    data, mask = x._masked_data, x._masked_mask
    if data.layout == layout:
        return x
    if layout == torch.strided:
        return MaskedTensor(data.to_dense(), mask.to_dense())
    held = mask.to_sparse_csr() if layout == torch.sparse_csr else mask.to_sparse_coo().coalesce()
    return MaskedTensor(data.sparse_mask(held), held)


class _Convert(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, layout: Any) -> Any:
        ctx.layout = x.layout
        made = _converted(x, layout)
        return MaskedTensor(made._masked_data, made._masked_mask) if made is x else made

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return _converted(_as_masked(grad), ctx.layout), None


@_function(torch.Tensor.where, torch.where)
def _where_function(condition: Any, x: Any, y: Any) -> Any:
    return _Where.apply(condition, x, y)


@_function(torch.Tensor.contiguous)
def _contiguous_function(x: Any, **kwargs: Any) -> Any:
    x.is_contiguous()  # ValueError for sparse data
    return _Contiguous.apply(x)


@_function(torch.Tensor.to_dense)
def _to_dense_function(x: Any, **kwargs: Any) -> Any:
    return _Convert.apply(x, torch.strided)


@_function(torch.Tensor.to_sparse, torch.Tensor.to_sparse_coo)
def _to_sparse_function(x: Any, **kwargs: Any) -> Any:
    return _Convert.apply(x, torch.sparse_coo)


@_function(torch.Tensor.to_sparse_csr)
def _to_sparse_csr_function(x: Any, **kwargs: Any) -> Any:
    return _Convert.apply(x, torch.sparse_csr)


# ---- operators ----


@_operator("_local_scalar_dense")
def _local_scalar_dense(fn: Any, x: Any) -> Any:
    if not _maybe_get_mask(x):
        raise ValueError(f"__torch_dispatch__, {fn}: expected a mask tensor")
    return fn(_get_data(x))


@_operator("detach", "clone")
def _same(fn: Any, x: Any, **kwargs: Any) -> Any:
    return MaskedTensor(fn(_get_data(x), **kwargs), _maybe_get_mask(x))


@_operator("_to_copy")
def _to_copy(fn: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    return MaskedTensor(
        fn(_get_data(x), *args, **kwargs), fn(_maybe_get_mask(x), *args, **{**kwargs, "dtype": torch.bool})
    )


@_operator("ones_like", "zeros_like", "empty_like", "full_like")
def _like(fn: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    return MaskedTensor(fn(_get_data(x), *args, **kwargs), _maybe_get_mask(x))


@_operator("new_empty_strided")
def _new_empty_strided(fn: Any, x: Any, size: Any, stride: Any, **kwargs: Any) -> Any:
    data = _get_data(x)
    if tuple(size) != tuple(data.size()):
        raise ValueError(f"__torch_dispatch__, {fn}: args[1] expected to be the same as data.size()")
    return MaskedTensor(fn(data, size, stride, **kwargs), _maybe_get_mask(x))


@_operator("_softmax", "_log_softmax")
def _softmax(fn: Any, x: Any, dim: int, half_to_float: bool) -> Any:
    mask = _maybe_get_mask(x)
    return MaskedTensor(fn(_get_data(x).masked_fill(~mask, float("-inf")), dim, half_to_float), mask)


@_operator("_softmax_backward_data", "_log_softmax_backward_data")
def _softmax_backward(fn: Any, grad: Any, output: Any, dim: int, dtype: Any) -> Any:
    if is_masked_tensor(grad) and is_masked_tensor(output) and not _masks_match(grad, output):
        raise ValueError(f"__torch_dispatch__, {fn}: expected the masks of grad and output to match")
    mask = _maybe_get_mask(output) if is_masked_tensor(output) else _maybe_get_mask(grad)
    masked = [_get_data(each).masked_fill(~mask, 0.0) for each in (grad, output)]
    return MaskedTensor(fn(*masked, dim, dtype), mask)


@_operator("copy_")
def _copy(fn: Any, x: Any, source: Any, *args: Any) -> Any:
    if not _masks_match(x, source):
        raise ValueError("args[0] mask and args[1] mask must match but do not")
    fn(_get_data(x), _get_data(source), *args)
    return x


@_operator("where")
def _where(fn: Any, condition: Any, x: Any, y: Any) -> Any:
    if not isinstance(x, torch.Tensor) or not isinstance(y, torch.Tensor):  # a number counts where the tensor does
        tensor = x if isinstance(x, torch.Tensor) else y
        return MaskedTensor(fn(condition, _get_data(x), _get_data(y)), _maybe_get_mask(tensor))
    x, y = _as_masked(x), _as_masked(y)
    return MaskedTensor(fn(condition, x._masked_data, y._masked_data), fn(condition, x._masked_mask, y._masked_mask))


@_operator("contiguous")
def _contiguous(fn: Any, x: Any, **kwargs: Any) -> Any:
    return _contiguous_function(x)


@_operator("_to_sparse")
def _to_sparse(fn: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    return _converted(_as_masked(x), kwargs.get("layout") or torch.sparse_coo)


@_operator("_to_sparse_csr")
def _to_sparse_csr(fn: Any, x: Any, *args: Any) -> Any:
    return _converted(_as_masked(x), torch.sparse_csr)


@_operator("_to_dense")
def _to_dense(fn: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    return _converted(_as_masked(x), torch.strided)


@_operator("_indices", "_values", "indices", "values")
def _parts(fn: Any, x: Any) -> Any:
    return _as_masked(fn(_get_data(x)))


@_operator("_sparse_coo_tensor_with_dims_and_tensors")
def _from_parts(fn: Any, sparse_dim: int, dense_dim: int, size: Any, indices: Any, values: Any, **kwargs: Any) -> Any:
    indices, values = _get_data(indices), _get_data(values)
    held = fn(
        sparse_dim,
        dense_dim,
        size,
        indices,
        torch.ones_like(values, dtype=torch.bool),
        **{**kwargs, "dtype": torch.bool},
    )
    return MaskedTensor(fn(sparse_dim, dense_dim, size, indices, values, **kwargs), held)


@_operator("is_same_size")
def _is_same_size(fn: Any, x: Any, other: Any) -> bool:
    return _get_data(x).is_same_size(_get_data(other))


@_operator("_is_any_true", "_is_all_true", "any")
def _is_any(fn: Any, x: Any) -> Any:
    x._check_dense(str(fn))
    if _get_data(x).dtype != torch.bool:
        raise ValueError(f"__torch_dispatch__, {fn}: expected a boolean tensor")
    neutral = fn is torch.ops.aten._is_all_true
    return _as_masked(fn(_get_data(x).masked_fill(~_maybe_get_mask(x), neutral)))
