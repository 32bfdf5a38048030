"""Which configuration each node of a graph has."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.nn.intrinsic import _FusedModule
from mindtorch_v2.ao.quantization.backend_config import BackendConfig, DTypeConfig
from mindtorch_v2.ao.quantization.backend_config.utils import get_module_to_qat_module
from mindtorch_v2.ao.quantization.observer import _is_activation_post_process
from mindtorch_v2.ao.quantization.qconfig import QConfig, _add_module_to_qconfig_obs_ctr, qconfig_equals
from mindtorch_v2.ao.quantization.qconfig_mapping import (
    _MODULE_NAME_DICT_KEY,
    _MODULE_NAME_REGEX_DICT_KEY,
    _OBJECT_TYPE_DICT_KEY,
    QConfigMapping,
)
from mindtorch_v2.ao.quantization.utils import _parent_name, get_qconfig_dtypes

__all__: list[str] = []


def _get_object_type_qconfig(mapping: QConfigMapping, kind: Any, fallback: Any) -> Any:
    return mapping.object_type_qconfigs.get(kind, fallback)


def _get_module_name_regex_qconfig(mapping: QConfigMapping, name: str, fallback: Any) -> Any:
    for expression, qconfig in mapping.module_name_regex_qconfigs.items():
        if re.match(expression, name):
            return qconfig
    return fallback


def _get_module_name_qconfig(mapping: QConfigMapping, name: str, fallback: Any) -> Any:
    while name:
        if name in mapping.module_name_qconfigs:
            return mapping.module_name_qconfigs[name]
        name = _parent_name(name)[0]
    return fallback


def _maybe_adjust_qconfig_for_module_type_or_name(
    mapping: QConfigMapping, module_type: Any, module_name: str, fallback: Any
) -> Any:
    """The configuration by a module's name, or by an expression, or by its class, or the fallback."""
    found = _get_object_type_qconfig(mapping, module_type, fallback)
    found = _get_module_name_regex_qconfig(mapping, module_name, found)
    return _get_module_name_qconfig(mapping, module_name, found)


def _maybe_adjust_qconfig_for_module_name_object_type_order(
    mapping: QConfigMapping, path: str, kind: Any, index: int, fallback: Any
) -> Any:
    for (name, wanted, place), qconfig in mapping.module_name_object_type_order_qconfigs.items():
        if name == path and wanted == kind and place == index:
            return qconfig
    return fallback


def _update_qconfig_for_fusion(model: Any, qconfig_mapping: QConfigMapping) -> None:
    """Give classes that stand for several modules the configuration of those; LookupError where they differ."""
    by_type = qconfig_mapping.object_type_qconfigs
    if not by_type:
        return
    modules = dict(model.named_modules())
    for node in model.graph.nodes:
        fused = modules.get(str(node.target)) if node.op == "call_module" else None
        if not isinstance(fused, _FusedModule):
            continue
        first, *rest = fused._modules.values()
        qconfig = by_type.get(type(first))
        for each in rest:
            if not qconfig_equals(by_type.get(type(each)), qconfig):
                raise LookupError(
                    "During fusion, we need to specify the same qconfigs for all module types in "
                    f"{type(fused)} offending type: {type(each)}"
                )
        if qconfig is not None:
            by_type[type(fused)] = qconfig


