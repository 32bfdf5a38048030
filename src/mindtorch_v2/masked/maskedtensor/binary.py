"""Element-wise operators of two tensors: on the data; both masks have to be the same."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .core import MaskedTensor, _get_data, _masks_match, _maybe_get_mask, _tensors_match

__all__: list[str] = []

BINARY_NAMES = (
    "add atan2 arctan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift div divide floor_divide fmod "
    "logaddexp logaddexp2 mul multiply nextafter remainder sub subtract true_divide eq ne le ge greater greater_equal gt "
    "less_equal lt less maximum minimum fmax fmin not_equal"
).split()
INPLACE_BINARY_NAMES = [
    name + "_"
    for name in BINARY_NAMES
    if name not in ("logaddexp", "logaddexp2", "equal", "fmin", "minimum", "maximum", "fmax")
]
NATIVE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in BINARY_NAMES]
NATIVE_INPLACE_BINARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_BINARY_NAMES]


def _is_native_binary(fn: Any) -> bool:
    return fn in NATIVE_BINARY_FNS or fn in NATIVE_INPLACE_BINARY_FNS


def _checked(args: Any, kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError("len(kwargs) must equal 0")
    for each in args[2:]:
        if isinstance(each, torch.Tensor):
            raise TypeError("MaskedTensor binary ops do not support Tensor arguments aside from the lhs and rhs")
    if not _masks_match(*args[:2]):
        raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")


def _mask_of(args: Any) -> Any:
    mask = _maybe_get_mask(args[0])
    return _maybe_get_mask(args[1]) if mask is None else mask


def _values(fn: Any, data: list[Any]) -> Any:
    """The operator on data of the same layout: of sparse tensors in the same places on what they hold."""
    first, second = data[0], data[1]
    sparse = next((x for x in (first, second) if isinstance(x, torch.Tensor) and x.layout != torch.strided), None)
    if sparse is None:
        return fn(*data)
    if isinstance(first, torch.Tensor) and isinstance(second, torch.Tensor) and first.layout == second.layout:
        same = (
            _tensors_match(first.indices(), second.indices())
            if first.layout == torch.sparse_coo
            else _tensors_match(first.crow_indices(), second.crow_indices())
            and _tensors_match(first.col_indices(), second.col_indices())
        )
        if not same:
            kind = "sparse_coo" if first.layout == torch.sparse_coo else "sparse_csr"
            raise ValueError(
                f"{kind} indices must match. If you need support for this, please open an issue on Github."
            )
        if first.shape != second.shape:
            raise ValueError("input1 and input2 must have the same size for binary functions.")
    plain = [x.values() if isinstance(x, torch.Tensor) and x.layout != torch.strided else x for x in (first, second)]
    found = fn(*plain, *data[2:])
    if sparse.layout == torch.sparse_coo:
        return torch.sparse_coo_tensor(sparse.indices(), found, sparse.shape, is_coalesced=True)
    return torch.sparse_csr_tensor(sparse.crow_indices(), sparse.col_indices(), found, sparse.shape)


def apply_binary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """A MaskedTensor of the operator's result on both data, with the mask that they share."""
    _checked(args, kwargs)
    data, mask = _values(fn, [_get_data(each) for each in args]), _mask_of(args)
    if data.layout == torch.strided and data.shape != mask.shape:  # the other operand was wider
        mask = mask.expand(data.shape)
    return MaskedTensor(data, mask)


def apply_binary_in_place(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The first operand, whose data the operator wrote to."""
    _checked(args, kwargs)
    target = args[0]
    data = [_get_data(each) for each in args]
    if target.is_sparse:
        target._masked_data = _values(getattr(torch.ops.aten, fn.__name__.removesuffix("_")), data)
    else:
        fn(*data)
    return target
