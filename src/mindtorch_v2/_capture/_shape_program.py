"""Whether a graph serves inputs of other sizes: it is run on tensors of those sizes without data, and every decision has to be the same."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import map_aggregate

__all__ = ["ShapeProgram"]

_META = torch.device("meta")


def _form(value: Any) -> tuple:
    """The sizes of a tensor; of a number its class and value."""
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (type(value), value)


class _Given:
    """An input but for its sizes."""

    def __init__(self, example: Any) -> None:
        self.is_number = not isinstance(example, torch.Tensor)
        if not self.is_number:
            self.shape, self.stride, self.dtype = tuple(example.shape), example.stride(), example.dtype
            self.device, self.requires_grad, self.is_leaf = example.device, example.requires_grad, example.is_leaf

    def made(self, form: Any, device: Any) -> Any:
        """The input on a device: of this form, or (None) of the sizes seen."""
        if self.is_number:
            return form[1]
        if form is None:
            made = torch.empty_strided(self.shape, self.stride, dtype=self.dtype, device=device)
        else:
            made = torch.empty(form, dtype=self.dtype, device=device)
        if self.requires_grad:
            made.requires_grad_()
            if not self.is_leaf:
                made = made.clone()
        return made


class ShapeProgram:
    """The graph with every condition as an output; remembers the answer for each combination of sizes.

    Where everything is on one device it runs on the meta device, as it is. What comes out otherwise there, or raises, is asked of fake
    tensors, which know devices, and take longer.
    """

    _LIMIT = 1024

    def __init__(self, module: GraphModule, expected: Sequence[int], examples: Sequence[Any], dynamic: Any) -> None:
        self.module, self.expected = module, expected
        self._inputs = [_Given(each) for each in examples]
        self.dynamic = dynamic
        self._known: dict[Any, Any] = {}
        devices = {each.device for each in self._inputs if not each.is_number}
        self._without_device = _on_meta(module, devices.pop()) if len(devices) == 1 else None

    def holds(self, inputs: Sequence[Any]) -> bool:
        """Whether the graph serves inputs of these sizes."""
        key = tuple(_form(inputs[i]) for i in self.dynamic)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._LIMIT:
                self._known.clear()
            forms = dict(zip(self.dynamic, key))
            known = self._known[key] = self._decides_the_same(forms)
        return known

    def _decides_the_same(self, forms: dict[int, Any]) -> bool:
        before = torch.is_grad_enabled()
        try:
            if self._without_device is not None:
                with torch.device(_META):
                    if self._same(self._without_device, [_META for _ in self._inputs], forms):
                        return True
            with FakeTensorMode():
                return self._same(self.module.forward, [None if i.is_number else i.device for i in self._inputs], forms)
        finally:
            torch.set_grad_enabled(before)

    def _same(self, run: Callable[..., Any], devices: Sequence[Any], forms: dict[int, Any]) -> bool:
        try:
            made = [each.made(forms.get(i), device) for i, (each, device) in enumerate(zip(self._inputs, devices))]
            found = run(*made)
        except Exception:  # noqa: BLE001  (whatever an operator says of these sizes, the graph is not made for them)
            return False
        return all(type(f) is type(e) and f == e for f, e in zip(found, self.expected))


class _OtherDevice(Exception):
    pass


def _on_meta(module: GraphModule, device: torch.device) -> Callable[..., Any] | None:
    """The program with the meta device in the place of `device`; None if it names another one."""

    def moved(value: Any) -> Any:
        if isinstance(value, torch.device):
            if value != device:
                raise _OtherDevice
            return _META
        if isinstance(value, str):  # a device, for all that is known
            raise _OtherDevice
        return value

    graph = copy.deepcopy(module.graph)
    try:
        for node in graph.nodes:
            if node.op.startswith("call"):
                node.args, node.kwargs = map_aggregate((node.args, node.kwargs), moved)
    except _OtherDevice:
        return None
    return GraphModule(module, graph).forward
