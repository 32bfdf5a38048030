"""Quantization of models as graphs: traced, fused, prepared, and converted."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from typing_extensions import deprecated

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import quantized
from mindtorch_v2.ao.quantization.fx._standalone import METHODS
from mindtorch_v2.ao.quantization.fx.convert import convert
from mindtorch_v2.ao.quantization.fx.custom_config import ConvertCustomConfig, FuseCustomConfig, PrepareCustomConfig
from mindtorch_v2.ao.quantization.fx.fuse import fuse
from mindtorch_v2.ao.quantization.fx.prepare import prepare
from mindtorch_v2.ao.quantization.fx.tracer import QuantizationTracer, Scope, ScopeContextManager
from mindtorch_v2.ao.quantization.fx.utils import get_skipped_module_name_and_classes
from mindtorch_v2.ao.quantization.utils import DEPRECATION_WARNING
from mindtorch_v2.fx import GraphModule, symbolic_trace

__all__ = [
    "attach_preserved_attrs_to_model",
    "convert_fx",
    "convert_to_reference_fx",
    "fuse_fx",
    "prepare_fx",
    "prepare_qat_fx",
]

# Names that programs reach through this module though it does not define them.
_REACHED_HERE = (Scope, ScopeContextManager)
_PRESERVED = "_user_preserved_attributes"  # the key of a graph module's `meta`, as PyTorch's
nnq: Any = quantized


def attach_preserved_attrs_to_model(model: Any, preserved_attrs: dict[str, Any]) -> None:
    """Give a graph module attributes, that it also keeps in `meta`.

    >>> from mindtorch_v2.ao.quantization.quantize_fx import attach_preserved_attrs_to_model
    >>> traced = torch.fx.symbolic_trace(torch.nn.ReLU())
    >>> attach_preserved_attrs_to_model(traced, {"author": "me"})
    >>> traced.author
    'me'
    """
    model.meta[_PRESERVED] = copy.copy(preserved_attrs)
    for name, value in preserved_attrs.items():
        setattr(model, name, value)


def _preserved(model: nn.Module, custom: Any) -> dict[str, Any]:
    return {name: getattr(model, name) for name in custom.preserved_attributes if hasattr(model, name)}


def _check_is_graph_module(model: Any) -> None:
    if not isinstance(model, GraphModule):
        raise ValueError(
            f"input model must be a GraphModule, Got type:{type(model)} Please make sure to follow the tutorials."
        )


def _read(given: Any, kind: Any, word: str, to: str) -> Any:
    """An object of a class, of one, a dict of one (which is deprecated), or None."""
    if isinstance(given, dict):
        warnings.warn(
            f"Passing a {word} to {to} is deprecated and will not be supported in a future version. Please pass in a "
            f"{kind.__name__} instead.",
            FutureWarning,
            stacklevel=4,
        )
        return kind.from_dict(given)
    return kind() if given is None else given


def _swap_ff_with_fxff(model: nn.Module) -> None:
    """Put the functions of a graph in the places of `FloatFunctional`, whose calls are traced."""
    for name, module in list(model.named_children()):
        if isinstance(module, nnq.FloatFunctional):
            model._modules[name] = nnq.FXFloatFunctional()
        else:
            _swap_ff_with_fxff(module)


def _fuse_fx(model: Any, is_qat: bool, fuse_custom_config: Any = None, backend_config: Any = None) -> GraphModule:
    _check_is_graph_module(model)
    return fuse(model, is_qat, fuse_custom_config, backend_config)


def _prepare_fx(
    model: nn.Module,
    qconfig_mapping: Any,
    is_qat: bool,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
    is_standalone_module: bool = False,
) -> GraphModule:
    custom = _read(prepare_custom_config, PrepareCustomConfig, "prepare_custom_config_dict", "prepare")
    _swap_ff_with_fxff(model)
    tracer = QuantizationTracer(*get_skipped_module_name_and_classes(custom, is_standalone_module))
    kept = _preserved(model, custom)
    traced = GraphModule(model, tracer.trace(model))
    fused_custom = FuseCustomConfig().set_preserved_attributes(custom.preserved_attributes)
    prepared = prepare(
        _fuse_fx(traced, is_qat, fused_custom, backend_config),
        qconfig_mapping,
        is_qat,
        tracer.node_name_to_scope,
        example_inputs=example_inputs,
        prepare_custom_config=custom,
        _equalization_config=_equalization_config,
        backend_config=backend_config,
        is_standalone_module=is_standalone_module,
    )
    attach_preserved_attrs_to_model(prepared, kept)
    return prepared


def _prepare_standalone_module_fx(
    model: nn.Module,
    qconfig_mapping: Any,
    is_qat: bool,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    return _prepare_fx(
        model,
        qconfig_mapping,
        is_qat,
        example_inputs,
        prepare_custom_config,
        backend_config=backend_config,
        is_standalone_module=True,
    )


def fuse_fx(model: nn.Module, fuse_custom_config: Any = None, backend_config: Any = None) -> GraphModule:
    """A graph module of a model in evaluation, in which modules that lie in a row are one.

    >>> model = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2)).eval()
    >>> fused = torch.ao.quantization.quantize_fx.fuse_fx(model)
    >>> [node.op for node in fused.graph.nodes]
    ['placeholder', 'call_module', 'output']
    """
    custom = _read(fuse_custom_config, FuseCustomConfig, "fuse_custom_config_dict", "fuse")
    kept = _preserved(model, custom)
    fused = _fuse_fx(symbolic_trace(model), False, custom, backend_config)
    attach_preserved_attrs_to_model(fused, kept)
    return fused


@deprecated(DEPRECATION_WARNING)
def prepare_fx(
    model: nn.Module,
    qconfig_mapping: Any,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """A graph module of a model in evaluation, fused, with observers: run it with representative data next.

    Args:
        qconfig_mapping: a `QConfigMapping`, as `get_default_qconfig_mapping` gives it.
        example_inputs: inputs of the model.
        prepare_custom_config: a `PrepareCustomConfig`.
        backend_config: what the back end can quantize, a `BackendConfig`; by default what any engine can.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).eval()
    >>> mapping = torch.ao.quantization.get_default_qconfig_mapping("x86")
    >>> prepared = torch.ao.quantization.quantize_fx.prepare_fx(model, mapping, (torch.ones(1, 2),))
    >>> print([node.name for node in prepared.graph.nodes])
    ['input_1', 'activation_post_process_0', '_0', 'activation_post_process_1', 'output']
    """
    return _prepare_fx(
        model, qconfig_mapping, False, example_inputs, prepare_custom_config, _equalization_config, backend_config
    )


@deprecated(DEPRECATION_WARNING)
def prepare_qat_fx(
    model: nn.Module,
    qconfig_mapping: Any,
    example_inputs: tuple[Any, ...],
    prepare_custom_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """A graph module of a model in training, that rounds as it will when it is quantized: train it next.

    Arguments are those of `prepare_fx`.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()).train()
    >>> mapping = torch.ao.quantization.get_default_qat_qconfig_mapping("x86")
    >>> prepared = torch.ao.quantization.quantize_fx.prepare_qat_fx(model, mapping, (torch.ones(1, 2),))
    >>> type(getattr(prepared, "0")).__module__
    'mindtorch_v2.ao.nn.intrinsic.qat.modules.linear_relu'
    """
    return _prepare_fx(
        model, qconfig_mapping, True, example_inputs, prepare_custom_config, backend_config=backend_config
    )


def _convert_fx(
    graph_module: Any,
    is_reference: bool,
    convert_custom_config: Any = None,
    is_standalone_module: bool = False,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    is_decomposed: bool = False,
    keep_original_weights: bool = False,
) -> GraphModule:
    custom = _read(convert_custom_config, ConvertCustomConfig, "convert_custom_config_dict", "convert")
    _check_is_graph_module(graph_module)
    kept = _preserved(graph_module, custom)
    made = convert(
        graph_module,
        is_reference,
        custom,
        is_standalone_module,
        _remove_qconfig_flag=_remove_qconfig,
        qconfig_mapping=qconfig_mapping,
        backend_config=backend_config,
        is_decomposed=is_decomposed,
        keep_original_weights=keep_original_weights,
    )
    attach_preserved_attrs_to_model(made, kept)
    return made


@deprecated(DEPRECATION_WARNING)
def convert_fx(
    graph_module: GraphModule,
    convert_custom_config: Any = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    keep_original_weights: bool = False,
) -> GraphModule:
    """A quantized graph module of one that `prepare_fx` or `prepare_qat_fx` gave and that saw data.

    Args:
        convert_custom_config: a `ConvertCustomConfig`.
        qconfig_mapping: that of preparing, in which None leaves out what it is for.
        backend_config: that of preparing.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3)).eval()
    >>> quantize_fx = torch.ao.quantization.quantize_fx
    >>> mapping = torch.ao.quantization.get_default_qconfig_mapping("x86")
    >>> prepared = quantize_fx.prepare_fx(model, mapping, (torch.ones(1, 2),))
    >>> _ = prepared(torch.ones(1, 2))
    >>> [node.name for node in quantize_fx.convert_fx(prepared).graph.nodes][3:]
    ['quantize_per_tensor', '_0', 'dequantize_1', 'output']
    """
    return _convert_fx(
        graph_module,
        is_reference=False,
        convert_custom_config=convert_custom_config,
        _remove_qconfig=_remove_qconfig,
        qconfig_mapping=qconfig_mapping,
        backend_config=backend_config,
        keep_original_weights=keep_original_weights,
    )


def convert_to_reference_fx(
    graph_module: GraphModule,
    convert_custom_config: Any = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """`convert_fx` to a graph that quantizes, makes floating again, and computes in floating point: for back ends to match.

    >>> model = torch.nn.Sequential(torch.nn.Softplus()).eval()
    >>> quantize_fx = torch.ao.quantization.quantize_fx
    >>> mapping = torch.ao.quantization.get_default_qconfig_mapping("x86")
    >>> prepared = quantize_fx.prepare_fx(model, mapping, (torch.ones(1, 2),))
    >>> [node.name for node in quantize_fx.convert_to_reference_fx(prepared).graph.nodes]
    ['input_1', '_0', 'output']
    """
    return _convert_fx(
        graph_module,
        is_reference=True,
        convert_custom_config=convert_custom_config,
        _remove_qconfig=_remove_qconfig,
        qconfig_mapping=qconfig_mapping,
        backend_config=backend_config,
    )


def _convert_to_reference_decomposed_fx(
    graph_module: GraphModule,
    convert_custom_config: Any = None,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    return _convert_fx(
        graph_module,
        is_reference=True,
        convert_custom_config=convert_custom_config,
        _remove_qconfig=False,
        qconfig_mapping=qconfig_mapping,
        backend_config=backend_config,
        is_decomposed=True,
    )


def _convert_standalone_module_fx(
    graph_module: GraphModule, is_reference: bool = False, convert_custom_config: Any = None
) -> GraphModule:
    return _convert_fx(graph_module, is_reference, convert_custom_config, is_standalone_module=True)


METHODS.update(
    prepare=_prepare_standalone_module_fx, convert_fx=convert_fx, convert_to_reference_fx=convert_to_reference_fx
)
