"""Quantization of models whose places are marked: prepare, run, convert; for evaluation, in training, or as values come."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from typing_extensions import deprecated

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import quantizable, quantized
from mindtorch_v2.ao.nn.intrinsic import _FusedModule
from mindtorch_v2.ao.quantization.observer import _is_activation_post_process
from mindtorch_v2.ao.quantization.qconfig import (
    _activation_is_memoryless,
    _add_module_to_qconfig_obs_ctr,
    _assert_valid_qconfig,
    default_dynamic_qconfig,
    float16_dynamic_qconfig,
    float_qparams_weight_only_qconfig,
    float_qparams_weight_only_qconfig_4bit,
)
from mindtorch_v2.ao.quantization.quantization_mappings import (
    _get_special_act_post_process,
    _has_special_act_post_process,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
    get_default_static_quant_reference_module_mappings,
    no_observer_set,
)
from mindtorch_v2.ao.quantization.stubs import DeQuantStub, QuantWrapper
from mindtorch_v2.ao.quantization.utils import (
    DEPRECATION_WARNING,
    get_qparam_dict,
    has_no_children_ignoring_parametrizations,
)
from mindtorch_v2.nn.utils.parametrize import type_before_parametrizations

_Model = TypeVar("_Model", bound=nn.Module)

__all__ = [
    "add_quant_dequant",
    "convert",
    "get_default_custom_config_dict",
    "prepare",
    "prepare_qat",
    "propagate_qconfig_",
    "quantize",
    "quantize_dynamic",
    "quantize_qat",
    "swap_module",
]

nnq: Any = quantized
is_activation_post_process = _is_activation_post_process

_DEFAULT_CUSTOM_CONFIG_DICT: dict[str, dict[Any, Any]] = {
    "float_to_observed_custom_module_class": {
        nn.LSTM: quantizable.LSTM,
        nn.MultiheadAttention: quantizable.MultiheadAttention,
    },
    "observed_to_quantized_custom_module_class": {
        quantizable.LSTM: nnq.LSTM,
        quantizable.MultiheadAttention: nnq.MultiheadAttention,
    },
}
_RECURRENT = (nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
# Of dynamic quantization, by the weights' dtype: the configuration, and which modules have it where none are named.
_DYNAMIC: dict[Any, tuple[Any, tuple[type, ...]]] = {
    torch.qint8: (default_dynamic_qconfig, (nn.Linear, *_RECURRENT)),
    torch.float16: (float16_dynamic_qconfig, (nn.Linear, *_RECURRENT)),
    torch.quint8: (float_qparams_weight_only_qconfig, (nn.EmbeddingBag, nn.Embedding)),
    torch.quint4x2: (float_qparams_weight_only_qconfig_4bit, (nn.EmbeddingBag,)),
}


def get_default_custom_config_dict() -> dict[str, dict[Any, Any]]:
    """Modules that are observed, and then quantized, as others: recurrent layers and attention.

    >>> sorted(torch.ao.quantization.get_default_custom_config_dict())
    ['float_to_observed_custom_module_class', 'observed_to_quantized_custom_module_class']
    """
    return _DEFAULT_CUSTOM_CONFIG_DICT


def propagate_qconfig_(
    module: nn.Module, qconfig_dict: dict[Any, Any] | None = None, prepare_custom_config_dict: dict | None = None
) -> None:
    """Give a module, and what is in it, the attribute `qconfig`: its own, by its name or class in `qconfig_dict`, or what holds it has.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> torch.ao.quantization.propagate_qconfig_(model, {"0": torch.ao.quantization.default_qconfig})
    >>> model[1].qconfig is None
    True
    """
    _propagate(module, qconfig_dict or {}, None, "", prepare_custom_config_dict or {})


def _propagate(module: nn.Module, configs: dict, inherited: Any, prefix: str, custom: dict | None) -> None:
    found = configs.get(type_before_parametrizations(module), inherited)
    found = getattr(module, "qconfig", configs.get(prefix, found))
    _assert_valid_qconfig(found, module)
    module.qconfig = placed = _add_module_to_qconfig_obs_ctr(found, module)
    for name, child in module.named_children():
        kept = custom is not None and (
            name in custom.get("non_traceable_module_name", [])
            or type(child) in custom.get("non_traceable_module_class", [])
        )
        if not kept:
            _propagate(child, configs, placed, f"{prefix}.{name}" if prefix else name, None)


def _observer_forward_hook(self: Any, input: Any, output: Any) -> Any:
    return self.activation_post_process(output)


def _observer_forward_pre_hook(self: Any, input: Any) -> Any:
    return self.activation_post_process(input[0])


def _register_activation_post_process_hook(module: nn.Module, pre_hook: bool = False) -> None:
    if not hasattr(module, "activation_post_process"):
        raise AssertionError("Expect activation_post_process attribute already attached to the module")
    if pre_hook:
        module.register_forward_pre_hook(_observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(_observer_forward_hook, prepend=True)


def _get_unique_devices_(module: nn.Module) -> set[Any]:
    tensors = [*module.parameters(), *module.buffers()]
    return {each.device for each in tensors if each.device.type != "meta"}


def _needs_observation(module: Any) -> bool:
    return getattr(module, "qconfig", None) is not None


def _observer_of(module: Any, device: Any, special: Any = None) -> nn.Module:
    made = module.qconfig.activation() if special is None else special()
    if device is not None:
        made.to(device)
    return made


def _observe(module: Any, device: Any, special: Any = None) -> None:
    """Let a module's result (or its input, where activations will be quantized as they come) be observed."""
    if _needs_observation(module) and not isinstance(module, DeQuantStub):
        module.add_module("activation_post_process", _observer_of(module, device, special))
        _register_activation_post_process_hook(module, pre_hook=_activation_is_memoryless(module.qconfig))


