"""Changes of a module's parameters and buffers as a whole: device, dtype, memory, gradients' flags."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import mindtorch_v2 as torch
from mindtorch_v2 import __future__ as conversion
from mindtorch_v2.utils._python_dispatch import is_traceable_wrapper_subclass

from ..parameter import Parameter

if TYPE_CHECKING:
    from mindtorch_v2.types import Device


_TO_SIGNATURES = (
    "to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
    " * (torch.device device = None, torch.dtype dtype = None, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
    " * (torch.dtype dtype, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
    " * (Tensor tensor, bool non_blocking = False, bool copy = False, *, "
    "torch.memory_format memory_format = None)\n"
)


def _parse_to(*args, device=None, dtype=None, tensor=None, non_blocking=False, copy=False, memory_format=None) -> tuple:
    """The arguments of `to` in any of its three forms, as `(device, dtype, non_blocking, memory_format)`."""

    def invalid() -> TypeError:
        got = ", ".join("torch.dtype" if isinstance(a, torch.dtype) else type(a).__name__ for a in given)
        return TypeError(_TO_SIGNATURES.format(got=got))

    given = args
    if args:
        first, rest = args[0], args[1:]
        if isinstance(first, torch.Tensor):
            tensor = first
        elif isinstance(first, torch.dtype):
            dtype = first
        elif first is None or isinstance(first, (str, torch.device)) or type(first) is int:
            device = first
            if rest:
                if rest[0] is not None and not isinstance(rest[0], torch.dtype):
                    raise invalid()
                dtype, rest = rest[0], rest[1:]
        else:
            raise invalid()
        if len(rest) > 2 or not all(isinstance(r, bool) for r in rest):
            raise invalid()
        copy = copy or len(rest) == 2
        if rest:
            non_blocking = rest[0]
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    if tensor is not None:
        device, dtype = tensor.device, tensor.dtype
    if device is not None and not isinstance(device, torch.device):
        device = torch.device(device)
    return device, dtype, non_blocking, memory_format


torch._C._nn._parse_to = _parse_to  # where libraries look for it


def _can_share_identity(tensor, other) -> bool:
    """Whether `tensor` may take `other`'s data over and stay the same object: both have data, or neither has."""
    return tensor.is_meta == other.is_meta and tensor.layout == other.layout


def _module_error_on_meta(error):
    """The error of copying out of a meta tensor, with the remedy for modules."""
    return NotImplementedError(
        f"{error} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() when moving module "
        "from meta to a different device."
    )


