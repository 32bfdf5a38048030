"""Whether a graph serves inputs of other sizes: it is run on fake tensors of those sizes, and every decision has to come out the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode
from mindtorch_v2.fx.interpreter import Interpreter

__all__ = ["ShapeProgram"]


def _meta(example: Any) -> Any:
    """What is known of an input but its sizes; None for a number."""
    if not isinstance(example, torch.Tensor):
        return None
    return (
        *(tuple(example.shape), example.stride(), example.dtype),
        *(example.device, example.requires_grad, example.is_leaf),
    )


def _form(value: Any) -> tuple:
    """The sizes of a tensor; of a number its class and value."""
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (type(value), value)


class ShapeProgram:
    """The graph with every condition as an output; remembers the answer for each combination of sizes."""

    _LIMIT = 1024

    def __init__(self, module: Any, expected: Sequence[int], examples: Sequence[Any], dynamic: Any) -> None:
        self.module, self.expected = module, expected
        self.metas = [_meta(each) for each in examples]
        self.dynamic = dynamic
        self._known: dict[Any, Any] = {}

    def holds(self, inputs: Sequence[Any]) -> bool:
        """Whether the graph serves inputs of these sizes."""
        key = tuple(_form(inputs[i]) for i in self.dynamic)
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= self._LIMIT:
                self._known.clear()
            known = self._known[key] = self._run(dict(zip(self.dynamic, key)))
        return known

    def _run(self, sizes) -> bool:
        mode = FakeTensorMode()
        before = torch.is_grad_enabled()
        try:
            with mode:
                made = [
                    sizes[i][1] if meta is None else self._fake(sizes.get(i), *meta)
                    for i, meta in enumerate(self.metas)
                ]
                found = Interpreter(self.module).run(*made)
        except Exception:  # noqa: BLE001  (whatever an operator says of these sizes, the graph is not made for them)
            return False
        finally:
            torch.set_grad_enabled(before)
        return all(type(f) is type(e) and f == e for f, e in zip(found, self.expected))

    @staticmethod
    def _fake(shape, seen, stride, dtype, device, requires_grad, is_leaf):
        if shape is None:
            made = torch.empty_strided(seen, stride, dtype=dtype, device=device)
        else:
            made = torch.empty(shape, dtype=dtype, device=device)
        if requires_grad:
            made.requires_grad_()
            if not is_leaf:
                made = made.clone()
        return made
