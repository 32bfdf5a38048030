"""The old types of coordinate tensors, `torch.sparse.FloatTensor` and its kin."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._core.warn_once import warn_once


class _SparseType(type):
    """`isinstance(x, T)` asks for dtype and layout; `T(...)` makes a tensor of indices and values, or of sizes."""

    dtype: Any

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.is_sparse and instance.dtype is cls.dtype

    def __call__(cls, *args: Any) -> torch.Tensor:
        if len(args) in (2, 3) and isinstance(args[0], torch.Tensor) and isinstance(args[1], torch.Tensor):
            warn_once(
                "torch.sparse.SparseTensor(indices, values, shape, *, device=) is deprecated.  Please use "
                "torch.sparse_coo_tensor(indices, values, shape, dtype=, device=)."
            )
            return torch.sparse_coo_tensor(*args)
        sizes = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args or (0,)
        if not all(isinstance(size, int) for size in sizes):
            names = ", ".join(type(arg).__name__ for arg in args)
            raise TypeError(
                f"torch.sparse.{cls.__name__}() takes (Tensor indices, Tensor values, sizes) or sizes, not ({names})"
            )
        return torch.sparse_coo_tensor(tuple(sizes), dtype=cls.dtype)


def _make(name, dtype):
    text = (
        f"Coordinate tensors of {dtype}: `{name}(indices, values, sizes)` makes one.\n\n"
        f"    >>> m = torch.sparse.{name}(torch.tensor([[0, 1]]), torch.tensor([1, 2], dtype={dtype}), (3,))\n"
        f"    >>> isinstance(m, torch.sparse.{name}), m.to_dense().tolist() == [1, 2, 0]\n    (True, True)\n"
    )
    return _SparseType(name, (), {"__module__": "torch.sparse", "dtype": dtype, "__doc__": text})


BFloat16Tensor = _make("BFloat16Tensor", torch.bfloat16)
ByteTensor = _make("ByteTensor", torch.uint8)
CharTensor = _make("CharTensor", torch.int8)
DoubleTensor = _make("DoubleTensor", torch.float64)
FloatTensor = _make("FloatTensor", torch.float32)
HalfTensor = _make("HalfTensor", torch.float16)
IntTensor = _make("IntTensor", torch.int32)
LongTensor = _make("LongTensor", torch.int64)
ShortTensor = _make("ShortTensor", torch.int16)
