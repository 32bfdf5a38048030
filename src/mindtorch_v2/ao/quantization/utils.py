"""Questions that preparing and converting ask of configurations, observers and modules."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from typing_extensions import TypeAliasType

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization import _ranges
from mindtorch_v2.ao.quantization._ranges import (
    calculate_qmin_qmax,
    check_min_max_valid,
    determine_qparams,
    is_per_channel,
    is_per_tensor,
    validate_qmin_qmax,
)
from mindtorch_v2.ao.quantization.quant_type import QuantType
from mindtorch_v2.fx import Node
from mindtorch_v2.nn.utils.parametrize import is_parametrized

__all__ = [
    "DEPRECATION_WARNING",
    "MatchAllNode",
    "NodePattern",
    "Pattern",
    "activation_dtype",
    "activation_is_dynamically_quantized",
    "activation_is_int8_quantized",
    "activation_is_int32_quantized",
    "activation_is_statically_quantized",
    "calculate_qmin_qmax",
    "check_min_max_valid",
    "check_node",
    "determine_qparams",
    "get_combined_dict",
    "get_fqn_to_example_inputs",
    "get_qconfig_dtypes",
    "get_qparam_dict",
    "get_quant_type",
    "get_swapped_custom_module_class",
    "getattr_from_fqn",
    "has_no_children_ignoring_parametrizations",
    "is_per_channel",
    "is_per_tensor",
    "op_is_int8_dynamically_quantized",
    "to_underlying_dtype",
    "validate_qmin_qmax",
    "weight_dtype",
    "weight_is_quantized",
    "weight_is_statically_quantized",
]

DEPRECATION_WARNING = (
    "torch.ao.quantization is deprecated and will be removed in 2.10. \n"
    "For migrations of users: \n"
    "1. Eager mode quantization (torch.ao.quantization.quantize, torch.ao.quantization.quantize_dynamic), please "
    "migrate to use torchao eager mode quantize_ API instead \n"
    "2. FX graph mode quantization (torch.ao.quantization.quantize_fx.prepare_fx,"
    "torch.ao.quantization.quantize_fx.convert_fx, please migrate to use torchao pt2e quantization API instead "
    "(prepare_pt2e, convert_pt2e) \n"
    "3. pt2e quantization has been migrated to torchao "
    "(https://github.com/pytorch/ao/tree/main/torchao/quantization/pt2e) \n"
    "see https://github.com/pytorch/ao/issues/2259 for more details"
)

NodePattern = TypeAliasType("NodePattern", tuple[Node, Node] | tuple[Node, tuple[Node, Node]] | Any)
QuantizerCls = Any
Pattern = TypeAliasType(
    "Pattern", Callable | tuple[Callable, Callable] | tuple[Callable, tuple[Callable, Callable]] | Any
)

# What gives quantized results of quantized arguments by itself.
_F = nn.functional
module_type_list = {
    *(nn.ReLU, nn.ReLU6, nn.Identity, nn.Hardsigmoid, nn.Sigmoid, nn.Tanh),
    *(getattr(nn, f"{kind}Pool{n}d") for kind in ("AdaptiveAvg", "Avg", "Max") for n in (1, 2, 3)),
}
func_list = {
    *(getattr(_F, f"{kind}_pool{n}d") for kind in ("adaptive_avg", "max") for n in (1, 2, 3)),
    *(_F.elu, _F.hardswish, _F.instance_norm, _F.layer_norm, _F.leaky_relu, _F.silu, _F.mish, _F.dropout),
    *(_F.relu, _F.hardtanh, _F.hardtanh_, _F.hardsigmoid, _F.sigmoid),
    *(torch.transpose, torch.repeat_interleave, torch.sigmoid, torch.squeeze, torch.stack, torch.sum, torch.tanh),
    *(torch.unsqueeze, torch.cat),
}
method_list = {
    torch.mean,
    *"relu relu_ contiguous detach detach_ hardsigmoid hardsigmoid_ permute repeat repeat_interleave".split(),
    *"reshape resize_ shape sigmoid sigmoid_ size squeeze squeeze_ tanh tanh_ transpose unsqueeze".split(),
    *"unsqueeze_ view".split(),
}

_EIGHT = (torch.quint8, torch.qint8, torch.uint8, torch.int8)
_WIDER = (torch.int16, torch.int32, torch.float8_e5m2, torch.float8_e4m3fn)
_STATIC = (*_EIGHT, torch.quint4x2, torch.qint32, *_WIDER)


class MatchAllNode:
    """The part of a pattern that any node matches.

    >>> pattern = (torch.nn.ReLU, (torch.nn.BatchNorm2d, torch.ao.quantization.utils.MatchAllNode))
    >>> len(pattern)
    2
    """


def check_node(node: Node, modules: Mapping[str, nn.Module]) -> tuple[bool, bool, bool]:
    """Whether a node calls a function, a method, or a module that is quantized where its arguments are.

    >>> traced = torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU()))
    >>> node = list(traced.graph.nodes)[1]
    >>> torch.ao.quantization.utils.check_node(node, dict(traced.named_modules()))
    (False, False, True)
    """
    return (
        node.op == "call_function" and node.target in func_list,
        node.op == "call_method" and node.target in method_list,
        node.op == "call_module" and type(modules[str(node.target)]) in module_type_list,
    )


def get_combined_dict(default_dict: dict, additional_dict: dict) -> dict:
    """A new dict of both; the second wins.

    >>> torch.ao.quantization.get_combined_dict({"a": 1}, {"a": 2})
    {'a': 2}
    """
    return {**default_dict, **additional_dict}


def getattr_from_fqn(obj: Any, fqn: str) -> Any:
    """An attribute by a name with dots.

    >>> torch.ao.quantization.utils.getattr_from_fqn(torch, "nn.ReLU") is torch.nn.ReLU
    True
    """
    return functools.reduce(getattr, fqn.split("."), obj)


_UNDERLYING = {
    torch.quint8: torch.uint8,
    torch.qint8: torch.int8,
    torch.qint32: torch.int32,
    torch.quint4x2: torch.uint8,
    torch.quint2x4: torch.uint8,
    **{each: each for each in (torch.uint8, torch.int8, torch.uint16, *_WIDER)},
}


def to_underlying_dtype(qdtype: torch.dtype) -> torch.dtype:
    """The dtype of the whole numbers of a quantized dtype.

    >>> torch.ao.quantization.utils.to_underlying_dtype(torch.quint8)
    torch.uint8
    """
    if qdtype not in _UNDERLYING:
        raise AssertionError("Unsupported dtype: " + str(qdtype))
    return _UNDERLYING[qdtype]


def get_qparam_dict(observer_or_fake_quant: Any) -> dict[str, Any]:
    """The scheme, the dtype, the scale and so on, of an observer; an affine scheme for a symmetric one.

    >>> observer = torch.ao.quantization.MinMaxObserver()
    >>> _ = observer(torch.tensor([0.0, 5.1]))
    >>> torch.ao.quantization.utils.get_qparam_dict(observer)["scale"]
    tensor([0.0200])
    """
    from mindtorch_v2.ao.quantization.observer import PlaceholderObserver

    qscheme = getattr(observer_or_fake_quant, "qscheme", None)
    found: dict[str, Any] = {"qscheme": None, "dtype": observer_or_fake_quant.dtype}
    if not qscheme or isinstance(observer_or_fake_quant, PlaceholderObserver):
        return found
    if is_per_tensor(qscheme):
        found["qscheme"] = torch.per_tensor_affine
    elif is_per_channel(qscheme):
        found["qscheme"] = torch.per_channel_affine if qscheme == torch.per_channel_symmetric else qscheme
        found["axis"] = observer_or_fake_quant.ch_axis
    else:
        raise RuntimeError(f"Unrecognized qscheme: {qscheme}")
    found["scale"], found["zero_point"] = observer_or_fake_quant.calculate_qparams()
    for name in ("quant_min", "quant_max"):
        if hasattr(observer_or_fake_quant, name):
            found[name] = getattr(observer_or_fake_quant, name)
    return found


def get_swapped_custom_module_class(custom_module: nn.Module, custom_module_class_mapping: Any, qconfig: Any) -> Any:
    """The class that takes the place of a module's, by the kind of quantization that a configuration asks for.

    >>> from mindtorch_v2.ao.quantization import QuantType, default_qconfig
    >>> mapping = {QuantType.STATIC: {torch.nn.ReLU: torch.nn.ReLU6}}
    >>> torch.ao.quantization.utils.get_swapped_custom_module_class(torch.nn.ReLU(), mapping, default_qconfig)
    <class 'mindtorch_v2.nn.modules.activation.ReLU6'>
    """
    classes = custom_module_class_mapping.get(get_quant_type(qconfig), {})
    if type(custom_module) not in classes:
        raise AssertionError(
            f"did not find corresponding observed module class for {type(custom_module)} in mapping: {classes}"
        )
    return classes[type(custom_module)]


def _given(qconfig: Any, what: str) -> Any:
    if qconfig is None:
        raise AssertionError(f"qconfig must be provided to {what}")
    return qconfig


def activation_dtype(qconfig: Any) -> torch.dtype:
    """The dtype of activations.

    >>> torch.ao.quantization.utils.activation_dtype(torch.ao.quantization.default_qconfig)
    torch.quint8
    """
    return _given(qconfig, "determine activation dtype").activation().dtype


def weight_dtype(qconfig: Any) -> torch.dtype:
    """The dtype of weights.

    >>> torch.ao.quantization.utils.weight_dtype(torch.ao.quantization.default_qconfig)
    torch.qint8
    """
    return _given(qconfig, "determine weight dtype").weight().dtype


def activation_is_statically_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized by what was observed.

    >>> torch.ao.quantization.utils.activation_is_statically_quantized(torch.ao.quantization.default_qconfig)
    True
    """
    kinds = (*_EIGHT, torch.qint32, torch.float16, *_WIDER)
    return activation_dtype(qconfig) in kinds and not activation_is_dynamically_quantized(qconfig)


