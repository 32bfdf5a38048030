"""A graph that quantizes, of one whose observers saw data: what `convert_fx` does."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import quantizable
from mindtorch_v2.ao.nn.intrinsic import _FusedModule
from mindtorch_v2.ao.quantization.backend_config import BackendConfig, get_native_backend_config
from mindtorch_v2.ao.quantization.backend_config.utils import (
    get_fused_module_classes,
    get_pattern_to_dtype_configs,
    get_qat_module_classes,
    get_root_module_to_quantized_reference_module,
)
from mindtorch_v2.ao.quantization.fx._replacing import (
    has_none_qconfig,
    insert_dequantize,
    replace_observer,
    replace_with_dequantize,
)
from mindtorch_v2.ao.quantization.fx._standalone import METHODS
from mindtorch_v2.ao.quantization.fx.custom_config import ConvertCustomConfig
from mindtorch_v2.ao.quantization.fx.graph_module import _is_observed_module, _is_observed_standalone_module
from mindtorch_v2.ao.quantization.fx.qconfig_mapping_utils import (
    _compare_prepare_convert_qconfig_mappings,
    _generate_node_name_to_qconfig,
    _is_qconfig_supported_by_dtype_configs,
    _update_qconfig_for_fusion,
    _update_qconfig_for_qat,
)
from mindtorch_v2.ao.quantization.fx.utils import (
    _get_module,
    assert_and_get_unique_device,
    collect_producer_nodes,
    get_custom_module_class_keys,
    graph_module_from_producer_nodes,
    node_arg_is_weight,
)
from mindtorch_v2.ao.quantization.observer import _is_activation_post_process
from mindtorch_v2.ao.quantization.qconfig import qconfig_equals
from mindtorch_v2.ao.quantization.qconfig_mapping import QConfigMapping
from mindtorch_v2.ao.quantization.quantize import _remove_qconfig
from mindtorch_v2.ao.quantization.stubs import DeQuantStub
from mindtorch_v2.ao.quantization.utils import (
    _parent_name,
    activation_is_statically_quantized,
    get_qparam_dict,
    get_swapped_custom_module_class,
    weight_is_quantized,
)
from mindtorch_v2.fx import GraphModule
from mindtorch_v2.fx.node import Node
from mindtorch_v2.nn.utils.parametrize import type_before_parametrizations

__all__ = ["convert", "convert_custom_module", "convert_standalone_module", "convert_weighted_module"]


def _set(modules: dict[str, Any], target: Any, module: nn.Module) -> None:
    parent, name = _parent_name(str(target))
    setattr(modules[parent], name, module)


def _run_weight_observers(observed: Any) -> None:
    """Let observers of weights that functions take see them."""
    for node in observed.graph.nodes:
        if node.op != "call_function":
            continue
        for arg in node.args:
            if arg and node_arg_is_weight(node, arg):
                nodes = collect_producer_nodes(arg)
                if nodes is not None:
                    graph_module_from_producer_nodes(observed, nodes)()


def _without_dequantize(arg: Any, node: Node) -> None:
    """Let a node take quantized numbers in place of those that were made floating."""
    if isinstance(arg, Node) and arg.op == "call_method" and arg.target == "dequantize":
        node.replace_input_with(arg, arg.args[0])
    elif isinstance(arg, list | tuple):
        for each in arg:
            _without_dequantize(each, node)
    elif isinstance(arg, dict):
        for each in arg.values():
            _without_dequantize(each, node)
    else:
        warnings.warn(f"Unsupported node type in recursive remove dequantize: {type(arg)}", stacklevel=2)


def convert_standalone_module(
    node: Node, modules: dict[str, Any], model: Any, is_reference: bool, backend_config: BackendConfig
) -> None:
    """Convert a module that was prepared by itself, in its place.

    >>> from mindtorch_v2.ao.quantization.fx.convert import convert_standalone_module
    >>> callable(convert_standalone_module)
    True
    """
    observed = modules[str(node.target)]
    known = observed.meta["_observed_graph_module_attrs"]
    for index, arg in enumerate(list(node.args)):
        if index in known.standalone_module_input_quantized_idxs:
            if arg.op == "call_method" and arg.target == "dequantize":
                node.replace_input_with(arg, arg.args[0])
                if not arg.users:
                    model.graph.erase_node(arg)
    outputs = known.standalone_module_output_quantized_idxs
    if outputs:
        if outputs[0] != 0:
            raise AssertionError("Currently only quantized output idxs = [0] is supported")
        insert_dequantize(node, model.graph)
    made = METHODS["convert_to_reference_fx" if is_reference else "convert_fx"](observed, backend_config=backend_config)
    _set(modules, node.target, made)
    modules[str(node.target)] = made


def convert_weighted_module(
    node: Node,
    modules: dict[str, Any],
    observed_node_names: set[str],
    node_name_to_qconfig: dict[str, Any],
    backend_config: BackendConfig,
    is_decomposed: bool = False,
    is_reference: bool = False,
    model_device: Any = None,
) -> None:
    """Put the class that quantizes its weight in a module's place, if the back end has its dtypes.

    >>> from mindtorch_v2.ao.quantization.fx.convert import convert_weighted_module
    >>> callable(convert_weighted_module)
    True
    """
    module: Any = modules[str(node.target)]
    qconfig = module.qconfig
    seeing = None
    trained: tuple[Any, ...] = get_qat_module_classes(backend_config)
    if isinstance(module, trained):
        seeing = module.weight_fake_quant
        module = module.to_float()
        _set(modules, node.target, module)
    observed = node.name in observed_node_names
    if qconfig is None or has_none_qconfig(node, node_name_to_qconfig) or not observed:
        return
    dtypes = get_pattern_to_dtype_configs(backend_config).get(type(module), [])
    if not _is_qconfig_supported_by_dtype_configs(qconfig, dtypes) or not weight_is_quantized(qconfig):
        return
    fused = module if isinstance(module, _FusedModule) else None
    plain: Any = module if fused is None else fused[0]
    settings = {"is_decomposed": is_decomposed, **_weight_settings(plain, qconfig, seeing, model_device)}
    kind = get_root_module_to_quantized_reference_module(backend_config).get(type_before_parametrizations(plain))
    if kind is None:
        raise AssertionError(
            f"No reference quantized module class configured for {type_before_parametrizations(plain)}"
        )
    made = kind.from_float(plain, settings)
    if fused is not None:
        fused[0] = made
    else:
        _set(modules, node.target, made)


def _weight_settings(module: Any, qconfig: Any, seeing: Any, device: Any) -> dict[str, Any]:
    """How a module's weights are quantized: the settings of one, or of each by its name."""
    if isinstance(module, nn.RNNCellBase):
        made = {}
        for name in ("weight_ih", "weight_hh"):
            observer = qconfig.weight()
            observer(getattr(module, name))
            made[name] = get_qparam_dict(observer)
        return made
    if isinstance(module, nn.LSTM | nn.GRU):
        made = {}
        for name in module._flat_weights_names:
            if hasattr(module, name) and name.startswith("weight"):
                observer = qconfig.weight()
                if observer.dtype == torch.qint8:
                    observer(getattr(module, name))
                made[name] = get_qparam_dict(observer)
        return made
    if seeing is None:
        seeing = qconfig.weight()
        place = assert_and_get_unique_device(module) if device is None else device
        if place:
            seeing.to(place)
    seeing(module.weight)
    return get_qparam_dict(seeing)


