"""Of each node of a graph: how its inputs and its output are to be observed, and whether a back end can have it so."""

from __future__ import annotations

import warnings
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization.backend_config import BackendConfig, DTypeConfig, DTypeWithConstraints
from mindtorch_v2.ao.quantization.backend_config.utils import (
    get_fusion_pattern_to_root_node_getter,
    get_pattern_to_dtype_configs,
)
from mindtorch_v2.ao.quantization.fake_quantize import FakeQuantizeBase, FixedQParamsFakeQuantize
from mindtorch_v2.ao.quantization.fx.quantize_handler import _default_root_node_getter
from mindtorch_v2.ao.quantization.fx.utils import (
    all_node_args_have_no_tensors,
    node_arg_is_bias,
    node_arg_is_weight,
)
from mindtorch_v2.ao.quantization.observer import (
    FixedQParamsObserver,
    ObserverBase,
    PlaceholderObserver,
    _is_activation_post_process,
)
from mindtorch_v2.ao.quantization.qconfig import (
    _default_fp32_placeholder_qconfig,
    _default_quint8_placeholder_qconfig,
    _is_reuse_input_qconfig,
    float16_dynamic_qconfig,
    float16_static_qconfig,
    qconfig_equals,
)
from mindtorch_v2.ao.quantization.utils import get_qconfig_dtypes
from mindtorch_v2.fx.node import Node

__all__ = [
    "FLOAT",
    "QUANTIZED",
    "UNOBSERVED",
    "dtype_and_dynamic",
    "has_supported_dtypes",
    "maker_of_input",
    "root_of",
    "target_of",
]

FLOAT = {
    "input_act_obs_or_fq_ctr": _default_fp32_placeholder_qconfig.activation,
    "output_act_obs_or_fq_ctr": _default_fp32_placeholder_qconfig.activation,
}
QUANTIZED = {
    "input_act_obs_or_fq_ctr": _default_quint8_placeholder_qconfig.activation,
    "output_act_obs_or_fq_ctr": _default_quint8_placeholder_qconfig.activation,
}
UNOBSERVED: dict[str, Any] = {"input_act_obs_or_fq_ctr": None, "output_act_obs_or_fq_ctr": None}
FLOAT_MAKER = PlaceholderObserver.with_args(dtype=torch.float)
_SUGGESTION = (
    "Please use torch.ao.quantization.get_default_qconfig_mapping or "
    "torch.ao.quantization.get_default_qat_qconfig_mapping. Example:\n"
    '    qconfig_mapping = get_default_qconfig_mapping("fbgemm")\n'
    "    model = prepare_fx(model, qconfig_mapping, example_inputs)"
)


def dtype_and_dynamic(observer: Any) -> tuple[Any, bool]:
    """An observer's dtype, and whether numbers are quantized as they come; None and False without one."""
    return (None, False) if observer is None else (observer.dtype, getattr(observer, "is_dynamic", False))


def target_of(
    node: Node, qconfig: Any, handler: Any, modules: dict[str, Any], backend_config: BackendConfig, cache: dict
) -> dict[str, Any]:
    """How a node's inputs and output are to be observed, by a configuration."""
    if all_node_args_have_no_tensors(node, modules, cache):
        return dict(UNOBSERVED)
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    bias = torch.float16 if activation == weight == torch.float16 and not dynamic else torch.float
    places: dict[str, int] = {}
    if node.op == "call_function":
        pattern = backend_config._pattern_complex_format_to_config.get(node.target)
        places = pattern._input_type_to_index if pattern is not None else {}
    return {
        "input_act_obs_or_fq_ctr": qconfig.activation,
        "weight_obs_or_fq_ctr": qconfig.weight,
        "bias_obs_or_fq_ctr": PlaceholderObserver.with_args(dtype=bias),
        "weight_index": places.get("weight"),
        "bias_index": places.get("bias"),
        "output_act_obs_or_fq_ctr": qconfig.activation,
        "reuse_input_obs_or_fq": _is_reuse_input_qconfig(qconfig),
        "input_output_share_observers": handler is not None and handler.is_general_tensor_value_op(),
        "_is_standalone_module": handler is not None and handler.is_standalone_module(),
    }


def maker_of_input(node: Node, arg: Any) -> tuple[str, Any]:
    """Which of a node's observers an argument has ("input_act", "weight" or "bias"), and its maker."""
    kind = "weight" if node_arg_is_weight(node, arg) else "bias" if node_arg_is_bias(node, arg) else "input_act"
    return kind, node.meta["target_dtype_info"].get(f"{kind}_obs_or_fq_ctr")


def root_of(pattern: Any, matched: Any, backend_config: BackendConfig) -> Any:
    """The first node of a match."""
    return get_fusion_pattern_to_root_node_getter(backend_config).get(pattern, _default_root_node_getter)(matched)


