"""`pipeline`: a model that is cut into stages by its exported graph.

The graph is cut where `pipe_split` was called, by the model or around modules that `split_spec` names. A stage takes what the stages
before made and it or later ones use, and hands on what it does not use itself, so that values go from neighbour to neighbour.
"""

from __future__ import annotations

import contextlib
import enum
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.pipelining._info import PipeInfo
from mindtorch_v2.distributed.pipelining.stage import PipelineStage, build_stage
from mindtorch_v2.fx import Graph, GraphModule, Node
from mindtorch_v2.fx._codegen import CodeGen, PyTreeCodeGen, PyTreeInfo
from mindtorch_v2.fx.node import map_arg
from mindtorch_v2.library import Library, register_fake
from mindtorch_v2.utils import _pytree as pytree

__all__ = ["Pipe", "SplitPoint", "pipe_split", "pipeline"]

_library = Library("pippy", "FRAGMENT")
_library.define("_pipe_split() -> ()")
_library.impl("_pipe_split", lambda: None, "CompositeExplicitAutograd")
register_fake("pippy::_pipe_split", lambda: None, lib=_library)


class SplitPoint(enum.Enum):
    """Where `pipeline` cuts: before a module, or behind it.

    >>> from mindtorch_v2.distributed.pipelining import SplitPoint
    >>> [point.name for point in SplitPoint]
    ['BEGINNING', 'END']
    """

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """Mark, in a model's forward, the border between two stages. Outside of `pipeline` it does nothing.

    >>> from mindtorch_v2.distributed.pipelining import pipe_split, pipeline
    >>> class Two(torch.nn.Module):
    ...     def forward(self, x):
    ...         x = x.relu()
    ...         pipe_split()
    ...         return x + 1
    >>> pipeline(Two(), mb_args=(torch.ones(2),)).num_stages
    2
    """
    return torch.ops.pippy._pipe_split()


class Pipe(torch.nn.Module):
    """A model in stages, which `pipeline` makes. Called, it runs all of them here.

    Attributes:
        split_gm: the stages, `submod_0` and so on, and a graph that calls them.
        num_stages: how many there are.

    >>> from mindtorch_v2.distributed.pipelining import SplitPoint, pipeline
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    >>> pipe = pipeline(model, mb_args=(torch.ones(4, 2),), split_spec={"1": SplitPoint.BEGINNING})
    >>> pipe.num_stages, list(pipe.get_stage_module(1).state_dict())
    (2, ['1.weight', '1.bias'])
    >>> bool((pipe(torch.ones(4, 2)) == model(torch.ones(4, 2))).all())
    True
    """

    def __init__(
        self, split_gm: GraphModule, num_stages: int, has_loss_and_backward: bool = False, loss_spec: Any = None
    ) -> None:
        super().__init__()
        self.split_gm, self.num_stages = split_gm, num_stages
        self.has_loss_and_backward, self.loss_spec = has_loss_and_backward, loss_spec

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.split_gm(*args, **kwargs)

    def get_stage_module(self, stage_idx: int) -> torch.nn.Module:
        """The module of a stage; its parameters have the names that they have in the model."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_{stage_idx}")

    def info(self) -> PipeInfo:
        """Facts of the whole, which stages are told."""
        return PipeInfo(self.split_gm.graph, self.num_stages, self.has_loss_and_backward)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> PipelineStage:
        """The stage that this rank runs, on a device.

        Args:
            stage_index: its place.
            device: where its module and what it receives lie; the module is moved there.
            group: the ranks of the pipeline; all by default.
        """
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)

    def print_readable(self) -> None:
        """Print the code of the whole and of its stages."""
        self.split_gm.print_readable()

    @staticmethod
    def from_tracing(
        mod: torch.nn.Module,
        example_args: tuple[Any, ...],
        example_kwargs: dict[str, Any] | None = None,
        split_policy: Callable[[GraphModule], GraphModule] | None = None,
    ) -> Pipe:
        """The stages of a model that calls `pipe_split`, or that a policy cuts, by its exported graph."""
        exported = torch.export.export(mod, tuple(example_args), example_kwargs or {})
        traced: Any = exported.module()
        if split_policy is not None:
            traced = split_policy(traced)
        return _cut(traced)

    def __repr__(self) -> str:
        return self.split_gm.__repr__()


def pipeline(
    module: torch.nn.Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[GraphModule], GraphModule] | None = None,
) -> Pipe:
    """Cut a model into stages.

    Args:
        module: the model; it has to be exportable by `torch.export`.
        mb_args, mb_kwargs: example arguments, of one micro-batch.
        split_spec: where to cut: names of submodules, and whether before or behind them. A model may call `pipe_split` instead.
        split_policy: a function of the traced model that inserts the cuts.

    >>> from mindtorch_v2.distributed.pipelining import SplitPoint, pipeline
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(), torch.nn.Linear(2, 2))
    >>> pipeline(model, (torch.ones(1, 2),), split_spec={"0": SplitPoint.END, "2": SplitPoint.BEGINNING}).num_stages
    3
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError("Cannot specify both `split_spec` and `split_policy`. Please use only one of them.")
    with _marked(module, split_spec or {}):
        return Pipe.from_tracing(module, mb_args, mb_kwargs, split_policy)


