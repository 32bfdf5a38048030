"""Programs that say "cuda" on NPUs: the import of this module rewrites the device in the calls that take one.

`torch.cuda` gets the names of `torch.npu`; "cuda" becomes "npu" where functions, methods, modules and checkpoints are given a
device, and "nccl" "hccl" where a process group is made. `torch.jit.script` gives back what it is given, as torch_npu's does. It
holds for the whole process and cannot be undone. Where `torch` does not mean this package there is no program to move, and the
import changes nothing.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
import mindtorch_v2.distributed as dist
from mindtorch_v2._as_torch import is_torch
from mindtorch_v2._operators.table import rows_of
from mindtorch_v2.distributed import device_mesh, distributed_c10d
from mindtorch_v2.distributed._hccl import ProcessGroupHCCL
from mindtorch_v2.npu.torch_npu import profiler

__all__: list[str] = []

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
    "Stream", "caching_allocator_alloc", "can_device_access_peer", "current_stream", "default_stream", "device",
    "get_device_capability", "get_device_name", "get_device_properties", "get_per_process_memory_fraction",
    "get_rng_state", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_reserved", "memory_stats", "memory_summary", "reset_peak_memory_stats", "set_device",
    "set_per_process_memory_fraction", "set_rng_state", "synchronize", "utilization",
]  # fmt: skip  # of torch.npu, that are given a device or its name
_KEYWORDS = ("device", "device_id", "device_type", "map_location", "pin_memory_device")
_LARGEST = 10 << 20  # bytes of a file that says which functions of libraries are not moved
_cuda_is_available = torch.cuda.is_available


def _replace_cuda_to_npu(value: Any) -> Any:
    """A device, its name, or a map of such, with "npu" for "cuda"; anything else as it is."""
    if isinstance(value, str):
        return value.replace("cuda", "npu") if value == "cuda" or value.startswith("cuda:") else value
    if isinstance(value, torch.device):
        return torch.device(_replace_cuda_to_npu(str(value))) if value.type == "cuda" else value
    return _replace_cuda_to_npu_in_dict(value) if isinstance(value, dict) else value


def _replace_cuda_to_npu_in_dict(device_dict: dict) -> dict:
    """A map with "npu" for each "cuda" in its keys and values."""

    def moved(value: Any) -> Any:
        return value.replace("cuda", "npu") if isinstance(value, str) else _replace_cuda_to_npu(value)

    return {moved(key): moved(value) for key, value in device_dict.items()}


def _wrapper_cuda(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function whose devices are NPUs where it is told CUDA's."""

    @functools.wraps(fn)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        for name in _KEYWORDS:
            if name in kwargs:
                kwargs[name] = _replace_cuda_to_npu(kwargs[name])
        ids = kwargs.get("device_ids")
        if isinstance(ids, (list, tuple)):
            kwargs["device_ids"] = type(ids)(_replace_cuda_to_npu(each) for each in ids)
        args = tuple(_replace_cuda_to_npu(each) if isinstance(each, (str, torch.device)) else each for each in args)
        return fn(*args, **kwargs)

    return decorated


def _device_wrapper(owner: Any, names: list[str]) -> None:
    for name in names:
        original = getattr(owner, name, None)  # an operator need not be bound here
        if isinstance(original, type):  # a context manager, which may be a decorator and a base class as well
            _device_wrapper(original, ["__init__"])
        elif original is not None:
            setattr(owner, name, _wrapper_cuda(original))


