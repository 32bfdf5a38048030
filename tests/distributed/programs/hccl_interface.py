"""HCCL's C interface between two emulated devices of one process. Prints what was found, as JSON."""

import ctypes
import json

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import hccl, state

runtime = state.get().runtime
library = hccl.Library()
for name in ("HcclCommInitAll", "HcclGetCommName", "HcclGetRankSize", "HcclGetRankId"):
    library.functions[name] = getattr(ctypes.CDLL(hccl.find("libhccl.so")[0]), name)
call = library.functions
FP32, BFP16, FP64, FP16 = 4, 11, 10, 3

comms = (ctypes.c_void_p * 2)()
devices = (ctypes.c_int32 * 2)(0, 1)
assert call["HcclCommInitAll"](2, devices, comms) == 0
tensors = [torch.tensor([1.0, 2.0, 3.0], device="npu:0"), torch.tensor([10.0, 20.0, 30.0], device="npu:1")]


def on(device, name, *arguments):
    runtime.activate(device)
    return call[name](*arguments, comms[device], None)


def reduce(values, kind):
    for device, tensor in enumerate(values):
        place = tensor.data_ptr()
        assert on(device, "HcclAllReduce", place, place, tensor.numel(), kind, 0) == 0
    return [tensor.tolist() for tensor in values]


found = {"sums": reduce(tensors, FP32)}
halves = [torch.tensor([v], dtype=torch.float16, device=f"npu:{d}") for d, v in enumerate((2048.0, 1.0))]
found["halves"] = reduce(halves, FP16)[0]

name, size, rank = ctypes.create_string_buffer(128), ctypes.c_uint32(), ctypes.c_uint32()
call["HcclGetCommName"](ctypes.c_void_p(comms[1]), name)
call["HcclGetRankSize"](ctypes.c_void_p(comms[1]), ctypes.byref(size))
call["HcclGetRankId"](ctypes.c_void_p(comms[1]), ctypes.byref(rank))
found["names"] = [name.value.startswith(b"hccl-"), size.value, rank.value]

place = tensors[0].data_ptr()
host = ctypes.create_string_buffer(64)
one, two, none = hccl.counts([1, 1]), hccl.counts([2, 1]), hccl.counts([0, 0])
info = hccl.RootInfo()
made = ctypes.c_void_p()


def destroyed():
    for comm in comms:
        assert call["HcclCommDestroy"](comm) == 0
    return call["HcclCommDestroy"](comms[0])


attempts = {
    "host memory": lambda: on(0, "HcclAllReduce", ctypes.addressof(host), place, 3, FP32, 0),
    "too much": lambda: on(0, "HcclAllReduce", place, place, 1 << 20, FP32, 0),
    "no memory": lambda: on(0, "HcclAllReduce", None, place, 3, FP32, 0),
    "type": lambda: on(0, "HcclBroadcast", place, 3, 99, 0),
    "operation": lambda: on(0, "HcclAllReduce", place, place, 3, FP32, 7),
    "product of bfp16": lambda: on(0, "HcclAllReduce", place, place, 3, BFP16, hccl.PROD),
    "sum of fp64": lambda: on(0, "HcclAllReduce", place, place, 1, FP64, hccl.SUM),
    "root": lambda: on(0, "HcclBroadcast", place, 3, FP32, 2),
    "to itself": lambda: on(0, "HcclSend", place, 3, FP32, 0),
    "device": lambda: runtime.activate(1) or call["HcclBroadcast"](place, 3, FP32, 0, comms[0], None),
    "counts": lambda: on(0, "HcclAlltoAllV", place, two, none, FP32, place, one, none, FP32),
    "root info": lambda: call["HcclCommInitRootInfo"](2, ctypes.byref(info), 0, ctypes.byref(made)),
    "rank": lambda: (
        call["HcclGetRootInfo"](ctypes.byref(info))
        or call["HcclCommInitRootInfo"](2, ctypes.byref(info), 2, ctypes.byref(made))
    ),
    "devices": lambda: call["HcclCommInitAll"](2, (ctypes.c_int32 * 2)(0, 0), (ctypes.c_void_p * 2)()),
    "destroyed": destroyed,
}
found["errors"] = {}
for key, attempt in attempts.items():
    code = attempt()
    found["errors"][key] = [code, runtime.message()]
print(json.dumps(found))
