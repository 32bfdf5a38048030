"""Devices as compilers ask about them: one class of static methods a device, found by the device's name."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import mindtorch_v2 as torch

caching_worker_device_properties: dict[str, Any] = {}
caching_worker_current_devices: dict[str, int] = {}
device_interfaces: dict[str, type[DeviceInterface]] = {}


def _lacks(what: str) -> NotImplementedError:
    return NotImplementedError(f"this DeviceInterface does not define {what}")


class _Worker:
    """A device as processes see it that compile for another: they ask its driver at most once."""

    @staticmethod
    def set_device(device: int) -> None:
        """Say which device is the current one; the driver is not called."""
        raise _lacks("Worker.set_device")

    @staticmethod
    def current_device() -> int:
        """Return what `set_device` said, or the program's own current device."""
        raise _lacks("Worker.current_device")

    @staticmethod
    def get_device_properties(device: Any = None) -> Any:
        """Return the properties of a device."""
        raise _lacks("Worker.get_device_properties")


class DeviceInterface:
    """Base of the classes that say of a device what compilers ask; what it does not define raises NotImplementedError.

    >>> from mindtorch_v2._dynamo.device_interface import get_interface_for_device
    >>> get_interface_for_device("cpu").is_available()
    True
    """

    Worker: Any = _Worker

    @staticmethod
    def current_device() -> int:
        """Index of the current device."""
        raise _lacks("current_device")

    @staticmethod
    def set_device(device: Any) -> None:
        """Make a device the current one."""
        raise _lacks("set_device")

    @staticmethod
    def maybe_exchange_device(device: int) -> int:
        """Make a device the current one and return the one before; -1, and nothing done, for an index below 0."""
        raise _lacks("maybe_exchange_device")

    @staticmethod
    def exchange_device(device: int) -> int:
        """Make a device the current one and return the one before; -1, and nothing done, for an index below 0."""
        raise _lacks("exchange_device")

    @staticmethod
    def device_count() -> int:
        """Number of devices."""
        raise _lacks("device_count")

    @staticmethod
    def is_available() -> bool:
        """Whether there is a device."""
        raise _lacks("is_available")

    @staticmethod
    def stream(stream: Any) -> Any:
        """A context within which a stream is the current one."""
        raise _lacks("stream")

    @staticmethod
    def current_stream() -> Any:
        """The current stream."""
        raise _lacks("current_stream")

    @staticmethod
    def set_stream(stream: Any) -> None:
        """Make a stream the current one."""
        raise _lacks("set_stream")

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        """The driver's number of the current stream of a device."""
        raise _lacks("get_raw_stream")

    @staticmethod
    def synchronize(device: Any = None) -> None:
        """Wait for the work of a device."""
        raise _lacks("synchronize")

    @classmethod
    def get_device_properties(cls, device: Any = None) -> Any:
        """Return the properties of a device."""
        return cls.Worker.get_device_properties(device)

    @staticmethod
    def get_compute_capability(device: Any = None) -> Any:
        """Name of what the device can do, as its compilers say it."""
        raise _lacks("get_compute_capability")

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        """Whether the device computes in bfloat16."""
        raise _lacks("is_bf16_supported")

    @classmethod
    def is_dtype_supported(cls, dtype: Any, including_emulation: bool = False) -> bool:
        """Whether the device computes in a dtype."""
        return dtype != torch.bfloat16 or cls.is_bf16_supported(including_emulation)

    @staticmethod
    def memory_allocated(device: Any = None) -> int:
        """Bytes that tensors of a device use."""
        raise _lacks("memory_allocated")

    @staticmethod
    def is_triton_capable(device: Any = None) -> bool:
        """Whether Triton's kernels run on the device: no."""
        return False

    @classmethod
    def raise_if_triton_unavailable(cls, device: Any = None) -> None:
        """Raise RuntimeError where Triton's kernels do not run."""
        if not cls.is_triton_capable(device):
            raise RuntimeError("mindtorch_v2 compiles no kernels by Triton, for this device or any other")


class DeviceGuard:
    """A context within which a device is the current one; with None for its index nothing changes.

    >>> from mindtorch_v2._dynamo.device_interface import DeviceGuard, get_interface_for_device
    >>> with DeviceGuard(get_interface_for_device("cpu"), None):
    ...     pass
    """

    def __init__(self, device_interface: type[DeviceInterface], index: int | None) -> None:
        self.device_interface, self.idx, self.prev_idx = device_interface, index, -1

    def __enter__(self) -> None:
        if self.idx is not None:
            self.prev_idx = self.device_interface.exchange_device(self.idx)

    def __exit__(self, type: Any, value: Any, traceback: Any) -> Literal[False]:
        if self.idx is not None:
            self.idx = self.device_interface.maybe_exchange_device(self.prev_idx)
        return False


def _worker_of(name: str, module: Any) -> type[_Worker]:
    class Worker(_Worker):
        @staticmethod
        def set_device(device: int) -> None:
            caching_worker_current_devices[name] = device

        @staticmethod
        def current_device() -> int:
            known = caching_worker_current_devices.get(name)
            return module.current_device() if known is None else known

        @staticmethod
        def get_device_properties(device: Any = None) -> Any:
            device = torch.device(device) if isinstance(device, str) else device
            if isinstance(device, torch.device):
                if device.type != name:
                    raise AssertionError(f"expected a device of type {name}, got {device}")
                device = device.index
            if name not in caching_worker_device_properties:
                caching_worker_device_properties[name] = [
                    module.get_device_properties(i) for i in range(module.device_count())
                ]
            return caching_worker_device_properties[name][Worker.current_device() if device is None else device]

    return Worker


