"""Hooks of modules: their registration, per module and global, and the call that runs them.

`Module.__call__` goes straight to `forward` when nothing is registered; `HookMethods._call_with_hooks`
is the other way, and the only place that knows the order in which hooks run.
"""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.utils.hooks import BackwardHook, RemovableHandle

# Global hooks, which run for every module. These are only mutated, never rebound, but for the flag below.
_global_buffer_registration_hooks: OrderedDict = OrderedDict()
_global_module_registration_hooks: OrderedDict = OrderedDict()
_global_parameter_registration_hooks: OrderedDict = OrderedDict()
_global_backward_pre_hooks: OrderedDict = OrderedDict()
_global_backward_hooks: OrderedDict = OrderedDict()
_global_forward_pre_hooks: OrderedDict = OrderedDict()
_global_forward_hooks: OrderedDict = OrderedDict()
_global_forward_hooks_always_called: OrderedDict = OrderedDict()
_global_forward_hooks_with_kwargs: OrderedDict = OrderedDict()
# None until a global backward hook is there; then whether the hooks are of the full kind.
_global_is_full_backward_hook = None


def _has_any_global_hook() -> bool:
    return bool(
        _global_backward_pre_hooks
        or _global_backward_hooks
        or _global_forward_pre_hooks
        or _global_forward_hooks
        or _global_forward_hooks_always_called
        or _global_forward_hooks_with_kwargs
    )


class LazyHooks:
    """An attribute of each module: an OrderedDict of its own, made when it is first asked for."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, module: Any, owner: Any = None) -> OrderedDict:
        if module is None or "_parameters" not in module.__dict__:  # before Module.__init__() call
            what = f"type object {owner.__name__!r}" if module is None else f"{owner.__name__!r} object"
            raise AttributeError(f"{what} has no attribute {self.name!r}")
        return module.__dict__.setdefault(self.name, OrderedDict())


_NO_HOOKS: OrderedDict = OrderedDict()


def _present(module, name):
    """The hooks of a module, to be read only: none are made."""
    return module.__dict__.get(name, _NO_HOOKS)


class _WrappedHook:
    """A hook that gets the module as first argument and holds it weakly, so that it can be pickled and copied."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.__name__ = getattr(hook, "__name__", type(hook).__name__)
        self.__doc__ = getattr(hook, "__doc__", None)
        self.__module__: Any = getattr(hook, "__module__", None)
        self.with_module = False
        if module is not None:
            self.module = weakref.ref(module)
            self.with_module = True

    def __call__(self, *args: Any, **kwargs: Any) -> torch.Tensor | None:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook = state["hook"]
        self.with_module = state["with_module"]
        if self.with_module:
            if state["module"] is None:
                raise RuntimeError("You are trying to revive the hook of a dead Module!")
            self.module = weakref.ref(state["module"])


def _add(hooks, hook, *extra, prepend=False):
    """Put `hook` into `hooks`; the handle that is returned also clears its entries in the `extra` dicts."""
    handle = RemovableHandle(hooks, extra_dict=list(extra) if extra else None)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Add a global hook called as `hook(module, name, buffer)` before a buffer is registered; it may replace it.

    >>> from mindtorch_v2.nn.modules.module import register_module_buffer_registration_hook
    >>> handle = register_module_buffer_registration_hook(lambda module, name, buffer: print(name))
    >>> _ = torch.nn.BatchNorm1d(2)
    running_mean
    running_var
    num_batches_tracked
    >>> handle.remove()
    """
    return _add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Add a global hook called as `hook(module, name, submodule)` before a submodule is; it may replace it.

    >>> from mindtorch_v2.nn.modules.module import register_module_module_registration_hook
    >>> handle = register_module_module_registration_hook(lambda module, name, child: print(name, child))
    >>> _ = torch.nn.Sequential(torch.nn.ReLU())
    0 ReLU()
    >>> handle.remove()
    """
    return _add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Add a global hook called as `hook(module, name, param)` before a parameter is; it may replace it.

    >>> from mindtorch_v2.nn.modules.module import register_module_parameter_registration_hook
    >>> handle = register_module_parameter_registration_hook(lambda module, name, parameter: print(name))
    >>> _ = torch.nn.Linear(2, 3)
    weight
    bias
    >>> handle.remove()
    """
    return _add(_global_parameter_registration_hooks, hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Add a global hook called as `hook(module, args)` before every forward; it may return new arguments.

    >>> from mindtorch_v2.nn.modules.module import register_module_forward_pre_hook
    >>> handle = register_module_forward_pre_hook(lambda module, args: (args[0] * 10,))
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([ 0., 20.])
    >>> handle.remove()
    """
    return _add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Add a global hook called as `hook(module, args[, kwargs], output)` after every forward.

    >>> from mindtorch_v2.nn.modules.module import register_module_forward_hook
    >>> handle = register_module_forward_hook(lambda module, args, output: print(output.shape))
    >>> _ = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())(torch.ones(1, 2))
    torch.Size([1, 3])
    torch.Size([1, 3])
    torch.Size([1, 3])
    >>> handle.remove()
    """
    handle = _add(_global_forward_hooks, hook, _global_forward_hooks_with_kwargs, _global_forward_hooks_always_called)
    if with_kwargs:
        _global_forward_hooks_with_kwargs[handle.id] = True
    if always_call:
        _global_forward_hooks_always_called[handle.id] = True
    return handle


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Add a global backward hook of the deprecated kind."""
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is True:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a "
            "global Module hook. Please use only one of them."
        )
    _global_is_full_backward_hook = False
    return _add(_global_backward_hooks, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Add a global hook called as `hook(module, grad_output)` before a module's gradients are computed.

    >>> from mindtorch_v2.nn.modules.module import register_module_full_backward_pre_hook
    >>> handle = register_module_full_backward_pre_hook(lambda module, grad_out: print(grad_out))
    >>> torch.nn.Sigmoid()(torch.zeros(1, requires_grad=True)).sum().backward()
    (tensor([1.]),)
    >>> handle.remove()
    """
    return _add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Add a global hook called as `hook(module, grad_input, grad_output)` after a module's gradients are computed.

    >>> from mindtorch_v2.nn.modules.module import register_module_full_backward_hook
    >>> handle = register_module_full_backward_hook(lambda module, grad_in, grad_out: print(grad_in, grad_out))
    >>> torch.nn.Sigmoid()(torch.zeros(1, requires_grad=True)).sum().backward()
    (tensor([0.2500]),) (tensor([1.]),)
    >>> handle.remove()
    """
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is False:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a "
            "global Module hook. Please use only one of them."
        )
    _global_is_full_backward_hook = True
    return _add(_global_backward_hooks, hook)


