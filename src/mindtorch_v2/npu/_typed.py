"""The old tensor types on NPUs: `torch.npu.FloatTensor` and its kin."""

from mindtorch_v2._operators.tensor_types import make_type

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
