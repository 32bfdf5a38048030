"""`torch.autocast`, and the decorators that tell custom autograd functions how to behave under it."""

from __future__ import annotations

import collections
import functools
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Self

import mindtorch_v2 as torch

__all__ = ["autocast", "autocast_decorator", "custom_bwd", "custom_fwd", "is_autocast_available"]

# The dtypes that devices can cast to.
_SUPPORTED = ("bfloat16", "float16")


def is_autocast_available(device_type: str) -> bool:
    """Whether `autocast(device_type)` can be used.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return torch.is_autocast_available(device_type)


def autocast_decorator(autocast_instance: autocast, func: Callable[..., Any]) -> Callable[..., Any]:
    """`func` with `autocast_instance` around each call.

    >>> from mindtorch_v2.amp.autocast_mode import autocast_decorator
    >>> product = autocast_decorator(torch.autocast("cpu", dtype=torch.bfloat16), torch.mm)
    >>> product(torch.ones(2, 2), torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    @functools.wraps(func)
    def decorate_autocast(*args: Any, **kwargs: Any) -> Any:
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


class autocast:
    """Run matrix operators in a lower dtype (`torch.autocast`), as a context manager or decorator.

    Matrix products, convolutions and attention cast their inputs to `dtype` (by default the device's: bfloat16 on
    the CPU), losses and decompositions to float32; all else runs in the dtype of its inputs. Casts of parameters are
    kept until the outermost block ends, unless `cache_enabled` is False. Blocks nest; `enabled=False` makes one
    where nothing is cast.

    >>> with torch.autocast("cpu"):
    ...     (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    """

    def __init__(
        self,
        device_type: int | str,
        dtype: torch.dtype | None = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device = torch.device(device_type).type
        if not is_autocast_available(self.device):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype = torch.get_autocast_dtype(self.device) if dtype is None else dtype
        self._cache_enabled = torch.is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled and self._check_support()
        # One object may be entered again before it was left: each entry remembers what it found.
        self._found: list[Any] = []

    def _check_support(self) -> bool:
        """Whether the device can cast to the dtype; warns if not."""
        if self.device == "cuda" and not torch.cuda.is_available():
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=3)
            return False
        if self.fast_dtype in [getattr(torch, name) for name in _SUPPORTED]:
            return True
        device = self.device.upper()
        warnings.warn(
            f"In {device} autocast, but the target dtype is not supported. Disabling autocast.\n"
            f"{device} Autocast only supports dtypes of {', '.join(f'torch.{name}' for name in _SUPPORTED)} currently.",
            stacklevel=3,
        )
        return False

    def __enter__(self) -> Self:
        self._found.append(
            (
                torch.is_autocast_cache_enabled(),
                torch.is_autocast_enabled(self.device),
                torch.get_autocast_dtype(self.device),
            )
        )
        torch.set_autocast_enabled(self.device, self._enabled)
        torch.set_autocast_dtype(self.device, self.fast_dtype)
        torch.autocast_increment_nesting()
        torch.set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> Literal[False]:
        cache_enabled, enabled, dtype = self._found.pop()
        if torch.autocast_decrement_nesting() == 0:
            torch.clear_autocast_cache()
        torch.set_autocast_enabled(self.device, enabled)
        torch.set_autocast_dtype(self.device, dtype)
        torch.set_autocast_cache_enabled(cache_enabled)
        return False

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return autocast_decorator(self, func)


def _cast(value, device_type, dtype):
    """`value` with its floating tensors on the device, except float64, cast to `dtype`, in containers too."""
    if isinstance(value, torch.Tensor):
        eligible = value.is_floating_point() and value.device.type == device_type and value.dtype is not torch.float64
        return value.to(dtype) if eligible else value
    if isinstance(value, (str, bytes)) or type(value).__module__ == "numpy":
        return value
    if isinstance(value, collections.abc.Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, collections.abc.Iterable):
        items = [_cast(item, device_type, dtype) for item in value]
        return type(value)(items) if isinstance(value, (list, tuple)) else items
    return value


def _check_device_type(device_type) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: torch.dtype | None = None
) -> Callable[..., Any]:
    """Decorator of an autograd function's `forward`.

    With `cast_inputs` under autocast, floating inputs are cast to that dtype and forward runs without autocast;
    without it, forward runs as it is called, and `custom_bwd` repeats that in backward.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     Double.apply(torch.ones(2, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        ctx._dtype = torch.get_autocast_dtype(device_type)
        if cast_inputs is None:
            ctx._fwd_used_autocast = torch.is_autocast_enabled(device_type)
            return fwd(*args, **kwargs)
        active = torch.is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = False
        if not active:
            return fwd(*args, **kwargs)
        with autocast(device_type=device_type, enabled=False):
            return fwd(*_cast(args, device_type, cast_inputs), **_cast(kwargs, device_type, cast_inputs))

    return decorate_fwd


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorator of an autograd function's `backward`: runs it under the autocast state that forward ran under.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     @torch.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @torch.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return grad * 2
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(*args: Any, **kwargs: Any) -> Any:
        ctx = args[0]
        with autocast(device_type=device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(*args, **kwargs)

    return decorate_bwd


def _enter_autocast(*vals):
    """Enter an autocast block by function; `_exit_autocast` takes what this returns."""
    mode = autocast(*vals)
    mode.__enter__()
    return mode


def _exit_autocast(mode) -> None:
    if mode is not None:
        mode.__exit__(None, None, None)
