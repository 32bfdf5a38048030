"""Names that PyTorch keeps in `torch._C` and that libraries ask for there."""

import threading
import types
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core.above import above
from mindtorch_v2._core.absent_modules import PARTS
from mindtorch_v2._core.torch_function import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    EnableTorchFunction,
    _disabled_torch_function_impl,
    is_all_disabled,
)
from mindtorch_v2._core.unavailable import unavailable_class
from mindtorch_v2._core.warn_once import is_warn_always_enabled, set_warn_always
from mindtorch_v2._tensor import _disabled_torch_dispatch_impl  # type: ignore[attr-defined]  # (not in the stub)


def _get_accelerator(check: bool | None = None) -> Any:
    """The device of the accelerator of this build: the CPU, there is none."""
    return _C.device("cpu")


def _are_functorch_transforms_active() -> bool:
    """Whether a transform of torch.func is under way on this thread."""
    return _C._change_transforms(0) > 0


def _is_tracing() -> bool:
    """Whether torch.jit.trace records on this thread."""
    return bool(above.is_tracing())


class _Tracing(threading.local):
    state: Any = None


_tracing = _Tracing()


def _get_tracing_state() -> Any:
    """The state that `_set_tracing_state` was given on this thread; True while torch.jit.trace records, else None."""
    return _tracing.state if _tracing.state is not None else above.is_tracing() or None


def _set_tracing_state(state: Any) -> None:
    """Let calls of this thread go by the kernels of the key Tracer, or no longer with None; the key is skipped without any."""
    with _lock:
        if state is None:
            _traced.discard(threading.get_ident())
        else:
            _traced.add(threading.get_ident())
        # Calls that nothing is registered for would otherwise be put off: as they are again, when nobody traces.
        if _traced and not _tracer_falls_through:
            _tracer_falls_through.append(_C._set_fallback("Tracer", None))
        elif not _traced and _tracer_falls_through:
            _C._erase_fallback("Tracer", _tracer_falls_through.pop())
    include, exclude = _C._tls_keys()
    key = _C._key_bit("Tracer")
    _C._set_tls_keys(include & ~key if state is None else include | key, exclude)
    _tracing.state = state


_lock = threading.Lock()
_traced: set[int] = set()  # the threads that have a state
_tracer_falls_through: list[int] = []


def _log_api_usage_once(event: str) -> None:
    """Nothing: no use is counted here."""


def _get_cpu_capability() -> dict[str, Any]:
    """`torch.cpu.get_capabilities()`."""
    return dict(above.device_module("cpu").get_capabilities())


_C._cpu = types.ModuleType("torch._C._cpu")
_C._cpu.__dict__.update(_get_cpu_capability=_get_cpu_capability, _init_amx=lambda: False)  # no kernel uses AMX


def _get_privateuse1_backend_name() -> str:
    """The name of the device at the key that PyTorch leaves to others."""
    return str(_C._own_device_name()[0])


def _rename_privateuse1_backend(name: str) -> None:
    """Give the device at that key another name; RuntimeError where it has one, or is in use."""
    _C._rename_own_device(name)


for _value in (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    _are_functorch_transforms_active,
    _disabled_torch_dispatch_impl,
    _disabled_torch_function_impl,
    _get_accelerator,
    _get_tracing_state,
    _is_tracing,
    _set_tracing_state,
    _get_privateuse1_backend_name,
    _rename_privateuse1_backend,
    _log_api_usage_once,
    unavailable_class("torch._C.Block"),
    unavailable_class("torch._C.ScriptDict"),
    unavailable_class("torch._C.ScriptFunction"),
    unavailable_class("torch._C.ScriptList"),
    unavailable_class("torch._C.ScriptMethod"),
    unavailable_class("torch._C.ScriptModule"),
):
    setattr(_C, _value.__name__, _value)


_C._GLIBCXX_USE_CXX11_ABI = True  # the only one that the headers are compiled with
_C._EnableTorchFunction, _C._is_torch_function_all_disabled = EnableTorchFunction, is_all_disabled
_C._get_warnAlways, _C._set_warnAlways = is_warn_always_enabled, set_warn_always


def _lazily(name: str) -> Any:
    """Names about schemas and dispatch, which most programs never ask for."""
    if name in ("PyTorchFileReader", "PyTorchFileWriter"):
        return getattr(above.file_records(), name)
    if name == "FileCheck":
        return above.file_check()
    if not name.startswith("__"):
        from mindtorch_v2._core import suite_names  # loaded on demand, like the other
        from mindtorch_v2._dispatch import pytorch_names

        for names in (pytorch_names.NAMES, suite_names.NAMES):
            if name in names:
                setattr(_C, name, names[name])
                return names[name]
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'")


def _autograd() -> dict[str, Any]:
    from mindtorch_v2._core import suite_names

    return suite_names.AUTOGRAD


def _profiler() -> dict[str, Any]:
    from mindtorch_v2._core import profiler_config, tracebacks

    here = (tracebacks.gather_traceback, tracebacks.symbolize_tracebacks, profiler_config._ExperimentalConfig)
    return {each.__name__: each for each in here}


_C.__getattr__ = _lazily
PARTS["torch._C._profiler"] = _profiler
PARTS["torch._C._autograd"] = _autograd
