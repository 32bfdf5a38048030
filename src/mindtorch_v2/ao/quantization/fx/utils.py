"""Questions to nodes of graphs, and changes of them, that preparing and converting share."""

from __future__ import annotations

import collections
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization.fx.custom_config import PrepareCustomConfig
from mindtorch_v2.ao.quantization.observer import _is_activation_post_process
from mindtorch_v2.ao.quantization.qconfig_mapping import QConfigMapping
from mindtorch_v2.ao.quantization.quant_type import QuantType
from mindtorch_v2.ao.quantization.utils import _assert_and_get_unique_device
from mindtorch_v2.fx import Graph, GraphModule, map_arg
from mindtorch_v2.fx.node import Node
from mindtorch_v2.nn import functional as F

__all__ = [
    "EMPTY_ARG_DICT",
    "NON_OBSERVABLE_ARG_DICT",
    "NON_QUANTIZABLE_WEIGHT_OPS",
    "NodeInfo",
    "ObservedGraphModuleAttrs",
    "all_node_args_except_first",
    "all_node_args_have_no_tensors",
    "assert_and_get_unique_device",
    "collect_producer_nodes",
    "create_getattr_from_value",
    "get_custom_module_class_keys",
    "get_new_attr_name_with_prefix",
    "get_non_observable_arg_indexes_and_types",
    "get_skipped_module_name_and_classes",
    "graph_module_from_producer_nodes",
    "node_arg_is_bias",
    "node_arg_is_weight",
    "return_arg_list",
]

NON_QUANTIZABLE_WEIGHT_OPS = {F.layer_norm, F.group_norm, F.instance_norm}


@dataclass
class ObservedGraphModuleAttrs:
    """Facts that converting needs of how a graph module was prepared.

    >>> from mindtorch_v2.ao.quantization.fx.utils import ObservedGraphModuleAttrs
    >>> ObservedGraphModuleAttrs({}, {}, None, {}, None, False, set()).is_observed_standalone_module
    False
    """

    node_name_to_qconfig: dict[str, Any]
    node_name_to_scope: dict[str, tuple[str, type]]
    prepare_custom_config: PrepareCustomConfig
    equalization_node_name_to_qconfig: dict[str, Any]
    qconfig_mapping: QConfigMapping
    is_qat: bool
    observed_node_names: set[str]
    is_observed_standalone_module: bool = False
    standalone_module_input_quantized_idxs: list[int] | None = None
    standalone_module_output_quantized_idxs: list[int] | None = None


def _argument_is(kind: str, node: Node, arg: Any) -> bool:
    place = node.meta.get("target_dtype_info", {}).get(f"{kind}_index")
    if place is not None and place < len(node.args) and node.args[place] is arg:
        return True
    return node.kwargs.get(kind) is arg


def node_arg_is_weight(node: Node, arg: Any) -> bool:
    """Whether an argument is the weight of a node's function.

    >>> from mindtorch_v2.ao.quantization.fx.utils import node_arg_is_weight
    >>> graph = torch.fx.symbolic_trace(lambda x, w: torch.nn.functional.linear(x, weight=w)).graph
    >>> x, w, product, _ = graph.nodes
    >>> node_arg_is_weight(product, w), node_arg_is_weight(product, x)
    (True, False)
    """
    return _argument_is("weight", node, arg)


def node_arg_is_bias(node: Node, arg: Any) -> bool:
    """Whether an argument is the bias of a node's function.

    >>> from mindtorch_v2.ao.quantization.fx.utils import node_arg_is_bias
    >>> graph = torch.fx.symbolic_trace(lambda x, w, b: torch.nn.functional.linear(x, w, bias=b)).graph
    >>> x, w, b, product, _ = graph.nodes
    >>> node_arg_is_bias(product, b)
    True
    """
    return _argument_is("bias", node, arg)


def get_custom_module_class_keys(custom_module_mapping: dict[QuantType, dict[type, type]]) -> list[Any]:
    """The classes that others take the places of.

    >>> from mindtorch_v2.ao.quantization.fx.utils import get_custom_module_class_keys
    >>> get_custom_module_class_keys({torch.ao.quantization.QuantType.STATIC: {torch.nn.ReLU: torch.nn.ReLU6}})
    [<class 'mindtorch_v2.nn.modules.activation.ReLU'>]
    """
    kinds = (QuantType.STATIC, QuantType.DYNAMIC, QuantType.WEIGHT_ONLY)
    return list({each for kind in kinds for each in custom_module_mapping.get(kind, {})})


