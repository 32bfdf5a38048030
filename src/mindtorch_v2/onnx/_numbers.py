"""Tensors and dtypes as ONNX has them, and arrays of onnxruntime as tensors."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.onnx._library import graphs, required
from mindtorch_v2.onnx.errors import OnnxExporterError

__all__ = ["array_of", "dtype_number", "onnx_dtype", "stored", "tensor_of"]

_NAMES = {
    torch.bfloat16: "BFLOAT16",
    torch.bool: "BOOL",
    torch.complex64: "COMPLEX64",
    torch.complex128: "COMPLEX128",
    torch.float16: "FLOAT16",
    torch.float32: "FLOAT",
    torch.float64: "DOUBLE",
    torch.float8_e4m3fn: "FLOAT8E4M3FN",
    torch.float8_e4m3fnuz: "FLOAT8E4M3FNUZ",
    torch.float8_e5m2: "FLOAT8E5M2",
    torch.float8_e5m2fnuz: "FLOAT8E5M2FNUZ",
    torch.int8: "INT8",
    torch.int16: "INT16",
    torch.int32: "INT32",
    torch.int64: "INT64",
    torch.uint8: "UINT8",
    torch.uint16: "UINT16",
    torch.uint32: "UINT32",
    torch.uint64: "UINT64",
}
# Types that NumPy lacks: the package ml_dtypes has them, under these names, and integers of the same size hold their bits.
_BITS = {
    torch.bfloat16: ("bfloat16", torch.uint16),
    torch.float8_e4m3fn: ("float8_e4m3fn", torch.uint8),
    torch.float8_e4m3fnuz: ("float8_e4m3fnuz", torch.uint8),
    torch.float8_e5m2: ("float8_e5m2", torch.uint8),
    torch.float8_e5m2fnuz: ("float8_e5m2fnuz", torch.uint8),
}


def onnx_dtype(dtype: torch.dtype) -> Any:
    """The `onnx_ir.DataType` of a dtype; OnnxExporterError if ONNX has none."""
    if dtype not in _NAMES:
        raise OnnxExporterError(f"torch.onnx.export: ONNX has no type for {dtype}")
    return graphs().DataType[_NAMES[dtype]]


def dtype_number(dtype: torch.dtype) -> int:
    """The number of a dtype in ONNX, which operators such as Cast take."""
    return int(onnx_dtype(dtype))


def array_of(tensor: torch.Tensor) -> Any:
    """The NumPy array with a tensor's numbers, the same memory where it is contiguous on the CPU."""
    tensor = tensor.detach().cpu().contiguous()
    if tensor.dtype not in _BITS:
        return tensor.numpy()
    name, bits = _BITS[tensor.dtype]
    return tensor.view(bits).numpy().view(getattr(required("ml_dtypes"), name))


def stored(tensor: torch.Tensor, name: str) -> Any:
    """The `onnx_ir.Tensor` of that name with a tensor's numbers, complex ones as pairs in a last dimension."""
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor.resolve_conj())
    return graphs().Tensor(array_of(tensor), dtype=onnx_dtype(tensor.dtype), name=name)


def tensor_of(array: Any) -> torch.Tensor:
    """The tensor with the numbers of an array that onnxruntime gave."""
    for dtype, (name, bits) in _BITS.items():
        if array.dtype.name == name:
            return torch.from_numpy(array.view(f"u{array.dtype.itemsize}")).view(bits).view(dtype)
    return torch.from_numpy(array)
