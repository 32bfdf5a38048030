"""Finding the nodes of a graph for which two ways of running it differ: the graph is cut smaller and smaller.

A tool derives from `_MinimizerBase` and says what the two ways are, by `run_a` and `run_b`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx import GraphModule, Node
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.node import map_arg
from mindtorch_v2.fx.passes.shape_prop import ShapeProp
from mindtorch_v2.fx.passes.split_utils import split_by_tags
from mindtorch_v2.fx.passes.tools_common import (
    CALLABLE_NODE_OPS,
    FxNetAccFusionsFinder,
    Names,
    NodeList,
    NodeSet,
    TensorOrTensors,
    Tensors,
)

__all__ = ["FxNetMinimizerBadModuleError", "FxNetMinimizerResultMismatchError", "FxNetMinimizerRunFuncError"]

_log = logging.getLogger(__name__)


@compatibility(is_backward_compatible=False)
class FxNetMinimizerBadModuleError(Exception):
    """A graph that cannot be cut as it was asked.

    >>> issubclass(FxNetMinimizerBadModuleError, Exception)
    True
    """


@compatibility(is_backward_compatible=False)
class FxNetMinimizerRunFuncError(Exception):
    """An error of `run_a` or `run_b`.

    >>> class OneWay(_MinimizerBase):
    ...     def run_a(self, mod, inputs, report_idx=-1):
    ...         return mod(*inputs)
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> OneWay(traced, (torch.ones(1),), lambda a, b, names: (0, True), _MinimizerSettingBase()).run_nodes()
    Traceback (most recent call last):
        ...
    mindtorch_v2.fx.passes.net_min_base.FxNetMinimizerRunFuncError: Exception raised when running minimize: run_b() is not implemented.
    """


@compatibility(is_backward_compatible=False)
class FxNetMinimizerResultMismatchError(Exception):
    """Results of `run_a` and `run_b` that differ.

    >>> class Both(_MinimizerBase):
    ...     def run_a(self, mod, inputs, report_idx=-1):
    ...         return mod(*inputs)
    ...     run_b = run_a
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.relu(x))
    >>> Both(traced, (torch.ones(1),), lambda a, b, names: (1, False), _MinimizerSettingBase()).run_nodes()
    Traceback (most recent call last):
        ...
    mindtorch_v2.fx.passes.net_min_base.FxNetMinimizerResultMismatchError: Result mismatch for ('relu',)
    """


@dataclass
class _MinimizerSettingBase:
    """Settings: `traverse_method` is "sequential", "binary", "accumulate", "skip", "block" or "defined".

    `accumulate_error` gives parts what `run_b` made of the parts before, `find_all` goes on after the first find, `return_intermediate`
    lets parts give all their values, `all_outputs` compares all of them.
    """

    accumulate_error: bool = False
    traverse_method: str = "sequential"
    find_all: bool = False
    return_intermediate: bool = False
    all_outputs: bool = False


class _MinimizerBase:
    """Find the nodes of `module` for which `run_a` and `run_b` differ on `sample_input`.

    `compare_fn(a, b, names)` gives a number and whether the results agree. `module_exporter(inputs, module, name)` is given each
    part that was run. `minimize()` gives the nodes.
    """

    def __init__(
        self,
        module: GraphModule,
        sample_input: Tensors,
        compare_fn: Callable[[TensorOrTensors, TensorOrTensors, Names], tuple[float, bool]],
        settings: _MinimizerSettingBase,
        module_exporter: Callable[[Tensors, GraphModule, str], None] | None = None,
        exclusion_fn: Callable[[NodeList, int, int], None] | None = None,
    ) -> None:
        if not isinstance(module, GraphModule):
            raise AssertionError(f"expected a GraphModule, got {type(module)}")
        self.module, self.sample_input, self.compare_fn = module, sample_input, compare_fn
        self.module_exporter, self.settings, self.exclusion_fn = module_exporter, settings, exclusion_fn
        self.a_outputs: dict[str, Any] = {}
        self.b_outputs: dict[str, Any] = {}
        self.results: dict[Any, Any] = {}
        self.reports: list[list[str]] = []
        self.iteration = 0
        self.fusions: dict[Node, NodeSet] = {}
        nodes = {node for node in module.graph.nodes if node.op in CALLABLE_NODE_OPS}
        self.run_shape_prop()
        self.fusions = FxNetAccFusionsFinder(module, nodes)()
        for node, value in zip((n for n in module.graph.nodes if n.op == "placeholder"), sample_input):
            self.a_outputs[node.name] = self.b_outputs[node.name] = value

    def run_shape_prop(self) -> None:
        """Leave the forms of all values on the nodes."""
        ShapeProp(self.module).propagate(*self.sample_input)

    def run_a(self, mod: GraphModule, inputs: Tensors, report_idx: int = -1) -> TensorOrTensors:
        """The first way; a subclass says it."""
        raise RuntimeError("run_a() is not implemented.")

    def run_b(self, mod: GraphModule, inputs: Tensors, report_idx: int = -1) -> TensorOrTensors:
        """The second way; a subclass says it."""
        raise RuntimeError("run_b() is not implemented.")

    # ---- parts ----

    def _tag_nodes(self, selected: NodeSet) -> None:
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            behind = any(getattr(used, "tag", "") in ("minimize", "main_1") for used in node.all_input_nodes)
            node.tag = "minimize" if node in selected else "main_1" if behind else "main_0"

    def _build_submodule(self, nodes: NodeSet) -> tuple[GraphModule, str]:
        """The module cut into what comes before the nodes, the nodes, and the rest; and the name of the middle."""
        self._tag_nodes(nodes)
        split = split_by_tags(self.module, ["main_0", "minimize", "main_1"])
        for name, _ in split.named_children():
            if "minimize" in name:
                return split, name
        raise FxNetMinimizerBadModuleError("Minimize submodule was not found")

    def _inputs_of(self, split: GraphModule, name: str) -> tuple[Tensors, Tensors]:
        """The arguments of the middle, the first way and the second."""
        found: list[Any] = []

        def note(module: torch.nn.Module, given: Any) -> None:
            found.append(given)

        handle = split.get_submodule(name).register_forward_pre_hook(note)
        try:
            split(*self.sample_input)
        finally:
            handle.remove()
        if not self.settings.accumulate_error:
            return found[0], found[0]
        part: Any = split.get_submodule(name)
        names = [node.name for node in part.graph.nodes if node.op == "placeholder"]
        first = tuple(self.a_outputs.get(each, value) for each, value in zip(names, found[0]))
        return first, tuple(self.b_outputs.get(each, value) for each, value in zip(names, found[0]))

    def _run_and_compare(
        self, split_module: GraphModule, submod_name: str, output_names: Names, report_idx: int = -1
    ) -> None:
        """Run the middle both ways; FxNetMinimizerResultMismatchError where they differ."""
        part: Any = split_module.get_submodule(submod_name)
        a_inputs, b_inputs = self._inputs_of(split_module, submod_name)
        report: list[str] = []
        if report_idx < 0:
            self.reports.append(report)
        else:
            report = self.reports[report_idx]
        report.append("Run and compare ...")
        if self.module_exporter:
            self.module_exporter(a_inputs, part, f"{submod_name}_{self.iteration}")
        try:
            a_result = self.run_a(part, a_inputs, report_idx)
            b_result = self.run_b(part, b_inputs, report_idx)
        except Exception as error:
            raise FxNetMinimizerRunFuncError(f"Exception raised when running {submod_name}: {error}") from error
        self._store(part, a_result, b_result)
        names = tuple(output_names)
        number, agree = self.compare_fn(a_result, b_result, output_names)
        self.results[names or submod_name] = number
        report.append(f"Numerical accuracy = {number}")
        if not agree:
            report.append(f"Result mismatch for {names}")
            raise FxNetMinimizerResultMismatchError(f"Result mismatch for {names}")

    def _store(self, part: GraphModule, a_result: Any, b_result: Any) -> None:
        output = part.graph.output_node().args[0]
        names: list[str] = []
        map_arg(output, lambda node: names.append(node.name))
        for kept, result in ((self.a_outputs, a_result), (self.b_outputs, b_result)):
            values = result if isinstance(result, (tuple, list)) else (result,)
            kept.update(zip(names, values))

    def _differs(self, nodes: NodeList) -> bool:
        """Whether the two ways differ on a part of these nodes, with those that have to stay with them."""
        wanted = {other for node in nodes for other in self.fusions.get(node, {node})}
        self.iteration += 1
        split, name = self._build_submodule(wanted)
        self.reports.append([f"Nodes: {[node.name for node in nodes]}"])
        try:
            self._run_and_compare(split, name, [node.name for node in nodes], len(self.reports) - 1)
        except (FxNetMinimizerRunFuncError, FxNetMinimizerResultMismatchError) as error:
            self.reports[-1].append(f"{type(error).__name__}: {error}")
            return True
        return False

    # ---- ways through the nodes ----

    def _binary_traverse(self, nodes: NodeList) -> NodeSet:
        if not self._differs(nodes):
            return set()
        if len(nodes) == 1:
            return set(nodes)
        middle = len(nodes) // 2
        found = self._binary_traverse(nodes[:middle])
        if found and not self.settings.find_all:
            return found
        found |= self._binary_traverse(nodes[middle:])
        return found or set(nodes)

    def _sequential_traverse(self, nodes: NodeList) -> NodeSet:
        found: NodeSet = set()
        for node in nodes:
            if self._differs([node]):
                found |= self.fusions.get(node, {node})
                if not self.settings.find_all:
                    break
        return found

    def _accumulate_traverse(self, nodes: NodeList) -> NodeSet:
        if self.settings.find_all:
            _log.warning("'find_all' mode is not supported in 'accumulate' mode.")
            return set()
        for count in range(1, len(nodes) + 1):
            if self._differs(nodes[:count]):
                return set(nodes[:count])
        return set()

    def _skip_traverse(self, nodes: NodeList, skip_nodes: Names) -> NodeSet:
        found: NodeSet = set()
        part: NodeList = []
        for node in [*nodes, None]:
            if node is not None and node.name not in skip_nodes:
                part.append(node)
                continue
            if part and self._differs(part):
                found |= set(part)
            part = []
        return found

    def _block_traverse(self, nodes: NodeList, find_last_node: bool | None) -> NodeSet:
        low, high = 0, len(nodes)
        if not self._differs(nodes):
            return set()
        if find_last_node is not False:  # the least block from the begin that differs
            while low + 1 < high:
                middle = (low + high) // 2
                low, high = (low, middle) if self._differs(nodes[:middle]) else (middle, high)
            end = high
        else:
            end = len(nodes)
        begin, last = 0, end
        if find_last_node is not True:
            while begin + 1 < last:
                middle = (begin + last) // 2
                begin, last = (middle, last) if self._differs(nodes[middle:end]) else (begin, middle)
        return set(nodes[begin:end])

    def _defined_traverse(self, nodes: NodeList) -> NodeSet:
        return set(nodes) if self._differs(nodes) else set()

    def _collect_nodes(self, start: str | None, end: str | None) -> NodeList:
        nodes: NodeList = []
        taking = start is None
        for node in self.module.graph.nodes:
            if node.op not in CALLABLE_NODE_OPS:
                continue
            taking = taking or node.name == start
            if taking:
                nodes.append(node)
            if node.name == end:
                break
        return nodes

    def run_nodes(self, start: str | None = None, end: str | None = None) -> None:
        """Run the nodes from one name to another both ways; an error of either, or results that differ, are raised."""
        split, name = self._build_submodule(set(self._collect_nodes(start, end)))
        part: Any = split.get_submodule(name)
        names: Names = []
        map_arg(part.graph.output_node().args[0], lambda node: names.append(node.name))
        self._run_and_compare(split, name, names)

    def print_report(self, report: list[str]) -> None:
        """Print the lines of a report."""
        for number, line in enumerate(report):
            print(f". {line}" if number else line)

    def print_reports(self) -> None:
        """Print all reports."""
        for report in self.reports:
            self.print_report(report)

    def minimize(
        self,
        start: str | None = None,
        end: str | None = None,
        skip_nodes: Names | None = None,
        find_last_node: bool | None = None,
    ) -> NodeSet:
        """The nodes, between two names, for which the two ways differ, found as the settings say.

        RuntimeError for a way through the nodes that is not known.
        """
        nodes = self._collect_nodes(start, end)
        method = self.settings.traverse_method
        if method == "skip":
            if skip_nodes is None:
                raise RuntimeError("'skip_nodes' can't be None when 'traverse_method' is 'skip'.")
            return self._skip_traverse(nodes, skip_nodes)
        if method == "block":
            return self._block_traverse(nodes, find_last_node)
        ways = {"sequential": self._sequential_traverse, "binary": self._binary_traverse,
                "accumulate": self._accumulate_traverse, "defined": self._defined_traverse}  # fmt: skip
        if method not in ways:
            raise RuntimeError(f"Unknown traverse method {method}!")
        return ways[method](nodes)
