"""Arguments of a program whose sizes differ from call to call: which sizes are symbols, and what arguments of other sizes look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._sizes.templates import NoTemplate
from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode

__all__ = ["Arguments", "form_of"]


def form_of(value: Any) -> Any:
    """The part of an argument that may differ between kinds of a family: `(sizes, strides)` of a tensor, or a number."""
    return (tuple(value.shape), value.stride()) if isinstance(value, torch.Tensor) else value


def _order(sizes: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """The dimensions of a dense tensor, the outermost first; NoTemplate for one that is not dense."""
    order = sorted(range(len(sizes)), key=lambda d: (-strides[d], d))
    expected = 1
    for d in reversed(order):
        if sizes[d] != 1 and strides[d] != expected:
            raise NoTemplate("an argument whose sizes differ is not dense")
        expected *= sizes[d]
    return tuple(order)


class Arguments:
    """The arguments by their forms in some kinds.

    Sizes that are equal in each kind are one symbol; with `together`, those that keep their distance from a symbol are that and a
    number. NoTemplate where this says too little.
    """

    def __init__(self, forms: Sequence[Sequence[Any]], together: bool) -> None:
        self.values: dict[
            str, tuple[Any, ...]
        ] = {}  # of each symbol, in each kind: sizes, or floats among the arguments
        self._together = together
        self._where: dict[str, tuple[int, int | None]] = {}  # the argument, and the dimension, that a symbol is
        self._fixed: set[int] = set()
        self._parts: list[Any] = []  # of each argument: what makes its form
        for place, of_kinds in enumerate(zip(*forms)):
            first = of_kinds[0]
            if all(each == first for each in of_kinds):
                self._fixed.update(first[0] if isinstance(first, tuple) else ())
                self._parts.append(lambda symbols, first=first: first)
            elif isinstance(first, tuple):
                orders = {_order(*each) for each in of_kinds}
                if len(orders) > 1:
                    raise NoTemplate("the order of an argument's dimensions in memory differs")
                sizes = [self._size(place, d, values) for d, values in enumerate(zip(*(each[0] for each in of_kinds)))]
                (order,) = orders
                self._parts.append(lambda symbols, sizes=sizes, order=order: self._dense(sizes, order, symbols))
            elif type(first) is float:
                name = f"s{len(self.values)}"
                self.values[name], self._where[name] = of_kinds, (place, None)
                self._parts.append(lambda symbols, name=name: symbols[name])
            else:
                size = self._size(place, None, of_kinds)
                self._parts.append(lambda symbols, size=size: self._at(size, symbols))

    def _size(self, place: int, dim: int | None, values: tuple[int, ...]) -> tuple[str | None, int]:
        """A size as a symbol and what is added to it; without a symbol the size itself."""
        if len(set(values)) == 1:
            self._fixed.add(values[0])
            return None, values[0]
        if min(values) < 2:
            raise NoTemplate("a size of 0 or 1")
        for name, others in self.values.items():
            distances = {a - b for a, b in zip(values, others)} if type(others[0]) is int else set()
            if distances == {0} or (self._together and len(distances) == 1):
                return name, distances.pop()
        name = f"s{len(self.values)}"
        self.values[name], self._where[name] = values, (place, dim)
        return name, 0

    @staticmethod
    def _at(size: tuple[str | None, int], symbols: Mapping[str, int]) -> int:
        name, more = size
        if name is None:
            return more
        if symbols[name] + more < 2:
            raise NoTemplate("a size of 0 or 1")
        return symbols[name] + more

    def _dense(self, sizes: Sequence[Any], order: Sequence[int], symbols: Mapping[str, int]) -> tuple:
        found = tuple(self._at(each, symbols) for each in sizes)
        strides, step = [0] * len(found), 1
        for d in reversed(order):
            strides[d] = step
            step *= max(1, found[d])
        return found, tuple(strides)

    def symbols_of(self, forms: Sequence[Any]) -> dict[str, int] | None:
        """The symbols' values for arguments of these forms; None if they are no such arguments."""
        symbols = {n: forms[at] if dim is None else forms[at][0][dim] for n, (at, dim) in self._where.items()}
        try:
            return symbols if self.forms_at(symbols) == list(forms) else None
        except NoTemplate:
            return None

    def forms_at(self, symbols: Mapping[str, int]) -> list[Any]:
        """The forms of arguments where the symbols have these values; NoTemplate if a size were 0 or 1."""
        return [part(symbols) for part in self._parts]

    def fakes_at(self, symbols: Mapping[str, int], examples: Sequence[Any]) -> list[Any]:
        """Arguments of these forms: fake ones like `examples`, which stand for themselves where they are of the form."""
        return [_like(example, form) for example, form in zip(examples, self.forms_at(symbols))]

    def others(self) -> Iterator[dict[str, int]]:
        """Values to try: near those seen, larger and smaller ones; no two of them, and none of the fixed sizes, are equal."""
        for step, of in ((1, max), (2, max), (0.5, min)):
            taken: set[int] = set(self._fixed)
            tried: dict[str, Any] = {}
            for name, values in self.values.items():
                if type(values[0]) is float:
                    tried[name] = of(values) * (step + 0.125)
                    continue
                value = max(3, int(of(values) * step) + 1)
                while value in taken or value in values:
                    value += 1
                taken.add(value)
                tried[name] = value
            yield tried


def _like(example: Any, form: Any) -> Any:
    if not isinstance(example, torch.Tensor):
        return form
    if form_of(example) == form:
        return example
    with FakeTensorMode():
        made = torch.empty_strided(*form, dtype=example.dtype, device=example.device)
        if example.requires_grad:
            made.requires_grad_()
            if not example.is_leaf:
                made = made.clone()
    return made
