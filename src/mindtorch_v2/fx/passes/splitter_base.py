"""Cutting a graph into parts that an accelerator takes and parts that stay on the CPU, by turns.

A back end derives from `_SplitterBase` and says what it supports; the parts for it are the submodules `_run_on_acc_<n>`, the
others `_run_on_cpu_<n>`.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.graph_module import GraphModule
from mindtorch_v2.fx.node import Node
from mindtorch_v2.fx.passes.operator_support import OperatorSupportBase, get_node_target
from mindtorch_v2.fx.passes.shape_prop import ShapeProp
from mindtorch_v2.fx.passes.split_utils import move_non_tensor_nodes_on_boundary, split_by_tags
from mindtorch_v2.fx.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    NodeList,
    NodeSet,
    Tensors,
    is_node_output_tensor,
)

__all__ = [
    "FxNetAccNodesFinder",
    "FxNetSplitterInternalError",
    "NodeEvent",
    "NodeEventTracker",
    "SplitResult",
    "Subgraph",
    "generate_inputs_for_submodules",
]

_log = logging.getLogger(__name__)

DEFAULT_MIN_ACC_MODULE_SIZE = 1
DEFAULT_SKIP_FUSION = False
DEFAULT_ALLOW_NON_TENSOR = False
ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE = "FX_NET_ACC_SPLITTER_TRACKER_MODE"
ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH = "FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH"
ENV_FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES = "FX_NET_ACC_SPLITTER_TRACKER_TRACKED_NODES"
DUMP_PREFIX = os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_DUMP_PATH)
TRACKER_DUMP_PATH = DUMP_PREFIX
TRACKER_MODE = os.environ.get(ENV_FX_NET_ACC_SPLITTER_TRACKER_MODE, "0")
ALL_SUFFIX, NODES_SUFFIX = "_all.txt", "_nodes.txt"


class _SplitterSettingBase:
    """Settings of a splitter, which the command line may give too.

    `min_acc_module_size` is the least number of nodes of an accelerator's part, `skip_fusion` lets groups be parted that
    hand on what is no tensor, `allow_non_tensor` gives the accelerator nodes with such values, `max_acc_splits` is the greatest
    number of parts for it (-1: any).
    """

    def __init__(
        self,
        min_acc_module_size: int = DEFAULT_MIN_ACC_MODULE_SIZE,
        skip_fusion: bool = DEFAULT_SKIP_FUSION,
        allow_non_tensor: bool = DEFAULT_ALLOW_NON_TENSOR,
        max_acc_splits: int = -1,
        move_non_tensor_nodes_on_boundary: bool = False,
    ) -> None:
        parser = argparse.ArgumentParser()
        parser.add_argument("--min-acc-module-size", "--min_acc_module_size", type=int)
        parser.add_argument("--max-acc-splits", "--max_acc_splits", type=int)
        parser.add_argument("--skip-fusion", "--skip_fusion", action="store_true")
        parser.add_argument("--allow-non-tensor", "--allow_non_tensor", action="store_true")
        parser.add_argument("--move-non-tensor-nodes-on-boundary", action="store_true")
        given, _ = parser.parse_known_args()
        self.min_acc_module_size = given.min_acc_module_size or min_acc_module_size
        self.max_acc_splits = given.max_acc_splits or max_acc_splits
        self.skip_fusion = given.skip_fusion or skip_fusion
        self.allow_non_tensor = given.allow_non_tensor or allow_non_tensor
        self.move_non_tensor_nodes_on_boundary = (
            given.move_non_tensor_nodes_on_boundary or move_non_tensor_nodes_on_boundary
        )


@compatibility(is_backward_compatible=False)
class NodeEvent:
    """One thing that happened to a node in a split, and the node that it was because of.

    >>> x, add, output = torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> NodeEvent(add, "taken", x).to_str()
    'add: taken x'
    """

    def __init__(self, source: Node, desc: str, dep: Node | None = None) -> None:
        self.source, self.desc, self.dep = source, desc, dep

    def to_str(self) -> str:
        """The event in a line."""
        return f"{self.source.name}: {self.desc} {self.dep.name if self.dep is not None else '#'}"


@compatibility(is_backward_compatible=False)
class NodeEventTracker:
    """The events of a split. Mode 0 keeps none, 1 to 3 keep them for `dump` (3: all of them).

    >>> x, add, output = torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> tracker = NodeEventTracker(1, None)
    >>> tracker.add(add, "taken")
    >>> tracker.to_dict()
    {'add': ['add: taken #']}
    """

    def __init__(self, tracker_mode: int, dump_prefix: str | None) -> None:
        self.tracker_mode, self.dump_prefix = tracker_mode, dump_prefix
        self.enable = bool(tracker_mode)
        self.events: list[NodeEvent] = []
        self.node_events: dict[str, list[int]] = {}
        self.writer: Callable[[str], object] = print

    def add(self, node: Node, desc: str, dep: Node | None = None) -> None:
        """Note an event."""
        if not self.enable:
            return
        self.node_events.setdefault(node.name, []).append(len(self.events))
        self.events.append(NodeEvent(node, desc, dep))

    def print_node(
        self, node_name: str, recursive: bool = False, tab: str = "", writer: Callable[[str], object] | None = None
    ) -> None:
        """Write the events of a node, and by `recursive` of those that they were because of."""
        write = writer or self.writer
        for place in self.node_events.get(node_name, []):
            event = self.events[place]
            write(tab + event.to_str())
            if recursive and event.dep is not None:
                self.print_node(event.dep.name, recursive=True, tab=f"| {tab}", writer=writer)

    def to_dict(self) -> dict[str, list[str]]:
        """The events of each node, as lines."""
        return {name: [self.events[place].to_str() for place in places] for name, places in self.node_events.items()}

    def print_all(self, writer: Callable[[str], object] | None = None) -> None:
        """Write all events, node by node."""
        for name in self.node_events:
            (writer or self.writer)(f"Node: {name}:")
            self.print_node(name, recursive=False, tab="  ", writer=writer)

    def dump(self) -> None:
        """Write all events to the file `<prefix>_all.txt`, if there is a prefix."""
        if self.enable and self.dump_prefix:
            with open(self.dump_prefix + ALL_SUFFIX, "w", encoding="utf-8") as file:
                json.dump(self.to_dict(), file)


@compatibility(is_backward_compatible=False)
class FxNetAccNodesFinder:
    """Find the nodes that the accelerator takes: supported ones, without those whose values, no tensors, go to or come from the CPU.

    With `allow_non_tensor` such values are allowed. A call gives the set of nodes.

    >>> from mindtorch_v2.fx.passes.operator_support import create_op_support
    >>> traced = torch.fx.symbolic_trace(lambda x: x + 1)
    >>> _ = ShapeProp(traced).propagate(torch.ones(1))
    >>> FxNetAccNodesFinder(traced, create_op_support(lambda modules, node: True), False)()
    {add}
    """

    def __init__(self, module: GraphModule, operator_support: OperatorSupportBase, allow_non_tensor: bool) -> None:
        self.module = module
        self.operator_support = operator_support
        self.allow_non_tensor = allow_non_tensor
        self.acc_nodes: NodeSet = set()
        self.tracker = NodeEventTracker(int(TRACKER_MODE), DUMP_PREFIX)

    def reduce_acc_nodes_non_tensor_input_helper(self, cpu_worklist: NodeList) -> None:
        """Take from the accelerator's nodes those that need a value of these nodes of the CPU, which is no tensor."""
        while cpu_worklist:
            node = cpu_worklist.pop(0)
            for user in node.users:
                if user in self.acc_nodes:
                    self.acc_nodes.remove(user)
                    self.tracker.add(user, "acc_del|user_of_new_cpu_node", node)
                    if not is_node_output_tensor(user):
                        cpu_worklist.append(user)

    def reduce_acc_nodes_non_tensor_input(self) -> None:
        """Let no value but tensors go to the accelerator."""
        self.reduce_acc_nodes_non_tensor_input_helper(
            [
                node
                for node in self.module.graph.nodes
                if node.op in CALLABLE_NODE_OPS and node not in self.acc_nodes and not is_node_output_tensor(node)
            ]
        )

    def reduce_acc_nodes_non_tensor_output(self) -> None:
        """Let no value but tensors come from the accelerator."""
        while True:
            found = [
                node
                for node in self.acc_nodes
                if not is_node_output_tensor(node) and any(user not in self.acc_nodes for user in node.users)
            ]
            if not found:
                return
            for node in found:
                self.acc_nodes.remove(node)
                self.tracker.add(node, "acc_del|non_tensor_output_with_cpu_user")
            self.reduce_acc_nodes_non_tensor_input_helper(found)

    def __call__(self) -> NodeSet:
        submodules = dict(self.module.named_modules())
        self.acc_nodes = set()
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS and self.operator_support.is_node_supported(submodules, node):
                self.tracker.add(node, "init_acc|callable_and_operator_supported")
                self.acc_nodes.add(node)
        if not self.allow_non_tensor:
            self.reduce_acc_nodes_non_tensor_input()
            self.reduce_acc_nodes_non_tensor_output()
        self.tracker.dump()
        return self.acc_nodes


