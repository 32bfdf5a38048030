"""The old tensor types: `torch.FloatTensor` and its kin, each a dtype on the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _C
from mindtorch_v2._core.dtype import Size
from mindtorch_v2._core.overridable import overridable
from mindtorch_v2._operators.table import aten, class_name
from mindtorch_v2._tensor import Tensor

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
]


class _TensorType(type):
    """`isinstance(x, T)` asks for dtype and device; `T(...)` makes a tensor of sizes or of data."""

    device: Any
    dtype: Any

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> Any:
        for base in bases:
            if isinstance(base, _TensorType):
                raise TypeError(f"type '{base.__module__}.{base.__name__}' is not an acceptable base type")
        return super().__new__(cls, name, bases, members)

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, Tensor) or instance.layout != _C.strided:
            return False
        return instance.dtype is cls.dtype and instance.device.type == cls.device

    def __call__(cls, *args: Any, device: Device | None = None) -> Tensor:
        return _made(cls, args, device)


def _made(cls, args, device):
    name, dtype, home = cls.__name__, cls.dtype, cls.device
    if home == "cuda":
        raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")
    if device is not None and _C.device(device).type != home:
        raise RuntimeError(f"legacy constructor expects device type: {home} but device type: {device} was passed")
    if len(args) == 1 and (not isinstance(args[0], int) or isinstance(args[0], bool)):
        data: Any = args[0]
        if not hasattr(data, "__getitem__") or isinstance(data, dict):
            raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
        if isinstance(data, Size):
            return aten.empty(data, dtype=dtype, device=home)
        if isinstance(data, Tensor):
            if data.dtype is not dtype:
                raise TypeError(f"expected {name} (got {data.type()})")
            return data.detach()
        if hasattr(data, "_untyped_storage") and data.dtype is not dtype:
            raise RuntimeError(
                f"Expected a Storage of type {class_name(dtype)} or an UntypedStorage, but got type "
                f"{class_name(data.dtype)} for argument 1 'storage'"
            )
        if isinstance(data, _C.StorageBase) or hasattr(data, "_untyped_storage"):
            return _C.as_tensor(data, dtype=dtype)
        return _C.tensor(data, dtype=dtype, device=home)
    if all(isinstance(size, int) for size in args):
        return aten.empty(args or (0,), dtype=dtype, device=home)
    kinds = ", ".join(type(size).__name__ for size in args)
    raise TypeError(
        f"new() received an invalid combination of arguments - got ({kinds}), but expected one of:\n"
        " * (*, torch.device device = None)\n * (torch.Storage storage)\n * (Tensor other)\n"
        " * (tuple of ints size, *, torch.device device = None)\n * (object data, *, torch.device device = None)\n"
    )


def make_type(name: str, dtype: str, device: str = "cpu", module: str = "torch") -> type:
    """The old type of tensors of a dtype (by name) on a kind of device."""
    return _TensorType(
        name,
        (),
        {
            "__module__": module,
            "device": device,
            "dtype": _C._dtypes[dtype],
            "is_cuda": False,
            "is_sparse": False,
            "is_xpu": False,
            "layout": _C.strided,
            "__doc__": f"Tensors of {dtype} on the {device.upper()}.\n\n"
            f"    >>> isinstance(torch.empty(2, dtype=torch.{dtype}), {module}.{name})\n    {device == 'cpu'}\n",
        },
    )


_NAMES = {
    "bfloat16": "BFloat16Tensor",
    "bool": "BoolTensor",
    "complex64": "ComplexFloatTensor",
    "complex128": "ComplexDoubleTensor",
    "float16": "HalfTensor",
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "int16": "ShortTensor",
    "int32": "IntTensor",
    "int64": "LongTensor",
    "int8": "CharTensor",
    "uint16": "UInt16Tensor",
    "uint32": "UInt32Tensor",
    "uint64": "UInt64Tensor",
    "uint8": "ByteTensor",
}


def _type(self, dtype=None, non_blocking=False, **kwargs):
    """The name of the tensor's type ("torch.FloatTensor"), or the tensor cast to a dtype, a type or its name.

    Raises ValueError for a name that is no type's, TypeError for other arguments.

    >>> torch.ones(1).type()
    'torch.FloatTensor'
    """
    if dtype is None:
        short = str(self.dtype).rpartition(".")[2]
        name = _NAMES.get(short, f"{short[:1].upper()}{short[1:]}Tensor")
        places = ([] if self.device.type == "cpu" else [self.device.type]) + ["sparse"] * self.is_sparse
        return ".".join(["torch", *places, name])
    if isinstance(dtype, str):
        names = {f"torch.{name}": _C._dtypes[short] for short, name in _NAMES.items()}
        if dtype not in names:
            raise ValueError(f"invalid type: '{dtype}'")
        dtype = names[dtype]
    elif isinstance(dtype, _TensorType):
        dtype = dtype.dtype
    elif dtype is Tensor:
        dtype = _C.get_default_dtype()
    if not isinstance(dtype, _C.dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return self.to(dtype=dtype, non_blocking=non_blocking)


_type.__name__, _type.__qualname__ = "type", "Tensor.type"
Tensor.type = overridable(_type)  # type: ignore[method-assign]  # (the method needs these classes)


BFloat16Tensor = make_type("BFloat16Tensor", "bfloat16")
BoolTensor = make_type("BoolTensor", "bool")
ByteTensor = make_type("ByteTensor", "uint8")
CharTensor = make_type("CharTensor", "int8")
DoubleTensor = make_type("DoubleTensor", "float64")
FloatTensor = make_type("FloatTensor", "float32")
HalfTensor = make_type("HalfTensor", "float16")
IntTensor = make_type("IntTensor", "int32")
LongTensor = make_type("LongTensor", "int64")
ShortTensor = make_type("ShortTensor", "int16")

_CUDA_TYPES: dict[str, type] = {
    name: make_type(name, dtype, "cuda", "torch.cuda")
    for dtype, name in _NAMES.items()
    if dtype[:4] not in ("comp", "uint") or dtype == "uint8"
}
"""The types of `torch.cuda`, which nothing is an instance of, and of which none can be made."""
_tensor_classes = {
    BFloat16Tensor, BoolTensor, ByteTensor, CharTensor, DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor,
    ShortTensor, *_CUDA_TYPES.values(),
}  # fmt: skip
