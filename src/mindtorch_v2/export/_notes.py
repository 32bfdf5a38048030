"""Notes of the nodes of an exported graph on the program: the modules that are being called, the function, and the lines.

In the `meta` of a node these are `nn_module_stack`, `torch_fn` and `stack_trace`, in PyTorch's forms.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx import traceback as fx_traceback
from mindtorch_v2.fx._naming import torch_name
from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode
from mindtorch_v2.overrides import TorchFunctionMode
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["ModuleCalls"]

_ROOT = "L__self__"


class ModuleCalls:
    """The calls of a module's submodules as it is traced.

    `of_signature` names those whose arguments and results are to be kept: in `signatures` stand, by path, the structures of
    arguments and result, and for each leaf of either the name of its node or its value.
    """

    def __init__(self, root: torch.nn.Module, of_signature: Sequence[str] = ()) -> None:
        self._paths = {module: path for path, module in root.named_modules()}
        unknown = [path for path in of_signature if path not in self._paths.values()]
        if unknown:
            raise ValueError(
                f"preserve_module_call_signature: the module has no submodule {', '.join(map(repr, unknown))}"
            )
        self._of_signature = set(of_signature)
        self.signatures: dict[str, Any] = {}
        self._stack: dict[str, tuple[str, str]] = {}
        self._times: Counter[str] = Counter()
        self._given: list[Any] = []

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Note the calls within the block; the module is traced in it, once or several times."""
        handles = []
        try:
            for module in self._paths:
                handles.append(module.register_forward_pre_hook(self._enter, prepend=True, with_kwargs=True))
                handles.append(module.register_forward_hook(self._leave, always_call=True))
            with fx_traceback.preserve_node_meta():
                yield
        finally:
            for handle in handles:
                handle.remove()

    @contextlib.contextmanager
    def run(self) -> Iterator[None]:
        """Begin a trace anew."""
        self._stack.clear()
        self._times.clear()
        self._given.clear()
        with _CalledFunction():
            yield

    def _note(self) -> None:
        meta = fx_traceback.get_current_meta()
        if self._stack:
            meta["nn_module_stack"] = dict(self._stack)
        else:
            meta.pop("nn_module_stack", None)

    def _enter(self, module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        path = self._paths[module]
        times, kind = self._times[path], type(module)
        self._times[path] += 1
        key = _ROOT + path + (f"@{times}" if times else "")
        self._stack[key] = (path, f"{torch_name(kind.__module__)}.{kind.__qualname__}")
        self._given.append(
            (key, (args, kwargs) if path in self._of_signature and path not in self.signatures else None)
        )
        self._note()

    def _leave(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        key, given = self._given.pop()
        if given is not None and result is not None:
            leaves, in_spec = pytree.tree_flatten(given)
            results, out_spec = pytree.tree_flatten(result)
            self.signatures[self._paths[module]] = (_names(leaves), _names(results), in_spec, out_spec)
        self._stack.pop(key, None)
        self._note()


def _names(leaves: Sequence[Any]) -> list[Any]:
    """For a tensor of the trace its node, for anything else itself."""
    mode = get_proxy_mode()
    return [leaf if mode is None else mode.node_of(leaf) or leaf for leaf in leaves]


def _kind(function: Callable[..., Any], name: str) -> str:
    """The name of the class that PyTorch's function of this name has."""
    if getattr(torch.Tensor, name, None) is function:
        return "method_descriptor"
    if getattr(torch.nn.functional, name, None) is function and getattr(torch, name, None) is not function:
        return "function"
    return type(function).__name__ if not isinstance(function, torch._C.Function) else "builtin_function_or_method"


class _CalledFunction(TorchFunctionMode):
    """Note the function of `torch` that the program calls, with how often it did: `("linear_1", "function.linear")`."""

    sees_attributes = False

    def __init__(self) -> None:
        super().__init__()
        self._times: Counter[Any] = Counter()

    def __torch_function__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", type(func).__name__)
        self._times[func] += 1
        meta = fx_traceback.get_current_meta()
        before = meta.get("torch_fn")
        meta["torch_fn"] = (f"{name}_{self._times[func]}", f"{_kind(func, name)}.{name}")
        try:
            return func(*args, **(kwargs or {}))
        finally:
            if before is None:
                meta.pop("torch_fn", None)
            else:
                meta["torch_fn"] = before