def _as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def _first_tensor(result) -> torch.Tensor:
    """The tensor whose node the deprecated backward hooks are hung on."""
    while not isinstance(result, torch.Tensor):
        if isinstance(result, dict):
            result = next(v for v in result.values() if isinstance(v, torch.Tensor))
        else:
            result = result[0]
    return result


class HookMethods:
    """The hook side of `Module`."""

    _is_full_backward_hook: bool | None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...  # the rest is the module's that it is mixed into

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Add `hook(module, grad_output)`, called before this module's gradients are computed.

        What it returns, if not None, replaces `grad_output`. Return a handle with `remove()`.
        """
        return _add(self._backward_pre_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Add a backward hook of the deprecated kind, which sees the gradients of the last operator only."""
        if self._is_full_backward_hook is True:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a "
                "single Module. Please use only one of them."
            )
        self._is_full_backward_hook = False
        return _add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Add `hook(module, grad_input, grad_output)`, called when gradients for the inputs are computed.

        What it returns, if not None, replaces `grad_input`. Return a handle with `remove()`.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a "
                "single Module. Please use only one of them."
            )
        self._is_full_backward_hook = True
        return _add(self._backward_hooks, hook, prepend=prepend)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Add `hook(module, args)`, or `hook(module, args, kwargs)`, called before `forward`.

        It may return new arguments: a value or tuple, or with `with_kwargs` a pair `(args, kwargs)`.
        """
        handle = _add(self._forward_pre_hooks, hook, self._forward_pre_hooks_with_kwargs, prepend=prepend)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """Add `hook(module, args, output)`, or `hook(module, args, kwargs, output)`, called after `forward`.

        What it returns, if not None, replaces the output. With `always_call` it runs also when forward raises.
        """
        handle = _add(
            self._forward_hooks,
            hook,
            self._forward_hooks_with_kwargs,
            self._forward_hooks_always_called,
            prepend=prepend,
        )
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def _get_backward_hooks(self):
        """Return `(full hooks, hooks of the deprecated kind)`, global ones first."""
        full_backward_hooks: list[Any] = []
        if _global_is_full_backward_hook is True:
            full_backward_hooks += _global_backward_hooks.values()
        if self._is_full_backward_hook is True:
            full_backward_hooks += _present(self, "_backward_hooks").values()
        non_full_backward_hooks: list[Any] = []
        if _global_is_full_backward_hook is False:
            non_full_backward_hooks += _global_backward_hooks.values()
        if self._is_full_backward_hook is False:
            non_full_backward_hooks += _present(self, "_backward_hooks").values()
        return full_backward_hooks, non_full_backward_hooks

    def _get_backward_pre_hooks(self) -> list:
        return [*_global_backward_pre_hooks.values(), *_present(self, "_backward_pre_hooks").values()]

    def _maybe_warn_non_full_backward_hook(self, inputs, result, grad_fn) -> None:
        """Warn where hooks of the deprecated kind will not see this module's own gradients."""

        def warn(message: str) -> None:
            warnings.warn(message, FutureWarning, stacklevel=2)

        result = _as_tuple(result)
        if not all(isinstance(r, torch.Tensor) for r in result):
            warn(
                "Using non-full backward hooks on a Module that does not return a "
                "single Tensor or a tuple of Tensors is deprecated and will be removed "
                "in future versions. This hook will be missing some of the grad_output. "
                "Please use register_full_backward_hook to get the documented behavior."
            )
            return
        inputs = _as_tuple(inputs)
        if not all(isinstance(i, torch.Tensor) for i in inputs):
            warn(
                "Using non-full backward hooks on a Module that does not take as input a "
                "single Tensor or a tuple of Tensors is deprecated and will be removed "
                "in future versions. This hook will be missing some of the grad_input. "
                "Please use register_full_backward_hook to get the documented behavior."
            )
            return
        out_grad_fn = {r.grad_fn for r in result if r.grad_fn is not None}
        if len(out_grad_fn) == 0 or (len(out_grad_fn) == 1 and grad_fn not in out_grad_fn):
            warn(
                "Using a non-full backward hook when outputs are nested in python data structure "
                "is deprecated and will be removed in future versions. This hook will be missing "
                "some grad_output."
            )
        elif len(out_grad_fn) > 1:
            warn(
                "Using a non-full backward hook when outputs are generated by different autograd Nodes "
                "is deprecated and will be removed in future versions. This hook will be missing some "
                "grad_output. Please use register_full_backward_hook to get the documented behavior."
            )
        else:
            # grad_fn sees gradients of this module's inputs only if they are its direct predecessors.
            inputs_grad_fn = {i.grad_fn for i in inputs if i.grad_fn is not None}
            next_functions = {n[0] for n in grad_fn.next_functions}
            if inputs_grad_fn != next_functions:
                warn(
                    "Using a non-full backward hook when the forward contains multiple autograd Nodes "
                    "is deprecated and will be removed in future versions. This hook will be missing "
                    "some grad_input. Please use register_full_backward_hook to get the documented "
                    "behavior."
                )

    def _run_forward_pre_hooks(self, args, kwargs):
        for hook_id, hook in (*_global_forward_pre_hooks.items(), *_present(self, "_forward_pre_hooks").items()):
            if hook_id in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = _as_tuple(changed)
        return args, kwargs

    def _run_forward_hook(self, hook_id, hook, args, kwargs, result):
        if hook_id in self._forward_hooks_with_kwargs or hook_id in _global_forward_hooks_with_kwargs:
            changed = hook(self, args, kwargs, result)
        else:
            changed = hook(self, args, result)
        return result if changed is None else changed

    def _call_with_hooks(self, args, kwargs):
        """`forward` with everything that is registered around it, in PyTorch's order."""
        if "_parameters" not in self.__dict__:  # before Module.__init__() call
            raise AttributeError(f"{type(self).__name__!r} object has no attribute '_backward_hooks'")
        called_always = set()
        result = None
        try:
            full_backward_hooks, non_full_backward_hooks = self._get_backward_hooks()
            backward_pre_hooks = self._get_backward_pre_hooks()
            args, kwargs = self._run_forward_pre_hooks(args, kwargs)
            bw_hook = None
            if full_backward_hooks or backward_pre_hooks:
                bw_hook = BackwardHook(self, full_backward_hooks, backward_pre_hooks)
                args = bw_hook.setup_input_hook(args)
            result = self.forward(*args, **kwargs)
            for hook_id, hook in (*_global_forward_hooks.items(), *_present(self, "_forward_hooks").items()):
                if hook_id in self._forward_hooks_always_called or hook_id in _global_forward_hooks_always_called:
                    called_always.add(hook_id)
                result = self._run_forward_hook(hook_id, hook, args, kwargs, result)
            if bw_hook is not None:
                if not isinstance(result, (torch.Tensor, tuple)):
                    warnings.warn(
                        "For backward hooks to be called,"
                        " module output should be a Tensor or a tuple of Tensors"
                        f" but received {type(result)}",
                        stacklevel=3,
                    )
                result = bw_hook.setup_output_hook(result)
            if non_full_backward_hooks:
                grad_fn = _first_tensor(result).grad_fn
                if grad_fn is not None:
                    for hook in non_full_backward_hooks:
                        grad_fn.register_hook(_WrappedHook(hook, self))
                    self._maybe_warn_non_full_backward_hook(args, result, grad_fn)
            return result
        except Exception:  # every error of forward, which goes on below
            self._run_always_called_hooks(called_always, args, kwargs, result)
            raise

    def _run_always_called_hooks(self, done, args, kwargs, result) -> None:
        """After forward has raised: the `always_call` hooks that have not run yet; their errors become warnings."""
        always = {**_global_forward_hooks_always_called, **self._forward_hooks_always_called}
        for where, hooks in (("global module", _global_forward_hooks), ("module", _present(self, "_forward_hooks"))):
            for hook_id, hook in hooks.items():
                if hook_id not in always or hook_id in done:
                    continue
                try:
                    result = self._run_forward_hook(hook_id, hook, args, kwargs, result)
                except Exception as e:  # noqa: BLE001  (the error of forward is the one to report)
                    warnings.warn(
                        f"{where} forward hook with ``always_call=True`` raised an exception that was silenced "
                        f"as another error was raised in forward: {e}",
                        stacklevel=4,
                    )
