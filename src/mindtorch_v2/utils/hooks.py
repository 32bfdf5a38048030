"""Handles that remove a hook, and the machinery behind modules' full backward hooks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any
from warnings import warn

import mindtorch_v2 as torch
from mindtorch_v2._core.hooks import RemovableHandle

if TYPE_CHECKING:
    from mindtorch_v2._core.autograd.function import BackwardCFunction


__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]


def unserializable_hook(f: Callable[..., Any]) -> Callable[..., Any]:
    """Mark `f` as a hook that is lost when its tensor is pickled; `warn_if_has_hooks` says so.

    >>> from mindtorch_v2.utils.hooks import unserializable_hook
    >>> hook = unserializable_hook(lambda grad: grad)
    >>> hook(torch.ones(1)), hook.__torch_unserializable__
    (tensor([1.]), True)
    """
    f.__torch_unserializable__ = True  # type: ignore[attr-defined]  # (a mark on the function)
    return f


def warn_if_has_hooks(tensor: Any) -> None:
    """Warn for each backward hook of `tensor` that pickling will lose.

    >>> import warnings
    >>> from mindtorch_v2.utils.hooks import unserializable_hook, warn_if_has_hooks
    >>> x = torch.ones(1, requires_grad=True)
    >>> _ = x.register_hook(lambda grad: grad * 2)
    >>> with warnings.catch_warnings(record=True, action="always") as seen:
    ...     warn_if_has_hooks(x)
    >>> len(seen)
    1
    """
    for hook in (tensor._backward_hooks or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warn(
                f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate "
                "the function with @torch.utils.hooks.unserializable_hook to suppress this warning",
                stacklevel=2,
            )


class BackwardHook:
    """Run a module's full backward hooks and pre-hooks for one forward call.

    `setup_input_hook(args)` is called with the module's inputs and `setup_output_hook(outputs)` with its results;
    each passes the tensors that need a gradient through an identity node whose gradients are then the module's
    `grad_input` and `grad_output`.

    >>> from mindtorch_v2.utils.hooks import BackwardHook
    >>> hook = BackwardHook(torch.nn.ReLU(), [lambda module, grad_in, grad_out: print(grad_in, grad_out)], [])
    >>> x = torch.ones(1, requires_grad=True)
    >>> (inputs,) = hook.setup_input_hook((x,))
    >>> hook.setup_output_hook(inputs * 3).backward()
    (tensor([3.]),) (tensor([1.]),)
    """

    def __init__(
        self,
        module: Any,
        user_hooks: Sequence[Callable[..., Any]],
        user_pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: Any = None
        self.n_outputs = -1
        self.output_tensors_index = None
        self.n_inputs = -1
        self.input_tensors_index = None

    def _pack_with_none(self, indices, values, size) -> tuple:
        packed = [None] * size
        for index, value in zip(indices, values, strict=True):
            packed[index] = value
        return tuple(packed)

    def _unpack_none(self, indices, values) -> tuple:
        return tuple(values[index] for index in indices)

    def _run_user_hooks(self, grad_input):
        """Call every full backward hook; one that returns gradients replaces those that later ones see."""
        for hook in self.user_hooks:
            out = hook(self.module, grad_input, self.grad_outputs)
            if out is None:
                continue
            if not isinstance(out, tuple):
                out = (out,)
            if len(out) != len(grad_input):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(out)}, "
                    f"but expected {len(grad_input)}"
                )
            grad_input = out
        return grad_input

    def _set_user_hook(self, grad_fn) -> None:
        def hook(grad_input: Sequence[torch.Tensor], _: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...] | None:
            if self.grad_outputs is None:
                # The outputs took no part in this backward pass (their gradient was never computed).
                return None
            full = self._pack_with_none(self.input_tensors_index, grad_input, self.n_inputs)
            result = self._run_user_hooks(full)
            self.grad_outputs = None
            return self._unpack_none(self.input_tensors_index, result)

        grad_fn.register_hook(hook)

    def _apply_on_tensors(self, fn, args) -> tuple:
        """Pass `args`' tensors through one identity node and hand the node to `fn`.

        Return the arguments with those tensors replaced, and their positions (None where nothing needs a gradient).
        """
        indices = [i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)]
        tensors = [args[i] for i in indices]
        if not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)):
            return args, None
        with torch.enable_grad():
            new_tensors = torch.nn.modules._functions.BackwardHookFunction.apply(*tensors)
        fn(next(tensor.grad_fn for tensor in new_tensors if tensor.grad_fn is not None))
        replaced = list(args)
        for index, tensor in zip(indices, new_tensors, strict=True):
            replaced[index] = tensor
        if isinstance(args, tuple) and hasattr(args, "_fields"):
            return type(args)(*replaced), indices
        return type(args)(replaced), indices

    def setup_input_hook(self, args: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """Prepare the module's positional inputs (a tuple); return those to call forward with."""
        result, self.input_tensors_index = self._apply_on_tensors(self._set_user_hook, args)
        self.n_inputs = len(args)
        return result

    def setup_output_hook(self, args: torch.Tensor) -> torch.Tensor:
        """Prepare the module's outputs (a tensor or a tuple); return those to hand to the caller."""

        def set_hook(grad_fn: BackwardCFunction) -> None:
            def hook(grad_output: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
                grad_output = self._run_pre_hooks(
                    self._pack_with_none(self.output_tensors_index, grad_output, self.n_outputs)
                )
                self.grad_outputs = grad_output
                local = self._unpack_none(self.output_tensors_index, grad_output)
                if self.input_tensors_index is not None:
                    return local
                # No input needs a gradient: this node is the only place where the full hooks can run.
                result = self._run_user_hooks(self._pack_with_none([], [], self.n_inputs))
                self.grad_outputs = None
                if result is not None and any(item is not None for item in result):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None "
                        "or None for all gradients."
                    )
                return local

            grad_fn.register_prehook(hook)

        is_tuple = isinstance(args, tuple)
        outputs = args if is_tuple else (args,)
        result, self.output_tensors_index = self._apply_on_tensors(set_hook, outputs)
        self.n_outputs = len(outputs)
        return result if is_tuple else result[0]

    def _run_pre_hooks(self, grad_output):
        for hook in self.user_pre_hooks:
            out = hook(self.module, grad_output)
            if out is None:
                continue
            if not isinstance(out, tuple):
                out = (out,)
            if len(out) != len(grad_output):
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(out)}, "
                    f"but expected {len(grad_output)}"
                )
            grad_output = out
        return grad_output
