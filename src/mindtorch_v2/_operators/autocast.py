"""Autocast: per thread and device, the dtype that matrix operators run in, and the kernels that cast their inputs.

Each operator of a policy gets a kernel for the device's autocast key. It casts the tensors of that device that are
floating but not float64, and calls the operator again with the key excluded. Above autograd, so gradients flow back
through the casts. Which operators belong to which policy, rows say.
"""

from __future__ import annotations

import functools
import itertools
import operator
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mindtorch_v2 import _C

from .table import every_row

if TYPE_CHECKING:
    from mindtorch_v2._tensor import Tensor


_KEYS = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "npu": "AutocastNPU"}
_DEFAULTS = {"cpu": "bfloat16", "cuda": "float16", "npu": "float16"}


DEVICES = tuple(_KEYS)
"""The types of devices that autocast knows."""
KEYS = functools.reduce(operator.or_, map(_C._key_bit, _KEYS.values()))
"""The bits of their keys."""


class _State(threading.local):
    def __init__(self) -> None:
        self.dtypes: dict[Any, Any] = {}
        self.nesting = 0
        self.cache_enabled = True
        # Casts of leaf parameters: {(id, dtype): (parameter, cast)}, kept until the outermost block ends.
        self.cache: dict[Any, Any] = {}


_state = _State()
_numbers: dict[tuple[tuple[Any, ...], bool], int] = {
    ((), True): 0
}  # of each combination of settings: guards of graphs compare them in one number
_fresh = itertools.count(1)


def _tell_guards():
    settings = tuple(sorted(_state.dtypes.items(), key=operator.itemgetter(0))), _state.cache_enabled
    _C._set_cast_settings(_numbers.setdefault(settings, next(_fresh)))


def _bit(device_type):
    return _C._key_bit(_KEYS[device_type])


def is_supported(device_type: str) -> bool:
    """Whether autocast knows the device."""
    return device_type in _KEYS


def is_enabled(device_type: str) -> bool:
    """Whether autocast is on for the device, in this thread."""
    return is_supported(device_type) and bool(_C._tls_keys()[0] & _bit(device_type))


def set_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast on or off for the device, in this thread."""
    if enabled:
        install()
    include, exclude = _C._tls_keys()
    bit = _bit(device_type)
    _C._set_tls_keys(include | bit if enabled else include & ~bit, exclude)


def get_dtype(device_type: str) -> _C.dtype:
    """The dtype that autocast casts to."""
    return _state.dtypes.get(device_type) or _C._dtypes[_DEFAULTS[device_type]]


def set_dtype(device_type: str, dtype: _C.dtype) -> None:
    """Set the dtype that autocast casts to, in this thread."""
    _state.dtypes[device_type] = dtype
    _tell_guards()


def is_cache_enabled() -> bool:
    """Whether casts of parameters are kept.

    >>> with torch.autocast("cpu", cache_enabled=False):
    ...     torch.is_autocast_cache_enabled()
    False
    """
    return _state.cache_enabled


def set_cache_enabled(enabled: bool) -> None:
    """Set whether casts of parameters are kept.

    >>> torch.set_autocast_cache_enabled(False)
    >>> torch.is_autocast_cache_enabled()
    False
    >>> torch.set_autocast_cache_enabled(True)
    """
    _state.cache_enabled = bool(enabled)
    _tell_guards()


def clear_cache() -> None:
    """Drop the casts that are kept.

    >>> weight = torch.ones(2, 2, requires_grad=True)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     first = torch.mm(weight, weight).dtype
    ...     torch.clear_autocast_cache()  # `weight` is cast anew by the next product
    ...     print(first)
    torch.bfloat16
    """
    _state.cache.clear()


def increment_nesting() -> int:
    """Enter a block; return how many are open.

    >>> with torch.autocast("cpu"):
    ...     inside = torch.autocast_increment_nesting()
    ...     _ = torch.autocast_decrement_nesting()
    >>> inside
    2
    """
    _state.nesting += 1
    return _state.nesting


def decrement_nesting() -> int:
    """Leave a block; return how many are open.

    >>> torch.autocast_increment_nesting()
    1
    >>> torch.autocast_decrement_nesting()
    0
    """
    _state.nesting -= 1
    return _state.nesting


def _cast(value: Any, dtype: Any, device_type: str) -> Any:
    """`value` with its eligible tensors, also in lists, cast to `dtype`."""
    if isinstance(value, _C.TensorBase):
        if value.dtype is dtype or not _is_eligible(value, device_type):
            return value
        tensor: Any = value  # a Tensor, which has more than its base
        keep = (
            _state.cache_enabled
            and dtype is not _C._dtypes["float32"]
            and value.requires_grad
            and value.is_leaf
            and not value._is_view()
            and value.dtype is _C._dtypes["float32"]
        )
        if not keep:
            return tensor.to(dtype)
        key = id(value), dtype
        known = _state.cache.get(key)
        if known is None:
            # The parameter is held too, so that its id stays its own.
            known = _state.cache[key] = (value, tensor.to(dtype))
        return known[1]
    if isinstance(value, (list, tuple)) and any(isinstance(item, _C.TensorBase) for item in value):
        return type(value)(_cast(item, dtype, device_type) for item in value)
    return value


def _is_eligible(tensor, device_type):
    return (
        tensor.is_floating_point() and tensor.dtype is not _C._dtypes["float64"] and tensor.device.type == device_type
    )


def _widest(values, device_type, found) -> bool:
    """Whether an eligible tensor among `values` is wider than `found`, the lower dtype."""
    for value in values:
        if isinstance(value, _C.TensorBase):
            if _is_eligible(value, device_type) and value.dtype is not found:
                return True
        elif isinstance(value, (list, tuple)) and _widest(value, device_type, found):
            return True
    return False


def _kernel(operator, device_type, choose):
    """A kernel that casts to `choose(args)` and calls `operator` below autocast."""
    bit = _bit(device_type)

    def run(*args: Any, **kwargs: Any) -> Any:
        dtype = choose(args)
        include, exclude = _C._tls_keys()
        # The casts themselves must not be cast.
        _C._set_tls_keys(include, exclude | bit)
        try:
            values = [_cast(value, dtype, device_type) for value in args]
            kwargs = {name: _cast(value, dtype, device_type) for name, value in kwargs.items()}
            return operator(*values, **kwargs)
        finally:
            _C._set_tls_keys(include, exclude)

    return run


def _chooser(policy, device_type):
    if policy == "lower":
        return lambda args: get_dtype(device_type)
    if policy == "float32":
        return lambda args: _C._dtypes["float32"]

    def widest(args: Sequence[Sequence[Tensor]]) -> _C.dtype:
        lower = get_dtype(device_type)
        return _C._dtypes["float32"] if _widest(args, device_type, lower) else lower

    return widest


_install_lock = threading.Lock()
_installed = False


def install() -> None:
    """Register the kernels, once: the first time that autocast is switched on."""
    global _installed
    with _install_lock:
        if _installed:
            return
        for row in every_row().values():
            if policy := row.facts.autocast:
                for device_type, key in _KEYS.items():
                    row.handle.impl(key, _kernel(row.handle, device_type, _chooser(policy, device_type)))
        _installed = True