def _add_observer_(
    module: nn.Module,
    qconfig_propagation_list: Iterable[Any] | None = None,
    non_leaf_module_list: Iterable[Any] | None = None,
    device: Any = None,
    custom_module_class_mapping: dict[Any, Any] | None = None,
) -> None:
    """Let modules of given classes that have a configuration be observed, and replace those with a class for that."""
    observed = get_default_qconfig_propagation_list() if qconfig_propagation_list is None else qconfig_propagation_list
    custom = custom_module_class_mapping or {}
    if device is None:
        devices = _get_unique_devices_(module)
        if len(devices) > 1:
            raise AssertionError(
                f"_add_observer_ only works with cpu or single-device CUDA modules, but got devices {devices}"
            )
        device = next(iter(devices), None)
    for name, child in list(module.named_children()):
        kind = type_before_parametrizations(child)
        if kind is nn.Dropout:
            continue
        if issubclass(kind, nnq.FloatFunctional | nnq.QFunctional):
            if _needs_observation(child):
                if not hasattr(child, "activation_post_process"):
                    raise AssertionError(f"functional class {kind} has no pre-defined `activation_post_process`")
                child.activation_post_process = _observer_of(child, device)
        elif isinstance(child, _FusedModule) or (non_leaf_module_list is not None and kind in non_leaf_module_list):
            _observe(child, device)
        elif _has_special_act_post_process(child):
            _observe(child, device, _get_special_act_post_process(child))
        elif _needs_observation(child) and kind in custom:
            made = custom[kind].from_float(child)
            setattr(module, name, made)
            if not issubclass(custom[kind], tuple(no_observer_set())):
                _observe(made, device)
        else:
            _add_observer_(child, observed, non_leaf_module_list, device, custom)
    if type_before_parametrizations(module) not in observed or isinstance(module, nn.Sequential):
        return
    if has_no_children_ignoring_parametrizations(module):
        _observe(module, device)
    if hasattr(module, "weight_fake_quant"):
        _observe(module, device)


def add_quant_dequant(module: nn.Module) -> nn.Module:
    """A module in which those that have a configuration, and nothing in them, stand between stubs; itself changed, or wrapped.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> model[0].qconfig = torch.ao.quantization.default_qconfig
    >>> type(torch.ao.quantization.add_quant_dequant(model)[0]).__name__
    'QuantWrapper'
    """
    if has_no_children_ignoring_parametrizations(module) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


@deprecated(DEPRECATION_WARNING)
def prepare(
    model: _Model,
    inplace: bool = False,
    allow_list: Any = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: dict[str, Any] | None = None,
) -> _Model:
    """A copy of a model (itself, if `inplace`) whose modules with a `qconfig` are observed: run it with representative data next.

    Args:
        allow_list: the classes to observe; by default those that can be quantized.
        observer_non_leaf_module_list: classes to observe though there are modules in them.
        prepare_custom_config_dict: "float_to_observed_custom_module_class": the classes that take the place of others.

    >>> model = torch.nn.Sequential(torch.ao.quantization.QuantStub(), torch.nn.Linear(2, 2))
    >>> model.qconfig = torch.ao.quantization.default_qconfig
    >>> prepared = torch.ao.quantization.prepare(model.eval())
    >>> _ = prepared(torch.tensor([[0.0, 12.7]]))
    >>> prepared[0].activation_post_process.max_val
    tensor(12.7000)
    """
    custom = get_default_custom_config_dict() if prepare_custom_config_dict is None else prepare_custom_config_dict
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(each, "qconfig", None) for each in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through "
            "`qconfig_dict` or by assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    _add_observer_(
        model,
        allow_list,
        observer_non_leaf_module_list,
        custom_module_class_mapping=custom.get("float_to_observed_custom_module_class", {}),
    )
    return model