def convert_custom_module(
    node: Node,
    graph: Any,
    modules: dict[str, Any],
    custom_module_class_mapping: dict[Any, Any],
    statically_quantized_custom_module_nodes: set[Node],
) -> None:
    """Put the user's quantized class in an observed one's place; it takes and gives quantized numbers.

    >>> from mindtorch_v2.ao.quantization.fx.convert import convert_custom_module
    >>> callable(convert_custom_module)
    True
    """
    observed = modules[str(node.target)]
    qconfig = observed.qconfig
    if activation_is_statically_quantized(qconfig):
        statically_quantized_custom_module_nodes.add(node)
        if isinstance(observed, quantizable.LSTM):
            if not (len(node.args) == 2 and isinstance(node.args[1], tuple) and len(node.args[1]) == 2):
                raise AssertionError("Expected LSTM custom module inputs to be (input, (hidden0, hidden1))")
            taken: list[Any] = [node.args[0], *node.args[1]]
        elif isinstance(observed, quantizable.MultiheadAttention):
            if len(node.args) != 3:
                raise AssertionError("Expected MHA custom module inputs to be (query, key, value)")
            taken = list(node.args)
        else:
            taken = [node.args[0]]
            observed.activation_post_process = _observer_after(node, modules)
        for arg in taken:
            if arg.op == "call_method" and arg.target == "dequantize":
                node.replace_input_with(arg, arg.args[0])
                if not arg.users:
                    graph.erase_node(arg)
    kind = get_swapped_custom_module_class(observed, custom_module_class_mapping, qconfig)
    _set(modules, node.target, kind.from_observed(observed))


