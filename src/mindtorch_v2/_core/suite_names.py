"""Names of `torch._C` that test suites ask for: what they say of storages, modes and this build; loaded on first use."""

from __future__ import annotations

import enum
import types
import warnings
import weakref
from typing import Any

from mindtorch_v2 import _C
from mindtorch_v2._core import torch_function
from mindtorch_v2._core.autograd import fallback_mode
from mindtorch_v2._core.autograd.function import DelayedError, UndefinedGrad
from mindtorch_v2._core.autograd.grad_mode import is_multithreading_enabled
from mindtorch_v2._core.autograd.graph import get_gradient_edge
from mindtorch_v2._core.conv_backend import ConvBackend, select_conv_backend
from mindtorch_v2._core.processor import get_cpu_capability

__all__ = ["AUTOGRAD", "NAMES"]


class _TorchFunctionState(enum.Enum):
    """Whether functions are offered to the classes of their arguments, and to modes, on this thread."""

    ENABLED = 0
    SUBCLASSES_DISABLED = 1
    ALL_DISABLED = 2


def _get_torch_function_state() -> _TorchFunctionState:
    """Which of it is switched off now."""
    disabled = _C._disable_function_overrides(True)
    _C._disable_function_overrides(disabled)
    if disabled:
        return _TorchFunctionState.ALL_DISABLED
    return (
        _TorchFunctionState.SUBCLASSES_DISABLED if torch_function.subclasses_disabled() else _TorchFunctionState.ENABLED
    )


def _len_torch_function_stack() -> int:
    """How many modes are entered on this thread."""
    return len(torch_function.modes())


def _get_function_stack_at(level: int) -> Any:
    """A mode of this thread, counted from the outermost."""
    return torch_function.modes()[level]


def _push_on_torch_function_stack(mode: Any) -> None:
    """Enter a mode on this thread, as its block does."""
    torch_function._push(mode)


def _pop_torch_function_stack() -> Any:
    """Leave the innermost mode of this thread, and give it."""
    return torch_function._pop()


