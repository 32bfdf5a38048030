"""Choices that the older exporter offered."""

from __future__ import annotations

import enum

__all__ = ["OperatorExportTypes", "TensorProtoDataType", "TrainingMode"]


class TrainingMode(enum.IntEnum):
    """The mode in which a model is exported.

    >>> [mode.name for mode in torch.onnx.TrainingMode]
    ['EVAL', 'PRESERVE', 'TRAINING']
    """

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.IntEnum):
    """How operators that ONNX lacks are written.

    >>> [kind.name for kind in torch.onnx.OperatorExportTypes]
    ['ONNX', 'ONNX_ATEN', 'ONNX_ATEN_FALLBACK', 'ONNX_FALLTHROUGH']
    """

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


class TensorProtoDataType(enum.IntEnum):
    """Numbers of types in ONNX.

    >>> torch.onnx.TensorProtoDataType.FLOAT.value, torch.onnx.TensorProtoDataType.BFLOAT16.value
    (1, 16)
    """

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
