"""Operators of a graph without writes turned back into their in-place forms, where nobody reads what is overwritten.

It is the way back from functionalization: `add` becomes `add_` where its first argument is not used again, and
`slice_scatter` a write into the slice. Tensors that the program was given are not written to.
"""

from __future__ import annotations

import collections
import enum
import functools
import operator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx import Interpreter
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node, map_arg
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["reinplace"]


class _ViewType(enum.Enum):
    NonView = 0
    SingleOutputView = 1
    MultiOutputView = 2


def _is_view_op(target: Any) -> bool:
    """Whether an operator's first argument is what its result is a view of, and is not written."""
    if not isinstance(target, torch._ops.OpOverload) or not target._schema.arguments:
        return False
    alias = target._schema.arguments[0].alias_info
    return alias is not None and not alias.is_write


def _get_view_type(target: Any) -> _ViewType:
    """Whether an operator gives a view, or several ("*" among the marks of its argument)."""
    if not _is_view_op(target):
        return _ViewType.NonView
    several = "*" in target._schema.arguments[0].alias_info.after_set
    return _ViewType.MultiOutputView if several else _ViewType.SingleOutputView


def _tensors(value: Any) -> list[torch.Tensor]:
    return [each for each in pytree.tree_leaves(value) if isinstance(each, torch.Tensor)]


def _memory(value: Any) -> set[int]:
    return {each.untyped_storage()._cdata for each in _tensors(value)}


class _Run(Interpreter):
    """Run the graph on tensors without numbers: each node's result, its place, and the node that it is a view of."""

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.results: dict[Node, Any] = {}
        self.place: dict[Node, int] = {}
        self.view_of: dict[Node, Node] = {}

    def run_node(self, n: Node) -> Any:
        self.place[n] = len(self.place)
        result = super().run_node(n)
        self.results[n] = result
        if n.op != "call_function":
            return result
        if _get_view_type(n.target) == _ViewType.SingleOutputView:
            self.view_of[n] = n.args[0]
        elif n.target is operator.getitem:
            several = n.args[0]
            if isinstance(several, Node) and _get_view_type(several.target) == _ViewType.MultiOutputView:
                self.view_of[n] = several.args[0]
        return result


def _without_numbers(module: GraphModule, arguments: tuple) -> _Run:
    from mindtorch_v2._subclasses.fake_tensor import FakeTensorMode

    mode = FakeTensorMode(allow_non_fake_inputs=True)  # constants of the program
    fakes = [mode.from_tensor(each) if isinstance(each, torch.Tensor) else each for each in arguments]
    run = _Run(module)
    with mode:
        run.run(*fakes)
    return run


