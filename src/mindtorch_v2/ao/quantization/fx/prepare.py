"""A graph with observers: what `prepare_fx` and `prepare_qat_fx` do with a model that was traced and fused."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from mindtorch_v2.ao.quantization.backend_config import BackendConfig, get_native_backend_config
from mindtorch_v2.ao.quantization.backend_config.utils import (
    get_fusion_pattern_to_root_node_getter,
    get_module_to_qat_module,
)
from mindtorch_v2.ao.quantization.fx import _target_dtypes as targets
from mindtorch_v2.ao.quantization.fx._lstm import insert_stubs_after_lstm, is_custom_lstm
from mindtorch_v2.ao.quantization.fx._observing import Observing, standalone_config
from mindtorch_v2.ao.quantization.fx._standalone import METHODS
from mindtorch_v2.ao.quantization.fx.custom_config import PrepareCustomConfig
from mindtorch_v2.ao.quantization.fx.match_utils import _find_matches
from mindtorch_v2.ao.quantization.fx.pattern_utils import _sorted_patterns_dict
from mindtorch_v2.ao.quantization.fx.qconfig_mapping_utils import (
    _generate_node_name_to_qconfig,
    _get_flattened_qconfig_dict,
    _update_qconfig_for_fusion,
    _update_qconfig_for_qat,
)
from mindtorch_v2.ao.quantization.fx.quantize_handler import QuantizeHandler, _get_pattern_to_quantize_handlers
from mindtorch_v2.ao.quantization.fx.utils import (
    ObservedGraphModuleAttrs,
    all_node_args_have_no_tensors,
    get_custom_module_class_keys,
    get_non_observable_arg_indexes_and_types,
)
from mindtorch_v2.ao.quantization.qconfig import _default_fp32_placeholder_qconfig
from mindtorch_v2.ao.quantization.qconfig_mapping import QConfigMapping
from mindtorch_v2.ao.quantization.quantize import convert, propagate_qconfig_
from mindtorch_v2.ao.quantization.utils import _parent_name
from mindtorch_v2.fx import GraphModule
from mindtorch_v2.fx.node import Node

__all__ = ["insert_observers_for_model", "prepare", "propagate_dtypes_for_known_nodes"]

_REACHED_HERE = (QuantizeHandler,)
_CALLS = ("call_module", "call_method", "call_function")
_NO_MATCH = (None, None, None, None, None)


def _nodes_of(matched: Any) -> list[Node]:
    if isinstance(matched, Node):
        return [matched]
    return [node for each in matched for node in _nodes_of(each)] if isinstance(matched, list | tuple) else []


def _propagate(node: Node, matches: dict[str, Any]) -> None:
    """Let a node, and those whose values it hands on, be unobserved."""
    node.meta["target_dtype_info"].update(targets.UNOBSERVED)
    handler = matches.get(node.name, _NO_MATCH)[3]
    if handler is not None and handler.is_general_tensor_value_op() and isinstance(node.args[0], Node):
        _propagate(node.args[0], matches)


def propagate_dtypes_for_known_nodes(graph: Any, node_name_to_match_result_with_qconfig: dict[str, Any]) -> None:
    """Leave unobserved what gives sizes and other arguments that are no tensors to quantize.

    >>> from mindtorch_v2.ao.quantization.fx.prepare import propagate_dtypes_for_known_nodes
    >>> graph = torch.fx.symbolic_trace(lambda x, n: x.view(n, 2)).graph
    >>> for node in graph.nodes:
    ...     node.meta["target_dtype_info"] = {}
    >>> propagate_dtypes_for_known_nodes(graph, {})
    >>> [node.meta["target_dtype_info"] for node in list(graph.nodes)[:2]]
    [{}, {'input_act_obs_or_fq_ctr': None, 'output_act_obs_or_fq_ctr': None}]
    """
    for node in graph.nodes:
        for places in get_non_observable_arg_indexes_and_types(node).values():
            for index in places(node):
                arg = node.args[index]
                for each in arg if isinstance(arg, tuple | list) else [arg]:
                    if isinstance(each, Node):
                        _propagate(each, node_name_to_match_result_with_qconfig)


def _set_targets(
    matches: dict[str, Any], backend_config: BackendConfig, modules: dict[str, Any], only_unsupported: bool
) -> None:
    """Say of each matched node how it is to be observed; or, of those whose dtypes the back end lacks, that it stays floating."""
    done: set[Node] = set()
    for _, matched, pattern, handler, qconfig in matches.values():
        if only_unsupported:
            if targets.has_supported_dtypes(pattern, matched, qconfig, backend_config):
                continue
            qconfig, handler = _default_fp32_placeholder_qconfig, None
        for node in _nodes_of(matched):
            if node not in done:
                done.add(node)
                if qconfig is not None:
                    node.meta["target_dtype_info"] = targets.target_of(
                        node, qconfig, handler, modules, backend_config, {}
                    )


def insert_observers_for_model(
    model: Any,
    node_name_to_match_result_with_qconfig: dict[str, Any],
    node_name_to_qconfig: dict[str, Any],
    prepare_custom_config: PrepareCustomConfig,
    equalization_config_map: dict[str, Any],
    backend_config: BackendConfig,
    observed_node_names: set[str],
    is_qat: bool,
) -> Any:
    """Put observers into a model's graph, where its matches say so; the graph's output.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config
    >>> from mindtorch_v2.ao.quantization.fx.custom_config import PrepareCustomConfig
    >>> from mindtorch_v2.ao.quantization.fx.prepare import insert_observers_for_model
    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> config = get_native_backend_config()
    >>> insert_observers_for_model(traced, {}, {}, PrepareCustomConfig(), {}, config, set(), False).op
    'output'
    """
    matches, custom = node_name_to_match_result_with_qconfig, prepare_custom_config
    observing = Observing(model, custom, backend_config)
    inputs = [node for node in model.graph.nodes if node.op == "placeholder"]
    outputs = [node for node in model.graph.nodes if node.op == "output"]
    for node in model.graph.nodes:
        node.meta["target_dtype_info"] = dict(targets.FLOAT)
    _set_targets(matches, backend_config, observing.modules, only_unsupported=False)
    for node in model.graph.nodes:
        if node.op in _CALLS and all_node_args_have_no_tensors(node, observing.modules, {}):
            node.meta["target_dtype_info"] = dict(targets.UNOBSERVED)
    for nodes, quantized in (
        (inputs, custom.input_quantized_indexes),
        (outputs, custom.output_quantized_indexes),
    ):
        for index, node in enumerate(nodes):
            if index in quantized:
                node.meta["target_dtype_info"] = dict(targets.QUANTIZED)
    propagate_dtypes_for_known_nodes(model.graph, matches)
    _set_targets(matches, backend_config, observing.modules, only_unsupported=True)
    for node in list(model.graph.nodes):
        if node.op == "output":
            if targets.has_supported_dtypes(*_of(node, matches), backend_config):
                observing.look_again()
                observing.observe_results(node)
        elif node.op in _CALLS:
            _observe_node(node, matches, observing, observed_node_names)
    return outputs[-1] if outputs else None


def _of(node: Node, matches: dict[str, Any]) -> tuple[Any, Any, Any]:
    _, matched, pattern, _, qconfig = matches.get(node.name, _NO_MATCH)
    return pattern, matched, qconfig


def _observe_node(node: Node, matches: dict[str, Any], observing: Observing, observed: set[str]) -> None:
    """Put observers around a node, if it is matched with a configuration that the back end has."""
    last, matched, pattern, handler, qconfig = matches.get(node.name, _NO_MATCH)
    supported = targets.has_supported_dtypes(pattern, matched, qconfig, observing.backend_config)
    if qconfig is None or not supported:
        return
    observing.look_again()
    observed.update(each.name for each in _nodes_of(matched))
    if node is targets.root_of(pattern, matched, observing.backend_config):
        observing.observe_inputs(node, qconfig, handler)
    if node is not last:
        return
    if is_custom_lstm(node, observing.modules, qconfig, handler):
        insert_stubs_after_lstm(node, observing)
        observing.swap_custom(node, qconfig)
        return
    made = observing.observe_output(node)
    if made is None:
        return
    for user in list(node.users):
        if user is not made:
            user.replace_input_with(node, made)
    info = node.meta["target_dtype_info"]
    shares = info.get("input_output_share_observers", False) and observing.is_observed_in_graph(node)
    if shares or info.get("reuse_input_obs_or_fq", False):
        if not observing.share_observers(node):
            observing.remove_output_observer(node)
    if handler is not None and handler.is_custom_module():
        observing.swap_custom(node, qconfig)


def _prepare_standalone_modules(
    modules: dict[str, Any], matches: dict[str, Any], is_qat: bool, custom: PrepareCustomConfig, backend_config: Any
) -> None:
    for root, _, _, handler, qconfig in matches.values():
        if handler is None or not handler.is_standalone_module():
            continue
        mapping, inputs, own, backend = standalone_config(root, modules, custom, qconfig, backend_config)
        prepared = METHODS["prepare"](modules[root.target], mapping, is_qat, inputs, own, backend)
        parent, name = _parent_name(root.target)
        setattr(modules[parent], name, prepared)
        modules[root.target] = prepared


def _deprecated(what: str, instead: str) -> None:
    warnings.warn(
        f"Passing a {what} is deprecated and will not be supported in a future version. Please pass in a {instead} "
        "instead.",
        FutureWarning,
        stacklevel=3,
    )


def prepare(
    model: Any,
    qconfig_mapping: Any,
    is_qat: bool,
    node_name_to_scope: dict[str, Any],
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
    is_standalone_module: bool = False,
) -> GraphModule:
    """A graph module with observers, of one that was traced (with the scope of each node) and fused.

    >>> from mindtorch_v2.ao.quantization.fx.prepare import prepare
    >>> from mindtorch_v2.ao.quantization.fx.tracer import QuantizationTracer
    >>> model, tracer = torch.nn.Sequential(torch.nn.Linear(2, 2)), QuantizationTracer([], [])
    >>> traced = torch.fx.GraphModule(model, tracer.trace(model))
    >>> mapping = torch.ao.quantization.get_default_qconfig_mapping()
    >>> prepared = prepare(traced.eval(), mapping, False, tracer.node_name_to_scope, (torch.ones(1, 2),))
    >>> [node.name for node in prepared.graph.nodes]
    ['input_1', 'activation_post_process_0', '_0', 'activation_post_process_1', 'output']
    """
    custom = PrepareCustomConfig() if prepare_custom_config is None else prepare_custom_config
    equalization = QConfigMapping() if _equalization_config is None else _equalization_config
    if isinstance(qconfig_mapping, dict):
        _deprecated("QConfig dictionary to prepare", "QConfigMapping")
        qconfig_mapping = QConfigMapping.from_dict(qconfig_mapping)
    if isinstance(equalization, dict):
        _deprecated("QConfig dictionary to prepare for equalization", "QConfigMapping")
        equalization = QConfigMapping.from_dict(equalization)
    if isinstance(custom, dict):
        _deprecated("prepare_custom_config_dict to prepare", "PrepareCustomConfig")
        custom = PrepareCustomConfig.from_dict(custom)
    if isinstance(backend_config, dict):
        _deprecated("backend_config_dict to prepare", "BackendConfig")
        backend_config = BackendConfig.from_dict(backend_config)
    if not isinstance(qconfig_mapping, QConfigMapping):
        raise AssertionError("qconfig_mapping must be a QConfigMapping")
    if not isinstance(equalization, QConfigMapping):
        raise AssertionError("_equalization_config must be a QConfigMapping")
    if equalization.global_qconfig is not None or any(getattr(equalization, each) for each in vars(equalization)):
        raise NotImplementedError("prepare: equalization (_equalization_config) is not implemented in mindtorch_v2")
    qconfig_mapping = copy.deepcopy(qconfig_mapping)
    config = get_native_backend_config() if backend_config is None else backend_config
    handlers = _sorted_patterns_dict(_get_pattern_to_quantize_handlers(config))
    _update_qconfig_for_fusion(model, qconfig_mapping)
    propagate_qconfig_(model, _get_flattened_qconfig_dict(qconfig_mapping), custom.to_dict())
    if is_qat:
        convert(model, mapping=get_module_to_qat_module(config), inplace=True, remove_qconfig=False)
        _update_qconfig_for_qat(qconfig_mapping, config)
    modules = dict(model.named_modules(remove_duplicate=False))
    by_node = _generate_node_name_to_qconfig(model, modules, model.graph, qconfig_mapping, node_name_to_scope)
    found = _find_matches(
        model.graph,
        modules,
        handlers,
        get_fusion_pattern_to_root_node_getter(config),
        list(custom.standalone_module_names),
        list(custom.standalone_module_classes),
        get_custom_module_class_keys(custom.float_to_observed_mapping),
    )
    matches = {name: (*match, by_node[name]) for name, match in found.items()}
    _prepare_standalone_modules(modules, matches, is_qat, custom, config)
    observed: set[str] = set()
    output = insert_observers_for_model(model, matches, by_node, custom, {}, config, observed, is_qat)
    made = GraphModule(model, model.graph)
    made.meta["_observed_graph_module_attrs"] = known = ObservedGraphModuleAttrs(
        by_node, node_name_to_scope, custom, {}, qconfig_mapping, is_qat, observed
    )
    if is_standalone_module:
        if not isinstance(output.args[0], Node):
            raise AssertionError(
                "standalone module only supports returning simple value currently (not tuple, dict etc.)"
            )
        known.is_observed_standalone_module = True
        known.standalone_module_input_quantized_idxs = custom.input_quantized_indexes
        known.standalone_module_output_quantized_idxs = custom.output_quantized_indexes
    return made