@compatibility(is_backward_compatible=False)
class FxNetSplitterInternalError(Exception):
    """A graph that cannot be split: nodes that need each other.

    >>> issubclass(FxNetSplitterInternalError, Exception)
    True
    """


@compatibility(is_backward_compatible=False)
@dataclass
class Subgraph:
    """A part: whether the accelerator takes it, its nodes in order, and for which device it is.

    >>> Subgraph(is_acc=True, nodes=[]).device_ordinal is None
    True
    """

    is_acc: bool
    nodes: NodeList
    device_ordinal: int | None = None


@compatibility(is_backward_compatible=False)
class SplitResult(NamedTuple):
    """The split module, the arguments of each submodule, and how the names of those begin that stay on the CPU.

    >>> SplitResult._fields
    ('split_module', 'submodule_inputs', 'non_acc_submodule_prefix')
    """

    split_module: GraphModule
    submodule_inputs: dict[str, Any]
    non_acc_submodule_prefix: str


@compatibility(is_backward_compatible=False)
def generate_inputs_for_submodules(
    model: torch.nn.Module, inputs: Sequence[Any], target_submodules: Iterable[str], deepcopy: bool = False
) -> dict[str, Any]:
    """The arguments with which submodules are called as `model(*inputs)` runs, by their paths.

    >>> model = torch.nn.Sequential(torch.nn.Identity(), torch.nn.ReLU())
    >>> generate_inputs_for_submodules(model, (torch.tensor([-1.0]),), ["1"])
    {'1': (tensor([-1.]),)}
    """
    results: dict[str, Any] = {}
    handles = []
    wanted = {module: name for name, module in model.named_modules() if name in target_submodules}

    def note(module: torch.nn.Module, args: Any, kwargs: Any) -> None:
        given = (args, kwargs) if kwargs else args
        results[wanted[module]] = copy.deepcopy(given) if deepcopy else given

    try:
        handles = [module.register_forward_pre_hook(note, with_kwargs=True) for module in wanted]
        with torch.no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return results


