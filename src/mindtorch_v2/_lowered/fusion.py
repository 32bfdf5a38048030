"""A pass over a graph of operators: chains of calls become fused programs, which pass over memory once.

A group is a set of calls whose loops go over one space of elements. A call joins the group of a value that it reads, or of
another reader of one of its arguments, unless a path would lead out of the group and back into it. What somebody outside
reads is written to memory, the rest stays in the cache.
"""

from __future__ import annotations

import copy
import dataclasses
import heapq
import math
import operator
from collections.abc import Iterable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._backends.common.chains import find
from mindtorch_v2._lowered.device_chain import ChainBuilder, ChainKernel
from mindtorch_v2._lowered.fused_program import FusedKernel, ProgramBuilder
from mindtorch_v2._lowered.loops import Call, call_of, is_item, results_of
from mindtorch_v2._ops import OpOverload
from mindtorch_v2.fx import Graph, GraphModule, Node

__all__ = ["Fused", "fuse"]

_MOST_CALLS = 40  # of a group: buffers of longer ones leave the first-level cache
_RESULTS = 3  # of a kernel's tensors on other devices, kept free while a group grows


@dataclasses.dataclass
class Fused:
    """The results of `fuse`: the new graph, its kernels, and how many calls of operators remain beside them."""

    module: GraphModule
    kernels: list[FusedKernel | ChainKernel]
    left: int


class _Group:
    def __init__(self, sizes: tuple, order: tuple, row_dims: int) -> None:
        self.sizes, self.order, self.row_dims = sizes, order, row_dims
        self.calls: list[Call] = []
        self.members: set[Node] = set()  # with items and views, which do nothing
        self.bits = 0
        self.above = 0  # what its members depend on

    @property
    def device(self) -> torch.device:
        return self.calls[0].device

    @property
    def kept(self) -> tuple:
        return self.sizes[: len(self.sizes) - self.row_dims] + (1,) * self.row_dims


def _order(value: Any) -> tuple | None:
    """The dimensions of a dense tensor in the order of its memory, the outermost first; None if it is not dense."""
    sizes, strides = tuple(value.shape), value.stride()
    long = [d for d in range(len(sizes)) if sizes[d] != 1]
    inside = sorted(long, key=lambda d: -strides[d])
    expected = 1
    for d in reversed(inside):
        if strides[d] != expected:
            return None
        expected *= sizes[d]
    return tuple([d for d in range(len(sizes)) if sizes[d] == 1] + inside)


class _Space:
    """The space that a call asks of a group."""

    def __init__(self, call: Call) -> None:
        if call.row_dims:
            self.sizes = tuple(call.tensors[0].meta["val"].shape)
            self.order: tuple | None = tuple(
                [d for d in range(len(self.sizes)) if self.sizes[d] == 1]
                + [d for d in range(len(self.sizes)) if self.sizes[d] != 1]
            )
        else:
            first = next(each for each in call.results if each is not None)
            self.sizes = tuple(first.shape)
            self.order = _order(first)
            for each in call.results:
                if each is not None and (tuple(each.shape) != self.sizes or _order(each) != self.order):
                    self.order = None
        self.row_dims = call.row_dims

    def usable(self) -> bool:
        return self.order is not None and 0 < math.prod(self.sizes) and len(self.sizes) <= 16


