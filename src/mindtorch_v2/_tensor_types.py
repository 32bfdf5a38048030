"""The old tensor types: `torch.FloatTensor` and its kin, each a dtype on the CPU."""

from mindtorch_v2 import _C
from mindtorch_v2._dtype import Size
from mindtorch_v2._ops._table import aten
from mindtorch_v2._tensor import Tensor

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

    def __instancecheck__(cls, instance):
        if not isinstance(instance, Tensor) or instance.layout != _C.strided:
            return False
        return instance.dtype is cls.dtype and instance.device.type == "cpu"

    def __call__(cls, *args, device=None):
        return _made(cls.__name__, cls.dtype, args, device)


def _made(name, dtype, args, device):
    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(f"legacy constructor expects device type: cpu but device type: {device} was passed")
    if len(args) == 1 and not isinstance(args[0], int):
        data = args[0]
        if isinstance(data, Size):
            return aten.empty(data, dtype=dtype, device="cpu")
        if isinstance(data, Tensor):
            if data.dtype is not dtype:
                raise TypeError(f"expected {name} (got {data.type()})")
            return data.detach()
        return _C.tensor(data, dtype=dtype, device="cpu")
    if all(isinstance(size, int) for size in args):
        return aten.empty(args or (0,), dtype=dtype, device="cpu")
    raise TypeError(f"{name}(): expected sizes as ints, or one sequence of data")


def _make(name, dtype):
    return _TensorType(
        name,
        (),
        {
            "__module__": "torch",
            "dtype": _C._dtypes[dtype],
            "is_cuda": False,
            "__doc__": f"Tensors of {dtype} on the CPU.",
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
    if not isinstance(dtype, _C.dtype):
        raise TypeError("dtype must be a type, str, or dtype object")
    return self.to(dtype=dtype, non_blocking=non_blocking)


Tensor.type = _type


BFloat16Tensor = _make("BFloat16Tensor", "bfloat16")
BoolTensor = _make("BoolTensor", "bool")
ByteTensor = _make("ByteTensor", "uint8")
CharTensor = _make("CharTensor", "int8")
DoubleTensor = _make("DoubleTensor", "float64")
FloatTensor = _make("FloatTensor", "float32")
HalfTensor = _make("HalfTensor", "float16")
IntTensor = _make("IntTensor", "int32")
LongTensor = _make("LongTensor", "int64")
ShortTensor = _make("ShortTensor", "int16")
