"""Which configuration a module or function of a model has: by its kind, its name, or for all."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

from mindtorch_v2 import nn, sigmoid, tanh
from mindtorch_v2.ao.quantization.fake_quantize import FixedQParamsFakeQuantize, default_weight_fake_quant
from mindtorch_v2.ao.quantization.observer import (
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
    default_placeholder_observer,
    default_weight_observer,
)
from mindtorch_v2.ao.quantization.qconfig import (
    QConfig,
    QConfigAny,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    default_symmetric_qnnpack_qat_qconfig,
    default_symmetric_qnnpack_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = ["QConfigMapping", "get_default_qat_qconfig_mapping", "get_default_qconfig_mapping"]

_GLOBAL_DICT_KEY = ""
_OBJECT_TYPE_DICT_KEY = "object_type"
_MODULE_NAME_REGEX_DICT_KEY = "module_name_regex"
_MODULE_NAME_DICT_KEY = "module_name"
_MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY = "module_name_object_type_order"

_FIXED_QPARAMS_OP_TO_OBSERVER: dict[Any, Any] = {
    **dict.fromkeys(
        [
            nn.Hardsigmoid,
            nn.functional.hardsigmoid,
            "hardsigmoid",
            "hardsigmoid_",
            nn.Sigmoid,
            sigmoid,
            "sigmoid",
            "sigmoid_",
            nn.Softmax,
        ],
        default_fixed_qparams_range_0to1_observer,
    ),
    **dict.fromkeys([nn.Tanh, tanh, "tanh", "tanh_"], default_fixed_qparams_range_neg1to1_observer),
}


def _get_default_qconfig_mapping(is_qat: bool, backend: str, version: int) -> QConfigMapping:
    whole = (get_default_qat_qconfig if is_qat else get_default_qconfig)(backend, version)
    weight = default_weight_fake_quant if is_qat else default_weight_observer
    # Weights of transposed convolutions have one scale.
    transposed = QConfig(whole.activation, weight) if backend in ("fbgemm", "x86") else whole
    normalized = QConfig(whole.activation, default_placeholder_observer)
    made = QConfigMapping().set_global(whole).set_object_type("reshape", default_reuse_input_qconfig)
    for place in (nn, nn.functional):
        for dimensions in "123":
            name = f"ConvTranspose{dimensions}d" if place is nn else f"conv_transpose{dimensions}d"
            made.set_object_type(getattr(place, name), transposed)
    made.set_object_type(nn.functional.layer_norm, normalized).set_object_type(nn.LayerNorm, normalized)
    made.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    fixed = {
        observer: QConfig(FixedQParamsFakeQuantize.with_args(observer=observer) if is_qat else observer, weight)
        for observer in (default_fixed_qparams_range_0to1_observer, default_fixed_qparams_range_neg1to1_observer)
    }
    for kind, observer in _FIXED_QPARAMS_OP_TO_OBSERVER.items():
        made.set_object_type(kind, fixed[observer])
    return made


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """The configurations of static quantization for an engine: "x86", "fbgemm", "qnnpack" or "onednn".

    >>> mapping = torch.ao.quantization.get_default_qconfig_mapping("x86")
    >>> mapping.object_type_qconfigs[torch.nn.Sigmoid].activation().scale
    tensor([0.0039])
    """
    return _get_default_qconfig_mapping(False, backend, version)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """The configurations of training that is aware of quantization, for an engine.

    >>> mapping = torch.ao.quantization.get_default_qat_qconfig_mapping("x86")
    >>> type(mapping.global_qconfig.weight()).__name__
    'FusedMovingAvgObsFakeQuantize'
    """
    return _get_default_qconfig_mapping(True, backend, version)


def _get_symmetric_qnnpack_qconfig_mapping() -> QConfigMapping:
    return _get_default_qconfig_mapping_with_default_qconfig(False, "qnnpack", default_symmetric_qnnpack_qconfig)


def _get_symmetric_qnnpack_qat_qconfig_mapping() -> QConfigMapping:
    return _get_default_qconfig_mapping_with_default_qconfig(True, "qnnpack", default_symmetric_qnnpack_qat_qconfig)


def _get_default_qconfig_mapping_with_default_qconfig(
    is_qat: bool, backend: str, default_qconfig: QConfigAny
) -> QConfigMapping:
    made = (get_default_qat_qconfig_mapping if is_qat else get_default_qconfig_mapping)(backend)
    made.set_global(default_qconfig)
    for kind in made.object_type_qconfigs:
        if kind not in _FIXED_QPARAMS_OP_TO_OBSERVER:
            made.set_object_type(kind, default_qconfig)
    return made


_QCONFIG_STYLE_ORDER = [
    "global_qconfig",
    "object_type_qconfigs",
    "module_name_regex_qconfigs",
    "module_name_qconfigs",
    "module_name_object_type_order_qconfigs",
]


class QConfigMapping:
    """Configurations for all of a model, for kinds of modules and functions, and for names. A later method's wins.

    None for a configuration leaves what it is for as it is.

    >>> from mindtorch_v2.ao.quantization import QConfigMapping, default_qconfig
    >>> mapping = QConfigMapping().set_global(default_qconfig).set_module_name("head", None)
    >>> dict(mapping.module_name_qconfigs)
    {'head': None}
    """

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: OrderedDict[Any, Any] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[tuple[str, Any, int], Any] = OrderedDict()

    def set_global(self, global_qconfig: Any) -> Self:
        """For what no other configuration is for."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Callable | str, qconfig: Any) -> Self:
        """For modules of a class, calls of a function, or of a method by its name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> Self:
        """For modules whose names a regular expression matches; of several the first counts."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> Self:
        """For a module and what is in it."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Callable, index: int, qconfig: Any
    ) -> Self:
        """For the call of a function, or the module of a class, that is number `index` of its kind within a module."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for style in _QCONFIG_STYLE_ORDER:
            value = getattr(self, style)
            lines.append(f" {style}")
            if isinstance(value, OrderedDict) and value:
                lines.extend(f"  {key}: {qconfig}" for key, qconfig in value.items())
            else:
                lines.append(f"  {value}")
        return "\n".join([*lines, ")"])

    def to_dict(self) -> dict[str, Any]:
        """The mapping in its old form."""
        return {
            _GLOBAL_DICT_KEY: self.global_qconfig,
            _OBJECT_TYPE_DICT_KEY: list(self.object_type_qconfigs.items()),
            _MODULE_NAME_REGEX_DICT_KEY: list(self.module_name_regex_qconfigs.items()),
            _MODULE_NAME_DICT_KEY: list(self.module_name_qconfigs.items()),
            _MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY: [
                (*key, qconfig) for key, qconfig in self.module_name_object_type_order_qconfigs.items()
            ],
        }

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """The mapping of a dict as `to_dict` gives it."""
        made = cls()
        if _GLOBAL_DICT_KEY in qconfig_dict:
            made.set_global(qconfig_dict[_GLOBAL_DICT_KEY])
        for key, setter in (
            (_OBJECT_TYPE_DICT_KEY, made.set_object_type),
            (_MODULE_NAME_REGEX_DICT_KEY, made.set_module_name_regex),
            (_MODULE_NAME_DICT_KEY, made.set_module_name),
            (_MODULE_NAME_OBJECT_TYPE_ORDER_DICT_KEY, made.set_module_name_object_type_order),
        ):
            for entry in qconfig_dict.get(key, []):
                setter(*entry)
        return made
