"""Element-wise operators of one tensor: on the data, the mask stays."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

from .core import MaskedTensor, _get_data, _map_mt_args_kwargs, _maybe_get_mask, _on_values, is_masked_tensor

__all__: list[str] = []

UNARY_NAMES = (
    "abs absolute acos arccos acosh arccosh angle asin arcsin asinh arcsinh atan arctan atanh arctanh bitwise_not ceil clamp "
    "clip conj_physical cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 fix floor frac lgamma log log10 log1p log2 "
    "logit i0 isnan nan_to_num neg negative positive pow rad2deg reciprocal round rsqrt sigmoid sign sgn signbit sin sinc sinh "
    "sqrt square tan tanh trunc"
).split()
INPLACE_UNARY_NAMES = [name + "_" for name in UNARY_NAMES if name not in ("angle", "positive", "signbit", "isnan")]
UNARY_NAMES_UNSUPPORTED = (
    "atan2 arctan2 bitwise_left_shift bitwise_right_shift copysign float_power fmod frexp gradient imag ldexp lerp "
    "logical_not hypot igamma igammac mvlgamma nextafter polygamma real remainder true_divide xlogy"
).split()
NATIVE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in UNARY_NAMES]
NATIVE_INPLACE_UNARY_FNS = [getattr(torch.ops.aten, name) for name in INPLACE_UNARY_NAMES]


def _is_native_unary(fn: Any) -> bool:
    return fn in NATIVE_UNARY_FNS or fn in NATIVE_INPLACE_UNARY_FNS


def apply_unary(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """A MaskedTensor of the operator's result on the data."""
    given, keywords = _map_mt_args_kwargs(args, kwargs, _get_data)
    for each in args[1:]:
        if isinstance(each, torch.Tensor):
            raise TypeError("MaskedTensor unary ops do not support additional Tensor arguments")
    return MaskedTensor(_on_values(given[0], lambda x: fn(x, *given[1:], **keywords)), _maybe_get_mask(args[0]))


def apply_unary_in_place(fn: Any, *args: Any, **kwargs: Any) -> Any:
    """The MaskedTensor, whose data the operator wrote to."""
    target = args[0]
    assert is_masked_tensor(target)
    data = target._masked_data
    values = data._values() if data.layout == torch.sparse_coo else data.values() if target.is_sparse else data
    fn(values, *args[1:], **kwargs)
    return target