class _SplitterBase:
    """Split `module` into parts that run on the accelerator and parts that do not: a call gives the split module.

    `sample_input` is run once, so that the kinds of all values are known. Nodes that the accelerator takes are gathered as
    far as their values allow, a part that is smaller than the settings ask for stays on the CPU.

    >>> from mindtorch_v2.fx.passes.operator_support import create_op_support
    >>> traced = torch.fx.symbolic_trace(lambda x: ((x + 1) * 2).relu())
    >>> takes = create_op_support(lambda modules, node: node.op == "call_function")
    >>> split = _SplitterBase(traced, (torch.ones(2),), takes, _SplitterSettingBase())()
    >>> [name for name, _ in split.named_children()]
    ['_run_on_acc_0', '_run_on_cpu_1']
    """

    PCIe_BW = 100 * 2**30

    def __init__(
        self,
        module: GraphModule,
        sample_input: Sequence[Any],
        operator_support: OperatorSupportBase,
        settings: _SplitterSettingBase,
        non_acc_submodule_name: str = "_run_on_cpu_",
        return_tuple: bool = False,
        nodes_finder: FxNetAccNodesFinder | None = None,
    ) -> None:
        if not isinstance(module, GraphModule):
            raise AssertionError(f"expected a GraphModule, got {type(module)}")
        self.module = module
        ShapeProp(self.module).propagate(*sample_input)
        self.settings = settings
        self.operator_support = operator_support
        self.sample_input = sample_input
        finder = nodes_finder or FxNetAccNodesFinder(module, operator_support, settings.allow_non_tensor)
        self.acc_nodes = finder()
        self.fusions = {} if settings.skip_fusion else FxNetAccFusionsFinder(module, self.acc_nodes)()
        self.deps = self.find_deps()
        self.update_deps_for_fusions()
        self.non_acc_submodule_name = non_acc_submodule_name
        self._node_submodule_map: dict[str, str] = {}
        self._return_tuple = return_tuple
        self.tags: list[str] = []

    # ---- what needs what ----

    def get_node_submodule_map(self) -> dict[str, str]:
        """The submodule that each node went to, by names."""
        return self._node_submodule_map

    def find_deps(self) -> dict[Node, NodeSet]:
        """For each node the nodes that it takes values from, parameters and placeholders left out."""
        deps: dict[Node, NodeSet] = defaultdict(set)
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            for user in node.users:
                if user.op != "output":
                    deps[user].add(node)
        return deps

    def update_deps_for_fusions(self) -> None:
        """Let each node of a group that must stay together need what any of them needs."""
        for node, group in self.fusions.items():
            for other in group:
                self.deps[node].update(self.deps[other] - group)
            self.deps[node] -= {node}

    def find_reverse_deps(self, tag_id: int | None = None) -> dict[Node, NodeSet]:
        """For each node those that take its value; with `tag_id` of the parts before that one only."""
        found: dict[Node, NodeSet] = defaultdict(set)
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            for user in node.users:
                if user.op in CALLABLE_NODE_OPS and (
                    tag_id is None or int(getattr(user, "tag", "_-1").rsplit("_", 1)[-1]) < tag_id
                ):
                    found[node].add(user)
        return found

    def update_reverse_deps_for_fusions(self, deps: dict[Node, NodeSet]) -> None:
        """The same for groups that must stay together."""
        for node, group in self.fusions.items():
            for other in group:
                deps[node].update(deps[other] - group)

    def find_parent_nodes_of_subgraph(self, tag: str) -> NodeSet:
        """The nodes outside of a part that its nodes take values from."""
        return {
            used
            for node in self.module.graph.nodes
            if node.op in CALLABLE_NODE_OPS and getattr(node, "tag", None) == tag
            for used in node.all_input_nodes
            if used.op in CALLABLE_NODE_OPS and getattr(used, "tag", None) != tag
        }

    def extend_acc_subgraph(self, tag: str) -> None:
        """Take nodes of earlier parts into one of the accelerator's, as long as only it needs them."""
        deps = self.find_reverse_deps(int(tag.rsplit("_", 1)[-1]))
        self.update_reverse_deps_for_fusions(deps)
        parents = self.find_parent_nodes_of_subgraph(tag)
        while parents:
            ready = next((node for node in parents if node in self.acc_nodes and not deps[node]), None)
            if ready is None:
                return
            parents.remove(ready)
            group = self.fusions.get(ready, {ready})
            for node in group:
                node.tag = tag
                parents |= {used for used in node.all_input_nodes if used.op in CALLABLE_NODE_OPS and used.tag != tag}
                for others in deps.values():
                    others.discard(node)
            parents -= group

    # ---- parts ----

    def starter_nodes(self) -> tuple[NodeSet, NodeSet]:
        """The nodes that can run at once: of the CPU, and of the accelerator."""
        cpu: NodeSet = set()
        acc: NodeSet = set()
        for node in self.module.graph.nodes:
            if node.op in CALLABLE_NODE_OPS and not self.deps[node]:
                (acc if node in self.acc_nodes else cpu).add(node)
        return cpu, acc

    def put_nodes_into_subgraphs(self) -> list[Subgraph]:
        """All nodes in parts, the accelerator's and the CPU's by turns, each part as large as it can be.

        FxNetSplitterInternalError if nodes need each other.
        """
        cpu, acc = self.starter_nodes()
        place = {node: number for number, node in enumerate(self.module.graph.nodes)}
        missing = {node: set(needed) for node, needed in self.deps.items()}
        parts: list[Subgraph] = []
        takes_acc = not (cpu - set(self.fusions))
        current: NodeList = []
        while cpu or acc:
            ready = acc if takes_acc else cpu
            if not ready:
                if not current:
                    raise FxNetSplitterInternalError("Subgraph can't be empty")
                parts.append(Subgraph(is_acc=takes_acc, nodes=current))
                takes_acc, current = not takes_acc, []
                continue
            node = min(ready, key=place.__getitem__)
            ready.remove(node)
            current.append(node)
            for user in node.users:
                if user.op in CALLABLE_NODE_OPS:
                    self._ready(user, node, missing, cpu, acc)
        if current:
            parts.append(Subgraph(is_acc=takes_acc, nodes=current))
        if sum(len(part.nodes) for part in parts) != sum(
            node.op in CALLABLE_NODE_OPS for node in self.module.graph.nodes
        ):
            raise FxNetSplitterInternalError("nodes that have to stay together need each other")
        return parts

    def _ready(self, user: Node, done: Node, missing: dict[Node, NodeSet], cpu: NodeSet, acc: NodeSet) -> None:
        for node in self.fusions.get(user, {user}):
            if done in missing[node]:
                missing[node].discard(done)
                if not missing[node]:
                    (acc if node in self.acc_nodes else cpu).add(node)

    def remove_small_acc_subgraphs(self, subgraphs: list[Subgraph]) -> list[Subgraph]:
        """Leave accelerator's parts of too few nodes to the CPU, and join neighbours of the same kind."""
        joined: list[Subgraph] = []
        for part in subgraphs:
            is_acc = part.is_acc and len(part.nodes) >= self.settings.min_acc_module_size
            if part.is_acc and not is_acc:
                _log.info("Eliminating acc subgraph because it's smaller than the threshold: %s < %s",
                          len(part.nodes), self.settings.min_acc_module_size)  # fmt: skip
            if joined and joined[-1].is_acc == is_acc:
                joined[-1].nodes.extend(part.nodes)
            else:
                joined.append(Subgraph(is_acc, list(part.nodes), part.device_ordinal))
        return joined

    def tag(self, subgraphs: list[Subgraph]) -> None:
        """Give each node the name of its part as `node.tag`."""
        self.tags = []
        for number, part in enumerate(subgraphs):
            tag = f"_run_on_acc_{number}" if part.is_acc else f"{self.non_acc_submodule_name}{number}"
            self.tags.append(tag)
            for node in part.nodes:
                if hasattr(node, "tag"):
                    raise FxNetSplitterInternalError(f"Node {node} was already tagged")
                node.tag = tag
                self._node_submodule_map[node.name] = tag

    def split(self, remove_tag: bool = False) -> GraphModule:
        """The split module of nodes that are tagged."""
        made = split_by_tags(self.module, self.tags, return_tuple=self._return_tuple)
        if remove_tag:
            for node in self.module.graph.nodes:
                if hasattr(node, "tag"):
                    del node.tag
        return made

    def __call__(self) -> GraphModule:
        parts = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        if self.settings.move_non_tensor_nodes_on_boundary:
            move_non_tensor_nodes_on_boundary(parts)
            parts = [part for part in parts if part.nodes]
        acc = sum(part.is_acc for part in parts)
        if 0 <= self.settings.max_acc_splits < acc:
            raise ValueError(
                f"Cannot fulfill max_acc_splits limit: {acc} parts for the accelerator, "
                f"at most {self.settings.max_acc_splits} are allowed. Raise min_acc_module_size to drop the small ones"
            )
        self.tag(parts)
        return self.split()

    def generate_split_results(self) -> SplitResult:
        """The split module with the arguments of its submodules."""
        split = self()
        names = [name for name, _ in split.named_children()]
        inputs = generate_inputs_for_submodules(split, self.sample_input, names)
        return SplitResult(split, inputs, self.non_acc_submodule_name)

    # ---- reports ----

    def _lower_model_to_backend(self, mod: GraphModule, inputs: Tensors) -> torch.nn.Module:
        """Lower a part to the back end: the part itself, unless a subclass does something."""
        return mod

    def _find_culprit(self, mod: GraphModule, inputs: Tensors) -> str:
        """A text on what made lowering fail, as a subclass finds it out."""
        return "Unable to find a culprit because _find_culprit() function is not implemented."

    def _draw_graph_based_on_node_support(self, mod: GraphModule, supported_nodes: NodeList) -> None:
        """Draw the graph with supported nodes in their colours; a subclass may."""

    def node_support_preview(self, dump_graph: bool = False) -> str:
        """A text on which kinds of nodes are supported, and for which dtypes of arguments; it is printed too."""
        submodules = dict(self.module.named_modules())
        supported: list[Node] = []
        kinds: dict[bool, set[tuple[str, str, str]]] = {True: set(), False: set()}
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            takes = self.operator_support.is_node_supported(submodules, node)
            if takes:
                supported.append(node)
            dtypes = tuple(getattr(each.meta.get("tensor_meta"), "dtype", None) for each in node.all_input_nodes)
            kinds[takes].add((node.op, get_node_target(submodules, node), str(dtypes)))
        if dump_graph:
            self._draw_graph_based_on_node_support(self.module, supported)
        text = ""
        for takes, title in ((True, "Supported"), (False, "Unsupported")):
            text += f"\n{title} node types in the model:\n"
            text += "".join(f"{target}: ({dtypes}, {{}})\n" for _, target, dtypes in sorted(kinds[takes]))
        print(text)
        return text

    def split_preview(self, dump_graph: bool = False) -> str:
        """A text on the parts that a split would make, and whether each can be lowered; it is printed too."""
        parts = self.remove_small_acc_subgraphs(self.put_nodes_into_subgraphs())
        acc = [part for part in parts if part.is_acc]
        self.tag(parts)
        split = self.split(remove_tag=True)
        split.eval()
        lines = [
            f"Before removing small acc subgraphs, total {len(parts)} subgraphs are created:"
            f" {len(acc)} acc subgraphs and {len(parts) - len(acc)} cpu subgraphs."
        ]
        inputs = generate_inputs_for_submodules(split, self.sample_input, [name for name, _ in split.named_children()])
        for name, module in split.named_children():
            if not name.startswith("_run_on_acc_") or not isinstance(module, GraphModule):
                continue
            nodes = [node for node in module.graph.nodes if node.op in CALLABLE_NODE_OPS]
            lines.append(f"Processing acc submodule {name}: {len(nodes)} nodes")
            try:
                self._lower_model_to_backend(module, inputs[name])
            except RuntimeError:
                lines.append("Failed to lower this submodule. " + self._find_culprit(module, inputs[name]))
        text = "\n".join(lines) + "\n"
        print(text)
        return text
