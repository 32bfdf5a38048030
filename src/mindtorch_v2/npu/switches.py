"""Switches of torch_npu that are kept and can be read back, and what is asked of autocast and of overflow by older names."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.npu import runtime as _runtime
from mindtorch_v2._backends.npu import settings as _settings
from mindtorch_v2._backends.npu import state as _state
from mindtorch_v2._backends.npu import stream as _stream
from mindtorch_v2._backends.npu.external_event import ExternalEvent

__all__ = [
    "CubeMathType",
    "ExternalEvent",
    "SyncLaunchStream",
    "are_compatible_impl_enabled",
    "clear_npu_overflow_flag",
    "current_blas_handle",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
    "disable_deterministic_with_backward",
    "enable_deterministic_with_backward",
    "get_allocator_backend",
    "get_amp_supported_dtype",
    "get_autocast_dtype",
    "get_device_limit",
    "get_mm_bmm_format_nd",
    "get_npu_overflow_flag",
    "get_sync_debug_mode",
    "host_empty_cache",
    "is_autocast_enabled",
    "native_device",
    "preferred_linalg_library",
    "reset_accumulated_memory_stats",
    "sdp_kernel",
    "set_autocast_dtype",
    "set_device_limit",
    "set_op_timeout_ms",
    "set_autocast_enabled",
    "set_deterministic_level",
    "set_mm_bmm_format_nd",
    "set_sync_debug_mode",
    "super_kernel_scope_begin",
    "super_kernel_scope_end",
    "use_compatible_impl",
]

native_device = "npu"  # the device's name, as older programs ask for it
_told: set[str] = set()
_kept: dict[str, Any] = {"mm_bmm_format_nd": True, "compatible_impl": False}


class CubeMathType:
    """Numbers for how the matrix unit may round operands. FORCE_GRP_ACC_FOR_FP32 is refused where it is set."""

    KEEP_DTYPE = 0
    ALLOW_FP32_DOWN_PRECISION = 1
    USE_FP16 = 2
    USE_HF32 = 3
    FORCE_GRP_ACC_FOR_FP32 = 4


class SyncLaunchStream(_stream.Stream):
    """A stream; its work is handed to the device by the thread that asks for it, as that of every stream here."""


def set_mm_bmm_format_nd(nd: bool) -> None:
    """Keep whether matrix products keep the plain layout, which they always do here; TypeError for what is no bool."""
    if not isinstance(nd, bool):
        raise TypeError(f"mm_bmm_format_nd must be a bool, not {type(nd).__name__}")
    _kept["mm_bmm_format_nd"] = nd


def get_mm_bmm_format_nd() -> bool:
    """The last value of `set_mm_bmm_format_nd`; True at first."""
    return _kept["mm_bmm_format_nd"]


def use_compatible_impl(is_enable: bool) -> None:
    """Keep whether operators should act as PyTorch's where torch_npu's own ways differ; here they always do."""
    _kept["compatible_impl"] = bool(is_enable)


def are_compatible_impl_enabled() -> bool:
    """The last value of `use_compatible_impl`; False at first."""
    return _kept["compatible_impl"]


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Choose what an operator does that lets the host wait, such as `item`: nothing ("default", 0), "warn" (1) or "error" (2).

    RuntimeError for what is no mode.
    """
    _settings.waits.set(debug_mode)


def get_sync_debug_mode() -> int:
    """The number of the mode of `set_sync_debug_mode`; 0 at first."""
    return _settings.waits.mode


def set_deterministic_level(level: int) -> None:
    """Ask for deterministic operators (1, 2) or not (0), as `torch.use_deterministic_algorithms` does."""
    if level not in (0, 1, 2):
        raise ValueError(f"set_deterministic_level(): level must be 0, 1 or 2, but it is {level}")
    torch.use_deterministic_algorithms(level > 0)


