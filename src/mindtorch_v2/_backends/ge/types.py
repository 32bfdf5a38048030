"""Data types and formats as GE numbers them. A descriptor's dtype has numbers of its own (`proto.ENUMS`)."""

from __future__ import annotations

import enum
from typing import Any

from ..._core.dtype import DTYPES
from .proto import ENUMS


class DataType(enum.IntEnum):
    """GE's data types, which are ACL's too. `DataType.of(torch.float32)`, `DataType.DT_FLOAT.torch`."""

    DT_FLOAT = 0
    DT_FLOAT16 = 1
    DT_INT8 = 2
    DT_INT32 = 3
    DT_UINT8 = 4
    DT_INT16 = 6
    DT_UINT16 = 7
    DT_UINT32 = 8
    DT_INT64 = 9
    DT_UINT64 = 10
    DT_DOUBLE = 11
    DT_BOOL = 12
    DT_STRING = 13
    DT_DUAL_SUB_INT8 = 14
    DT_DUAL_SUB_UINT8 = 15
    DT_COMPLEX64 = 16
    DT_COMPLEX128 = 17
    DT_QINT8 = 18
    DT_QINT16 = 19
    DT_QINT32 = 20
    DT_QUINT8 = 21
    DT_QUINT16 = 22
    DT_RESOURCE = 23
    DT_STRING_REF = 24
    DT_DUAL = 25
    DT_VARIANT = 26
    DT_BF16 = 27
    DT_UNDEFINED = 28
    DT_INT4 = 29
    DT_UINT1 = 30
    DT_INT2 = 31
    DT_UINT2 = 32
    DT_COMPLEX32 = 33
    DT_HIFLOAT8 = 34
    DT_FLOAT8_E5M2 = 35
    DT_FLOAT8_E4M3FN = 36
    DT_FLOAT8_E8M0 = 37
    DT_FLOAT6_E3M2 = 38
    DT_FLOAT6_E2M3 = 39
    DT_FLOAT4_E2M1 = 40
    DT_FLOAT4_E1M2 = 41
    DT_MAX = 42

    @property
    def proto(self) -> int:
        """The number in a TensorDescriptor. TypeError for a type that graphs do not hold here."""
        if self.name not in ENUMS["DataType"]:
            raise TypeError(f"{self.name} is a name only: graphs of this package hold no values of it")
        return ENUMS["DataType"][self.name]

    @classmethod
    def of_proto(cls, number: int) -> DataType:
        name = next(name for name, each in ENUMS["DataType"].items() if each == number)
        return cls[name]

    @property
    def torch(self) -> Any:
        """The dtype of tensors. TypeError for one that tensors do not have."""
        if self.name not in _TORCH:
            raise TypeError(f"tensors have no dtype for {self.name}")
        return DTYPES[_TORCH[self.name]]

    @classmethod
    def of(cls, dtype: Any) -> DataType:
        """GE's type for a dtype. TypeError if there is none."""
        name = str(dtype).removeprefix("torch.")
        for mine, theirs in _TORCH.items():
            if theirs == name:
                return cls[mine]
        raise TypeError(f"GE has no data type for {dtype}")


class Format(enum.IntEnum):
    """Layouts of memory. Tensors are FORMAT_ND."""

    FORMAT_NCHW = 0
    FORMAT_NHWC = 1
    FORMAT_ND = 2


_TORCH = {
    "DT_FLOAT": "float32",
    "DT_FLOAT16": "float16",
    "DT_BF16": "bfloat16",
    "DT_DOUBLE": "float64",
    "DT_INT8": "int8",
    "DT_INT16": "int16",
    "DT_INT32": "int32",
    "DT_INT64": "int64",
    "DT_UINT8": "uint8",
    "DT_UINT16": "uint16",
    "DT_UINT32": "uint32",
    "DT_UINT64": "uint64",
    "DT_BOOL": "bool",
    "DT_COMPLEX64": "complex64",
    "DT_COMPLEX128": "complex128",
}
