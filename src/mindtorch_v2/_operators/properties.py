"""Attributes of tensors that are operators: x.T, x.mT, x.H, x.mH, x.real, x.imag, and the old constructor x.new."""

from __future__ import annotations

import warnings
from typing import Any

from .. import _C
from .._core.dtype import DTYPES, Size
from .._core.overridable import overridable
from .._core.warn_once import warn_once
from .._tensor import Tensor
from .table import aten, class_name, fill


def _reversed(self: Any) -> Any:
    if self.dim() == 0:
        warn_once("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
    elif self.dim() != 2:
        warn_once(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw "
            "an error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange("
            "x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
        )
    return aten.numpy_T(self)


def _adjoint(self: Any) -> Any:
    if self.dim() == 0:
        warn_once("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
    return aten.matrix_H(self)


def _fill(part: Any, value: Any) -> None:
    """Write a tensor or a number; TypeError for anything else."""
    if isinstance(value, _C.TensorBase):
        aten.copy_(part, value)
    else:
        part[...] = value


def _set_real(self: Any, value: Any) -> None:
    _fill(aten.real(self), value)


def _set_imag(self: Any, value: Any) -> None:
    _fill(aten.imag(self), value)


def _volatile(self: Any) -> bool:
    warnings.warn("volatile was removed (Variable.volatile is always False)", UserWarning, stacklevel=2)
    return False


def _set_volatile(self: Any, value: Any) -> None:
    message = "volatile was removed and now has no effect. Use `with torch.no_grad():` instead."
    warnings.warn(message, UserWarning, stacklevel=2)


def _check_kind(dtype: Any, data: Any) -> None:
    """TypeError for a tensor, RuntimeError for a storage, of other elements than those that are made."""
    if isinstance(data, Tensor) and data.dtype != dtype:
        raise TypeError(f"expected a tensor of dtype {dtype} (got {data.dtype})")
    if hasattr(data, "_untyped_storage") and data.dtype != dtype:
        raise RuntimeError(
            f"Expected a Storage of type {class_name(dtype)} or an UntypedStorage, but got type "
            f"{class_name(data.dtype)} for argument 1 'storage'"
        )


def _new(self: Any, *args: Any, size: Any = None, device: Any = None) -> Any:
    """A tensor of this one's dtype, on its device, from sizes or from a sequence, as ``torch.Tensor(...)`` takes them.

    >>> torch.ones(1).new(2, 3).shape
    torch.Size([2, 3])
    """
    if size is not None and not args:
        args = tuple(size)
    place = self.device if device is None else _C.device(device)
    if place.type != self.device.type:
        raise RuntimeError(
            f"legacy constructor expects device type: {self.device.type} but device type: {place.type} was passed"
        )
    if len(args) == 1:
        _check_kind(self.dtype, args[0])
    made = _C._legacy_new(self.dtype, args)
    if place.type == "cpu":
        return made
    holds_data = len(args) == 1 and not isinstance(args[0], (int, Size))
    return aten.to(made, place) if holds_data else aten.empty(made.shape, dtype=made.dtype, device=place)


@overridable
def _method_nonzero(self: Any, *, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero: see torch.nonzero.

    >>> torch.tensor([0, 3, 0, 4]).nonzero()
    tensor([[1],
            [3]])
    """
    return nonzero(self, as_tuple=as_tuple)


@overridable
def nonzero(input: Any, *, out: Any = None, as_tuple: bool = False) -> Any:
    """The positions of the elements that are not zero: one row each, or one tensor a dimension.

    >>> torch.nonzero(torch.tensor([0, 2, 3]))
    tensor([[1],
            [2]])
    """
    if as_tuple and out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    if as_tuple:
        return aten.nonzero_numpy(input)
    if out is None:
        return aten.nonzero(input)
    if out.dtype != DTYPES["int64"]:
        raise RuntimeError(
            f"nonzero: Expected out tensor to have scalar type Long but got scalar type{class_name(out.dtype)}"
        )
    return fill(out, aten.nonzero(input))


def attach(tensor: Any) -> None:
    """Give the tensor class its attributes that are operators."""
    attribute = _C._operator_attribute
    tensor.T = attribute("T", _reversed, None, "The transposed matrix.")
    tensor.mT = attribute("mT", aten.mT, None, "The last two dimensions exchanged.")
    tensor.H = attribute("H", _adjoint, None, "The conjugate transpose of a matrix.")
    tensor.mH = attribute("mH", aten.mH, None, "The conjugate of the last two dimensions exchanged.")
    tensor.real = attribute("real", aten.real, _set_real, "The real parts, as a view.")
    tensor.imag = attribute("imag", aten.imag, _set_imag, "The imaginary parts, as a view.")
    tensor.volatile = attribute("volatile", _volatile, _set_volatile, "False; torch.no_grad() took its place.")
    tensor.new = _new
    tensor.nonzero = _method_nonzero