class _WeakTensorRef:
    """A reference that does not keep a tensor alive."""

    def __init__(self, tensor: Any) -> None:
        self._reference = weakref.ref(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


def _data_address(tensor: Any) -> int:
    """Where a tensor's first element lies."""
    return int(tensor._address())


def _storage_address(tensor: Any) -> int:
    """Where a tensor's storage begins, the same for all that share it."""
    return int(tensor.untyped_storage()._cdata)


def _is_alias_of(first: Any, second: Any) -> bool:
    """Whether two tensors share their storage."""
    return _storage_address(first) == _storage_address(second)


def _is_cow_tensor(tensor: Any) -> bool:
    """Whether a tensor's memory is another's too, and is copied when it is next written."""
    return bool(tensor._is_lazy_copy())


def _warn(message: str = "Test message for TORCH_WARN") -> None:
    """Give a warning of the native core's kind."""
    warnings.warn(message, UserWarning, stacklevel=2)


def _warn_deprecation() -> None:
    """Give a warning of deprecation of the native core's kind."""
    warnings.warn("Test message for TORCH_WARN_DEPRECATION", DeprecationWarning, stacklevel=2)


def _saved_tensors_hooks_is_enabled() -> bool:
    """Whether `saved_tensors_hooks` may be entered on this thread."""
    refusal = _C._disable_saved_tensors_hooks(None)
    _C._disable_saved_tensors_hooks(refusal)
    return refusal is None


def _current_graph_task_execution_order() -> list[Any]:
    """The nodes of the backward under way on this thread, in the order in which they run.

    RuntimeError outside of backward, and where backward may use several threads.
    """
    nodes: list[Any] = _C._order_of_execution()
    if is_multithreading_enabled():
        raise RuntimeError(
            "_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running: with torch.autograd.set_multithreading_enabled(False): ..."
        )
    return nodes


class _LinalgBackend(enum.Enum):
    """The libraries of CUDA that linear algebra could prefer; the one in use here is Default."""

    Default = 0
    Cusolver = 1
    Magma = 2


_math_reduction = False  # torch.backends.cuda has the public names of this


def _get_math_sdp_allow_fp16_bf16_reduction() -> bool:
    """Whether composed attention may add up in half precision."""
    return _math_reduction


def _set_math_sdp_allow_fp16_bf16_reduction(enabled: bool) -> None:
    """Let composed attention add up in half precision, or not. RuntimeError for what is no bool."""
    global _math_reduction
    if not isinstance(enabled, bool):
        raise RuntimeError(f"set_math_sdp_allow_fp16_bf16_reduction expects a bool, but got {type(enabled).__name__}")
    _math_reduction = enabled


class _Executor:
    """A setting of parts that are not here, TorchScript's executor first: it remembers what it was set to, and changes nothing."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> Any:
        """Set it; the earlier value."""
        before, self.value = self.value, value
        return before


_VMAP_WARNS = _Executor(
    False
)  # of PyTorch's first vmap; today's always says where it maps over one slice after the other
_OPTIMIZE, _PROFILING, _PROFILING_MODE, _RUNS, _INLINE, _WARN = (
    _Executor(value) for value in (True, True, True, 1, False, True)
)
_NOBODY_FUSES = ("_jit_can_fuse_on_cpu", "_jit_can_fuse_on_gpu", "_jit_texpr_fuser_enabled")
_SETTINGS = (
    "_jit_override_can_fuse_on_cpu _jit_override_can_fuse_on_cpu_legacy _jit_override_can_fuse_on_gpu "
    "_jit_set_texpr_fuser_enabled _jit_set_te_must_use_llvm_cpu _debug_set_autodiff_subgraph_inlining "
    "_debug_set_fusion_group_inlining _jit_set_emit_hooks _jit_clear_class_registry _jit_set_nvfuser_enabled"
).split()

NAMES: dict[str, Any] = {
    each.__name__: each
    for each in (
        _LinalgBackend,
        _TorchFunctionState,
        _WeakTensorRef,
        _data_address,
        _get_function_stack_at,
        _get_math_sdp_allow_fp16_bf16_reduction,
        _set_math_sdp_allow_fp16_bf16_reduction,
        _get_torch_function_state,
        _is_alias_of,
        _is_cow_tensor,
        _len_torch_function_stack,
        _pop_torch_function_stack,
        _push_on_torch_function_stack,
        _storage_address,
        _warn,
        _warn_deprecation,
    )
}
NAMES |= {
    "_functions": types.SimpleNamespace(
        AccumulateGrad=type(get_gradient_edge(_C._find_operator("aten::zeros", "")([]).requires_grad_()).node),
        DelayedError=DelayedError,
        UndefinedGrad=UndefinedGrad,
    ),
    "_get_autograd_fallback_mode": fallback_mode.get_mode,
    "_set_autograd_fallback_mode": fallback_mode.set_mode,
    "_current_graph_task_execution_order": _current_graph_task_execution_order,
    "_is_multithreading_enabled": is_multithreading_enabled,
    "_get_cpu_capability": get_cpu_capability,
    "_get_graph_executor_optimize": lambda value=None: _OPTIMIZE.get() if value is None else _OPTIMIZE.set(value),
    "_set_graph_executor_optimize": _OPTIMIZE.set,
    "_skip_one_hop_torch_function": torch_function.redispatch_function,
    "_debug_only_are_vmap_fallback_warnings_enabled": _VMAP_WARNS.get,
    "_debug_only_display_vmap_fallback_warnings": _VMAP_WARNS.set,
    "_jit_set_profiling_executor": _PROFILING.set,
    "_jit_set_profiling_mode": _PROFILING_MODE.set,
    "_jit_set_num_profiled_runs": _RUNS.set,
    "_jit_get_inline_everything_mode": _INLINE.get,
    "_jit_set_inline_everything_mode": _INLINE.set,
    "_jit_get_tracer_state_warn": _WARN.get,
    "_jit_set_tracer_state_warn": _WARN.set,
    "_ConvBackend": ConvBackend,
    "_select_conv_backend": select_conv_backend,
    "has_lapack": True,
    "has_spectral": True,
    **{name: lambda *_: False for name in (*_NOBODY_FUSES, *_SETTINGS)},
}

# What is here of `torch._C._autograd`.
AUTOGRAD: dict[str, Any] = {
    "SavedTensor": _C.SavedTensor,
    "_saved_tensors_hooks_is_enabled": _saved_tensors_hooks_is_enabled,
    "_get_current_graph_task_keep_graph": _C._current_graph_task_keep_graph,
}