class _Deterministic(torch.autograd.Function):
    """The identity, from which on deterministic operators are asked for or not; the reverse from its gradient on."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, on: bool) -> Any:
        ctx.on = on
        torch.use_deterministic_algorithms(on)
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
        torch.use_deterministic_algorithms(not ctx.on)
        return grad, None


def enable_deterministic_with_backward(tensor: Any) -> Any:
    """The tensor; deterministic operators are asked for from here on, until the gradient has come back here."""
    return _Deterministic.apply(tensor, True)


def disable_deterministic_with_backward(tensor: Any) -> Any:
    """The tensor; deterministic operators are not asked for from here on, until the gradient has come back here."""
    return _Deterministic.apply(tensor, False)


# The mark that torch._dynamo.forbid_in_graph makes, without loading the compiler: a graph would keep one of the two states.
for _function in (enable_deterministic_with_backward, disable_deterministic_with_backward):
    vars(_function)["_dynamo_forbidden"] = True


def get_npu_overflow_flag() -> bool:
    """False: infinities and NaN are kept, and no flag is raised in their stead."""
    return False


def clear_npu_overflow_flag() -> None:
    """Do nothing, as there is no flag."""


def _number_of_device(device: Any) -> None:
    if not isinstance(device, int) or isinstance(device, bool):
        raise TypeError(f"device must be an int, not {type(device).__name__}")


def set_device_limit(device: int, cube_num: int = -1, vector_num: int = -1) -> None:
    """Raise NotImplementedError: the cores that a process may use are not limited. TypeError for what is no number of a device."""
    _number_of_device(device)
    raise NotImplementedError("torch.npu.set_device_limit: the cores that a process may use are not limited here")


def get_device_limit(device: int) -> dict[str, int]:
    """The numbers of cores of a device, which are not limited, by "cube_core_num" and "vector_core_num".

    TypeError for what is no number of a device.
    """
    _number_of_device(device)
    found = torch.npu.get_device_properties(device)
    return {"cube_core_num": found.cube_core_num, "vector_core_num": found.vector_core_num}


def set_op_timeout_ms(timeout: int) -> None:
    """Let CANN end operators that run longer than so many milliseconds; the emulator takes the number and ends none.

    RuntimeError for what is no unsigned int of 32 bits, NotImplementedError where CANN has no such limit.
    """
    if timeout < 0:
        raise RuntimeError(f"set_op_timeout_ms(): can't convert negative value to unsigned int: {timeout}")
    if timeout >= 1 << 32:
        raise RuntimeError(f"set_op_timeout_ms(): Overflow when unpacking an unsigned int: {timeout}")
    runtime = _runtime.get()
    runtime.check("aclrtSetOpExecuteTimeOutWithMs", runtime.aclrtSetOpExecuteTimeOutWithMs(timeout))


def current_blas_handle() -> None:
    """None, as torch_npu returns: the device has no such handle."""


def get_amp_supported_dtype() -> list:
    """The dtypes that autocast computes in."""
    return [torch.float16, torch.bfloat16]


def is_autocast_enabled() -> bool:
    """Whether autocast is on for NPUs."""
    return torch.is_autocast_enabled("npu")


def set_autocast_enabled(enable: bool) -> None:
    """Turn autocast on or off for NPUs."""
    torch.set_autocast_enabled("npu", enable)


def get_autocast_dtype() -> torch.dtype:
    """The dtype that autocast computes in on NPUs."""
    return torch.get_autocast_dtype("npu")


def set_autocast_dtype(dtype: torch.dtype) -> None:
    """Choose the dtype that autocast computes in on NPUs."""
    torch.set_autocast_dtype("npu", dtype)


def get_allocator_backend() -> str:
    """The name of the allocator: native."""
    return "native"


def host_empty_cache() -> None:
    """Give back the pinned memory of the host that no tensor uses and that is kept for the next ones."""
    if _state.started():
        _state.get().pinned.empty_cache()


def reset_accumulated_memory_stats(device: Any = None) -> None:
    """Do nothing but check the device: counts over time are not kept."""
    _stream.device_index(device)


def _super_kernel(scope_name: str | None) -> None:
    if scope_name is not None and not scope_name.strip():
        raise RuntimeError(f"super_kernel_scope: scope_name must not be empty, but it is {scope_name!r}")
    if "super kernel" not in _told:
        _told.add("super kernel")
        warnings.warn("super_kernel_scope_begin and _end have no effect here: kernels are not fused", stacklevel=3)


def super_kernel_scope_begin(scope_name: str | None = None) -> None:
    """Do nothing, which a warning says once: kernels of a graph are not fused. RuntimeError for an empty name."""
    _super_kernel(scope_name)


def super_kernel_scope_end(scope_name: str | None = None) -> None:
    """The end of `super_kernel_scope_begin`."""
    _super_kernel(scope_name)


def preferred_linalg_library(backend: Any = None) -> Any:
    """`torch._C._LinalgBackend.Default`, whatever is asked for, as torch_npu returns: NPUs have no such libraries to choose from."""
    if backend is not None:
        warnings.warn(
            f"torch.npu.preferred_linalg_library: NPUs have no libraries to choose from; {backend} has no effect",
            stacklevel=2,
        )
    return torch._C._LinalgBackend.Default


def flash_sdp_enabled() -> bool:
    """The switch of `torch.backends.cuda` that attention asks on every device."""
    return torch.backends.cuda.flash_sdp_enabled()


def enable_flash_sdp(enabled: bool) -> None:
    """Turn that switch."""
    torch.backends.cuda.enable_flash_sdp(enabled)


def mem_efficient_sdp_enabled() -> bool:
    """The switch of `torch.backends.cuda` that attention asks on every device."""
    return torch.backends.cuda.mem_efficient_sdp_enabled()


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Turn that switch."""
    torch.backends.cuda.enable_mem_efficient_sdp(enabled)


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True
) -> Iterator[None]:
    """A context in which attention may take only the forms that are enabled."""
    with torch.backends.cuda._only(enable_flash, enable_math, enable_mem_efficient, True):
        yield


def math_sdp_enabled() -> bool:
    """The switch of `torch.backends.cuda` that attention asks on every device."""
    return torch.backends.cuda.math_sdp_enabled()


def enable_math_sdp(enabled: bool) -> None:
    """Turn that switch."""
    torch.backends.cuda.enable_math_sdp(enabled)