def activation_is_dynamically_quantized(qconfig: Any) -> bool:
    """Whether activations are quantized as they come.

    >>> torch.ao.quantization.utils.activation_is_dynamically_quantized(torch.ao.quantization.default_dynamic_qconfig)
    True
    """
    return get_qconfig_dtypes(qconfig)[2]


def activation_is_int8_quantized(qconfig: Any) -> bool:
    """Whether activations have eight bits.

    >>> torch.ao.quantization.utils.activation_is_int8_quantized(torch.ao.quantization.default_qconfig)
    True
    """
    return activation_dtype(qconfig) in _EIGHT


def activation_is_int32_quantized(qconfig: Any) -> bool:
    """Whether activations are whole numbers of 32 bits.

    >>> torch.ao.quantization.utils.activation_is_int32_quantized(torch.ao.quantization.default_qconfig)
    False
    """
    return activation_dtype(qconfig) in (torch.qint32, torch.int32)


def weight_is_quantized(qconfig: Any) -> bool:
    """Whether weights have another dtype than float32.

    >>> torch.ao.quantization.utils.weight_is_quantized(torch.ao.quantization.float16_static_qconfig)
    True
    """
    return weight_dtype(qconfig) in (*_EIGHT, torch.float16, torch.quint4x2, *_WIDER)