def _observer_after(node: Node, modules: dict[str, Any]) -> Any:
    for user in node.users:
        if user.op == "call_module" and _is_activation_post_process(modules[str(user.target)]):
            return modules[str(user.target)]
    raise AssertionError("Expected activation_post_process to be present for observed custom module")


def _deprecated(what: str, to: str, instead: str) -> None:
    warnings.warn(
        f"Passing a {what} to {to} is deprecated and will not be supported in a future version. Please pass in a "
        f"{instead} instead.",
        FutureWarning,
        stacklevel=3,
    )


def _configurations(model: Any, modules: dict[str, Any], mapping: Any, backend_config: BackendConfig) -> dict[str, Any]:
    """The configuration of each node: those of preparing, less what a mapping for converting leaves out."""
    known = model.meta["_observed_graph_module_attrs"]
    before = known.node_name_to_qconfig
    if not mapping:
        return before
    copies = copy.deepcopy(modules)
    if known.is_qat:
        _update_qconfig_for_qat(mapping, backend_config)
    _update_qconfig_for_fusion(model, mapping)
    _compare_prepare_convert_qconfig_mappings(known.qconfig_mapping, mapping)
    after = _generate_node_name_to_qconfig(model, copies, model.graph, mapping, known.node_name_to_scope)
    for name, qconfig in before.items():
        if name not in after:
            raise AssertionError(f"Expected key {name} in convert node_name_to_qconfig")
        if after[name] is not None and not qconfig_equals(qconfig, after[name]):
            raise AssertionError(
                f"Expected k {name} to have the same value in prepare and convert QConfigMappings, but {qconfig} was "
                f"updated to {after[name]}"
            )
    return after


def convert(
    model: Any,
    is_reference: bool = False,
    convert_custom_config: Any = None,
    is_standalone_module: bool = False,
    _remove_qconfig_flag: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    is_decomposed: bool = False,
    keep_original_weights: bool = False,
) -> GraphModule:
    """A quantized graph module of one that was prepared and saw data; lowered to quantized operators unless `is_reference`.

    >>> from mindtorch_v2.ao.quantization.fx.convert import convert
    >>> model = torch.nn.Sequential(torch.nn.Softplus()).eval()
    >>> mapping = torch.ao.quantization.get_default_qconfig_mapping("x86")
    >>> prepared = torch.ao.quantization.quantize_fx.prepare_fx(model, mapping, (torch.ones(1, 2),))
    >>> [node.name for node in convert(prepared, is_reference=True).graph.nodes]
    ['input_1', '_0', 'output']
    """
    custom = ConvertCustomConfig() if convert_custom_config is None else convert_custom_config
    if isinstance(custom, dict):
        _deprecated("convert_custom_config_dict", "convert", "ConvertCustomConfig")
        custom = ConvertCustomConfig.from_dict(custom)
    if isinstance(qconfig_mapping, dict):
        _deprecated("QConfig dictionary", "convert", "QConfigMapping")
        qconfig_mapping = QConfigMapping.from_dict(qconfig_mapping) if qconfig_mapping else None
    if isinstance(backend_config, dict):
        _deprecated("backend_config_dict", "prepare", "BackendConfig")
        backend_config = BackendConfig.from_dict(backend_config)
    if is_decomposed:
        raise NotImplementedError(
            "convert: is_decomposed (torch.ops.quantized_decomposed) is not implemented in mindtorch_v2"
        )
    mapping = copy.deepcopy(qconfig_mapping)
    if not (mapping is None or isinstance(mapping, QConfigMapping)):
        raise AssertionError("qconfig_mapping must be None or a QConfigMapping")
    config = get_native_backend_config() if backend_config is None else backend_config
    if not _is_observed_module(model):
        raise AssertionError("incoming model must be produced by prepare_fx")
    known = model.meta["_observed_graph_module_attrs"]
    modules = dict(model.named_modules(remove_duplicate=False))
    by_node = _configurations(model, modules, mapping, config)
    _run_weight_observers(model)
    _Converting(model, modules, by_node, known, custom, config, is_reference).run()
    model.graph.eliminate_dead_code()
    made = GraphModule(model, model.graph)
    if not is_reference:
        from mindtorch_v2.ao.quantization.fx.lower_to_fbgemm import lower_to_fbgemm

        made = lower_to_fbgemm(made, by_node, known.node_name_to_scope, keep_original_weights)
    if _remove_qconfig_flag:
        _remove_qconfig(made)
    made.delete_all_unused_submodules()
    made.meta.pop("_observed_graph_module_attrs", None)
    return made