def _in_place_form(target: Any) -> Any:
    """The operator that writes its result into its first argument, which takes the same arguments otherwise; None if there is none."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    space, name = target._schema.name.split("::")
    packet = getattr(getattr(torch.ops, space), f"{name}_", None)
    if packet is None:
        return None
    wanted = [(argument.name, argument.type) for argument in target._schema.arguments]
    for overload in packet.overloads():
        found = getattr(packet, overload)
        if [(argument.name, argument.type) for argument in found._schema.arguments] == wanted:
            return found
    return None


@functools.cache
def _view_of_scatter(target: Any) -> Any:
    """The view that a scatter writes to: `slice.Tensor` of `slice_scatter`, which takes `src` beside its arguments; else None."""
    if not isinstance(target, torch._ops.OpOverload) or not target._schema.name.endswith("_scatter"):
        return None
    space, name = target._schema.name.removesuffix("_scatter").split("::")
    packet = getattr(getattr(torch.ops, space), name, None)
    if packet is None:
        return None
    wanted = [argument.name for argument in target._schema.arguments if argument.name != "src"]
    for overload in packet.overloads():
        found = getattr(packet, overload)
        if [argument.name for argument in found._schema.arguments] == wanted:
            return found
    return None


class _Reinplacer:
    def __init__(self, module: GraphModule, arguments: tuple) -> None:
        self.module = module
        self.run = _without_numbers(module, arguments)
        self.holders: dict[int, set[Node]] = collections.defaultdict(set)
        for node, result in self.run.results.items():
            for each in _memory(result):
                self.holders[each].add(node)
        self.given: set[int] = set()
        for node, result in self.run.results.items():
            if node.op == "placeholder":
                self.given |= _memory(result)
        self.obsolete: dict[Node, None] = {}

    def __call__(self) -> GraphModule:
        for node in [n for n in self.run.results if n.op == "call_function"]:
            self._try(node)
        for node in reversed(self.obsolete):
            self.module.graph.erase_node(node)
        self.module.recompile()
        return self.module

    def _fits(self, node: Node) -> bool:
        """Whether the node's result could lie where its first argument lies."""
        if not isinstance(node.target, torch._ops.OpOverload) or not node.args or not isinstance(node.args[0], Node):
            return False
        first = self.run.results[node.args[0]]
        if not isinstance(first, torch.Tensor):
            return False
        if node.target._schema.name != "aten::resize":
            results = _tensors(self.run.results[node])
            if len(results) == 1:
                result = results[0]
                if result.numel() != first.numel() or result.dtype != first.dtype:
                    return False
                if torch._debug_has_internal_overlap(first) == 1:
                    return False
        return sum(argument is node.args[0] for argument in node.args) == 1

    def _try(self, node: Node) -> None:
        if not self._fits(node):
            return
        first: Node = node.args[0]
        (memory,) = _memory(self.run.results[first])
        if memory in self.given:
            return
        aliases = self.holders[memory]
        later = {user for alias in aliases for user in alias.users if self._place(user) > self._place(node)}
        undone = {user for user in later if self._writes_back(user, aliases, self.run.results[node])}
        if later - undone:
            return
        if _view_of_scatter(node.target) is not None and node not in self.obsolete:
            self._write_slice(node, first)
        else:
            found = _in_place_form(node.target)
            if found is None:
                return
            node.target = found
        for other in _memory(self.run.results[node]):
            self._join(memory, other)
        self.obsolete.update(dict.fromkeys(sorted(undone, key=self._place)))
        for old in (node, *sorted(undone, key=self._place)):
            self._read_first_instead(old, after=node)

    def _place(self, node: Node) -> int:
        return self.run.place.get(node, -1)  # writes that were put in belong to what they replace

    def _writes_back(self, user: Node, aliases: set[Node], new: torch.Tensor) -> bool:
        """Whether a node puts a view of its first argument, which is one of the aliases, back where it came from.

        What it puts there is `new`, which is about to be written into such a view, or what was written there before.
        """
        view = _view_of_scatter(user.target)
        base, piece = (*user.args, None, None)[:2]
        if view is None or not isinstance(base, Node) or not isinstance(piece, Node):
            return False
        wanted = self.run.results[piece]
        for alias in aliases:
            if self.run.view_of.get(alias) is not base or alias.target is not view:
                continue
            if alias.args[1:] != user.args[2:] or alias.kwargs != user.kwargs:
                continue
            seen = self.run.results[alias]
            same = self._same_memory(new, wanted) or self._same_memory(seen, wanted)
            if seen.shape == wanted.shape and seen.dtype == wanted.dtype and same:
                return True
        return False

    def _same_memory(self, first: torch.Tensor, second: torch.Tensor) -> bool:
        return bool(self.holders[first.untyped_storage()._cdata] & self.holders[second.untyped_storage()._cdata])

    def _write_slice(self, node: Node, base: Node) -> None:
        graph = self.module.graph
        with graph.inserting_before(node):
            view = graph.create_node(
                "call_function", _view_of_scatter(node.target), (base, *node.args[2:]), dict(node.kwargs)
            )
            graph.create_node("call_function", torch.ops.aten.copy_.default, (view, node.args[1]), {})
        self.obsolete[node] = None

    def _join(self, first: int, second: int) -> None:
        """Two memories are one from now on."""
        both = self.holders[first] | self.holders[second]
        self.holders[first] = both
        self.holders[second] = both

    def _read_first_instead(self, old: Node, after: Node) -> None:
        """Let later readers of a result read what it was written into: its first argument."""
        new: Node = old.args[0]
        for reader in list(old.users):
            if self._place(reader) <= self._place(after):
                continue
            reader.args = map_arg(reader.args, lambda each: new if each is old else each)
            reader.kwargs = map_arg(reader.kwargs, lambda each: new if each is old else each)
            before, now = _memory(self.run.results[old]), _memory(self.run.results.get(reader))
            if len(before) == 1 and before == now:  # a view, which is one of the other memory now
                for memory in _memory(self.run.results[new]):
                    self._join(memory, *now)


def reinplace(gm: GraphModule, *sample_args: Any) -> GraphModule:
    """Write results over first arguments that are not used again, in a graph of operators without writes.

    `sample_args` are tensors like those that the program takes, of which only the kinds are looked at. The graph is changed, and
    returned. The program has to keep its views (`torch.func.functionalize(..., remove="mutations")`).

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> def program(x):
    ...     y = torch.ops.aten.clone.default(x)
    ...     return torch.ops.aten.add.Tensor(y, 1)
    >>> graph = reinplace(make_fx(program)(torch.ones(2)), torch.ones(2))
    >>> [node.target.__name__ for node in graph.graph.nodes if node.op == "call_function"]
    ['clone.default', 'add_.Tensor']
    """
    return _Reinplacer(gm, sample_args)()