def _of(name: str, module: Any) -> type[DeviceInterface]:
    """The interface of a device whose module has PyTorch's names."""

    class Interface(DeviceInterface):
        device, Event, Stream = module.device, module.Event, module.Stream
        Worker = _worker_of(name, module)
        current_device = staticmethod(module.current_device)
        set_device = staticmethod(module.set_device)
        device_count = staticmethod(module.device_count)
        is_available = staticmethod(module.is_available)
        stream = staticmethod(module.stream)
        current_stream = staticmethod(module.current_stream)
        set_stream = staticmethod(module.set_stream)
        synchronize = staticmethod(module.synchronize)
        memory_allocated = staticmethod(module.memory_allocated)

        @staticmethod
        def exchange_device(device: int) -> int:
            if device < 0:
                return -1
            before = module.current_device()
            module.set_device(device)
            return before

        maybe_exchange_device = exchange_device

        @staticmethod
        def get_raw_stream(device_idx: int) -> int:
            return getattr(module.current_stream(device_idx), f"{name}_stream")

        @staticmethod
        def is_bf16_supported(including_emulation: bool = False) -> bool:
            return module.is_bf16_supported()

    return Interface


class CudaInterface(_of("cuda", torch.cuda)):  # type: ignore[misc]  # (a base that a function makes)
    """NVIDIA's devices.

    >>> from mindtorch_v2._dynamo.device_interface import CudaInterface
    >>> CudaInterface.device_count() == torch.cuda.device_count()
    True
    """

    @staticmethod
    def get_compute_capability(device: Any = None) -> int:
        """Both digits of the capability as one number."""
        major, minor = torch.cuda.get_device_capability(device)
        return 10 * major + minor


class NpuInterface(_of("npu", torch.npu)):  # type: ignore[misc]  # (a base that a function makes)
    """Ascend's devices.

    >>> from mindtorch_v2._dynamo.device_interface import NpuInterface
    >>> NpuInterface.device_count() == torch.npu.device_count()
    True
    """

    @staticmethod
    def get_compute_capability(device: Any = None) -> str:
        """Name of the chip."""
        return torch.npu.get_device_name(device)


class CpuDeviceProperties(NamedTuple):
    """Processors of the host.

    >>> from mindtorch_v2._dynamo.device_interface import CpuDeviceProperties
    >>> CpuDeviceProperties(2).multi_processor_count
    2
    """

    multi_processor_count: int


class CpuInterface(DeviceInterface):
    """The CPU: one device, whose work is done when a call returns.

    >>> from mindtorch_v2._dynamo.device_interface import CpuInterface
    >>> CpuInterface.current_device()
    0
    """

    class Event:
        """A time of the host's."""

        def __init__(self, enable_timing: bool = True) -> None:
            self.time = 0.0

        def elapsed_time(self, end_event: Any) -> float:
            """Milliseconds up to another event."""
            return (end_event.time - self.time) * 1000

        def record(self, stream: Any = None) -> None:
            """Keep the present time."""
            self.time = time.perf_counter()

    class Worker(_Worker):
        """The host, of which nothing has to be kept."""

        @staticmethod
        def get_device_properties(device: Any = None) -> CpuDeviceProperties:
            """Number of processors."""
            return CpuDeviceProperties(os.cpu_count() or 1)

    @staticmethod
    def is_available() -> bool:
        return True

    @staticmethod
    def is_bf16_supported(including_emulation: bool = False) -> bool:
        return True

    @staticmethod
    def get_compute_capability(device: Any = None) -> str:
        return ""

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        return 0

    @staticmethod
    def current_device() -> int:
        return 0

    @staticmethod
    def synchronize(device: Any = None) -> None:
        pass


def register_interface_for_device(device: Any, device_interface: type[DeviceInterface]) -> None:
    """Make a class the interface of a device, given as 'npu', 'npu:1' or `torch.device`.

    >>> from mindtorch_v2._dynamo.device_interface import DeviceInterface, get_interface_for_device, register_interface_for_device
    >>> class Mine(DeviceInterface):
    ...     pass
    >>> register_interface_for_device("mine", Mine)
    >>> get_interface_for_device("mine") is Mine
    True
    """
    init_device_reg()
    device_interfaces[str(device) if isinstance(device, torch.device) else device] = device_interface


def get_interface_for_device(device: Any) -> type[DeviceInterface]:
    """Find the interface of a device by its name or type.

    >>> from mindtorch_v2._dynamo.device_interface import get_interface_for_device
    >>> get_interface_for_device(torch.device("cpu")).__name__
    'CpuInterface'
    """
    init_device_reg()
    if isinstance(device, torch.device):
        device = device.type
    if device in device_interfaces:
        return device_interfaces[device]
    raise NotImplementedError(f"No interface for device {device}")


def get_registered_device_interfaces() -> Iterable[tuple[str, type[DeviceInterface]]]:
    """Names of devices and their interfaces.

    >>> from mindtorch_v2._dynamo.device_interface import get_registered_device_interfaces
    >>> {"cpu", "cuda", "npu"} <= dict(get_registered_device_interfaces()).keys()
    True
    """
    init_device_reg()
    return device_interfaces.items()


def init_device_reg() -> None:
    """Register the devices of this package, once, with a name for each index that there is.

    >>> from mindtorch_v2._dynamo.device_interface import init_device_reg
    >>> init_device_reg()
    """
    if "cpu" in device_interfaces:
        return
    device_interfaces["cpu"] = CpuInterface
    for name, interface in (("cuda", CudaInterface), ("npu", NpuInterface)):
        device_interfaces[name] = interface
        for i in range(interface.device_count()):
            device_interfaces[f"{name}:{i}"] = interface
