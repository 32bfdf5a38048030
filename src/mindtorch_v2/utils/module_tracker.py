"""`ModuleTracker`: which modules are running, forwards or backwards, at any moment."""

from __future__ import annotations

import weakref
from typing import Any

import mindtorch_v2 as torch

from ..autograd.graph import register_multi_grad_hook
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """Within this block, `parents` is the set of names of the modules that are running now.

    A name is the class of the outermost module and the path from there ("Net.block.linear"); "Global" is always in the
    set. In a backward the modules are those whose part of the graph is being run: a module is entered when the
    gradients of all its outputs are there, and left when those of all its inputs are; one whose inputs need no
    gradient is left when the backward ends. `is_bw` says whether a backward is running.

    >>> class Show(torch.nn.Module):
    ...     def forward(self, x):
    ...         print(sorted(tracker.parents))
    ...         return x
    >>> from mindtorch_v2.utils.module_tracker import ModuleTracker
    >>> with ModuleTracker() as tracker:
    ...     _ = torch.nn.Sequential(Show())(torch.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self._forward = {"Global"}
        self._backward: set[str] = set()
        self._task = -1  # the backward that `_backward` belongs to
        self._names: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._walked: weakref.WeakSet = weakref.WeakSet()
        self._hooks: list = []

    @property
    def is_bw(self) -> bool:
        """Whether a backward is running."""
        return torch._C._current_graph_task_id() != -1

    @property
    def parents(self) -> set[str]:
        """The names of the modules that are running, and "Global"."""
        return self._forward | self._of_task() if self.is_bw else set(self._forward)

    def _of_task(self) -> set[str]:
        task = torch._C._current_graph_task_id()
        if task != self._task:
            self._task, self._backward = task, set()
        return self._backward

    def _name(self, module: Any) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._walked:
            self._walked.add(module)
            for part, child in module.named_children():
                self._names[child] = f"{name}.{part}"
                self._name(child)
        return name

    def _on_gradients(self, values: Any, call: Any) -> None:
        tensors = [v for v in tree_leaves(values) if isinstance(v, torch.Tensor) and v.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, call))

    def _before(self, module: Any, args: Any) -> None:
        name = self._name(module)
        self._forward.add(name)
        self._on_gradients(args, lambda _: self._of_task().discard(name))

    def _after(self, module: Any, args: Any, output: Any) -> None:
        name = self._name(module)
        self._forward.discard(name)
        self._on_gradients(output, lambda _: self._of_task().add(name))

    def __enter__(self) -> ModuleTracker:
        self._handles = (register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after))
        return self

    def __exit__(self, *exception: Any) -> None:
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._hooks.clear()
        self._forward = {"Global"}
