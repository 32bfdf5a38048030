"""Graph modules made quicker for inference: batch norms folded into what they follow, dropout taken out, layers to oneDNN."""

from __future__ import annotations

import copy
import itertools
import operator
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, cast

import mindtorch_v2 as torch
import mindtorch_v2.nn as nn
import mindtorch_v2.nn.functional as F
from mindtorch_v2 import fx
from mindtorch_v2.fx.passes.shape_prop import ShapeProp
from mindtorch_v2.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from mindtorch_v2.utils import mkldnn

__all__ = [
    "MklSubgraph",
    "UnionFind",
    "extract_subgraph",
    "fuse",
    "gen_mkl_autotuner",
    "matches_module_pattern",
    "modules_to_mkldnn",
    "optimize_for_inference",
    "remove_dropout",
    "replace_node_module",
    "reset_modules",
    "use_mkl_length",
]


def _parent_name(target: str) -> tuple[str, str]:
    """The path of the module that holds another, and that one's name."""
    folder, _, name = target.rpartition(".")
    return folder, name


def matches_module_pattern(pattern: Iterable[type], node: fx.Node, modules: dict[str, Any]) -> bool:
    """Whether a node and what it takes first are calls of modules of these classes, the first class innermost.

    >>> traced = fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1), nn.ReLU()))
    >>> x, linear, relu, output = traced.graph.nodes
    >>> matches_module_pattern((nn.Linear, nn.ReLU), relu, dict(traced.named_modules()))
    True
    """
    wanted = list(pattern)
    if not node.args:
        return False
    pair: tuple[Any, Any] = (node.args[0], node)
    for kind, each in zip(wanted, pair):
        if not isinstance(each, fx.Node) or each.op != "call_module" or each.target not in modules:
            return False
        if type(modules[str(each.target)]) is not kind:
            return False
    return True


def replace_node_module(node: fx.Node, modules: dict[str, Any], new_module: nn.Module) -> None:
    """Put another module in the place of the one that a node calls.

    >>> traced = fx.symbolic_trace(nn.Sequential(nn.ReLU()))
    >>> node = next(node for node in traced.graph.nodes if node.op == "call_module")
    >>> replace_node_module(node, dict(traced.named_modules()), nn.Identity())
    >>> traced(torch.tensor([-1.0]))
    tensor([-1.])
    """
    parent, name = _parent_name(str(node.target))
    modules[str(node.target)] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model: nn.Module, inplace: bool = False, no_trace: bool = False) -> nn.Module:
    """The model with batch norms folded into the convolutions and linear layers that they follow. It has to be in evaluation mode.

    With `inplace` it is changed itself; `no_trace` says that it is a graph module already. Norms without running statistics, and
    those of a value that others use too, stay.

    >>> model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)).eval()
    >>> fused = fuse(model)
    >>> any(isinstance(module, nn.BatchNorm2d) for module in fused.modules())
    False
    """
    patterns = [(nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d),
                (nn.Linear, nn.BatchNorm1d)]  # fmt: skip
    model = model if inplace else copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, fx.GraphModule) else fx.symbolic_trace(model)
    modules = dict(traced.named_modules())
    for pattern in patterns:
        for node in list(traced.graph.nodes):
            if not matches_module_pattern(pattern, node, modules):
                continue
            before: Any = node.args[0]
            if len(before.users) > 1:
                continue
            first, norm = modules[str(before.target)], modules[str(node.target)]
            if not norm.track_running_stats:
                continue
            fold: Any = fuse_linear_bn_eval if pattern[0] is nn.Linear else fuse_conv_bn_eval
            replace_node_module(before, modules, fold(first, norm))
            node.replace_all_uses_with(before)
            traced.graph.erase_node(node)
    return fx.GraphModule(traced, traced.graph)