def _wrapper_hccl(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`init_process_group` and its kin with "hccl" for "nccl"."""

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("nccl", "hccl").replace("cuda", "npu")
        return _replace_cuda_to_npu(value)

    @functools.wraps(fn)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        kwargs = {name: moved(v) if name == "backend" else _replace_cuda_to_npu(v) for name, v in kwargs.items()}
        return fn(*(moved(each) for each in args), **kwargs)

    return decorated


def _wrapper_profiler(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A profiler that leaves out a configuration for CUDA's own data, and says so."""

    @functools.wraps(fn)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        config = kwargs.get("experimental_config")
        if config is not None and not isinstance(config, profiler._ExperimentalConfig):
            logging.warning(
                "transfer_to_npu: experimental_config of torch.profiler.profile is for CUDA and is left out; give a "
                "torch_npu.profiler._ExperimentalConfig"
            )
            del kwargs["experimental_config"]
        return fn(*args, **kwargs)

    return decorated


def _wrapper_libraries_func(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A library's function that sees whether there is CUDA, not whether there are NPUs."""

    @functools.wraps(fn)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        before, torch.cuda.is_available = torch.cuda.is_available, _cuda_is_available
        try:
            return fn(*args, **kwargs)
        finally:
            torch.cuda.is_available = before

    return decorated


def _check_input_file_valid(file_path: str) -> bool:
    """Whether a path is that of a file to read: no link, a name of at most 200 characters, at most 10 MiB."""
    if os.path.islink(os.path.abspath(file_path)):
        return False
    path = os.path.realpath(file_path)
    if not (os.path.exists(path) and os.access(path, os.R_OK)):
        return False
    return len(os.path.basename(path)) <= 200 and os.path.getsize(path) <= _LARGEST


def _load_json_file(file_path: str) -> dict:
    """The object that a file of JSON holds; an empty one where it holds none."""
    if not _check_input_file_valid(file_path):
        return {}
    try:
        with open(file_path, encoding="utf-8") as file:
            found = json.load(file)
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _version(package: str) -> tuple[int, ...] | None:
    try:
        parts = importlib.metadata.version(package).split(".")
    except importlib.metadata.PackageNotFoundError:
        return None
    return tuple(int(each) for each in parts[:3] if each.isdecimal())


def _do_wrapper_libraries_func(json_dict: dict) -> None:
    """Let functions of libraries that are loaded see no CUDA: by package a version, from which on, and their names."""
    for package, entry in json_dict.items():
        version = _version(package) if package in sys.modules else None
        if version is None or version < tuple(map(int, entry["version"].split("."))):
            continue
        for full_name, kind in entry["apis"].items():
            place, _, name = full_name.rpartition(".")
            place, _, owner = place.rpartition(".") if kind == "method" else (place, "", "")
            found = sys.modules.get(place)
            found = getattr(found, owner, None) if owner else found
            if found is not None and hasattr(found, name):
                setattr(found, name, _wrapper_libraries_func(getattr(found, name)))


def _del_nccl_device_backend_map() -> None:
    """Forget that NCCL is the back end of CUDA."""
    getattr(torch.distributed.Backend, "default_device_backend_map", {}).pop("cuda", None)


def _deriving(original: type) -> type:
    """A class like one that makes objects for a device, with "npu" for "cuda"; its objects are those of the original."""

    class Meta(type):
        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            return _wrapper_cuda(original)(*args, **kwargs)

        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, original)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, original)

    return Meta(original.__name__, (), {"__doc__": original.__doc__, "__module__": original.__module__})


