"""Which module takes the place of which, by kinds of quantization."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import intrinsic as nni
from mindtorch_v2.ao.nn import qat as nnqat
from mindtorch_v2.ao.nn import quantizable, quantized
from mindtorch_v2.ao.nn.intrinsic import qat as nniqat
from mindtorch_v2.ao.nn.intrinsic import quantized as nniq
from mindtorch_v2.ao.nn.qat import dynamic as nnqatd
from mindtorch_v2.ao.nn.quantized import dynamic as nnqd
from mindtorch_v2.ao.nn.sparse import quantized as nnsq
from mindtorch_v2.ao.nn.sparse.quantized import dynamic as nnsqd
from mindtorch_v2.ao.quantization.fake_quantize import (
    default_fixed_qparams_range_0to1_fake_quant,
    default_fixed_qparams_range_neg1to1_fake_quant,
)
from mindtorch_v2.ao.quantization.stubs import DeQuantStub, QuantStub
from mindtorch_v2.ao.quantization.utils import get_combined_dict
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.utils.parametrize import type_before_parametrizations

__all__ = [
    "DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS",
    "DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS",
    "DEFAULT_MODULE_TO_ACT_POST_PROCESS",
    "DEFAULT_QAT_MODULE_MAPPINGS",
    "DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS",
    "get_default_compare_output_module_list",
    "get_default_dynamic_quant_module_mappings",
    "get_default_dynamic_sparse_quant_module_mappings",
    "get_default_float_to_quantized_operator_mappings",
    "get_default_qat_module_mappings",
    "get_default_qconfig_propagation_list",
    "get_default_static_quant_module_mappings",
    "get_default_static_quant_reference_module_mappings",
    "get_default_static_sparse_quant_module_mappings",
    "get_dynamic_quant_module_class",
    "get_embedding_qat_module_mappings",
    "get_embedding_static_quant_module_mappings",
    "get_quantized_operator",
    "get_static_quant_module_class",
    "no_observer_set",
]


nnq: Any = quantized
nniqd: Any = importlib.import_module("mindtorch_v2.ao.nn.intrinsic.quantized.dynamic")
nnqr: Any = importlib.import_module("mindtorch_v2.ao.nn.quantized.reference")


def _named(source: Any, target: Any, names: str) -> dict[Any, Any]:
    """Classes of one module, each with that of the same name in another."""
    return {getattr(source, name): getattr(target, name) for name in names.split()}


_CONVS = "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d"
_NORMED = [(f"{kind}{n}d", n) for kind in ("ConvBn", "ConvBnReLU") for n in (1, 2, 3)]

DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    **_named(nn, nnqr, f"Linear {_CONVS} Embedding EmbeddingBag GRUCell LSTMCell RNNCell LSTM"),
}
DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: nnq.Quantize,
    DeQuantStub: nnq.DeQuantize,
    **_named(nn, nnq, f"BatchNorm2d BatchNorm3d Dropout {_CONVS} ELU Embedding EmbeddingBag GroupNorm Hardswish"),
    **_named(nn, nnq, "InstanceNorm1d InstanceNorm2d InstanceNorm3d LayerNorm LeakyReLU"),
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnq.Linear,
    **_named(nn, nnq, "Linear ReLU6 PReLU"),
    nnq.FloatFunctional: nnq.QFunctional,
    **_named(nni, nniq, "BNReLU2d BNReLU3d ConvReLU1d ConvReLU2d ConvReLU3d ConvAdd2d ConvAddReLU2d LinearReLU"),
    **_named(nni, nniq, "LinearLeakyReLU LinearTanh"),
    **{
        getattr(nniqat, name): getattr(nniq, f"ConvReLU{n}d") if "ReLU" in name else getattr(nnq, f"Conv{n}d")
        for name, n in _NORMED
    },
    **_named(nniqat, nniq, "ConvReLU2d ConvReLU3d LinearReLU"),
    nniqat.LinearBn1d: nnq.Linear,
    **_named(nnqat, nnq, "Linear Conv2d Conv3d"),
}
DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    **_named(nn, nnqat, "Conv2d Conv3d Linear"),
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnqat.Linear,
    **_named(nni, nniqat, " ".join(name for name, _ in _NORMED)),
    **_named(nni, nniqat, "ConvReLU2d ConvReLU3d LinearReLU LinearBn1d"),
}
DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    **_named(nn, nnqd, "GRUCell Linear"),
    nnqatd.Linear: nnqd.Linear,
    nn.modules.linear.NonDynamicallyQuantizableLinear: nnqd.Linear,
    **_named(nn, nnqd, "LSTM GRU LSTMCell RNNCell"),
    nni.LinearReLU: nniqd.LinearReLU,
    **_named(nn, nnq, "EmbeddingBag Embedding"),
}
_INCLUDE_QCONFIG_PROPAGATE_LIST: set[Any] = {nn.Sequential}
DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS: dict[Any, Any] = {
    each: getattr(torch.ops.quantized, each.__name__)
    for each in (F.elu, F.hardswish, F.instance_norm, F.layer_norm, F.leaky_relu, F.dropout)
}
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    nn.Hardsigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: default_fixed_qparams_range_neg1to1_fake_quant,
}
DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {nn.Linear: nnsq.Linear}
DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {nn.Linear: nnsqd.Linear}


def no_observer_set() -> set[Any]:
    """Classes of observed modules whose results are not observed again.

    >>> torch.ao.nn.quantizable.LSTM in torch.ao.quantization.no_observer_set()
    True
    """
    return {quantizable.LSTM, quantizable.MultiheadAttention}


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """For static quantization: a new dict.

    >>> torch.ao.quantization.get_default_static_quant_module_mappings()[torch.nn.Linear].__name__
    'Linear'
    """
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_static_quant_reference_module_mappings() -> dict[Any, Any]:
    """For static quantization to modules that quantize and compute in floating point: a new dict.

    >>> torch.nn.LSTM in torch.ao.quantization.get_default_static_quant_reference_module_mappings()
    True
    """
    return dict(DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS)


def get_embedding_static_quant_module_mappings() -> dict[Any, Any]:
    """For static quantization with embeddings that were trained for it: a new dict.

    >>> torch.ao.nn.qat.Embedding in torch.ao.quantization.get_embedding_static_quant_module_mappings()
    True
    """
    return {**DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, **_named(nnqat, nnq, "EmbeddingBag Embedding")}


def get_default_static_sparse_quant_module_mappings() -> dict[Any, Any]:
    """For static quantization of weights with blocks of zeros: a new dict.

    >>> list(torch.ao.quantization.get_default_static_sparse_quant_module_mappings()) == [torch.nn.Linear]
    True
    """
    return dict(DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS)


def _class_of(kind: Any, mappings: dict[Any, Any]) -> Any:
    found = mappings.get(kind)
    if found is None:
        raise AssertionError(f"Floating point module class {kind} does not have a corresponding quantized module class")
    return found


def get_static_quant_module_class(
    float_module_class: Any, additional_static_quant_mapping: dict | None = None, is_reference: bool = False
) -> Any:
    """The class that takes the place of a float module's in static quantization; AssertionError where there is none.

    >>> torch.ao.quantization.get_static_quant_module_class(torch.nn.Linear).__name__
    'Linear'
    """
    own = DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS if is_reference else DEFAULT_STATIC_QUANT_MODULE_MAPPINGS
    return _class_of(float_module_class, get_combined_dict(own, additional_static_quant_mapping or {}))


def get_dynamic_quant_module_class(
    float_module_class: Any, additional_dynamic_quant_mapping: dict | None = None
) -> Any:
    """The class that takes the place of a float module's in dynamic quantization; AssertionError where there is none.

    >>> torch.ao.quantization.get_dynamic_quant_module_class(torch.nn.Linear).__name__
    'Linear'
    """
    own = DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS
    return _class_of(float_module_class, get_combined_dict(own, additional_dynamic_quant_mapping or {}))


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """For training that is aware of quantization: a new dict.

    >>> torch.ao.quantization.get_default_qat_module_mappings()[torch.nn.Linear] is torch.ao.nn.qat.Linear
    True
    """
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_embedding_qat_module_mappings() -> dict[Any, Any]:
    """For training that is aware of quantization, of embeddings too: a new dict.

    >>> torch.ao.quantization.get_embedding_qat_module_mappings()[torch.nn.Embedding] is torch.ao.nn.qat.Embedding
    True
    """
    return {**DEFAULT_QAT_MODULE_MAPPINGS, **_named(nn, nnqat, "EmbeddingBag Embedding")}


def get_default_dynamic_quant_module_mappings() -> dict[Any, Any]:
    """For dynamic quantization.

    >>> torch.nn.Linear in torch.ao.quantization.get_default_dynamic_quant_module_mappings()
    True
    """
    return DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS


def get_default_dynamic_sparse_quant_module_mappings() -> dict[Any, Any]:
    """For dynamic quantization of weights with blocks of zeros.

    >>> list(torch.ao.quantization.get_default_dynamic_sparse_quant_module_mappings()) == [torch.nn.Linear]
    True
    """
    return DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS


_ALL = (DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DEFAULT_QAT_MODULE_MAPPINGS, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Callable]:
    """Classes of modules that are observed where they have a configuration: a new set.

    >>> torch.nn.Linear in torch.ao.quantization.get_default_qconfig_propagation_list()
    True
    """
    return {each for mapping in _ALL for each in mapping} | _INCLUDE_QCONFIG_PROPAGATE_LIST


def get_default_compare_output_module_list() -> set[Callable]:
    """Classes of modules whose results the numeric suite compares: a new set.

    >>> torch.nn.Linear in torch.ao.quantization.get_default_compare_output_module_list()
    True
    """
    return get_default_qconfig_propagation_list() | {each for mapping in _ALL for each in mapping.values()}


def get_default_float_to_quantized_operator_mappings() -> dict[Any, Any]:
    """Functions, each with the operator of quantized tensors: a new dict.

    >>> type(torch.ao.quantization.get_default_float_to_quantized_operator_mappings())
    <class 'dict'>
    """
    return dict(DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS)


def get_quantized_operator(float_op: Any) -> Any:
    """The operator of quantized tensors for a function; AssertionError where there is none.

    >>> torch.ao.quantization.get_quantized_operator(torch.nn.functional.celu)
    Traceback (most recent call last):
    AssertionError: Operator ... does not have corresponding quantized op
    """
    found = DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS.get(float_op)
    if found is None:
        raise AssertionError(f"Operator {float_op} does not have corresponding quantized op")
    return found


def _get_special_act_post_process(module: nn.Module) -> Any:
    """The observer of a module whose results have a fixed range, in training."""
    return DEFAULT_MODULE_TO_ACT_POST_PROCESS.get(type_before_parametrizations(module))


def _has_special_act_post_process(module: nn.Module) -> bool:
    return module.training and type(module) in DEFAULT_MODULE_TO_ACT_POST_PROCESS