class ConversionMethods:
    """The conversion side of `Module`."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the rest is the module's that it is mixed into

    def _replace(self, key, param, applied, overwrite, swap):
        """Put `applied` in place of parameter `param`, as the same object where the tensors allow it."""
        if swap:
            new = applied if isinstance(applied, Parameter) else Parameter(applied, param.requires_grad)
            torch.utils.swap_tensors(param, new)
            return param
        if not overwrite and _can_share_identity(param, applied):
            param.data = applied
            return param
        new = Parameter(applied, param.requires_grad)
        self._parameters[key] = new
        return new

    def _apply(self, fn, recurse=True):
        """Apply `fn` to every parameter, gradient and buffer of this module and, with `recurse`, of its children."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        overwrite = conversion.get_overwrite_module_params_on_conversion()
        swap = conversion.get_swap_module_params_on_conversion()
        for key, param in self._parameters.items():
            if param is None:
                continue
            # Parameters are leaves: `fn` must not be recorded.
            with torch.no_grad():
                applied = fn(param)
            grad = param.grad
            # A wrapper's memory is that of the tensors in it: its `data` cannot be set.
            new = self._replace(key, param, applied, overwrite, swap or is_traceable_wrapper_subclass(applied))
            if grad is None:
                continue
            with torch.no_grad():
                grad_applied = fn(grad)
            if new is param and not overwrite and _can_share_identity(grad, grad_applied):
                param.grad = None
                grad.data = grad_applied
                param.grad = grad
            else:
                new.grad = grad_applied.requires_grad_(grad.requires_grad)
        for key, buf in self._buffers.items():
            if buf is not None:
                self._buffers[key] = fn(buf)
        return self

    def apply(self, fn: Callable[[torch.nn.Module], object]) -> Self:
        """Call `fn` on every submodule and on this module, children first; return self."""
        for module in self.children():
            module.apply(fn)
        itself: Any = self
        fn(itself)
        return self

    def cuda(self, device: Device | None = None) -> Self:
        """Move all parameters and buffers to CUDA device `device`, in place; return self."""
        return self._apply(lambda t: t.cuda(device))

    def ipu(self, device: Device | None = None) -> Self:
        """Move all parameters and buffers to IPU device `device`, in place; return self."""
        return self._apply(lambda t: t.ipu(device))

    def xpu(self, device: Device | None = None) -> Self:
        """Move all parameters and buffers to XPU device `device`, in place; return self."""
        return self._apply(lambda t: t.xpu(device))

    def mtia(self, device: Device | None = None) -> Self:
        """Move all parameters and buffers to MTIA device `device`, in place; return self."""
        return self._apply(lambda t: t.mtia(device))

    def npu(self, device: Device | None = None) -> Self:
        """Move all parameters and buffers to NPU device `device`, in place; return self."""
        return self._apply(lambda t: t.npu(device))

    def cpu(self) -> Self:
        """Move all parameters and buffers to the CPU, in place; return self."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type: torch.dtype | str) -> Self:
        """Cast all parameters and buffers to `dst_type` (a dtype or type name), in place; return self."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Cast all floating-point parameters and buffers to float32, in place; return self."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Cast all floating-point parameters and buffers to float64, in place; return self."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Cast all floating-point parameters and buffers to float16, in place; return self."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Cast all floating-point parameters and buffers to bfloat16, in place; return self."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def to_empty(self, *, device: Device, recurse: bool = True) -> Self:
        """Move parameters and buffers to `device` without their values; return self."""
        return self._apply(lambda t: torch.empty_like(t, device=device), recurse=recurse)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move and cast parameters and buffers, in place; return self.

        Called as `to(device, dtype, non_blocking)`, `to(dtype, non_blocking)`, `to(tensor, non_blocking)` or
        `to(memory_format=)`. A dtype must be floating-point or complex (else TypeError) and applies to
        floating-point and complex tensors only. A memory format applies to tensors of 4 and 5 dimensions.
        """
        device, dtype, non_blocking, convert_to_format = _parse_to(*args, **kwargs)
        if dtype is not None:
            if not (dtype.is_floating_point or dtype.is_complex):
                raise TypeError(
                    f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
                )
            if dtype.is_complex:
                warnings.warn(
                    "Complex modules are a new feature under active development whose design may change, "
                    "and some modules might not work as expected when using complex tensors as parameters or "
                    "buffers. Please file an issue at "
                    "https://github.com/pytorch/pytorch/issues/new?template=bug-report.yml "
                    "if a complex module does not work as expected.",
                    stacklevel=2,
                )

        def convert(t: torch.Tensor) -> torch.Tensor:
            new_dtype = dtype if t.is_floating_point() or t.is_complex() else None
            try:
                if convert_to_format is not None and t.dim() in (4, 5):
                    return t.to(device, new_dtype, non_blocking, memory_format=convert_to_format)
                return t.to(device, new_dtype, non_blocking)
            except NotImplementedError as e:
                if str(e) == "Cannot copy out of meta tensor; no data!":
                    raise _module_error_on_meta(e) from None
                raise

        return self._apply(convert)

    def share_memory(self) -> Self:
        """Move all parameters and buffers to memory shared between processes; return self."""
        return self._apply(lambda t: t.share_memory_())

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of all parameters; return self."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or with `set_to_none=False` fill them with zero."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. "
                "The parameters are copied (in a differentiable manner) from the original module. "
                "This means they are not leaf nodes in autograd and so don't accumulate gradients. "
                "If you need gradients in your forward method, consider using autograd.grad instead.",
                stacklevel=2,
            )
        for p in self.parameters():
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()
