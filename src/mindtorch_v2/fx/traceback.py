"""Notes that nodes carry from one graph to the next: where they come from, and what a program says of its parts.

While `preserve_node_meta` is on, a node that is made gets the notes of the node that is being run (`set_current_meta`), and
those of `annotate`.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import json
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from mindtorch_v2.fx.graph import Graph
    from mindtorch_v2.fx.node import Node

__all__ = [
    "NodeSource",
    "NodeSourceAction",
    "annotate",
    "annotate_fn",
    "current_meta",
    "format_stack",
    "get_current_meta",
    "get_current_replay_node",
    "get_graph_provenance_json",
    "has_preserved_node_meta",
    "preserve_node_meta",
    "reset_grad_fn_seq_nr",
    "set_current_meta",
    "set_current_replay_node",
    "set_grad_fn_seq_nr",
    "set_stack_trace",
]

P = ParamSpec("P")
R = TypeVar("R")

GRADIENT_ACC_SPECIAL_STACK = (
    "Gradient addition node due to multiple use of tensor around:, while creating the backward graph"
)
MEMORY_BUDGET_ANNOTATION_KEY = "memory_budget"
# What goes from the node that runs to those that are made.
_CARRIED = (
    "nn_module_stack torch_fn source_fn_stack original_aten recompute ac_graph_id has_backward_hook from_node "
    "quantization_tag _numeric_debug_handle custom partitioner_tag arg_kwarg_vals"
).split()

current_meta: dict[str, Any] = {}
current_replay_node: Node | None = None
should_preserve_node_meta = False


class NodeSourceAction(Enum):
    """The action of a pass on a node.

    >>> NodeSourceAction("replace")
    <NodeSourceAction.REPLACE: 'replace'>
    """

    CREATE = "create"
    REPLACE = "replace"


class NodeSource:
    """Where a node comes from: a node of the graph before, the pass and what it did, and where that one comes from.

    >>> print(NodeSource(None, "fuse", NodeSourceAction.CREATE).print_readable().strip())
    (name=, pass_name=fuse, action=create, graph_id=-1)
    """

    @dataclass
    class NodeInfo:
        """Name, target and graph of a node."""

        name: str
        target: str
        graph_id: int

    def __init__(
        self,
        node: Node | None,
        pass_name: str = "",
        action: NodeSourceAction | list[NodeSourceAction] | None = None,
    ) -> None:
        self.pass_name = pass_name
        self.action = list(action) if isinstance(action, list) else [] if action is None else [action]
        self.node_info = self.NodeInfo(node.name, str(node.target), id(node.graph)) if node is not None else None
        self.from_node = copy.deepcopy(node.meta.get("from_node", [])) if node is not None else []

    @property
    def name(self) -> str:
        """The name of the node; empty if there is none."""
        return self.node_info.name if self.node_info else ""

    @property
    def target(self) -> str:
        """The text of what the node calls or fetches."""
        return self.node_info.target if self.node_info else ""

    @property
    def graph_id(self) -> int:
        """The `id` of its graph; -1 if there is none."""
        return self.node_info.graph_id if self.node_info else -1

    def __repr__(self) -> str:
        return self.print_readable()

    def _get_action_string(self) -> str:
        return "+".join(each.name.lower() for each in self.action)

    def print_readable(self, indent: int = 0) -> str:
        """The line of this source, and below it those of its own."""
        if indent > 9:
            return ""
        line = (
            f"{' ' * indent * 4}(name={self.name}, pass_name={self.pass_name}, action={self._get_action_string()}, "
            f"graph_id={self.graph_id})\n"
        )
        return line + "".join(each.print_readable(indent + 1) for each in self.from_node)

    def to_dict(self) -> dict[str, Any]:
        """The same as dicts and lists, with the action as a text."""
        return {
            "name": self.name,
            "target": self.target,
            "graph_id": self.graph_id,
            "pass_name": self.pass_name,
            "action": self._get_action_string(),
            "from_node": [each.to_dict() for each in self.from_node],
        }

    @classmethod
    def _from_dict(cls, d: dict[str, Any] | None) -> NodeSource | None:
        """The source that `to_dict` described; None of None."""
        if d is None:
            return None
        if not isinstance(d, dict):
            raise AssertionError(f"Expected dict, got {type(d)}")
        made = cls(None, d.get("pass_name", ""))
        made.action = [NodeSourceAction[name.upper()] for name in d.get("action", "").split("+") if name]
        if d.get("graph_id", -1) != -1 or d.get("name"):
            made.node_info = cls.NodeInfo(d.get("name", ""), d.get("target", ""), d.get("graph_id", -1))
        made.from_node = [cls._from_dict(each) for each in d.get("from_node", [])]
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeSource) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(json.dumps(self.to_dict(), sort_keys=True))


@contextlib.contextmanager
def preserve_node_meta(enable: bool = True) -> Iterator[None]:
    """Hand notes on to nodes that are made within the block, or not, by `enable`.

    >>> with preserve_node_meta():
    ...     has_preserved_node_meta()
    True
    """
    global should_preserve_node_meta, current_meta
    before = should_preserve_node_meta, current_meta.copy()
    try:
        should_preserve_node_meta = enable
        yield
    finally:
        should_preserve_node_meta, current_meta = before


def has_preserved_node_meta() -> bool:
    """Whether notes are handed on.

    >>> has_preserved_node_meta()
    False
    """
    return should_preserve_node_meta


@contextlib.contextmanager
def set_current_meta(node: Node, pass_name: str = "") -> Iterator[None]:
    """Let nodes that are made within the block have the notes of `node`, and come from it by `pass_name`.

    >>> x, output = torch.fx.symbolic_trace(lambda x: x).graph.nodes
    >>> x.meta["custom"] = {"stage": 1}
    >>> with preserve_node_meta(), set_current_meta(x, "copy"):
    ...     get_current_meta()["custom"], get_current_meta()["from_node"][0].name
    ({'stage': 1}, 'x')
    """
    global current_meta
    if not (should_preserve_node_meta and node.meta):
        yield
        return
    before = current_meta
    try:
        current_meta = node.meta.copy()
        current_meta["from_node"] = [NodeSource(node, pass_name, NodeSourceAction.CREATE)]
        yield
    finally:
        current_meta = before


def get_current_meta() -> dict[str, Any]:
    """The notes that nodes get.

    >>> with annotate({"stage": 1}):
    ...     get_current_meta()["custom"]
    {'stage': 1}
    """
    return current_meta


@contextlib.contextmanager
def annotate(annotation_dict: dict[str, Any]) -> Iterator[None]:
    """Note the entries of a dict under "custom" in the `meta` of the nodes that are recorded within the block.

    Inner blocks add theirs and win where names are the same. `torch.compile` and `torch.export` record it, tracers within
    `preserve_node_meta`; elsewhere it does nothing.

    >>> def step(x):
    ...     with annotate({"stage": 1}):
    ...         return x * 2
    >>> with preserve_node_meta():
    ...     traced = torch.fx.symbolic_trace(step)
    >>> [node.meta.get("custom") for node in traced.graph.nodes]
    [None, {'stage': 1}, None]
    """
    global current_meta
    before = current_meta.get("custom")
    try:
        current_meta["custom"] = {**(before or {}), **annotation_dict}
        yield
    finally:
        if before is None:
            current_meta.pop("custom", None)
        else:
            current_meta["custom"] = before


def annotate_fn(annotation_dict: dict[str, Any]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator that calls a function within `annotate`.

    >>> @annotate_fn({"stage": 2})
    ... def step(x):
    ...     return x + 1
    >>> with preserve_node_meta():
    ...     traced = torch.fx.symbolic_trace(step)
    >>> [node.meta.get("custom") for node in traced.graph.nodes]
    [None, {'stage': 2}, None]
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def noted(*args: P.args, **kwargs: P.kwargs) -> R:
            with annotate(annotation_dict):
                return function(*args, **kwargs)

        return noted

    return decorate


def note_on(node: Node) -> None:
    """Leave on a node that is being made what is to be handed on; tracers ask at each node."""
    if not should_preserve_node_meta:
        return
    if current_meta.get("stack_trace"):
        node.stack_trace = current_meta["stack_trace"]
    for name in _CARRIED:
        if name in current_meta:
            node.meta[name] = copy.copy(current_meta[name])


def note_annotation(node: Node) -> None:
    """Leave on a node what `annotate` says: a capture of a program does, whether or not other notes are handed on."""
    if "custom" in current_meta:
        node.meta["custom"] = current_meta["custom"].copy()


def set_stack_trace(stack: list[str]) -> None:
    """Let nodes that are made have this trace, if notes are handed on.

    >>> with preserve_node_meta():
    ...     set_stack_trace(["here"])
    ...     format_stack()
    ['here']
    """
    if should_preserve_node_meta and stack:
        current_meta["stack_trace"] = "".join(stack)


def set_grad_fn_seq_nr(seq_nr: int) -> None:
    """Note the number of a node of autograd, above those of the nodes that called it.

    >>> with preserve_node_meta():
    ...     set_grad_fn_seq_nr(3)
    ...     get_current_meta()["grad_fn_seq_nr"]
    [3]
    """
    if should_preserve_node_meta:
        current_meta["grad_fn_seq_nr"] = [*current_meta.get("grad_fn_seq_nr", []), seq_nr]
        current_meta["in_grad_fn"] = current_meta.get("in_grad_fn", 0) + 1


def reset_grad_fn_seq_nr() -> None:
    """Take the last number away again.

    >>> with preserve_node_meta():
    ...     set_grad_fn_seq_nr(3)
    ...     reset_grad_fn_seq_nr()
    ...     "grad_fn_seq_nr" in get_current_meta()
    False
    """
    if not should_preserve_node_meta:
        return
    level = current_meta.get("in_grad_fn", 0)
    if level > 1:
        current_meta["in_grad_fn"] = level - 1
        current_meta["grad_fn_seq_nr"] = current_meta["grad_fn_seq_nr"][:-1]
    elif level == 1:
        del current_meta["in_grad_fn"], current_meta["grad_fn_seq_nr"]


def format_stack() -> list[str]:
    """The trace that nodes get, as a list of one text; without notes that of the caller.

    >>> with preserve_node_meta():
    ...     set_stack_trace(["a", "b"])
    ...     format_stack()
    ['ab']
    """
    if should_preserve_node_meta:
        return [current_meta.get("stack_trace", "")]
    return traceback.format_list(traceback.extract_stack()[:-1])


@contextlib.contextmanager
def set_current_replay_node(node: Node | None) -> Iterator[None]:
    """Say which node of an older graph is being run again.

    >>> x, output = torch.fx.symbolic_trace(lambda x: x).graph.nodes
    >>> with set_current_replay_node(x):
    ...     get_current_replay_node()
    x
    """
    global current_replay_node
    before = current_replay_node
    try:
        current_replay_node = node
        yield
    finally:
        current_replay_node = before


def get_current_replay_node() -> Node | None:
    """The node of an older graph that is being run again, if any.

    >>> get_current_replay_node() is None
    True
    """
    return current_replay_node


def get_graph_provenance_json(graph: Graph) -> str:
    """Where the calls of functions of a graph come from, as JSON: for each name the list of its sources.

    >>> get_graph_provenance_json(torch.fx.symbolic_trace(lambda x: x + 1).graph)
    '{"add": []}'
    """
    sources = {
        node.name: [source.to_dict() for source in node.meta["from_node"]] if "from_node" in node.meta else []
        for node in graph.nodes
        if node.op == "call_function"
    }
    return json.dumps(sources)
