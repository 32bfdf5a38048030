"""Operators made of C functions, on the device: they get its memory and its current stream."""

import ctypes

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import runtime

DEVICE_TO_DEVICE = 3  # aclrtMemcpyKind


@pytest.fixture(scope="module")
def copied():
    """CANN's own copy as an operator; it returns 0 or an error code."""
    return torch.library.from_ctypes(
        runtime.get().libraries.acl.aclrtMemcpyAsync,
        "native_npu::copied(Tensor x, int bytes) -> Tensor",
        out=lambda x, n: torch.empty_like(x),
        args=lambda outputs, x, n: (outputs[0], n, x, n, DEVICE_TO_DEVICE),
        stream=True,
    )


def test_a_function_on_the_device(copied):
    x = torch.arange(4.0).npu()
    assert copied(x, 16).cpu().tolist() == [0, 1, 2, 3]
    with torch.npu.stream(torch.npu.Stream()) as _:
        torch.npu.current_stream().wait_stream(torch.npu.default_stream())
        y = copied(x, 16)
    torch.npu.synchronize()
    assert y.cpu().tolist() == [0, 1, 2, 3]


def test_tensors_by_c_functions():
    """DLPack's exchange: a device that the protocol has no number for, and its current stream."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions = (ctypes.c_void_p * 7).from_address(
        pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    )
    stream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p)(functions[6])
    address = ctypes.c_void_p()
    assert stream(12, 0, ctypes.addressof(address)) == 0
    assert (address.value or 0) == torch.npu.current_stream().npu_stream
    other = torch.npu.Stream()
    with torch.npu.stream(other):
        assert stream(12, 0, ctypes.addressof(address)) == 0
    assert address.value == other.npu_stream
    view = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(functions[5])
    seen = (ctypes.c_int64 * 6)()
    x = torch.ones(2).npu()
    assert view(x, ctypes.addressof(seen)) == 0
    assert seen[0] == x.data_ptr() and seen[1] == 12  # device 12, number 0
