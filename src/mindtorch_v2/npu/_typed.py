"""The old tensor and storage types on NPUs: `torch.npu.FloatTensor`, `torch.npu.FloatStorage` and their kin."""

from typing import Any

from mindtorch_v2._operators.tensor_types import make_type
from mindtorch_v2.storage import TypedStorage, _dtype_to_storage_type_map, _LegacyStorage, _LegacyStorageMeta

BFloat16Tensor = make_type("BFloat16Tensor", "bfloat16", "npu", "torch.npu")
BoolTensor = make_type("BoolTensor", "bool", "npu", "torch.npu")
ByteTensor = make_type("ByteTensor", "uint8", "npu", "torch.npu")
CharTensor = make_type("CharTensor", "int8", "npu", "torch.npu")
DoubleTensor = make_type("DoubleTensor", "float64", "npu", "torch.npu")
FloatTensor = make_type("FloatTensor", "float32", "npu", "torch.npu")
HalfTensor = make_type("HalfTensor", "float16", "npu", "torch.npu")
IntTensor = make_type("IntTensor", "int32", "npu", "torch.npu")
LongTensor = make_type("LongTensor", "int64", "npu", "torch.npu")
ShortTensor = make_type("ShortTensor", "int16", "npu", "torch.npu")


class _NpuStorageMeta(_LegacyStorageMeta):
    """Storages of the class's dtype on an NPU count as instances; calling the class makes one there."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) and instance.device.type == "npu"  # type: ignore[attr-defined]  # (instances are tensors)

    def __call__(cls, *args: Any, **kwargs: Any) -> TypedStorage:
        return TypedStorage(*args, dtype=cls.dtype, device="npu", **kwargs)


STORAGES = {
    name: _NpuStorageMeta(
        name,
        (_LegacyStorage,),
        {"dtype": dtype, "__module__": "torch.npu", "__doc__": f"Typed storage of {dtype} on an NPU (old form)."},
    )
    for dtype, name in _dtype_to_storage_type_map().items()
    if not name.startswith(("Q", "Complex"))
}
