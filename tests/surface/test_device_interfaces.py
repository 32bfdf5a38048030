"""Devices as compilers ask about them."""

from typing import Any

import pytest

import mindtorch_v2 as torch
from mindtorch_v2._dynamo import device_interface
from mindtorch_v2._dynamo.device_interface import CpuInterface, DeviceGuard, DeviceInterface, get_interface_for_device


class _Counting(DeviceInterface):
    at = 0

    @staticmethod
    def exchange_device(device: int) -> int:
        before, _Counting.at = _Counting.at, device
        return before

    maybe_exchange_device = exchange_device


def test_interfaces_are_found_by_name_and_by_device() -> None:
    assert get_interface_for_device("cpu") is get_interface_for_device(torch.device("cpu")) is CpuInterface
    assert get_interface_for_device("npu").__name__ == "NpuInterface"
    with pytest.raises(NotImplementedError, match="No interface for device nothing"):
        get_interface_for_device("nothing")


def test_a_guard_goes_to_a_device_and_back() -> None:
    with DeviceGuard(_Counting, 3):
        assert _Counting.at == 3
    assert _Counting.at == 0
    with DeviceGuard(_Counting, None):
        assert _Counting.at == 0


def test_what_an_interface_does_not_define_says_so() -> None:
    for name, arguments in {"device_count": (), "set_device": (0,), "get_device_properties": ()}.items():
        with pytest.raises(NotImplementedError, match=name):
            getattr(DeviceInterface, name)(*arguments)
    with pytest.raises(RuntimeError, match="Triton"):
        CpuInterface.raise_if_triton_unavailable()
    assert CpuInterface.is_dtype_supported(torch.bfloat16) and CpuInterface.is_dtype_supported(torch.float32)


def test_workers_ask_the_driver_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def properties(device: int) -> Any:
        asked.append(device)
        return f"properties of {device}"

    monkeypatch.setattr(torch.npu, "device_count", lambda: 2)
    monkeypatch.setattr(torch.npu, "get_device_properties", properties)
    monkeypatch.setattr(device_interface, "caching_worker_device_properties", {})
    monkeypatch.setattr(device_interface, "caching_worker_current_devices", {})
    worker = device_interface.NpuInterface.Worker
    worker.set_device(1)
    assert worker.current_device() == 1
    assert worker.get_device_properties() == worker.get_device_properties("npu:1") == "properties of 1"
    assert asked == [0, 1]
    with pytest.raises(AssertionError, match="type npu"):
        worker.get_device_properties("cuda:0")
