"""Programs that say "cuda" on NPUs: the import of this module rewrites the device in the calls that take one.

`torch.cuda` becomes `torch.npu`; "cuda" becomes "npu" where functions, methods, modules and checkpoints are given a device, and
"nccl" "hccl" where a process group is made. It holds for the whole process and cannot be undone. Where `torch` does not mean this
package there is no program to move, and the import changes nothing.
"""

import functools
import sys
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2._as_torch import is_torch
from mindtorch_v2._operators.table import rows_of
from mindtorch_v2.distributed import distributed_c10d
from mindtorch_v2.distributed._hccl import ProcessGroupHCCL

__all__ = ["moved"]

_FUNCTIONS = [
    "as_tensor",
    "autocast",
    "get_device_module",
    "load",
    "set_default_device",
    "sparse_bsc_tensor",
    "sparse_bsr_tensor",
    "sparse_compressed_tensor",
    "sparse_coo_tensor",
    "sparse_csc_tensor",
    "sparse_csr_tensor",
    "tensor",
]  # that are no operators
_MODULE = ["to", "to_empty"]
_OF_DEVICES = [
    "caching_allocator_alloc", "can_device_access_peer", "current_stream", "default_stream", "device",
    "get_device_capability", "get_device_name", "get_device_properties", "get_per_process_memory_fraction",
    "get_rng_state", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_reserved", "memory_stats", "memory_summary", "reset_peak_memory_stats", "set_device",
    "set_per_process_memory_fraction", "set_rng_state", "synchronize",
]  # fmt: skip  # of torch.npu, that are given a device or its name
_KEYWORDS = ("device", "device_id", "device_type", "map_location")


def moved(value: Any) -> Any:
    """A device, its name, or a map of such, with "npu" for "cuda"; anything else as it is."""
    if isinstance(value, str):
        return "npu" + value[4:] if value == "cuda" or value.startswith("cuda:") else value
    if isinstance(value, torch.device):
        return torch.device(moved(str(value))) if value.type == "cuda" else value
    if isinstance(value, dict):
        return {moved(key): moved(each) for key, each in value.items()}
    return value


def _wrapped(function: Callable) -> Callable:
    @functools.wraps(function)
    def on_npu(*args: Any, **kwargs: Any) -> Any:
        for name in _KEYWORDS:
            if name in kwargs:
                kwargs[name] = moved(kwargs[name])
        return function(*(moved(each) if isinstance(each, (str, torch.device)) else each for each in args), **kwargs)

    return on_npu


def _wrap(owner: Any, names: list[str]) -> None:
    for name in names:
        original = getattr(owner, name, None)  # an operator need not be bound here
        if isinstance(original, type):  # a context manager, which may be a decorator and a base class as well
            _wrap(original, ["__init__"])
        elif original is not None:
            setattr(owner, name, _wrapped(original))


def _on_hccl(value: Any) -> Any:
    """A back end's name with "hccl" for "nccl", on the devices that are meant."""
    return value.replace("nccl", "hccl").replace("cuda:", "npu:") if isinstance(value, str) else moved(value)


def _group(function: Callable) -> Callable:
    """`init_process_group` and its kin with "hccl" for "nccl"."""

    @functools.wraps(function)
    def on_hccl(*args: Any, **kwargs: Any) -> Any:
        args = tuple(_on_hccl(each) for each in args)
        kwargs = {name: _on_hccl(value) if name == "backend" else moved(value) for name, value in kwargs.items()}
        return function(*args, **kwargs)

    return on_hccl


def _deriving(original: type) -> type:
    """A class like one that makes objects for a device, with "npu" for "cuda"; its objects are those of the original."""

    class Meta(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return _wrapped(original)(*args, **kwargs)

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, original)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, original)

    return Meta(original.__name__, (), {"__doc__": original.__doc__, "__module__": original.__module__})


def _transfer() -> None:
    warnings.warn(
        "transfer_to_npu: torch.cuda is torch.npu from here on, and 'cuda' means 'npu' in this process",
        ImportWarning,
        stacklevel=3,
    )
    with_device = {row.handle.name for row in rows_of("aten").values() if "Device" in row.schema}
    _wrap(torch, [*with_device, *_FUNCTIONS])
    _wrap(torch.Tensor, [*with_device, "new_tensor", "to"])
    _wrap(torch.nn.Module, _MODULE)
    _wrap(torch.fft, ["fftfreq", "rfftfreq"])
    _wrap(torch.npu, _OF_DEVICES)
    changes = [
        (torch.Tensor, "cuda", torch.Tensor.npu),
        (torch.nn.Module, "cuda", torch.nn.Module.npu),
        (torch.Tensor, "is_cuda", property(lambda self: self.device.type == "npu")),
        (torch, "cuda", torch.npu),
        (torch, "Event", _deriving(torch.Event)),
        (torch.autograd.profiler_util, "Kernel", _deriving(torch.autograd.profiler_util.Kernel)),
        *((module, "ProcessGroupNCCL", ProcessGroupHCCL) for module in (dist, distributed_c10d)),
        (torch, "Generator", _deriving(torch.Generator)),
        (torch.npu, "CUDAGraph", torch.npu.NPUGraph),
        *((dist, name, _group(getattr(dist, name))) for name in ("init_process_group", "new_group")),
        (dist, "is_nccl_available", lambda: True),
    ]
    for owner, name, value in changes:
        setattr(owner, name, value)
    for part in ("", ".amp", ".memory", ".random"):
        for package in ("torch", "mindtorch_v2"):
            sys.modules[f"{package}.cuda{part}"] = sys.modules[f"mindtorch_v2.npu{part}"]


if is_torch():
    _transfer()