def _remove_activation_post_process(module: Any) -> None:
    if hasattr(module, "activation_post_process") and _is_activation_post_process(module.activation_post_process):
        delattr(module, "activation_post_process")
    for hooks, own in (
        (module._forward_pre_hooks, _observer_forward_pre_hook),
        (module._forward_hooks, _observer_forward_hook),
    ):
        for key in [key for key, hook in hooks.items() if hook is own]:
            hooks.pop(key)


def _remove_qconfig(module: Any) -> None:
    for child in module.children():
        _remove_qconfig(child)
    if hasattr(module, "qconfig"):
        del module.qconfig
    _remove_activation_post_process(module)


@deprecated(DEPRECATION_WARNING)
def quantize(
    model: _Model, run_fn: Callable, run_args: Any, mapping: dict[Any, Any] | None = None, inplace: bool = False
) -> _Model:
    """A quantized copy of a model (itself, if `inplace`): prepared, run by `run_fn(model, *run_args)`, and converted.

    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    >>> model.qconfig = torch.ao.quantization.default_qconfig
    >>> torch.ao.quantization.quantize(model, lambda model, x: model(x), [torch.tensor([0.0, 12.7])])
    Sequential(
      (0): ReLU()
    )
    """
    mapping = get_default_static_quant_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, mapping, inplace=True)
    return model


@deprecated(DEPRECATION_WARNING)
def quantize_dynamic(
    model: _Model,
    qconfig_spec: Any = None,
    dtype: torch.dtype = torch.qint8,
    mapping: dict[Any, Any] | None = None,
    inplace: bool = False,
) -> _Model:
    """A copy of `model` (itself, if `inplace`) in which modules are replaced by ones with weights of few bits.

    Args:
        qconfig_spec: which modules: a set of classes and names, or a mapping of those to a `QConfig`. None: the linear and
            recurrent layers, or for quint8 and quint4x2 embeddings.
        dtype: `qint8`, `float16`, `quint8` or `quint4x2`, where the configs are not given.
        mapping: the class that takes a module's place, by the module's class; it has `from_float`.

    Raises:
        ValueError: for another dtype without configs.

    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.ReLU())
    >>> torch.ao.quantization.quantize_dynamic(model, {torch.nn.Linear})
    Sequential(
      (0): DynamicQuantizedLinear(in_features=4, out_features=2, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
      (1): ReLU()
    )
    """
    if qconfig_spec is None:
        if dtype not in _DYNAMIC:
            raise ValueError(
                f"Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"
            )
        qconfig, kinds = _DYNAMIC[dtype]
        qconfig_spec = dict.fromkeys(kinds, qconfig)
    elif isinstance(qconfig_spec, set):
        if dtype not in _DYNAMIC:
            raise RuntimeError("Unknown dtype specified for quantize_dynamic: ", str(dtype))
        qconfig_spec = dict.fromkeys(qconfig_spec, _DYNAMIC[dtype][0])
    mapping = get_default_dynamic_quant_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    convert(model, mapping, inplace=True)
    return model


@deprecated(DEPRECATION_WARNING)
def prepare_qat(model: _Model, mapping: dict[Any, Any] | None = None, inplace: bool = False) -> _Model:
    """A copy of a model (itself, if `inplace`) that rounds as it will when it is quantized: train it next.

    The model is in training mode. `mapping`: the class that takes a module's place, by the module's class.

    >>> model = torch.nn.Sequential(torch.ao.quantization.QuantStub(), torch.nn.Linear(2, 2))
    >>> model.qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> type(torch.ao.quantization.prepare_qat(model.train())[1]).__module__
    'mindtorch_v2.ao.nn.qat.modules.linear'
    """
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    convert(model, mapping=mapping, inplace=True, remove_qconfig=False)
    prepare(model, observer_non_leaf_module_list=set(mapping.values()), inplace=True)
    return model


@deprecated(DEPRECATION_WARNING)
def quantize_qat(model: _Model, run_fn: Callable, run_args: Any, inplace: bool = False) -> _Model:
    """A quantized copy of a model (itself, if `inplace`): prepared, trained by `run_fn(model, *run_args)`, and converted.

    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    >>> model.qconfig = torch.ao.quantization.default_qat_qconfig
    >>> torch.ao.quantization.quantize_qat(model, lambda model, x: model(x), [torch.tensor([0.0, 12.7])])
    Sequential(
      (0): ReLU()
    )
    """
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, inplace=True)
    return model


