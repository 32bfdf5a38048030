"""Graph modules that keep attributes through copies, and what is known of an observed one."""

from __future__ import annotations

import copy
from typing import Any, Self

from mindtorch_v2 import nn
from mindtorch_v2.fx import GraphModule

__all__ = ["FusedGraphModule", "ObservedGraphModule", "ObservedStandaloneGraphModule", "QuantizedGraphModule"]

_OBSERVED = {
    "_activation_post_process_map",
    "_activation_post_process_indexes",
    "_patterns",
    "_node_name_to_qconfig",
    "_prepare_custom_config",
    "_equalization_node_name_to_qconfig",
    "_node_name_to_scope",
    "_qconfig_mapping",
    "_is_qat",
    "_observed_node_names",
}


class FusedGraphModule(GraphModule):
    """A graph module with attributes of its root that are kept, in copies too.

    >>> from mindtorch_v2.ao.quantization.fx.graph_module import FusedGraphModule
    >>> root = torch.nn.ReLU()
    >>> root.author = "me"
    >>> FusedGraphModule(root, torch.fx.Graph(), {"author"}).author
    'me'
    """

    def __init__(self, root: nn.Module, graph: Any, preserved_attr_names: set[str]) -> None:
        names = set(preserved_attr_names)
        kept = {name: getattr(root, name) for name in names if hasattr(root, name)}
        super().__init__(root, graph)
        self.preserved_attr_names = names
        for name, value in kept.items():
            setattr(self, name, value)

    def __deepcopy__(self, memo: Any) -> Self:
        root = nn.Module()
        root.__dict__ = copy.deepcopy(self.__dict__)
        return type(self)(root, copy.deepcopy(self.graph), copy.deepcopy(self.preserved_attr_names))


class ObservedGraphModule(FusedGraphModule):
    """A graph module that is observed, with what `prepare_fx` knows of it.

    >>> from mindtorch_v2.ao.quantization.fx.graph_module import ObservedGraphModule
    >>> "_is_qat" in ObservedGraphModule(torch.nn.ReLU(), torch.fx.Graph(), set()).preserved_attr_names
    True
    """

    def __init__(self, root: nn.Module, graph: Any, preserved_attr_names: set[str]) -> None:
        super().__init__(root, graph, _OBSERVED | set(preserved_attr_names))


class ObservedStandaloneGraphModule(ObservedGraphModule):
    """A graph module that is observed by itself, in another.

    >>> from mindtorch_v2.ao.quantization.fx.graph_module import ObservedStandaloneGraphModule
    >>> module = ObservedStandaloneGraphModule(torch.nn.ReLU(), torch.fx.Graph(), set())
    >>> "_standalone_module_input_quantized_idxs" in module.preserved_attr_names
    True
    """

    def __init__(self, root: nn.Module, graph: Any, preserved_attr_names: set[str]) -> None:
        more = {"_standalone_module_input_quantized_idxs", "_standalone_module_output_quantized_idxs"}
        super().__init__(root, graph, more | set(preserved_attr_names))


class QuantizedGraphModule(FusedGraphModule):
    """A graph module that is quantized.

    >>> from mindtorch_v2.ao.quantization.fx.graph_module import QuantizedGraphModule
    >>> isinstance(QuantizedGraphModule(torch.nn.ReLU(), torch.fx.Graph(), set()), torch.fx.GraphModule)
    True
    """


def _is_observed_module(module: Any) -> bool:
    return hasattr(module, "meta") and "_observed_graph_module_attrs" in module.meta


def _get_observed_graph_module_attr(model: Any, attr_name: str) -> Any:
    return getattr(model.meta["_observed_graph_module_attrs"], attr_name) if _is_observed_module(model) else None


def _is_observed_standalone_module(module: Any) -> bool:
    return _is_observed_module(module) and module.meta["_observed_graph_module_attrs"].is_observed_standalone_module