def has_supported_dtypes(pattern: Any, matched: Any, qconfig: Any, backend_config: BackendConfig | None) -> bool:
    """Whether a back end has a pattern with the dtypes of a configuration."""
    if backend_config is None or pattern is None:
        return True
    if matched is None or len(matched) < 1:
        raise AssertionError("matched_node_pattern must be non-empty")
    root, last = root_of(pattern, matched, backend_config), matched[0]
    for config in get_pattern_to_dtype_configs(backend_config).get(pattern, []):
        inputs = [*root.args, *root.kwargs.values()]
        if all(_has_input(each, root, qconfig, config) for each in inputs) and _has_output(last, qconfig, config):
            return True
    return False


def _has_input(arg: Any, node: Node, qconfig: Any, config: DTypeConfig) -> bool:
    if isinstance(arg, list | tuple):
        return all(_has_input(each, node, qconfig, config) for each in arg)
    if not isinstance(arg, Node):
        return True
    kind, maker = maker_of_input(node, arg)
    dtype, dynamic = dtype_and_dynamic(maker() if maker else None)
    if kind == "bias":
        return config.bias_dtype is None or dtype == config.bias_dtype
    if kind == "weight":
        satisfied = _satisfies(qconfig, config.weight_dtype_with_constraints, is_activation=False)
        return config.weight_dtype is None or (dtype == config.weight_dtype and satisfied)
    return config.input_dtype is None or (
        config.input_dtype == dtype
        and bool(config.is_dynamic) == bool(dynamic)
        and _satisfies(qconfig, config.input_dtype_with_constraints)
    )


def _has_output(node: Node, qconfig: Any, config: DTypeConfig) -> bool:
    maker = node.meta["target_dtype_info"].get("output_act_obs_or_fq_ctr", FLOAT_MAKER)
    dtype, dynamic = dtype_and_dynamic(maker() if maker else None)
    dtype = torch.float32 if dynamic else dtype
    satisfied = _satisfies(qconfig, config.output_dtype_with_constraints)
    return config.output_dtype is None or (dtype == config.output_dtype and satisfied)


def _satisfies(qconfig: Any, bounds: DTypeWithConstraints, is_activation: bool = True) -> bool:
    """Whether a configuration's observer keeps to a back end's bounds; a warning where not."""
    if qconfig is None or bounds.dtype is None:
        return True
    maker = qconfig.activation if is_activation else qconfig.weight
    if maker is None:
        return True
    made = maker()
    if not _is_activation_post_process(made):
        raise AssertionError("activation_post_process must be an activation post process")
    if made.dtype != bounds.dtype:
        return True
    text = _refusal(made, bounds, qconfig, "activation" if is_activation else "weight")
    if text:
        warnings.warn(text, stacklevel=2)
    return not text


def _refusal(made: Any, bounds: DTypeWithConstraints, qconfig: Any, word: str) -> str:
    """Why an observer does not keep to bounds, or nothing."""
    if not isinstance(made, ObserverBase) and not isinstance(made, FakeQuantizeBase):
        raise AssertionError("activation_post_process must be an ObserverBase or FakeQuantizeBase")
    seeing: Any = made if isinstance(made, ObserverBase) else made.activation_post_process
    low, high = getattr(seeing, "quant_min", None), getattr(seeing, "quant_max", None)
    least, most = bounds.quant_min_lower_bound, bounds.quant_max_upper_bound
    if least is not None and most is not None:
        if low is None or high is None:
            return f"QConfig {word} must specify 'quant_min' and 'quant_max', ignoring {qconfig}"
        if low < least or high > most:
            return (
                f"QConfig {word} quantization range must fall within the backend's:\nQConfig range = ({low}, {high}), "
                f"BackendConfig range = ({least}, {most}), ignoring {qconfig}"
            )
    if bounds.scale_min_lower_bound is not None:
        eps = getattr(seeing, "eps", None)
        if eps is None:
            return f"QConfig {word} must specify 'eps', ignoring {qconfig}"
        if eps < bounds.scale_min_lower_bound:
            return (
                f"QConfig {word} eps ({eps}) must be greater than or equal to the backend's min scale value "
                f"({bounds.scale_min_lower_bound}), ignoring {qconfig}"
            )
    scale, zero_point = bounds.scale_exact_match, bounds.zero_point_exact_match
    if scale is None or zero_point is None:
        return ""
    if any(qconfig_equals(qconfig, each) for each in (float16_static_qconfig, float16_dynamic_qconfig)):
        return ""
    if not isinstance(made, FixedQParamsObserver | FixedQParamsFakeQuantize):
        return (
            "QConfig must specify a FixedQParamsObserver or a FixedQParamsFakeQuantize for fixed qparams ops, ignoring "
            f"{qconfig}.\n{_SUGGESTION}"
        )
    if seeing.scale != scale or seeing.zero_point != zero_point:
        return (
            f"QConfig fixed scale ({seeing.scale}) and zero point ({seeing.zero_point}) do not match the backend's "
            f"({scale} and {zero_point}), ignoring {qconfig}.\n{_SUGGESTION}"
        )
    return ""
