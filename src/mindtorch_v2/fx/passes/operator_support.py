"""Which nodes of a graph a back end takes."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.fx._compatibility import compatibility
from mindtorch_v2.fx.node import Node
from mindtorch_v2.fx.passes.shape_prop import TensorMetadata
from mindtorch_v2.fx.passes.tools_common import CALLABLE_NODE_OPS, get_node_target

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]

TargetTypeName = str
SupportedArgumentDTypes = tuple[Sequence[Sequence[torch.dtype]], dict[str, Sequence[torch.dtype]]] | None
SupportDict = Mapping[TargetTypeName, SupportedArgumentDTypes]
IsNodeSupported = Callable[[Mapping[str, torch.nn.Module], Node], bool]


@compatibility(is_backward_compatible=False)
class OperatorSupportBase(abc.ABC):
    """The interface: `is_node_supported(submodules, node)`.

    >>> class Everything(OperatorSupportBase):
    ...     def is_node_supported(self, submodules, node):
    ...         return True
    >>> x, output = torch.fx.symbolic_trace(lambda x: x).graph.nodes
    >>> Everything().is_node_supported({}, x)
    True
    """

    @abc.abstractmethod
    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        """Whether the back end takes the node; `submodules` are the modules of its graph by their paths."""
        raise NotImplementedError


@compatibility(is_backward_compatible=False)
class OperatorSupport(OperatorSupportBase):
    """Support by a table: the name of what a node calls (`get_node_target`), and the dtypes that its arguments may have.

    A value of the table is None for any dtypes, or a pair: for each positional argument the dtypes that are taken, and
    the same for named ones. Arguments that the pair does not mention may be anything. Dtypes are read from
    `node.meta["tensor_meta"]`, which ShapeProp leaves. What calls nothing is supported.

    >>> class Adds(OperatorSupport):
    ...     _support_dict = {"_operator.add": None}
    >>> traced = torch.fx.symbolic_trace(lambda x: (x + 1).relu())
    >>> [Adds().is_node_supported({}, node) for node in traced.graph.nodes if node.op.startswith("call")]
    [True, False]
    """

    _support_dict: SupportDict

    def __init__(self, support_dict: SupportDict | None = None) -> None:
        self._support_dict = support_dict or getattr(type(self), "_support_dict", {})

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        if node.op not in CALLABLE_NODE_OPS:
            return True
        target = get_node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        by_place, by_name = dtypes
        return all(_taken(argument, allowed) for argument, allowed in zip(node.args, by_place)) and all(
            _taken(node.kwargs[name], allowed) for name, allowed in by_name.items() if name in node.kwargs
        )


def _taken(argument: Any, allowed: Sequence[torch.dtype]) -> bool:
    return not isinstance(argument, Node) or _get_arg_dtype(argument) in allowed


def _get_arg_dtype(arg: Node) -> Any:
    """The dtype of a node's value, from what ShapeProp left; AssertionError without."""
    if not isinstance(arg, Node):
        raise AssertionError(f"Expected fx.Node, got {type(arg)}")
    meta = arg.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else arg.meta["type"]


class _Asked(OperatorSupportBase):
    def __init__(self, is_node_supported: IsNodeSupported) -> None:
        self._asked = is_node_supported

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: Node) -> bool:
        return self._asked(submodules, node)


@compatibility(is_backward_compatible=False)
def create_op_support(is_node_supported: IsNodeSupported) -> OperatorSupportBase:
    """A function of the submodules and a node, as an object.

    >>> x, add, output = torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> create_op_support(lambda modules, node: node.name == "add").is_node_supported({}, add)
    True
    """
    return _Asked(is_node_supported)


@compatibility(is_backward_compatible=False)
def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Support of what all of them support.

    >>> x, add, output = torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> calls = create_op_support(lambda modules, node: node.op == "call_function")
    >>> chain(calls, OpSupports.decline_if_node_in_names({"add"})).is_node_supported({}, add)
    False
    """
    return _Asked(lambda submodules, node: all(each.is_node_supported(submodules, node) for each in op_support))


@compatibility(is_backward_compatible=False)
def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Support of what at least one of them supports.

    >>> x, add, output = torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> calls = create_op_support(lambda modules, node: node.op == "call_function")
    >>> any_chain(calls, OpSupports.decline_if_node_in_names({"add"})).is_node_supported({}, add)
    True
    """
    return _Asked(lambda submodules, node: any(each.is_node_supported(submodules, node) for each in op_support))


@compatibility(is_backward_compatible=False)
class OpSupports:
    """Rules that decline nodes, to be put into a `chain`.

    >>> x, add, output = torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes
    >>> OpSupports.decline_if_node_in_names({"add"}).is_node_supported({}, add)
    False
    """

    @classmethod
    def decline_if_input_dtype(cls, dtype: torch.dtype) -> OperatorSupportBase:
        """Decline a node that takes a value of this dtype."""
        return _Asked(lambda submodules, node: all(_get_arg_dtype(each) != dtype for each in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: Iterable[str]) -> OperatorSupportBase:
        """Decline the nodes of these names."""
        return _Asked(lambda submodules, node: node.name not in disallow_set)
