"""One lowered program for arguments of many sizes.

The third kind of arguments that differs from others by sizes only is reason to look: the program is traced on fake tensors of
some more sizes, smaller and larger, odd and even. Where all graphs are the same but for numbers, and each number is an expression of
the sizes, what was compiled for the kinds before is opened: its numbers, and its fused kernels, become arguments. A kind that
follows costs the evaluation of these. Sizes beyond those tried are tried first.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._behaviours.functional._views import Step, View
from mindtorch_v2._lowered.joint import Joint, NotLowerable, OffsetsMatter, Output
from mindtorch_v2._lowered.open_arguments import Arguments, form_of
from mindtorch_v2._lowered.open_graph import OpenGraph, templates_of
from mindtorch_v2._sizes.templates import NoTemplate, Numbers, filled, fitted
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["Compiled", "Family", "family_of"]

_TRIES = (2, 5)  # numbers of kinds at which is looked; a program that varies by more than numbers is let be then
_KINDS = 1024  # that are remembered
_AGAIN = 2  # calls of a kind in vain, where many kinds were compiled by themselves


@dataclasses.dataclass
class Compiled:
    """A kind of arguments that was lowered: its joint graph, what the compilers made of it, and what forward writes itself.

    What a compiler made has the graphs of some ways to do it, by their names: `graphs`, and the names by preference: `names`.
    """

    joint: Joint
    forward: Any
    backward: Any
    inside: frozenset

    @property
    def inputs(self) -> Sequence[Any]:
        """The arguments, fake ones."""
        return self.joint.inputs


def family_of(modes: tuple, inputs: Sequence[Any]) -> tuple:
    """The part of a kind that kinds of other sizes have in common."""
    parts: list[Any] = [modes]
    for each in inputs:
        if isinstance(each, torch.Tensor):
            parts.append((each.dim(), each.dtype, each.device, each.requires_grad, each.is_leaf, type(each)))
        else:
            parts.append(type(each) if type(each) in (int, float) else (type(each), each))
    return tuple(parts)


def _described(output: Output) -> tuple:
    """A result as data that a template can be of."""
    steps = output.steps
    if steps is not None:
        steps = tuple((each.view.op, each.view.args, each.view.kwargs, each.index) for each in steps)
    return output.kind, output.index, steps, output.geometry, output.requires_grad, output.value


def _output(data: tuple) -> Output:
    kind, index, steps, *rest = data
    if steps is not None:
        steps = tuple(Step(View(op, args, kwargs), part) for op, args, kwargs, part in steps)
    return Output(kind, index, steps, *rest)


class _Open:
    """A family's program for all sizes: made of two kinds that were compiled, and of traces of some more."""

    def __init__(self, kinds: Sequence[Compiled], trace: Callable[[Sequence[Any]], Joint], together: bool) -> None:
        self._trace = trace
        self._kinds = kinds
        self._examples = kinds[-1].inputs
        self._arguments = Arguments([[form_of(each) for each in kind.inputs] for kind in kinds], together)
        joints = [kind.joint for kind in kinds]
        tried: dict[str, list[Any]] = {name: list(values) for name, values in self._arguments.values.items()}
        for symbols in self._arguments.others():
            joint = self._traced(symbols)
            if joint is not None:
                joints.append(joint)
                for name, value in symbols.items():
                    tried[name].append(value)
        if len(joints) < len(kinds) + 2:
            raise NoTemplate("the program is not right for the sizes tried")
        self._range = {name: [min(values), max(values)] for name, values in tried.items()}
        self._numbers = Numbers({name: tuple(values) for name, values in tried.items()})
        self._whole = [template for _, _, template in templates_of([joint.module for joint in joints], self._numbers)]
        self._about = fitted([_about(joint) for joint in joints], self._numbers)
        self._values = fitted([_values(joint) for joint in joints], self._numbers)
        self._numbers.by_first(len(kinds))
        self._forward = self._opened([kind.forward for kind in kinds])
        backs = [kind.backward for kind in kinds if kind.backward is not None]
        self._backward = self._opened(backs) if backs else None

    def _opened(self, made: Sequence[Any]) -> OpenGraph:
        """The graph of the best way that is the same for each kind."""
        reasons = []
        for name in made[-1].names:
            if all(name in each.graphs for each in made):
                try:
                    return OpenGraph([each.graphs[name] for each in made], self._numbers)
                except NoTemplate as reason:
                    reasons.append(f"{name}: {reason}")
        raise NoTemplate("; ".join(reasons))

    def _traced(self, symbols: Mapping[str, int]) -> Joint | None:
        try:
            return self._trace(self._arguments.fakes_at(symbols, self._examples))
        except (NotLowerable, OffsetsMatter, NoTemplate):
            return None

    def at(self, inputs: Sequence[Any]) -> tuple[Joint, Callable, Callable | None, frozenset] | None:
        """The parts of a plan for these arguments; None if they are not of the family's form."""
        symbols = self._arguments.symbols_of([form_of(each) for each in inputs])
        if symbols is None or not self._reaches(symbols):
            return None
        numbers = self._numbers.at(symbols)
        kind = self._kinds[-1]
        outputs, strides, tangent_strides = filled(self._about, numbers.__getitem__)
        joint = dataclasses.replace(
            kind.joint, outputs=[_output(each) for each in outputs], strides=strides, tangent_strides=tangent_strides
        )
        backward = None if self._backward is None else self._backward.at(numbers)
        return joint, self._forward.at(numbers), backward, kind.inside

    def _reaches(self, symbols: Mapping[str, int]) -> bool:
        """Whether the template holds for these sizes: those beyond what was tried are tried, with some room, or as they are."""
        beyond = {
            name: value
            for name, value in symbols.items()
            if type(value) is int and not self._range[name][0] <= value <= self._range[name][1]
        }
        if not beyond:
            return True
        further = {n: 2 * v + 1 if v > self._range[n][1] else max(2, v // 2 + 1) for n, v in beyond.items()}
        for tried in ({**symbols, **further}, symbols):
            joint = self._traced(tried)
            if joint is not None and self._is(joint, tried):
                for name in beyond:
                    least, most = self._range[name]
                    self._range[name] = [min(least, tried[name]), max(most, tried[name])]
                return True
        return False

    def _is(self, joint: Joint, symbols: Mapping[str, int]) -> bool:
        """Whether a trace is what the template says of these sizes."""
        numbers = self._numbers.at(symbols)
        known = self._kinds[0].joint
        try:
            same = templates_of([known.module, joint.module], _Anything())
        except NoTemplate:
            return False
        theirs = iter(joint.module.graph.nodes)
        number, named = numbers.__getitem__, {}
        for (node, _, _), other, template in zip(same, theirs, self._whole):
            named[node] = other
            if filled(template, number, named.__getitem__) != (other.args, dict(other.kwargs)):
                return False
        expected = (filled(self._about, number), filled(self._values, number))
        return expected == (_about(joint), _values(joint))


class _Anything(Numbers):
    """Numbers of which none is asked for: they are compared one by one."""

    def __init__(self) -> None:
        super().__init__({})

    def place(self, values: tuple[int, ...]) -> int:
        return 0


def _about(joint: Joint) -> tuple:
    """The part of a plan beside the graphs that sizes decide."""
    if any(each.whole is not None or each.geometry is not None for each in joint.written):
        raise NoTemplate("arguments are written that share memory, or get other sizes")
    return [_described(each) for each in joint.outputs], joint.strides, joint.tangent_strides


def _values(joint: Joint) -> list[Any]:
    """The forms of all values in a joint graph."""
    return [pytree.tree_map(form_of, node.meta.get("val")) for node in joint.module.graph.nodes]


class Family:
    """Kinds of arguments that differ by sizes only, and what was compiled for them; `tell` is told why no graph serves all."""

    def __init__(self, trace: Callable[[Sequence[Any]], Joint], tell: Callable[[str], None]) -> None:
        self._trace, self._tell = trace, tell
        self._kinds: list[Compiled] = []
        self._count = 0
        self._open: _Open | None = None
        self._seen: collections.Counter[Any] = collections.Counter()

    def learn(self, compiled: Compiled) -> None:
        """Note that a kind was compiled."""
        self._count += 1
        self._kinds = [*self._kinds[-1:], compiled]

    def at(self, inputs: Sequence[Any]) -> Any:
        """The parts of a plan for a new kind: see `_Open.at`; None if it is to be compiled by itself."""
        if self._open is None and self._count in _TRIES:
            self._open = self._opened()
        try:
            return None if self._open is None else self._open.at(inputs)
        except NoTemplate as reason:
            self._tell(f"sizes {[form_of(each) for each in inputs]} are compiled by themselves: {reason}")
            return None

    def _opened(self) -> _Open | None:
        for together in (False, True):
            try:
                return _Open(self._kinds, self._trace, together)
            except NoTemplate as reason:
                self._tell(f"no graph for all sizes: {reason}")
        return None

    def is_worth_it(self, kind: Any) -> bool:
        """Whether a kind is to be compiled by itself: where many are, those that come again are."""
        if len(self._seen) > _KINDS:
            self._seen.clear()
        self._seen[kind] += 1
        return self._count < _TRIES[-1] or self._seen[kind] > _AGAIN