def remove_dropout(model: nn.Module) -> nn.Module:
    """The model without its dropout layers.

    >>> remove_dropout(nn.Sequential(nn.ReLU(), nn.Dropout(0.5)))(torch.ones(2))
    tensor([1., 1.])
    """

    class WithoutDropout(fx.Transformer):
        def call_module(self, target: Any, args: Any, kwargs: Any) -> Any:
            if isinstance(self.submodules[target], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return WithoutDropout(fx.symbolic_trace(model)).transform()


def extract_subgraph(
    orig_module: nn.Module, nodes: list[fx.Node], inputs: list[fx.Node], outputs: list[fx.Node]
) -> fx.GraphModule:
    """A graph module of some nodes: what it takes, and what it gives, as a tuple.

    >>> traced = fx.symbolic_trace(lambda x: (x + 1).relu() * 2)
    >>> x, add, relu, mul, output = traced.graph.nodes
    >>> extract_subgraph(traced, [relu, mul], [add], [mul])(torch.tensor([3.0]))
    [tensor([6.])]
    """
    made = fx.Graph()
    copies: dict[fx.Node, fx.Node] = {node: made.placeholder(node.name) for node in inputs}
    for node in nodes:
        copies[node] = made.node_copy(node, lambda each: copies[each])
    made.output([copies[node] for node in outputs])
    made.lint()
    return fx.GraphModule(orig_module, made)


# What oneDNN has layers of, and what works on tensors of its layout as on others.
mkldnn_supported = [
    nn.Conv2d, nn.Linear, nn.BatchNorm2d, nn.ReLU, nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d,
    torch.relu, torch.transpose, torch.sigmoid, F.relu, F.avg_pool2d, F.adaptive_avg_pool2d,
]  # fmt: skip
mkldnn_supported_unknown = [operator.add, operator.mul]
mkldnn_map: dict[type, Any] = {
    nn.Conv2d: mkldnn.MkldnnConv2d,
    nn.Linear: mkldnn.MkldnnLinear,
    nn.BatchNorm2d: lambda module, dtype: mkldnn.MkldnnBatchNorm(module),
}


def _layer(module: nn.Module) -> Any:
    """The layer of oneDNN that does what a module does, or None."""
    made = mkldnn_map.get(type(module))
    return None if made is None else made(module, torch.float)


def modules_to_mkldnn(nodes: list[fx.Node], modules: dict[str, nn.Module]) -> dict[nn.Module, nn.Module]:
    """Put oneDNN's layers in the place of the modules that the nodes call; the old module of each new one.

    >>> traced = fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1)))
    >>> old = modules_to_mkldnn(list(traced.graph.nodes), dict(traced.named_modules()))
    >>> [(type(new).__name__, type(was).__name__) for new, was in old.items()]
    [('MkldnnLinear', 'Linear')]
    """
    old: dict[nn.Module, nn.Module] = {}
    for node in nodes:
        if node.op != "call_module":
            continue
        module = modules[str(node.target)]
        made = _layer(module)
        if made is not None:
            old[made] = copy.deepcopy(module)
            replace_node_module(node, modules, made)
    return old


def reset_modules(
    nodes: Iterable[fx.Node], modules: dict[str, nn.Module], old_modules: dict[nn.Module, nn.Module]
) -> None:
    """Put the old modules back.

    >>> traced = fx.symbolic_trace(nn.Sequential(nn.Linear(1, 1)))
    >>> modules = dict(traced.named_modules())
    >>> old = modules_to_mkldnn(list(traced.graph.nodes), modules)
    >>> reset_modules(traced.graph.nodes, modules, old)
    >>> type(traced.get_submodule("0")).__name__
    'Linear'
    """
    for node in nodes:
        if node.op == "call_module" and modules[str(node.target)] in old_modules:
            replace_node_module(node, modules, old_modules[modules[str(node.target)]])


class MklSubgraph:
    """A part of a graph that may run on oneDNN: its nodes, and where it begins and ends.

    >>> part = MklSubgraph(fx.Graph())
    >>> part.nodes, part.start_nodes
    ([], [])
    """

    def __init__(self, fx_graph: fx.Graph) -> None:
        self.fx_graph = fx_graph
        self.nodes: list[fx.Node] = []
        self.start_nodes: list[fx.Node] = []
        self.end_nodes: list[fx.Node] = []


def gen_mkl_autotuner(example_inputs: Any, iters: int = 10, warmup: int = 1) -> Callable[[MklSubgraph], bool]:
    """A heuristic that times a part on oneDNN and without, on the values of `example_inputs`; True where oneDNN is quicker.

    >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU()).eval()
    >>> quicker = gen_mkl_autotuner(torch.ones(1, 2), iters=1)
    >>> quick = optimize_for_inference(model, {"mkldnn_layout_optimize": {"heuristic": quicker}})
    >>> x = torch.ones(1, 2)
    >>> torch.allclose(quick(x), model(x))
    True
    """
    known: dict[str, Any] = {}

    def quicker(graph: MklSubgraph) -> bool:
        if not known:
            known["module"] = graph.fx_graph.owning_module
            known["modules"] = dict(known["module"].named_modules())
            ShapeProp(known["module"]).propagate(example_inputs)
        outputs = [cast(fx.Node, node.args[0]) for node in graph.end_nodes]
        samples = [torch.randn(node.meta["tensor_meta"].shape) for node in graph.start_nodes]
        part = extract_subgraph(known["module"], graph.nodes, graph.start_nodes, outputs)

        def seconds(call: Callable[[], Any]) -> float:
            for _ in range(warmup):
                call()
            begin = time.perf_counter()
            for _ in range(iters):
                call()
            return time.perf_counter() - begin

        on_onednn = seconds(lambda: [each.to_dense() for each in part(*(sample.to_mkldnn() for sample in samples))])
        reset_modules(part.graph.nodes, dict(part.named_modules()), known.get("old", {}))
        return on_onednn < seconds(lambda: part(*samples))

    return quicker


def use_mkl_length(graph: MklSubgraph) -> bool:
    """The plain heuristic: oneDNN where there is more than one node to run.

    >>> use_mkl_length(MklSubgraph(fx.Graph()))
    False
    """
    return len(graph.nodes) > 2


class UnionFind:
    """Sets that are joined: of each number the least of its set.

    >>> sets = UnionFind(3)
    >>> for number in range(3):
    ...     sets.make_set(number)
    >>> sets.join(0, 2), sets.find(2) == sets.find(0), sets.find(1)
    (0, True, 1)
    """

    def __init__(self, n: int) -> None:
        self.parent: list[int | None] = [None] * n
        self.size: list[int] = [0] * n

    def make_set(self, v: int) -> None:
        """Make a set of one."""
        self.parent[v], self.size[v] = v, 1

    def find(self, v: int) -> int:
        """The number that stands for the set of `v`."""
        root = v
        while self.parent[root] != root:
            root = cast(int, self.parent[root])
        while self.parent[v] != root:
            v, self.parent[v] = cast(int, self.parent[v]), root
        return root

    def join(self, a: int, b: int) -> int:
        """Make one set of two; the number that stands for it."""
        a, b = self.find(a), self.find(b)
        if a == b:
            return a
        if self.size[a] < self.size[b]:
            a, b = b, a
        self.parent[b] = a
        self.size[a] += self.size[b]
        return a


class _Place(Enum):
    ONEDNN = 1
    ELSEWHERE = 2


def optimize_for_inference(
    model: nn.Module, pass_config: dict[str, Any] | None = None, tracer: type[fx.Tracer] = fx.Tracer
) -> nn.Module:
    """The model with batch norms folded, dropout taken out, and parts of it on oneDNN's layouts.

    `pass_config` switches "conv_bn_fuse", "remove_dropout" and "mkldnn_layout_optimize" off with False; the last
    may be a dict with a "heuristic" on a `MklSubgraph`. RuntimeError for a setting that is not known.

    >>> model = nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2), nn.Dropout()).eval()
    >>> quick, x = optimize_for_inference(model), torch.ones(1, 1, 2, 2)
    >>> torch.allclose(quick(x), model(x), atol=1e-6)
    True
    """
    config: dict[str, Any] = {
        "conv_bn_fuse": True,
        "remove_dropout": True,
        "mkldnn_layout_optimize": {"heuristic": use_mkl_length},
    }
    config.update(pass_config or {})
    if config["conv_bn_fuse"]:
        model = fuse(model)
    if config["remove_dropout"]:
        model = remove_dropout(model)
    layout = config["mkldnn_layout_optimize"]
    if layout is False:
        return model
    if not isinstance(layout, dict):
        raise RuntimeError("mkldnn_layout_optimize config is not a dict")
    if "heuristic" not in layout:
        raise RuntimeError("Heuristic not found in mkldnn_layout_optimize config")
    return _on_onednn(model, layout["heuristic"], tracer)


def _on_onednn(model: nn.Module, heuristic: Callable[[MklSubgraph], bool], tracer: type[fx.Tracer]) -> nn.Module:
    cut = tracer()
    graph = cut.trace(copy.deepcopy(model))
    root = cast(nn.Module, cut.root)
    modules: dict[str, nn.Module] = dict(root.named_modules())
    fx.GraphModule(root, graph)
    for node in list(graph.nodes):
        if _place_of(node, modules) is not _Place.ONEDNN:
            continue
        with graph.inserting_before(node):
            node.args = fx.map_arg(node.args, lambda each: graph.call_method("to_mkldnn", (each,)))
        with graph.inserting_after(node):
            back = graph.create_node("call_method", "to_dense", (node,))
        node.replace_all_uses_with(back)
        back.args = (node,)
    old = modules_to_mkldnn(list(graph.nodes), modules)
    graph._old_modules = old  # type: ignore[attr-defined]  # (as PyTorch's: heuristics look at it)
    # There and back between two layers of oneDNN is nothing.
    for node in list(graph.nodes):
        if node.op == "call_method" and node.target == "to_dense":
            for user in list(node.users):
                if user.op == "call_method" and user.target == "to_mkldnn":
                    user.replace_all_uses_with(node.args[0])
                    graph.erase_node(user)
            if not node.users:
                graph.erase_node(node)
    for part in _parts(graph):
        if not heuristic(part):
            for node in part.start_nodes + part.end_nodes:
                node.replace_all_uses_with(cast(fx.Node, node.args[0]))
                graph.erase_node(node)
            reset_modules(part.nodes, modules, old)
    made = fx.GraphModule(root, graph)
    made.graph.lint()
    return made


def _place_of(node: fx.Node, modules: dict[str, nn.Module]) -> _Place:
    if node.op == "call_module":
        module = modules[str(node.target)]
        if type(module) in mkldnn_supported:
            value = next(itertools.chain(module.parameters(), module.buffers()), None)
            known = value is None or value.dtype == torch.float and value.device == torch.device("cpu")
            return _Place.ONEDNN if known else _Place.ELSEWHERE
    elif node.op == "call_function" and node.target in mkldnn_supported:
        return _Place.ONEDNN
    return _Place.ELSEWHERE


def _parts(graph: fx.Graph) -> list[MklSubgraph]:
    """The parts between changes to oneDNN's layout and the changes back."""
    sets = UnionFind(len(graph.nodes))
    color: dict[fx.Node, int] = {}
    for number, node in enumerate(graph.nodes):
        if node.op == "call_method" and node.target == "to_mkldnn":
            sets.make_set(number)
            color[node] = number
            continue
        above = [color[each] for each in node.all_input_nodes if each in color]
        if not above or (node.op == "call_method" and node.target == "to_dense") or node.op == "output":
            continue
        color[node] = above[0]
        for other in above[1:]:
            sets.join(above[0], other)
    found: dict[int, MklSubgraph] = defaultdict(lambda: MklSubgraph(graph))
    for node in graph.nodes:
        if node.op == "call_method" and node.target == "to_dense" and node.args[0] in color:
            found[sets.find(color[cast(fx.Node, node.args[0])])].end_nodes.append(node)
        elif node in color:
            part = found[sets.find(color[node])]
            (part.start_nodes if node.target == "to_mkldnn" else part.nodes).append(node)
    return list(found.values())
