"""Questions to a back end's configuration."""

from __future__ import annotations

from typing import Any

from mindtorch_v2.ao.quantization.backend_config.backend_config import (
    BackendConfig,
    BackendPatternConfig,
    _reversed_pattern,
)
from mindtorch_v2.ao.quantization.fuser_method_mappings import _reverse2, _reverse3
from mindtorch_v2.nn import functional as F

__all__ = [
    "entry_to_pretty_str",
    "get_fused_module_classes",
    "get_fuser_method_mapping",
    "get_fusion_pattern_to_extra_inputs_getter",
    "get_fusion_pattern_to_root_node_getter",
    "get_module_to_qat_module",
    "get_pattern_to_dtype_configs",
    "get_pattern_to_input_type_to_index",
    "get_qat_module_classes",
    "get_root_module_to_quantized_reference_module",
    "pattern_to_human_readable",
    "remove_boolean_dispatch_from_name",
]

_get_pattern_in_reversed_nested_tuple_format = _reversed_pattern


def get_pattern_to_dtype_configs(backend_config: BackendConfig) -> dict[Any, Any]:
    """The dtypes of each pattern.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> config = get_native_backend_config()
    >>> len(utils.get_pattern_to_dtype_configs(config)[torch.nn.Linear])
    3
    """
    return {what: config.dtype_configs for what, config in backend_config._pattern_complex_format_to_config.items()}


def get_pattern_to_input_type_to_index(backend_config: BackendConfig) -> dict[Any, Any]:
    """Where arguments stand, by pattern.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> config = get_native_backend_config()
    >>> utils.get_pattern_to_input_type_to_index(config)[torch.nn.functional.linear]
    {'weight': 1, 'bias': 2}
    """
    return {
        what: config._input_type_to_index for what, config in backend_config._pattern_complex_format_to_config.items()
    }


def get_module_to_qat_module(backend_config: BackendConfig) -> dict[Any, Any]:
    """The class for training that is aware of quantization, by pattern.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> config = get_native_backend_config()
    >>> utils.get_module_to_qat_module(config)[torch.nn.Linear] is torch.ao.nn.qat.Linear
    True
    """
    return {
        what: config.qat_module
        for what, config in backend_config._pattern_complex_format_to_config.items()
        if config.qat_module is not None
    }


def get_fusion_pattern_to_root_node_getter(backend_config: BackendConfig) -> dict[Any, Any]:
    """The function that finds the node with the weight, by pattern.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> config = get_native_backend_config()
    >>> utils.get_fusion_pattern_to_root_node_getter(config)
    {}
    """
    return {
        what: config._root_node_getter
        for what, config in backend_config._pattern_complex_format_to_config.items()
        if config._root_node_getter is not None
    }


def get_fusion_pattern_to_extra_inputs_getter(backend_config: BackendConfig) -> dict[Any, Any]:
    """The function that finds further arguments, by pattern.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> config = get_native_backend_config()
    >>> utils.get_fusion_pattern_to_extra_inputs_getter(config)
    {}
    """
    return {
        what: config._extra_inputs_getter
        for what, config in backend_config._pattern_complex_format_to_config.items()
        if config._extra_inputs_getter is not None
    }


def get_qat_module_classes(backend_config: BackendConfig) -> tuple[type, ...]:
    """The classes for training that is aware of quantization.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> torch.ao.nn.qat.Linear in utils.get_qat_module_classes(get_native_backend_config())
    True
    """
    return tuple({config.qat_module for config in backend_config.configs if config.qat_module is not None})


def get_fused_module_classes(backend_config: BackendConfig) -> tuple[type, ...]:
    """The classes that stand for several modules.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> torch.ao.nn.intrinsic.LinearReLU in utils.get_fused_module_classes(get_native_backend_config())
    True
    """
    return tuple({config.fused_module for config in backend_config.configs if config.fused_module is not None})


def get_root_module_to_quantized_reference_module(backend_config: BackendConfig) -> dict[Any, Any]:
    """The class that takes the place of a module with a weight, and quantizes in floating point.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> torch.nn.Linear in utils.get_root_module_to_quantized_reference_module(get_native_backend_config())
    True
    """
    return {
        config.root_module: config.reference_quantized_module
        for config in backend_config.configs
        if config.root_module is not None and config.reference_quantized_module is not None
    }


