"""Tensors in oneDNN's layout, `torch._mkldnn`: numbers whose place in memory is the library's affair.

Here they lie in rows like any others; what such a tensor has of the layout is that nobody reads its memory, and that operators on
it give tensors like it. `Tensor.to_mkldnn` makes one, `to_dense` gives the numbers back.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .. import _C
from .._core.dtype import DTYPES
from .._core.torch_function import _disabled_torch_function_impl
from .._tensor import Tensor

__all__ = ["OneDNNTensor", "to_onednn"]

_DTYPES = tuple(DTYPES[name] for name in ("float32", "bfloat16", "float16", "uint8", "int8"))


class OneDNNTensor(Tensor):
    """A tensor of the layout `torch._mkldnn`."""

    _numbers: Any
    layout = property(lambda self: _C._mkldnn, doc="torch._mkldnn.")
    is_mkldnn = property(lambda self: True, doc="Whether the layout is oneDNN's: yes.")
    __torch_function__ = _disabled_torch_function_impl  # type: ignore[assignment]  # (a function of the core)

    @staticmethod
    def __new__(cls: Any, numbers: Any) -> Any:
        self = cls._make_wrapper_subclass(cls, numbers.shape, dtype=numbers.dtype, device=numbers.device)
        self._numbers = numbers
        return self

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name.partition("::")[2]
        if name == "_to_dense":
            return _dense(args[0], *args[1:2])
        result = func(*map(_plain, args), **{key: _plain(value) for key, value in (kwargs or {}).items()})
        if func._schema.is_mutable:
            return args[0]
        if isinstance(result, (list, tuple)):  # the gradients of weights and the statistics are dense
            return (_like(result[0]), *result[1:])
        return _like(result)

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Refused: TypeError."""
        raise TypeError("can't convert mkldnn layout tensor to numpy. Use Tensor.to_dense() first.")

    def data_ptr(self) -> NoReturn:
        """Refused: RuntimeError."""
        raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")

    def storage(self) -> NoReturn:
        """Refused: NotImplementedError."""
        raise NotImplementedError("Cannot access storage of OpaqueTensorImpl")

    untyped_storage = storage

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether the numbers lie in rows: in the library's order, which is one."""
        return True

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # (as PyTorch's)
        return f"tensor({self._numbers!r}, layout=torch._mkldnn)"


def _plain(value: Any) -> Any:
    if isinstance(value, OneDNNTensor):
        return value._numbers
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value


def _like(value: Any) -> Any:
    return OneDNNTensor(value) if isinstance(value, Tensor) and value.dtype in _DTYPES else value


def _dense(tensor: OneDNNTensor, dtype: Any = None) -> Any:
    numbers = tensor._numbers
    return numbers.clone() if dtype is None or dtype == numbers.dtype else numbers.to(dtype)


def to_onednn(tensor: Any, dtype: Any = None) -> Any:
    """The tensor in oneDNN's layout, of its own dtype or bfloat16 or float16 in place of float32.

    RuntimeError for dtypes that the library has not.
    """
    if dtype is not None:
        tensor = tensor.to(dtype)
    if tensor.dtype not in _DTYPES:
        raise RuntimeError(
            "dense_to_mkldnn expects float, bfloat16, half, uint8, int8 tensor input, "
            f"but got {str(tensor.dtype).rpartition('.')[2]}"
        )
    if tensor.device.type != "cpu" or tensor.layout != _C.strided:
        raise RuntimeError(f"dense_to_mkldnn expects strided CPU tensor input, but got one on {tensor.device}")
    return OneDNNTensor(tensor.clone(memory_format=_C.contiguous_format))