def get_new_attr_name_with_prefix(prefix: str) -> Callable[[nn.Module], str]:
    """A function that finds a name with a prefix and a number that a module does not have.

    >>> from mindtorch_v2.ao.quantization.fx.utils import get_new_attr_name_with_prefix
    >>> get_new_attr_name_with_prefix("scale_")(torch.nn.ReLU())
    'scale_0'
    """
    prefix = prefix.replace(".", "_")

    def get_new_attr_name(module: nn.Module) -> str:
        number = 0
        while hasattr(module, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    return get_new_attr_name


def collect_producer_nodes(node: Node) -> list[Node] | None:
    """A node and those that it is made of; None where an input of the graph is among them.

    >>> from mindtorch_v2.ao.quantization.fx.utils import collect_producer_nodes
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> collect_producer_nodes(list(traced.graph.nodes)[1]) is None
    True
    """
    found, frontier = [node], [node]
    while frontier:
        latest = frontier.pop()
        for arg in [*latest.args, *latest.kwargs.values()]:
            if not isinstance(arg, Node):
                continue
            if arg.op == "placeholder":
                return None
            found.append(arg)
            if not (arg.op == "call_function" and arg.target is getattr):
                frontier.append(arg)
    return found


def graph_module_from_producer_nodes(root: nn.Module, producer_nodes: list[Node]) -> GraphModule:
    """A graph module of nodes as `collect_producer_nodes` gives them, that returns the first.

    >>> from mindtorch_v2.ao.quantization.fx.utils import graph_module_from_producer_nodes
    >>> graph_module_from_producer_nodes(torch.nn.ReLU(), [])
    Traceback (most recent call last):
    AssertionError: list of producer nodes can not be empty
    """
    if not producer_nodes:
        raise AssertionError("list of producer nodes can not be empty")
    producer_nodes.reverse()
    graph = Graph()
    made: dict[Node, Any] = {}

    def load_arg(argument: Any) -> Any:
        return map_arg(argument, lambda node: made[node])

    for node in producer_nodes:
        made[node] = graph.node_copy(node, load_arg)
    graph.output(load_arg(producer_nodes[-1]))
    return GraphModule(root, graph)


@functools.cache
def assert_and_get_unique_device(module: nn.Module) -> Any:
    """The device of a module's tensors, or None; AssertionError for several.

    >>> from mindtorch_v2.ao.quantization.fx.utils import assert_and_get_unique_device
    >>> assert_and_get_unique_device(torch.nn.Linear(1, 1))
    device(type='cpu')
    """
    return _assert_and_get_unique_device(module)


def create_getattr_from_value(module: nn.Module, graph: Any, prefix: str, value: Any, device: Any = None) -> Node:
    """A node for a number or tensor, which becomes a buffer of the module with a name that has the prefix.

    >>> from mindtorch_v2.ao.quantization.fx.utils import create_getattr_from_value
    >>> module, graph = torch.nn.ReLU(), torch.fx.Graph()
    >>> create_getattr_from_value(module, graph, "scale_", 0.5).target, module.scale_0
    ('scale_0', tensor(0.5000))
    """
    name = get_new_attr_name_with_prefix(prefix)(module)
    if device is None:
        device = assert_and_get_unique_device(module)
    kept = value.detach().clone() if isinstance(value, torch.Tensor) else torch.tensor(value, device=device)
    module.register_buffer(name, kept)
    return graph.create_node("get_attr", name)


def all_node_args_have_no_tensors(node: Any, modules: dict[str, nn.Module], cache: dict[Node, bool]) -> bool:
    """Whether no tensor comes to what a node tells of: sizes, and what is made of them and of numbers.

    >>> from mindtorch_v2.ao.quantization.fx.utils import all_node_args_have_no_tensors
    >>> graph = torch.fx.symbolic_trace(lambda x: x.size(0) + 1).graph
    >>> [all_node_args_have_no_tensors(node, {}, {}) for node in list(graph.nodes)[:3]]
    [False, True, True]
    """
    if cache and node in cache:
        return cache[node]
    found = _has_no_tensors(node, modules, cache)
    if cache:
        cache[node] = found
    return found


def _has_no_tensors(node: Any, modules: dict[str, nn.Module], cache: dict[Node, bool]) -> bool:
    if not isinstance(node, Node):
        return True
    if node.op in ("placeholder", "get_attr"):
        return False
    if node.op == "call_module":
        observes = _is_activation_post_process(modules[str(node.target)])
        return observes and all_node_args_have_no_tensors(node.args[0], modules, cache)
    if node.op == "call_function" and node.target is operator.getitem:
        return all_node_args_have_no_tensors(node.args[0], modules, cache)
    if node.target is getattr and node.args[1] in ("ndim", "shape"):
        return True
    if node.op == "call_method" and node.target == "size":
        return True
    result = False  # of a node without arguments
    for arg in node.args:
        if isinstance(arg, list):
            inner = [each for each in arg if isinstance(each, Node)]
            if not all(all_node_args_have_no_tensors(each, modules, cache) for each in inner):
                return False
            result = True
        elif isinstance(arg, Node):
            if not all_node_args_have_no_tensors(arg, modules, cache):
                return False
            result = True
        elif isinstance(arg, int):
            result = True
        else:  # what is neither counts as a tensor
            return False
    return result


def all_node_args_except_first(node: Node) -> list[int]:
    """The places of a node's arguments but the first.

    >>> from mindtorch_v2.ao.quantization.fx.utils import all_node_args_except_first
    >>> graph = torch.fx.symbolic_trace(lambda x: x.view(2, 3)).graph
    >>> all_node_args_except_first(list(graph.nodes)[1])
    [1, 2]
    """
    return list(range(1, len(node.args)))


def return_arg_list(arg_indices: list[int]) -> Callable[[Node], list[int]]:
    """A function that gives those of places at which a node has arguments.

    >>> from mindtorch_v2.ao.quantization.fx.utils import return_arg_list
    >>> graph = torch.fx.symbolic_trace(lambda x: x.size(0)).graph
    >>> return_arg_list([1, 2])(list(graph.nodes)[1])
    [1]
    """
    return lambda node: [index for index in arg_indices if index < len(node.args)]


class NodeInfo(collections.namedtuple("NodeInfo", "op target")):
    """A kind of node, and what it calls.

    >>> from mindtorch_v2.ao.quantization.fx.utils import NodeInfo
    >>> NodeInfo("call_method", "view").target
    'view'
    """

    __slots__ = ()


# Arguments that are no tensors to observe, by their types.
NON_OBSERVABLE_ARG_DICT: dict[Any, dict[Any, Callable[[Node], list[int]]]] = {
    NodeInfo("call_method", "masked_fill"): {torch.bool: return_arg_list([1]), float: return_arg_list([2])},
    NodeInfo("call_method", "permute"): {int: all_node_args_except_first},
    NodeInfo("call_method", "repeat"): {int: all_node_args_except_first},
    NodeInfo("call_method", "reshape"): {int: all_node_args_except_first},
    NodeInfo("call_method", "size"): {int: return_arg_list([1])},
    NodeInfo("call_method", "transpose"): {int: all_node_args_except_first},
    NodeInfo("call_method", torch.transpose): {int: all_node_args_except_first},
    NodeInfo("call_method", "unsqueeze"): {int: return_arg_list([1])},
    NodeInfo("call_method", "unsqueeze_"): {int: return_arg_list([1])},
    NodeInfo("call_method", torch.unsqueeze): {int: return_arg_list([1])},
    NodeInfo("call_method", "view"): {int: all_node_args_except_first},
}
EMPTY_ARG_DICT: dict[Any, Callable[[Node], list[int]]] = {}


def get_non_observable_arg_indexes_and_types(node: Node) -> dict[Any, Callable[[Node], list[int]]]:
    """The places of arguments that are no tensors to observe, by their types.

    >>> from mindtorch_v2.ao.quantization.fx.utils import get_non_observable_arg_indexes_and_types
    >>> graph = torch.fx.symbolic_trace(lambda x: x.view(2, 3)).graph
    >>> list(get_non_observable_arg_indexes_and_types(list(graph.nodes)[1]))
    [<class 'int'>]
    """
    return NON_OBSERVABLE_ARG_DICT.get(NodeInfo(node.op, node.target), EMPTY_ARG_DICT)


def get_skipped_module_name_and_classes(
    prepare_custom_config: PrepareCustomConfig, is_standalone_module: bool
) -> tuple[list[str], list[type]]:
    """Names and classes of modules that are traced as they are.

    >>> from mindtorch_v2.ao.quantization.fx.custom_config import PrepareCustomConfig
    >>> from mindtorch_v2.ao.quantization.fx.utils import get_skipped_module_name_and_classes
    >>> get_skipped_module_name_and_classes(PrepareCustomConfig().set_non_traceable_module_names(["a"]), False)
    (['a'], [])
    """
    custom = prepare_custom_config
    names, classes = list(custom.non_traceable_module_names), list(custom.non_traceable_module_classes)
    if not is_standalone_module:  # which is itself one of those
        names += custom.standalone_module_names
        classes += custom.standalone_module_classes
        classes += get_custom_module_class_keys(custom.float_to_observed_mapping)
    return names, classes


def _get_module(node: Node, named_modules: dict[str, nn.Module]) -> Any:
    return named_modules.get(str(node.target)) if node.op == "call_module" else None
