"""Memory of the host that the device works on, and the calls of ACL that it is made of."""

import ctypes
import mmap
from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import swapped
from mindtorch_v2.npu import torch_npu


def test_a_tensor_in_swapped_memory_is_as_any_other() -> None:
    before = torch.npu.memory_allocated()
    x = torch_npu.empty_with_swapped_memory([3, 4], dtype=torch.float32, device="npu:0")
    assert x.device == torch.device("npu:0") and x.shape == (3, 4) and x.is_contiguous()
    assert torch.npu.memory_allocated() == before and len(swapped._Memory.live) == 1
    x.copy_(torch.arange(12.0).reshape(3, 4))
    y = (x * 2)[1:, ::3]
    x[0, 0] = -1
    x.mul_(10)
    assert y.tolist() == [[8.0, 14.0], [16.0, 22.0]] and x[0].tolist() == [-10.0, 10.0, 20.0, 30.0]
    view = x[2]
    del x
    assert view.tolist() == [80.0, 90.0, 100.0, 110.0] and len(swapped._Memory.live) == 1
    del view
    assert not swapped._Memory.live


@pytest.mark.parametrize(
    ("dtype", "filled"),
    [(torch.float16, None), (torch.bfloat16, None), (torch.int8, 127), (torch.int64, 2**63 - 1), (torch.bool, True)],
)
def test_swapped_memory_is_filled_where_new_memory_is(dtype: Any, filled: Any) -> None:
    torch.use_deterministic_algorithms(True)
    try:
        x = torch_npu.empty_with_swapped_memory((5,), dtype=dtype)
    finally:
        torch.use_deterministic_algorithms(False)
    assert x.isnan().all() if filled is None else x.tolist() == [filled] * 5


def test_misuse_of_swapped_memory() -> None:
    with pytest.raises(RuntimeError, match="the device must be an NPU, but it is cpu"):
        torch_npu.empty_with_swapped_memory([1], device="cpu")
    assert torch_npu.empty_with_swapped_memory([0, 3]).shape == (0, 3)


def test_registered_memory_is_the_hosts(emulator: Any) -> None:
    runtime, size = emulator.runtime, 2 * mmap.PAGESIZE
    pages = mmap.mmap(-1, size)
    buffer = (ctypes.c_ubyte * size).from_buffer(pages)
    host, device = ctypes.addressof(buffer), ctypes.c_void_p()
    assert runtime.aclrtHostRegister(host + 1, 100, 0, ctypes.byref(device)) == 107000
    assert runtime.aclrtHostRegister(host, 0, 0, ctypes.byref(device)) == 107000
    private = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    own = (ctypes.c_ubyte * size).from_buffer(private)
    assert runtime.aclrtHostRegister(ctypes.addressof(own), size, 0, ctypes.byref(device)) == 107000
    assert runtime.aclrtHostRegister(host, size, 0, ctypes.byref(device)) == 0
    assert runtime.aclrtHostRegister(host, size, 0, ctypes.byref(device)) == 107000
    runtime.copy(device.value, torch.full((4,), 7, dtype=torch.uint8, device="npu").data_ptr(), 4, 3, 0, 0)
    runtime.synchronize(0)
    assert list(buffer[:5]) == [7, 7, 7, 7, 0]
    assert runtime.aclrtHostUnregister(host) == 0
    assert runtime.aclrtHostUnregister(host) == 107000
    calls = torch.npu.npurt()
    x = torch.ones(20)
    assert (
        calls.npuHostRegister(0, 80, 2)
        == calls.npuHostRegister(x.data_ptr(), 0, 2)
        == calls.npuHostUnregister(0)
        == 107000
    )
    assert calls.npuHostRegister(x.data_ptr(), 80, 0x10000000) == 0
    assert calls.npuHostRegister(x.data_ptr(), 80, 0x10000000) == 107000
    assert calls.npuHostUnregister(x.data_ptr()) == 0