def weight_is_statically_quantized(qconfig: Any) -> bool:
    """Whether weights have eight bits.

    >>> torch.ao.quantization.utils.weight_is_statically_quantized(torch.ao.quantization.default_qconfig)
    True
    """
    return weight_dtype(qconfig) in _EIGHT


def op_is_int8_dynamically_quantized(qconfig: Any) -> bool:
    """Whether weights are qint8, and activations become quint8 as they come.

    >>> torch.ao.quantization.utils.op_is_int8_dynamically_quantized(torch.ao.quantization.default_dynamic_qconfig)
    True
    """
    activation, weight, dynamic = get_qconfig_dtypes(qconfig)
    return activation in (torch.quint8, torch.uint8) and weight in (torch.qint8, torch.int8) and dynamic


def get_qconfig_dtypes(qconfig: Any) -> tuple[torch.dtype, torch.dtype, bool]:
    """The dtypes of activations and weights, and whether activations are quantized as they come.

    >>> torch.ao.quantization.utils.get_qconfig_dtypes(torch.ao.quantization.default_qconfig)
    (torch.quint8, torch.qint8, False)
    """
    activation = _given(qconfig, "extract dtypes").activation()
    return activation.dtype, qconfig.weight().dtype, getattr(activation, "is_dynamic", False)