class _Fuser:
    def __init__(self, module: GraphModule) -> None:
        self.module = module
        self.graph = copy.deepcopy(module.graph)
        self.nodes = list(self.graph.nodes)
        self.place = {node: k for k, node in enumerate(self.nodes)}
        self.group: dict[Node, _Group] = {}
        self.aliases: dict[Node, tuple[Node, int]] = {}
        self.above: dict[Node, int] = {}  # bits of the nodes that a node depends on
        self.groups: list[_Group] = []

    # ---- groups ----

    def make_groups(self) -> None:
        for node in self.nodes:
            above = 0
            for each in node.all_input_nodes:
                above |= self.above[each] | 1 << self.place[each]
            self.above[node] = above
            if self._follows(node):
                continue
            call = call_of(node)
            if call is None:
                continue
            space = _Space(call)
            if not space.usable():
                continue
            self._place(call, space)

    def _join(self, group: _Group, node: Node) -> None:
        self.group[node] = group
        group.members.add(node)
        group.bits |= 1 << self.place[node]
        group.above |= self.above[node]

    def _follows(self, node: Node) -> bool:
        """Whether a node is another name of what a group makes: an item, or a view of an element for each row."""
        if is_item(node):
            source, index = node.args[0], node.args[1]
            group = self.group.get(source) if isinstance(source, Node) else None
            if group is None or not isinstance(index, int):
                return False
            self.aliases[node] = (source, index % len(results_of(source)))
            self._join(group, node)
            return True
        if not isinstance(node.target, OpOverload) or not node.target._handle.is_view or len(node.all_input_nodes) != 1:
            return False
        (source,) = node.all_input_nodes
        group = self.group.get(source)
        if group is None or not group.row_dims:
            return False
        result = self.aliases.get(source, (source, 0))
        made, value = results_of(result[0])[result[1]], node.meta.get("val")
        leading = group.sizes[: len(group.sizes) - group.row_dims]
        if tuple(made.shape) not in (leading, group.kept) or not made.is_contiguous() or group.kept == group.sizes:
            return False
        if not isinstance(value, torch.Tensor) or tuple(value.shape) not in (group.kept, group.sizes):
            return False
        inner = [value.stride(d) for d in range(value.dim() - group.row_dims, value.dim()) if value.shape[d] != 1]
        plain = torch.empty(leading, device="meta").stride()
        outer = [(s, p) for s, p, n in zip(value.stride(), plain, leading) if n != 1]
        if any(inner) or any(s != p for s, p in outer):
            return False
        self.aliases[node] = result
        self._join(group, node)
        return True

    def _place(self, call: Call, space: _Space) -> None:
        """The call joins the groups of what it reads and of who reads it too, or begins one."""
        node = call.node
        found: list[_Group] = []
        for each in node.all_input_nodes:
            for near in (each, *each.users):
                group = self.group.get(near)
                if group is not None and group not in found:
                    found.append(group)
        home: _Group | None = None
        for group in found:
            joined = self._fits(group, space, call)
            if joined is None:
                continue
            if home is None:
                if self._legal(group.bits | 1 << self.place[node], [*group.members, node]):
                    if len(group.calls) < _MOST_CALLS and self._has_room([*group.members, node], call.device):
                        group.sizes, group.order, group.row_dims = joined
                        group.calls.append(call)
                        self._join(group, node)
                        home = group
            elif self._can_merge(home, group):
                self._merge(home, group)
        if home is None:
            assert space.order is not None  # as for a usable one
            home = _Group(space.sizes, space.order, space.row_dims)
            home.calls.append(call)
            self.groups.append(home)
            self._join(home, node)

    def _fits(self, group: _Group, space: _Space, call: Call) -> tuple | None:
        """The space of the group with the call in it; None if it does not fit."""
        if group.device != call.device:
            return None
        if group.sizes == space.sizes and group.order == space.order:
            dims = group.row_dims or space.row_dims
            if group.row_dims and space.row_dims and group.row_dims != space.row_dims:
                return None
            if dims and (space.order is None or not _ascending(space) or math.prod(space.sizes[-dims:]) > 1 << 15):
                return None
            return (group.sizes, group.order, dims)
        if group.row_dims and not space.row_dims and space.sizes == group.kept:
            return (group.sizes, group.order, group.row_dims)  # an element for each row
        return None

    def _can_merge(self, one: _Group, other: _Group) -> bool:
        same = (
            one.device == other.device
            and one.sizes == other.sizes
            and one.order == other.order
            and one.row_dims == other.row_dims
        )
        return (
            same
            and len(one.calls) + len(other.calls) <= _MOST_CALLS
            and self._legal(one.bits | other.bits, [*one.members, *other.members])
            and self._has_room([*one.members, *other.members], one.device)
        )

    def _merge(self, one: _Group, other: _Group) -> None:
        for node in other.members:
            self._join(one, node)
        one.calls = sorted([*one.calls, *other.calls], key=lambda call: self.place[call.node])
        self.groups.remove(other)

    def _legal(self, bits: int, members: list[Node]) -> bool:
        """Whether no path leads from a member through another node, or through another group, to a member."""
        outside = 0
        for node in members:
            for each in node.all_input_nodes:
                if not bits >> self.place[each] & 1:
                    outside |= self.above[each] | 1 << self.place[each]
        grown = True
        while grown:  # a group brings what any of its members depends on
            if outside & bits:
                return False
            grown = False
            for group in self.groups:
                if group.bits & outside and not group.bits & bits and (group.above | group.bits) & ~outside:
                    outside |= group.above | group.bits
                    grown = True
        return True

    # ---- the new graph ----

    def rebuild(self) -> Fused:
        kept = [group for group in self.groups if self._worth(group)]
        chosen = {node: group for group in kept for node in group.members}
        graph = Graph()
        copies: dict[Node, Node] = {}
        kernels: list[FusedKernel | ChainKernel] = []
        left = 0
        for unit in self._in_order(chosen):
            if isinstance(unit, _Group):
                self._emit(unit, graph, copies, kernels)
                continue
            if unit.op == "call_function" and isinstance(unit.target, OpOverload) and not unit.target._handle.is_view:
                left += 1
            copies[unit] = graph.node_copy(unit, lambda each: copies[each])
        return Fused(GraphModule(self.module, graph), kernels, left)

    def _worth(self, group: _Group) -> bool:
        """Whether running the group at once saves anything: two calls, of which one is more than a cast."""
        if len(group.calls) < 2:
            return False
        maker = find(group.device.type)
        return maker is None or self._read(group.members) + self._given(group) <= maker.most

    @staticmethod
    def _read(members: Iterable[Node]) -> int:
        """How many tensors from outside a group reads."""
        inside = set(members)
        return len({each for node in inside for each in node.all_input_nodes} - inside)

    @staticmethod
    def _given(group: _Group) -> int:
        """How many of a group's results somebody outside may read."""
        return sum(len(call.results) for call in group.calls if not group.members.issuperset(call.node.users))

    def _has_room(self, members: Iterable[Node], device: torch.device) -> bool:
        """Whether a kernel of the device takes as many arguments."""
        maker = find(device.type)
        return maker is None or self._read(members) + _RESULTS <= maker.most

    def _in_order(self, chosen: dict[Node, _Group]) -> list[Any]:
        """Nodes and groups so that each comes after what it needs; what has effects keeps its order."""
        unit_of: dict[Node, Any] = {node: chosen.get(node, node) for node in self.nodes}
        first: dict[Any, int] = {}
        needs: dict[Any, set] = {}
        for node in self.nodes:
            unit = unit_of[node]
            first.setdefault(unit, self.place[node])
            needs.setdefault(unit, set()).update(u for u in map(unit_of.get, node.all_input_nodes) if u is not unit)
        before: Any = None
        for node in self.nodes:
            if node.op == "placeholder" or (node.op == "call_function" and node.is_impure()) or node.op == "output":
                unit = unit_of[node]
                if before is not None and before is not unit:
                    needs[unit].add(before)
                before = unit
            if node.op == "call_function" and isinstance(node.target, OpOverload) and node.target._handle.mutates:
                for reader in (r for each in node.all_input_nodes for r in each.users):
                    if self.place[reader] < self.place[node] and unit_of[reader] is not unit_of[node]:
                        needs[unit_of[node]].add(unit_of[reader])
        waiting = {unit: len(of) for unit, of in needs.items()}
        users: dict[Any, list] = {}
        for unit, of in needs.items():
            for each in of:
                users.setdefault(each, []).append(unit)
        ready = [(first[unit], k, unit) for k, (unit, n) in enumerate(waiting.items()) if n == 0]
        heapq.heapify(ready)
        count = len(waiting)
        made: list[Any] = []
        while ready:
            _, _, unit = heapq.heappop(ready)
            made.append(unit)
            for user in users.get(unit, ()):
                waiting[user] -= 1
                if not waiting[user]:
                    count += 1
                    heapq.heappush(ready, (first[user], count, user))
        if len(made) != len(needs):
            raise AssertionError("fused groups depend on each other")
        return made

    def _emit(
        self, group: _Group, graph: Graph, copies: dict[Node, Node], kernels: list[FusedKernel | ChainKernel]
    ) -> None:
        maker = find(group.device.type)
        builder: ProgramBuilder | ChainBuilder
        if maker is None:
            builder = ProgramBuilder(group.sizes, group.order, group.row_dims, self.aliases)
        else:
            builder = ChainBuilder(maker, self.aliases)
        calls = sorted(group.calls, key=lambda call: self.place[call.node])
        for call in calls:
            builder.add(call)
        results = {call.node: call.results for call in calls}
        outputs: dict[tuple[Node, int], list[Node]] = {}
        lists: list[Node] = []  # calls whose results somebody takes all at once
        for node in sorted(group.members, key=self.place.__getitem__):
            if all(user in group.members for user in node.users):
                continue
            if node in results and isinstance(node.meta.get("val"), (tuple, list)):
                lists.append(node)
                for index, each in enumerate(results[node]):
                    if each is not None:
                        outputs.setdefault((node, index), [])
                continue
            outputs.setdefault(self.aliases.get(node, (node, 0)), []).append(node)
        kernel = builder.finish(f"fused_{len(kernels)}", list(outputs))
        kernels.append(kernel)
        made = graph.call_function(kernel, tuple(copies[each] for each in builder.arguments))
        examples = [results_of(node)[index] for node, index in outputs]
        made.meta["val"] = examples[0] if len(examples) == 1 else tuple(examples)
        values: dict[tuple[Node, int], Node] = {}
        for k, (result, names) in enumerate(outputs.items()):
            value = made
            if len(outputs) > 1:
                value = graph.call_function(operator.getitem, (made, k))
                value.meta["val"] = examples[k]
            values[result] = value
            for name in names:
                copies[name] = self._under_another_name(name, result, value, graph)
        for node in lists:
            copies[node] = graph.call_function(
                _together, tuple(values.get((node, k)) for k in range(len(results_of(node))))
            )

    @staticmethod
    def _under_another_name(node: Node, result: tuple[Node, int], value: Node, graph: Graph) -> Node:
        """A view that did nothing within the group, made of the value that left it."""
        if is_item(node) or node is result[0]:
            return value
        view = graph.node_copy(node, lambda each: value)
        example, made = node.meta["val"], value.meta["val"]
        if tuple(node.all_input_nodes[0].meta["val"].shape) != tuple(made.shape):
            graph.erase_node(view)
            view = graph.call_function(
                torch.ops.aten.as_strided.default, (value, list(example.shape), list(example.stride()))
            )
            view.meta["val"] = example
        return view


def _together(*values: Any) -> tuple:
    return values


_together.__module__ = "fused_loops"


def _ascending(space: Any) -> bool:
    long = [d for d in space.order if space.sizes[d] != 1]
    return long == sorted(long)


def fuse(module: GraphModule) -> Fused:
    """A copy of `module` (a functional graph of operators whose nodes tell their values) in which chains of calls are fused.

    >>> from mindtorch_v2._lowered.fusion import fuse
    >>> from mindtorch_v2.fx.experimental.proxy_tensor import make_fx
    >>> x = torch.ones(4)
    >>> made = fuse(make_fx(lambda x: torch.tanh(x * 2).sum(), tracing_mode="fake")(x))
    >>> print(made.module.code.strip())
    def forward(self, x_1):
        fused_0 = fused_loops_fused_0(x_1);  x_1 = None
        return fused_0
    >>> print(made.kernels[0].text)
    fused_0(x_1) over 4, rows of the last 1:
        mul = aten.mul.Tensor(x_1, 2)
        tanh = aten.tanh.default(mul)
        sum_1 = rows aten.sum.default(tanh)
        return sum_1
    """
    fuser = _Fuser(module)
    fuser.make_groups()
    return fuser.rebuild()
