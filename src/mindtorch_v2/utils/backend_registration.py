"""A name, methods and a module for the device PrivateUse1, which a program has kernels for.

docs/cpp-operators.md shows how a program makes such a device in C++.
"""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._core.torch_function import hand_over, has_torch_function

__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]


def rename_privateuse1_backend(backend_name: str) -> None:
    """Give PrivateUse1 another name: `torch.device("foo")` means it from then on.

    Once in a process. RuntimeError for the name of a built-in device, where it has another name, and where NPUs are in
    use, which have the same key.

    >>> torch.utils.rename_privateuse1_backend("npu")  # its name here until a program gives another
    """
    _C._rename_own_device(backend_name)
    activity = torch.profiler.ProfilerActivity
    if not hasattr(activity, backend_name.upper()):
        setattr(activity, backend_name.upper(), activity.PrivateUse1)


def _register_once(owner: Any, name: str, value: Any) -> None:
    if hasattr(owner, name):
        raise RuntimeError(f"The custom device module of {owner} has already been registered with {name}")
    setattr(owner, name, value)


def _index_of(kind: str, device: Any) -> int:
    """The number of the device that is meant; the current one where none is."""
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != kind:
            raise RuntimeError(f"Invalid device, must be {kind} device")
        device = device.index
    if device is None:
        current = getattr(getattr(torch, kind, None), "current_device", None)
        return 0 if current is None else current()
    return device


def _tensor_methods(kind: str) -> None:
    def is_there(self: torch.Tensor) -> bool:
        if has_torch_function((self,)):
            return hand_over(there.__get__, (self,), self)
        return self.device.type == kind

    def move(self: torch.Tensor, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> torch.Tensor:
        if has_torch_function((self,)):
            return hand_over(move, (self,), self, device=device, non_blocking=non_blocking, **kwargs)
        return self.to(device=torch.device(kind, _index_of(kind, device)), non_blocking=non_blocking, **kwargs)

    is_there.__name__, move.__name__ = f"is_{kind}", kind
    there = property(is_there)
    _register_once(torch.Tensor, f"is_{kind}", there)
    _register_once(torch.Tensor, kind, move)


def _module_methods(kind: str) -> None:
    def move(self: torch.nn.Module, device: Any = None) -> torch.nn.Module:
        return self._apply(lambda t: getattr(t, kind)(device))

    if not hasattr(torch.Tensor, kind):
        raise RuntimeError(
            f"Can not automatically generate {kind}() method for torch.nn.Module. torch.Tensor has no method {kind}(): "
            "generate it with for_tensor=True."
        )
    _register_once(torch.nn.Module, kind, move)


def _packed_sequence_methods(kind: str) -> None:
    owner = torch.nn.utils.rnn.PackedSequence

    def move(self: Any, *args: Any, **kwargs: Any) -> Any:
        probe = torch.tensor((), dtype=self.data.dtype, device=self.data.device).to(*args, **kwargs)
        return self.to(*args, **kwargs) if probe.device.type == kind else self.to(*args, device=kind, **kwargs)

    if not hasattr(torch.Tensor, kind):
        raise RuntimeError(
            f"Can not automatically generate is_{kind}() or {kind}() method for torch.nn.utils.rnn.PackedSequence. "
            f"torch.Tensor has no method {kind}(): generate it with for_tensor=True."
        )
    _register_once(owner, f"is_{kind}", property(lambda self: self.data.device.type == kind))
    _register_once(owner, kind, move)


def _storage_methods(kind: str, unsupported: Any) -> None:
    def move(self: Any, device: Any = None, non_blocking: bool = False) -> Any:
        place = torch.device(kind, _index_of(kind, device))
        if self.device == place:
            return self
        return torch.UntypedStorage(self.size(), device=place).copy_(self, non_blocking)

    def move_typed(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        if unsupported and self.dtype in unsupported:
            raise RuntimeError(f"Cannot create {kind} storage as {self.dtype} dtype is not supported by this backend")
        moved = getattr(self._untyped_storage, kind)(device, non_blocking, **kwargs)
        return self._new_wrapped_storage(moved)

    for owner, function in ((torch.UntypedStorage, move), (torch.TypedStorage, move_typed)):
        _register_once(owner, f"is_{kind}", property(lambda self: self.device.type == kind))
        _register_once(owner, kind, function)


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: list[torch.dtype] | None = None,
) -> None:
    """Give tensors, modules, packed sequences and storages `x.foo()` and `x.is_foo`, where foo is the device's name.

    Once in a process: RuntimeError where a method of that name is there.

    >>> torch.utils.generate_methods_for_privateuse1_backend(False, False, False)  # none of them
    """
    kind = torch._C._get_privateuse1_backend_name()
    if for_tensor:
        _tensor_methods(kind)
    if for_module:
        _module_methods(kind)
    if for_packed_sequence:
        _packed_sequence_methods(kind)
    if for_storage:
        _storage_methods(kind, unsupported_dtype)


def _get_custom_mod_func(func_name: str) -> Any:
    """The function of that name of the module that was registered for the device; RuntimeError if there is none."""
    if not isinstance(func_name, str):
        raise AssertionError(f"func_name must be `str`, but got `{type(func_name)}`.")
    kind = torch._C._get_privateuse1_backend_name()
    function = getattr(getattr(torch, kind, None), func_name, None)
    if function is None:
        raise RuntimeError(
            f"Try to call torch.{kind}.{func_name}. The backend must register a custom backend module with "
            f"`torch._register_device_module('{kind}', BackendModule)`. And BackendModule needs to have the following API's:\n "
            f"`{func_name}(*args, **kwargs)`. \n"
        )
    return function
