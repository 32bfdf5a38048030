"""Which sizes of tensors, and which numbers, may differ between the calls that one graph serves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2._capture._sources import Argument, Keyword, Source, root_of

if TYPE_CHECKING:
    from mindtorch_v2._capture._result import Capture


__all__ = ["Varying"]


def _is_argument(source: Source) -> bool:
    """Whether a value came with the call."""
    return isinstance(root_of(source), (Argument, Keyword))


class Varying:
    """The answers for one capture.

    `dynamic` is True for whatever the call brings, False for nothing but what is marked; None for what differs from `previous`,
    the captures of earlier calls. Without `numbers_vary` every number is what it is now. `numbers` counts those that vary.
    """

    def __init__(self, dynamic: bool | None, previous: Sequence[Capture], numbers_vary: bool = True) -> None:
        self.dynamic = dynamic
        self.numbers = 0
        self._numbers_vary = numbers_vary and dynamic is not False
        self._tensors: dict[str, list[Any]] = {}
        self._values: dict[str, list[Any]] = {}  # constants
        self._any: dict[str, type] = {}  # numbers that vary by now
        for each in previous:
            for guard in each.guards.guards:
                if guard.kind == "tensor":
                    self._tensors.setdefault(guard.source.text(), []).append(guard.value)
                elif guard.kind == "constant":
                    self._note_constant(guard.source.text(), guard.value)
                elif guard.kind == "number":
                    self._any[guard.source.text()] = guard.value

    def _note_constant(self, text: str, value: Any) -> None:
        if type(value) in (int, float):
            self._values.setdefault(text, []).append(value)
        elif type(value) is tuple:  # whose items may be looked at one by one from now on
            for index, each in enumerate(value):
                self._note_constant(f"{text}[{index}]", each)

    def sizes(self, source: Source, tensor: torch.Tensor) -> Sequence[int]:
        """The dimensions of an input whose sizes may differ."""
        if self.dynamic is False or isinstance(tensor, torch.nn.Parameter):
            return ()
        found = set(getattr(tensor, "_dynamo_dynamic_indices", ()))
        found |= set(getattr(tensor, "_dynamo_weak_dynamic_indices", ()))
        fixed = set(getattr(tensor, "_dynamo_static_indices", ()))
        if self.dynamic and _is_argument(source):
            found |= set(range(tensor.dim()))
        for meta in self._tensors.get(source.text(), ()):
            if len(meta.shape) == tensor.dim():
                found |= meta.dynamic
                found |= {i for i, size in enumerate(meta.shape) if size != tensor.shape[i]}
        return [i for i in found - fixed if 0 <= i < tensor.dim() and tensor.shape[i] >= 2]

    def number(self, source: Source, value: float) -> bool:
        """Whether a number may differ: not 0 and 1, whose graphs are simpler, and not what is no finite float."""
        varies = self._varies(source.text(), value) or (
            self.dynamic is True and self._may_vary(value) and type(value) is int and _is_argument(source)
        )
        self.numbers += varies
        return varies

    def any_number(self, text: str, value: tuple[Any, ...]) -> bool:
        """Whether one of the numbers in the constant tuple of a source with this text may differ."""
        items = [(f"{text}[{index}]", each) for index, each in enumerate(value)]
        return any(self.any_number(*item) if type(item[1]) is tuple else self._varies(*item) for item in items)

    def _may_vary(self, value: Any) -> bool:
        if not self._numbers_vary:
            return False
        if type(value) is int:
            return not 0 <= value <= 1
        return type(value) is float and value != 0 and math.isfinite(value)

    def _varies(self, text: str, value: Any) -> bool:
        if not self._may_vary(value):
            return False
        if self._any.get(text) is type(value):
            return True
        return any(type(other) is type(value) and other != value for other in self._values.get(text, ()))
