"""Names for annotations."""

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

import mindtorch_v2 as torch

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Union["torch.Tensor", Sequence["torch.Tensor"]]
_dtype = torch.dtype
_device = torch.device
_size: TypeAlias = torch.Size | list[_int] | tuple[_int, ...]
_layout = torch.layout
_qscheme: TypeAlias = Any
Number: TypeAlias = _int | _float | _bool
_Number = (_int, _float, _bool)
FileLike: TypeAlias = _str | os.PathLike[_str] | IO[_bytes]
Device: TypeAlias = torch.device | _str | _int | None
Storage = torch.UntypedStorage
IntLikeType: TypeAlias = _int | torch.SymInt
FloatLikeType: TypeAlias = _float | torch.SymFloat
BoolLikeType: TypeAlias = _bool | torch.SymBool
py_sym_types = (torch.SymInt, torch.SymFloat, torch.SymBool)
PySymType: TypeAlias = torch.SymInt | torch.SymFloat | torch.SymBool