def _generate_node_name_to_qconfig(
    root: Any, modules: dict[str, Any], graph: Any, qconfig_mapping: QConfigMapping, node_name_to_scope: dict[str, Any]
) -> dict[str, Any]:
    """The configuration of each node, by its name; modules get theirs."""
    counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
    found: dict[str, Any] = {}

    def in_order(path: str, kind: Any, fallback: Any) -> Any:
        index = counts[path][kind]
        counts[path][kind] += 1
        return _maybe_adjust_qconfig_for_module_name_object_type_order(qconfig_mapping, path, kind, index, fallback)

    for node in graph.nodes:
        qconfig = qconfig_mapping.global_qconfig
        if node.op == "get_attr":
            name = _parent_name(node.target)[0]
            qconfig = _maybe_adjust_qconfig_for_module_type_or_name(qconfig_mapping, type(modules[name]), name, qconfig)
        elif node.op == "call_function":
            path, kind = node_name_to_scope[node.name]
            qconfig = _get_object_type_qconfig(qconfig_mapping, node.target, qconfig)
            qconfig = _maybe_adjust_qconfig_for_module_type_or_name(qconfig_mapping, kind, path, qconfig)
            qconfig = in_order(path, node.target, qconfig)
        elif node.op == "call_method":
            path, kind = node_name_to_scope[node.name]
            qconfig = _maybe_adjust_qconfig_for_module_type_or_name(qconfig_mapping, node.target, path, qconfig)
            qconfig = _maybe_adjust_qconfig_for_module_type_or_name(qconfig_mapping, kind, path, qconfig)
        elif node.op == "call_module":
            module = modules[node.target]
            if _is_activation_post_process(module):
                continue
            qconfig = _maybe_adjust_qconfig_for_module_type_or_name(qconfig_mapping, type(module), node.target, qconfig)
            path, kind = node_name_to_scope[node.name]
            qconfig = in_order(_parent_name(path)[0], kind, qconfig)
        else:
            found[node.name] = None
            continue
        found[node.name] = placed = _add_module_to_qconfig_obs_ctr(qconfig, modules.get(node.target))
        if node.op == "call_module":
            modules[node.target].qconfig = placed
    return found


def _check_is_valid_config_dict(config_dict: Any, allowed_keys: set[str], dict_name: str) -> None:
    for key in config_dict:
        if key not in allowed_keys:
            raise ValueError(
                f"Expected {dict_name} to have the following keys: {allowed_keys}. But found '{key}' instead."
            )


def _compare_prepare_convert_qconfig_mappings(prepared: QConfigMapping, converted: QConfigMapping) -> None:
    """AssertionError where a configuration is not what it was when the model was prepared (or None, which leaves out)."""
    if not qconfig_equals(prepared.global_qconfig, converted.global_qconfig):
        raise AssertionError("Expected global qconfigs to be the same in the prepare and convert quantization configs")
    for attribute, key in (
        ("object_type_qconfigs", _OBJECT_TYPE_DICT_KEY),
        ("module_name_qconfigs", _MODULE_NAME_DICT_KEY),
        ("module_name_regex_qconfigs", _MODULE_NAME_REGEX_DICT_KEY),
    ):
        before, after = getattr(prepared, attribute), getattr(converted, attribute)
        for name, qconfig in before.items():
            if name not in after:
                raise AssertionError(
                    f"Missing key {key} {name} in convert QConfigMapping when it was present in prepare"
                )
            if after[name] is not None and not qconfig_equals(qconfig, after[name]):
                raise AssertionError(
                    f"Expected convert QConfigMapping to have the same qconfig as prepare for key {key} {name}; "
                    f"prepare: {qconfig}; convert: {after[name]}"
                )


def _is_qconfig_supported_by_dtype_configs(qconfig: QConfig, dtype_configs: list[DTypeConfig]) -> bool:
    """Whether a back end has a configuration's dtypes."""
    activation, weight, comes_dynamic = get_qconfig_dtypes(qconfig)
    for config in dtype_configs:
        dynamic = bool(config.is_dynamic)
        half = activation == weight == torch.float16 and not dynamic
        own = (config.input_dtype or torch.float, config.weight_dtype or torch.float)
        output = config.output_dtype or torch.float
        if own != (activation, weight):
            continue
        if dynamic:
            if comes_dynamic and output == torch.float:
                return True
        elif output == activation and (config.bias_dtype or torch.float) == (torch.float16 if half else torch.float):
            return True
    return False


def _get_flattened_qconfig_dict(qconfig_mapping: QConfigMapping) -> dict[Any, Any]:
    return {
        "": qconfig_mapping.global_qconfig,
        **qconfig_mapping.object_type_qconfigs,
        **qconfig_mapping.module_name_qconfigs,
    }


def _update_qconfig_for_qat(qconfig_mapping: QConfigMapping, backend_config: BackendConfig) -> None:
    """Give classes for training the configuration of those whose places they take."""
    trained = get_module_to_qat_module(backend_config)
    by_type = qconfig_mapping.object_type_qconfigs
    for kind, qconfig in list(by_type.items()):
        if kind in trained:
            by_type[trained[kind]] = qconfig