@contextlib.contextmanager
def _marked(module: torch.nn.Module, points: dict[str, SplitPoint]) -> Iterator[None]:
    """Within this block, the named submodules call `pipe_split` before their forward, or behind it."""
    changed = []
    try:
        for name, point in points.items():
            try:
                part = module.get_submodule(name)
            except AttributeError as error:
                raise AttributeError(f"Specified target {name} is not a submodule of the model") from error
            own = part.__dict__.get("forward")
            changed.append((part, own))
            part.forward = _with_split(part.forward, point)
        yield
    finally:
        for part, own in reversed(changed):
            if own is None:
                del part.forward
            else:
                part.forward = own


def _with_split(forward: Callable[..., Any], point: SplitPoint) -> Callable[..., Any]:
    def marked(*args: Any, **kwargs: Any) -> Any:
        if point is SplitPoint.BEGINNING:
            pipe_split()
        result = forward(*args, **kwargs)
        if point is SplitPoint.END:
            pipe_split()
        return result

    return marked


# ---- cutting a graph ----


class _Cut:
    """The nodes of a flat graph by stages, and the values that go between them."""

    def __init__(self, graph: Graph) -> None:
        self.inputs = [node for node in graph.nodes if node.op == "placeholder"]
        (self.output,) = [node for node in graph.nodes if node.op == "output"]
        self.stage_of: dict[Node, int] = dict.fromkeys(self.inputs, 0)
        self.attributes = {node for node in graph.nodes if node.op == "get_attr"}
        here = 0
        for node in graph.nodes:
            if node.op in ("placeholder", "output", "get_attr") or _is_guard(node):
                continue
            if _is_split(node):
                here += 1
            elif _takes_apart(node):  # of several results
                self.stage_of[node] = self.stage_of[node.args[0]]
            else:
                self.stage_of[node] = here
        self.count = here + 1
        self.nodes = [
            [node for node in self.stage_of if self.stage_of[node] == stage and node.op != "placeholder"]
            for stage in range(self.count)
        ]
        self.last_use = {
            node: max([self.stage_of[user] for user in node.users if user in self.stage_of], default=-1)
            for node in self.stage_of
        }
        for node in self.output.all_input_nodes:
            if node in self.stage_of:
                self.last_use[node] = self.count - 1

    def crossing(self, stage: int) -> list[Node]:
        """The values that go from a stage to the next."""
        return [node for node in self.stage_of if self.stage_of[node] <= stage < self.last_use[node]]


def _is_split(node: Node) -> bool:
    return node.op == "call_function" and node.target is torch.ops.pippy._pipe_split.default


def _is_guard(node: Node) -> bool:
    return node.op == "call_module" and node.target == "_guards_fn"


def _takes_apart(node: Node) -> bool:
    return node.op == "call_function" and node.target is operator.getitem


def _cut(traced: GraphModule) -> Pipe:
    cut = _Cut(traced.graph)
    generator: CodeGen = traced.graph._codegen
    whole = Graph()
    values: dict[Node, Node] = {node: whole.placeholder(node.name) for node in cut.inputs}
    stages: dict[str, GraphModule] = {}
    result: Any = None
    for stage in range(cut.count):
        taken = cut.inputs if stage == 0 else cut.crossing(stage - 1)
        last = stage == cut.count - 1
        given = None if last else cut.crossing(stage)
        name = f"submod_{stage}"
        stages[name] = _stage_module(traced, cut, stage, taken, given, generator, name)
        inputs = [values[node] for node in taken]
        if stage == 0 and isinstance(generator, PyTreeCodeGen):
            args, kwargs = pytree.tree_unflatten(inputs, generator.pytree_info.in_spec)
            called = whole.call_module(name, tuple(args), dict(kwargs))
        else:
            called = whole.call_module(name, tuple(inputs))
        if given is None:
            result = called
        elif len(given) == 1:
            values[given[0]] = called
        else:
            for place, node in enumerate(given):
                values[node] = whole.call_function(operator.getitem, (called, place))
    whole.output(result)
    if isinstance(generator, PyTreeCodeGen):
        info = generator.pytree_info
        whole._codegen = PyTreeCodeGen(PyTreeInfo(list(info.orig_args), info.in_spec, None))
    root = torch.nn.Module()
    for name, module in stages.items():
        root.add_module(name, module)
    made = GraphModule(root, whole)
    made.train(traced.training)
    return Pipe(made, cut.count)


def _stage_module(
    traced: GraphModule,
    cut: _Cut,
    stage: int,
    taken: Sequence[Node],
    given: Sequence[Node] | None,
    generator: CodeGen,
    name: str,
) -> GraphModule:
    """The module of a stage, which returns the values `given`, or the model's result where they are None."""
    graph = Graph()
    known: dict[Node, Node] = {node: graph.placeholder(node.name) for node in taken}

    def find(node: Node) -> Node:
        if node not in known and node in cut.attributes:
            known[node] = graph.node_copy(node)
        return known[node]

    for node in cut.nodes[stage]:
        copied = graph.node_copy(node, find)
        known[node] = copied
    if given is not None:
        returned: Any = tuple(find(node) for node in given)
        graph.output(returned if len(given) > 1 else returned[0])
    else:
        graph.output(map_arg(cut.output.args[0], find))
    is_tree = isinstance(generator, PyTreeCodeGen)
    if is_tree and (stage == 0 or given is None):
        info = generator.pytree_info  # type: ignore[attr-defined]  # (of the class asked for)
        names, in_spec = list(info.orig_args), info.in_spec
        if stage:
            names = [known[node].name for node in taken]
            in_spec = pytree.tree_flatten(((0,) * len(taken), {}))[1]
        graph._codegen = PyTreeCodeGen(PyTreeInfo(names, in_spec, info.out_spec if given is None else None))
    made = GraphModule(traced, graph, name)
    made.train(traced.training)
    return made