@deprecated(DEPRECATION_WARNING)
def convert(
    module: nn.Module,
    mapping: dict[Any, Any] | None = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: dict[str, Any] | None = None,
    use_precomputed_fake_quant: bool = False,
) -> nn.Module:
    """A copy of a prepared model (itself, if `inplace`) whose observed modules are quantized ones.

    Args:
        mapping: the class that takes a module's place, by the module's class; it has `from_float`.
        remove_qconfig: whether configurations and observers go.
        is_reference: whether modules quantize and compute in floating point.
        convert_custom_config_dict: "observed_to_quantized_custom_module_class": the classes that take the place of others, by
            `from_observed`.
        use_precomputed_fake_quant: whether weights' scales are those of training.

    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    >>> model.qconfig = torch.ao.quantization.default_qconfig
    >>> prepared = torch.ao.quantization.prepare(model.eval())
    >>> _ = prepared(torch.tensor([0.0, 12.7]))
    >>> torch.ao.quantization.convert(prepared)
    Sequential(
      (0): ReLU()
    )
    """
    if not inplace:
        module = copy.deepcopy(module)
    _convert(
        module,
        mapping,
        inplace=True,
        is_reference=is_reference,
        convert_custom_config_dict=convert_custom_config_dict,
        use_precomputed_fake_quant=use_precomputed_fake_quant,
    )
    if remove_qconfig:
        _remove_qconfig(module)
    return module


def _convert(
    module: nn.Module,
    mapping: dict[Any, Any] | None = None,
    inplace: bool = False,
    is_reference: bool = False,
    convert_custom_config_dict: dict[str, Any] | None = None,
    use_precomputed_fake_quant: bool = False,
) -> nn.Module:
    """Replace the modules in a module."""
    if mapping is None:
        mapping = (
            get_default_static_quant_reference_module_mappings()
            if is_reference
            else get_default_static_quant_module_mappings()
        )
    own = get_default_custom_config_dict() if convert_custom_config_dict is None else convert_custom_config_dict
    custom = own.get("observed_to_quantized_custom_module_class", {})
    if not inplace:
        module = copy.deepcopy(module)
    made = {}
    for name, child in module.named_children():
        if not isinstance(child, _FusedModule) and type_before_parametrizations(child) not in custom:
            _convert(child, mapping, True, is_reference, own, use_precomputed_fake_quant)
        made[name] = swap_module(child, mapping, custom, use_precomputed_fake_quant)
    module._modules.update(made)
    return module


def swap_module(
    mod: Any,
    mapping: dict[Any, Any],
    custom_module_class_mapping: dict[Any, Any],
    use_precomputed_fake_quant: bool = False,
) -> Any:
    """The module that takes the place of one with a configuration, by its class; otherwise itself. Hooks go with it.

    >>> linear = torch.nn.Linear(2, 2)
    >>> linear.qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    >>> mapping = torch.ao.quantization.get_default_qat_module_mappings()
    >>> type(torch.ao.quantization.swap_module(linear, mapping, {})).__module__
    'mindtorch_v2.ao.nn.qat.modules.linear'
    """
    kind = type_before_parametrizations(mod)
    if not _needs_observation(mod) or (kind not in custom_module_class_mapping and kind not in mapping):
        return mod
    if kind in custom_module_class_mapping:
        made = custom_module_class_mapping[kind].from_observed(mod)
    else:
        made = _swapped(mod, mapping[kind], use_precomputed_fake_quant)
    for pre_hook in mod._forward_pre_hooks.values():
        made.register_forward_pre_hook(pre_hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observer_forward_hook:  # what it observed is in the new module
            made.register_forward_hook(hook)
    devices = _get_unique_devices_(mod)
    if not (len(devices) <= 1 or (len(devices) == 2 and torch.device("meta") in devices)):
        raise AssertionError(
            f"swap_module only works with cpu or single-device CUDA modules, but got devices {devices}"
        )
    device = next(iter(devices), None)
    if device:
        made.to(device)
    return made


def _swapped(mod: Any, kind: Any, use_precomputed_fake_quant: bool) -> Any:
    if hasattr(kind, "__unavailable__"):
        raise NotImplementedError(f"{type(mod).__name__}: {kind.__unavailable__}")
    if getattr(kind, "_IS_REFERENCE", False):
        seeing = mod.qconfig.weight()
        seeing(mod.weight)
        return kind.from_float(mod, get_qparam_dict(seeing))
    if "use_precomputed_fake_quant" in inspect.signature(kind.from_float).parameters:
        return kind.from_float(mod, use_precomputed_fake_quant=use_precomputed_fake_quant)
    return kind.from_float(mod)


def _get_observer_dict(mod: Any, target_dict: dict[str, Any], prefix: str = "") -> None:
    """Put the observers of a module and of what is in it into a dict, by their names."""
    start = prefix + "." if prefix else ""
    if hasattr(mod, "activation_post_process"):
        target_dict[start + "activation_post_process"] = mod.activation_post_process
    for name, child in mod.named_children():
        _get_observer_dict(child, target_dict, start + name)