def get_quant_type(qconfig: Any) -> QuantType:
    """When activations are quantized.

    >>> torch.ao.quantization.utils.get_quant_type(torch.ao.quantization.default_dynamic_qconfig).name
    'DYNAMIC'
    """
    activation, weight = _given(qconfig, "determine quant type").activation(), qconfig.weight()
    dynamic = getattr(activation, "is_dynamic", False)
    if weight.dtype in _STATIC:
        if dynamic:
            return QuantType.DYNAMIC
        return QuantType.STATIC if activation.dtype in _STATIC else QuantType.WEIGHT_ONLY
    if weight.dtype == torch.float16:
        if dynamic:
            return QuantType.DYNAMIC
        if activation.dtype == torch.float16:
            return QuantType.STATIC
    raise Exception(
        f"Unrecognized dtype combination in get_quant_type: activation({activation.dtype}),weight({weight.dtype})"
    )


def _parent_name(target: str) -> tuple[str, str]:
    parent, _, name = target.rpartition(".")
    return parent, name


def has_no_children_ignoring_parametrizations(module: nn.Module) -> bool:
    """Whether a module has no others in it but its parametrizations.

    >>> torch.ao.quantization.utils.has_no_children_ignoring_parametrizations(torch.nn.ReLU())
    True
    """
    if not module._modules:
        return True
    return is_parametrized(module) and list(module._modules) == ["parametrizations"]


def _get_path_of_module(root: nn.Module, submodule: nn.Module) -> str | None:
    return next((name for name, each in root.named_modules() if each is submodule), None)


def _get_signature_locals(f: Callable, loc: dict[str, Any]) -> dict[str, Any]:
    names = inspect.signature(f).parameters
    return {key: value for key, value in loc.items() if key in names}


def _get_default_kwargs(f: Callable) -> OrderedDict[str, Any]:
    found: OrderedDict[str, Any] = OrderedDict()
    for name, parameter in inspect.signature(f).parameters.items():
        if parameter.default is not parameter.empty:
            found[name] = parameter.default
        elif parameter.kind is parameter.VAR_POSITIONAL:
            found[name] = ()
        elif parameter.kind is parameter.VAR_KEYWORD:
            found[name] = {}
    return found


def _normalize_kwargs(func: Callable, loc: dict[str, Any]) -> OrderedDict[str, Any]:
    found, given = _get_default_kwargs(func), _get_signature_locals(func, loc)
    return OrderedDict((name, given.get(name, value)) for name, value in found.items())


def _get_num_pos_args(f: Callable) -> int:
    return len(inspect.getfullargspec(f).args)


def get_fqn_to_example_inputs(model: nn.Module, example_inputs: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
    """The arguments of every module of a model, by its name, when the model is called with given ones.

    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    >>> torch.ao.quantization.utils.get_fqn_to_example_inputs(model, (torch.tensor([1.0]),))["0"]
    (tensor([1.]),)
    """
    found: dict[str, tuple[Any, ...]] = {}
    handles = []

    def see(name: str, module: nn.Module, args: tuple, kwargs: dict) -> None:
        defaults = _normalize_kwargs(module.forward, kwargs)
        taken = _get_num_pos_args(module.forward) - 1 - len(args)  # defaults that stand for what was not given
        while taken and defaults:
            defaults.popitem(last=False)
            taken -= 1
        found[name] = (*args, *defaults.values())

    try:
        for name, module in model.named_modules():
            handles.append(
                module.register_forward_pre_hook(
                    lambda module, args, kwargs, name=name: see(name, module, args, kwargs),
                    prepend=True,
                    with_kwargs=True,
                )
            )
        model(*example_inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found


def _assert_and_get_unique_device(module: nn.Module) -> Any:
    """The device of a module's tensors; AssertionError for several."""
    devices = {each.device for each in [*module.parameters(), *module.buffers()]}
    if devices == {torch.device("cpu"), torch.device("meta")}:
        warnings.warn(
            "Both 'meta' and 'cpu' are present in the list of devices. Module can have one device. We Select 'cpu'.",
            stacklevel=2,
        )
        devices = {torch.device("cpu")}
    if len(devices) > 1:
        raise AssertionError(f"prepare only works with cpu or single-device CUDA modules, but got devices {devices}")
    return next(iter(devices), None)


# Functions say where users find them.
for _each in _ranges.__all__:
    globals()[_each].__module__ = __name__
del _each