def _entering(enter: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`with torch.device("cuda"):` makes tensors on the NPU."""

    def __enter__(self: Any) -> Any:
        entered = enter(self)
        if self.type == "cuda":
            torch._C._set_default_device(_replace_cuda_to_npu(self))
        return entered

    return __enter__


def _script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    return obj


def _patch_cuda() -> None:
    """Give `torch.cuda` the names of `torch.npu`; what only CUDA has stays there, and raises as it did."""
    for name in torch.npu.__all__:
        setattr(torch.cuda, name, getattr(torch.npu, name))
    for owner in (torch.cuda, torch.npu.memory, torch.npu.random):  # the modules are those of torch.cuda, too
        _device_wrapper(owner, [name for name in _OF_DEVICES if name in vars(owner)])
    for name, value in {
        "CUDAGraph": torch.npu.NPUGraph,
        "DoubleTensor": torch.npu.FloatTensor,  # as torch_npu has it
        "_lazy_init": torch.npu.init,
        "_lazy_call": torch.npu._lazy_call,
    }.items():
        setattr(torch.cuda, name, value)
    if "default_generators" in vars(torch.cuda):
        del torch.cuda.default_generators
    own = torch.cuda.__getattr__

    def found(name: str) -> Any:
        """Value that the NPU makes when asked for it, else that of `torch.cuda`."""
        try:
            return torch.npu.__getattr__(name)
        except AttributeError:
            return own(name)

    torch.cuda.__getattr__ = found
    for part in (".amp", ".memory", ".random", ".amp.autocast_mode", ".amp.common", ".amp.grad_scaler"):
        for package in ("torch", "mindtorch_v2"):
            sys.modules[f"{package}.cuda{part}"] = sys.modules[f"mindtorch_v2.npu{part}"]


def _patch_profiler() -> None:
    """`torch.profiler` as torch_npu's; its activity CUDA is the NPU's."""
    activities: Any = profiler.ProfilerActivity
    activities.CUDA = activities.NPU
    for name, value in {
        "ProfilerAction": profiler.ProfilerAction,
        "ProfilerActivity": activities,
        "profile": _wrapper_profiler(profiler.profile),
        "schedule": profiler.schedule,
        "tensorboard_trace_handler": profiler.tensorboard_trace_handler,
    }.items():
        setattr(torch.profiler, name, value)


def _init() -> None:
    warnings.warn(
        "transfer_to_npu: torch.cuda has the names of torch.npu from here on, and 'cuda' means 'npu' in this process; "
        "torch.jit.script does nothing",
        ImportWarning,
        stacklevel=3,
    )
    with_device = {row.handle.name for row in rows_of("aten").values() if "Device" in row.schema}
    _device_wrapper(torch, [*with_device, *_FUNCTIONS])
    _device_wrapper(torch.Tensor, [*with_device, "new_tensor", "to"])
    _device_wrapper(torch.nn.Module, _MODULE)
    _device_wrapper(torch.fft, ["fftfreq", "rfftfreq"])
    _device_wrapper(torch.utils.cpp_extension, ["include_paths", "library_paths"])
    _device_wrapper(dist.ProcessGroup, ["_get_backend"])
    _device_wrapper(torch.nn.parallel.DistributedDataParallel, ["__init__"])
    _device_wrapper(torch.npu.memory, ["_record_memory_history", "_snapshot"])
    _device_wrapper(device_mesh.DeviceMesh, ["__init__"])
    for module in (dist, device_mesh):
        _device_wrapper(module, ["init_device_mesh"])
    _patch_cuda()
    _patch_profiler()
    _del_nccl_device_backend_map()
    changes = [
        (torch.Tensor, "cuda", torch.Tensor.npu),
        (torch.nn.Module, "cuda", torch.nn.Module.npu),
        (torch.Tensor, "is_cuda", property(lambda self: self.device.type == "npu")),
        (torch.device, "__enter__", _entering(torch.device.__enter__)),
        (torch, "Event", _deriving(torch.Event)),
        (torch, "Generator", _deriving(torch.Generator)),
        (torch, "Stream", _deriving(torch.Stream)),
        (torch, "UntypedStorage", _deriving(torch.UntypedStorage)),
        (torch.autograd.profiler_util, "Kernel", _deriving(torch.autograd.profiler_util.Kernel)),
        *((module, "ProcessGroupNCCL", ProcessGroupHCCL) for module in (dist, distributed_c10d)),
        *((dist, name, _wrapper_hccl(getattr(dist, name))) for name in ("init_process_group", "new_group")),
        (dist, "is_nccl_available", lambda: True),
        (torch.jit, "script", _script),
        (torch.jit, "script_method", _script),
    ]
    for owner, name, value in changes:
        setattr(owner, name, value)
    _do_wrapper_libraries_func(_load_json_file(os.path.join(os.path.dirname(__file__), "apis_config.json")))


if is_torch():
    _init()