def get_fuser_method_mapping(backend_config: BackendConfig) -> dict[Any, Any]:
    """The function that makes one module of a pattern's, in the order of a graph's arguments.

    >>> from mindtorch_v2.ao.quantization.backend_config import get_native_backend_config, utils
    >>> (torch.nn.ReLU, torch.nn.Linear) in utils.get_fuser_method_mapping(get_native_backend_config())
    True
    """
    return {
        what: _get_fuser_method_in_reversed_nested_tuple_format(config)
        for what, config in backend_config._pattern_complex_format_to_config.items()
        if config.fuser_method is not None
    }


_CHOOSING = [
    *(getattr(F, f"fractional_max_pool{n}d") for n in (2, 3)),
    *(getattr(F, f"{kind}max_pool{n}d") for kind in ("", "adaptive_") for n in (1, 2, 3)),
]


def remove_boolean_dispatch_from_name(p: Any) -> Any:
    """The name of a function that gives one or two results, as an argument says; others as they are.

    >>> from mindtorch_v2.ao.quantization.backend_config import utils
    >>> utils.remove_boolean_dispatch_from_name(torch.nn.functional.max_pool2d)
    'torch.nn.functional.max_pool2d'
    """
    names = [f"fractional_max_pool{n}d" for n in (2, 3)]
    names += [f"{kind}max_pool{n}d" for kind in ("", "adaptive_") for n in (1, 2, 3)]
    for function, name in zip(_CHOOSING, names, strict=True):
        if p is function:
            return f"torch.nn.functional.{name}"
    if "boolean_dispatch" in str(p):
        raise AssertionError(f"{p} does not have a human readable representation in quantization documentation")
    return p


def pattern_to_human_readable(p: Any) -> Any:
    """A pattern with names for functions that have none.

    >>> from mindtorch_v2.ao.quantization.backend_config import utils
    >>> utils.pattern_to_human_readable(("relu", torch.nn.functional.max_pool2d))
    ('relu', 'torch.nn.functional.max_pool2d')
    """
    if isinstance(p, tuple):
        return tuple(map(pattern_to_human_readable, p))
    return p if isinstance(p, str) else remove_boolean_dispatch_from_name(p)


def entry_to_pretty_str(entry: dict[str, Any]) -> str:
    """A pattern's configuration as text, from its dict.

    >>> from mindtorch_v2.ao.quantization.backend_config import utils
    >>> print(utils.entry_to_pretty_str({"pattern": "relu", "fused_module": None}))
    {
      'pattern': relu,
      'fused_module': None,
    }
    """
    lines = ["{"]
    if "pattern" in entry:
        lines.append(f"  'pattern': {pattern_to_human_readable(entry['pattern'])},")
    if "dtype_configs" in entry:
        lines.append("  'dtype_configs': [")
        for config in entry["dtype_configs"]:
            lines += ["    {", *(f"      '{key}': {value}," for key, value in config.items()), "    },"]
        lines.append("  ],")
    if "num_tensor_args_to_observation_type" in entry:
        lines.append("  'num_tensor_args_to_observation_type': {")
        lines += [f"    {key}: {value}," for key, value in entry["num_tensor_args_to_observation_type"].items()]
        lines.append("  },")
    said = ("pattern", "dtype_configs", "num_tensor_args_to_observation_type")
    lines += [f"  '{key}': {value}," for key, value in entry.items() if key not in said]
    return "\n".join([*lines, "}"])


def _get_fuser_method_in_reversed_nested_tuple_format(config: BackendPatternConfig) -> Any:
    if config.fuser_method is None:
        raise AssertionError("config.fuser_method must be provided")
    if config._pattern_complex_format is not None:
        return config.fuser_method
    if not isinstance(config.pattern, tuple):
        raise ValueError(f"Expected pattern to be a tuple, got: {config.pattern}")
    if len(config.pattern) not in (2, 3):
        raise ValueError(f"Expected a tuple with 2 or 3 elements, got: {config.pattern}")
    return (_reverse2 if len(config.pattern) == 2 else _reverse3)(config.fuser_method)