class _Converting:
    """A model whose observers and modules are replaced, node by node."""

    def __init__(
        self,
        model: Any,
        modules: dict[str, Any],
        by_node: dict[str, Any],
        known: Any,
        custom: ConvertCustomConfig,
        config: BackendConfig,
        is_reference: bool,
    ) -> None:
        self.model, self.modules, self.by_node, self.known = model, modules, by_node, known
        self.config, self.is_reference = config, is_reference
        self.classes = custom.observed_to_quantized_mapping
        self.custom_kinds = get_custom_module_class_keys(self.classes)
        self.roots = tuple(get_root_module_to_quantized_reference_module(config))
        self.fused = get_fused_module_classes(config)
        self.weighted = {*self.roots, *get_qat_module_classes(config), *self.fused}
        self.quantized: set[Node] = set()  # calls of modules of the user's that give quantized numbers
        self.device = assert_and_get_unique_device(model)

    def run(self) -> None:
        """Go through the graph."""
        inputs = 0
        for node in list(self.model.graph.nodes):
            if node.op == "placeholder":
                if inputs in self.known.prepare_custom_config.input_quantized_indexes:
                    insert_dequantize(node, self.model.graph)
                inputs += 1
            elif node.op == "output":
                self.outputs(node)
            elif node.op == "call_module":
                self.module(node)

    def outputs(self, node: Node) -> None:
        """Leave outputs quantized that are to be."""
        wanted = self.known.prepare_custom_config.output_quantized_indexes
        if not wanted:
            return
        given = node.args[0]
        if isinstance(given, list | tuple):
            for index in wanted:
                _without_dequantize(given[index], node)
        elif isinstance(given, Node | dict):
            if 0 in wanted:
                _without_dequantize(given, node)
        else:
            warnings.warn(f"Unsupported node type for output_quantized_idxs: {type(given)}", stacklevel=2)

    def module(self, node: Node) -> None:
        """Replace what a node calls."""
        module = _get_module(node, self.modules)
        if module is None:
            raise AssertionError("Expected module for call_module node to be present in modules mapping")
        kind = type_before_parametrizations(module)
        if _is_activation_post_process(module):
            if node.args[0] in self.quantized:
                replace_with_dequantize(node, self.model.graph)
            else:
                scopes = self.known.node_name_to_scope
                replace_observer(self.model, node, self.modules, scopes, self.by_node, self.device)
        elif isinstance(module, DeQuantStub):
            replace_with_dequantize(node, self.model.graph)
        elif _is_observed_standalone_module(module):
            convert_standalone_module(node, self.modules, self.model, self.is_reference, self.config)
        elif kind in self.weighted:
            if kind in self.fused and type_before_parametrizations(module[0]) not in self.roots:
                return
            convert_weighted_module(
                node,
                self.modules,
                self.known.observed_node_names,
                self.by_node,
                self.config,
                is_reference=self.is_reference,
                model_device=self.device,
            )
        elif kind in self.custom_kinds:
            convert_custom_module(node, self.model.graph, self.modules, self.classes, self.quantized)
