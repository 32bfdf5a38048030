"""How a module is to be quantized: an observer for its activations and one for its weight."""

from __future__ import annotations

import collections
import warnings
from typing import Any, Self

from typing_extensions import TypeAliasType, deprecated

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.quantization import fake_quantize as _fakes
from mindtorch_v2.ao.quantization import observer as _observers
from mindtorch_v2.ao.quantization.fake_quantize import FakeQuantize, FakeQuantizeBase, FusedMovingAvgObsFakeQuantize
from mindtorch_v2.ao.quantization.observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    NoopObserver,
    ObserverBase,
    PerChannelMinMaxObserver,
    PlaceholderObserver,
    ReuseInputObserver,
    _PartialWrapper,
)

__all__ = [
    "QConfig",
    "QConfigAny",
    "QConfigDynamic",
    "default_activation_only_qconfig",
    "default_debug_qconfig",
    "default_dynamic_qat_qconfig",
    "default_dynamic_qconfig",
    "default_embedding_qat_qconfig",
    "default_embedding_qat_qconfig_4bit",
    "default_per_channel_qconfig",
    "default_per_channel_symmetric_qnnpack_qat_qconfig",
    "default_per_channel_symmetric_qnnpack_qconfig",
    "default_qat_qconfig",
    "default_qat_qconfig_v2",
    "default_qconfig",
    "default_quint8_weight_qconfig",
    "default_reuse_input_qconfig",
    "default_symmetric_qnnpack_qat_qconfig",
    "default_symmetric_qnnpack_qconfig",
    "default_weight_only_qconfig",
    "float16_dynamic_qconfig",
    "float16_static_qconfig",
    "float_qparams_weight_only_qconfig",
    "float_qparams_weight_only_qconfig_4bit",
    "get_default_qat_qconfig",
    "get_default_qat_qconfig_dict",
    "get_default_qconfig",
    "get_default_qconfig_dict",
    "per_channel_dynamic_qconfig",
    "qconfig_equals",
]

_INSTANCE = (
    "{} received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to override "
    "arguments to constructor if needed"
)
_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


class QConfig(collections.namedtuple("QConfig", ["activation", "weight"])):
    """Makers of observers, of the activations and of the weight: classes, or what `with_args` gives.

    >>> from mindtorch_v2.ao.quantization import MinMaxObserver, QConfig
    >>> config = QConfig(activation=MinMaxObserver, weight=MinMaxObserver.with_args(dtype=torch.qint8))
    >>> config.weight().dtype
    torch.qint8
    """

    __slots__ = ()

    def __new__(cls: type[Self], activation: Any, weight: Any) -> Self:
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(_INSTANCE.format("QConfig"))
        return super().__new__(cls, activation, weight)


@deprecated(
    "`QConfigDynamic` is going to be deprecated in PyTorch 1.12, please use `QConfig` instead", category=FutureWarning
)
class QConfigDynamic(collections.namedtuple("QConfigDynamic", ["activation", "weight"])):
    """The old `QConfig` of weights that are quantized and activations that are as they come.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     config = torch.ao.quantization.QConfigDynamic(weight=torch.ao.quantization.default_weight_observer)
    >>> config.activation
    <class 'mindtorch_v2.nn.modules.linear.Identity'>
    """

    __slots__ = ()

    def __new__(cls: type[Self], activation: Any = nn.Identity, weight: Any = nn.Identity) -> Self:
        if isinstance(weight, nn.Module):
            raise ValueError(_INSTANCE.format("QConfigDynamic"))
        return super().__new__(cls, activation, weight)


_symmetric = HistogramObserver.with_args(dtype=torch.qint8, reduce_range=False, eps=2**-12)
_symmetric_fake = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=torch.qint8,
    reduce_range=False,
    eps=2**-12,
)
_float16 = PlaceholderObserver.with_args(dtype=torch.float16)
_unobserved = NoopObserver.with_args(dtype=torch.float32)

default_qconfig = QConfig(_observers.default_observer, _observers.default_weight_observer)
default_debug_qconfig = QConfig(_observers.default_debug_observer, _observers.default_weight_observer)
default_per_channel_qconfig = QConfig(_observers.default_observer, _observers.default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(_observers.default_dynamic_quant_observer, _observers.default_weight_observer)
float16_dynamic_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True), _float16)
float16_static_qconfig = QConfig(_float16, _float16)
per_channel_dynamic_qconfig = QConfig(
    _observers.default_dynamic_quant_observer, _observers.default_per_channel_weight_observer
)
float_qparams_weight_only_qconfig = QConfig(
    _observers.default_placeholder_observer, _observers.default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    _observers.default_placeholder_observer, _observers.default_float_qparams_observer_4bit
)
default_qat_qconfig = QConfig(_fakes.default_fake_quant, _fakes.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(_fakes.default_dynamic_fake_quant, _fakes.default_weight_fake_quant)
default_weight_only_qconfig = QConfig(nn.Identity, _fakes.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(_fakes.default_fake_quant, nn.Identity)
default_qat_qconfig_v2 = QConfig(_fakes.default_fused_act_fake_quant, _fakes.default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(_observers.default_reuse_input_observer, NoopObserver)
default_symmetric_qnnpack_qconfig = QConfig(_symmetric, _observers.weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _symmetric, _observers.per_channel_weight_observer_range_neg_127_to_127
)
default_embedding_qat_qconfig = QConfig(_unobserved, _fakes.default_embedding_fake_quant)
default_embedding_qat_qconfig_4bit = QConfig(_unobserved, _fakes.default_embedding_fake_quant_4bit)
default_quint8_weight_qconfig = QConfig(HistogramObserver, MinMaxObserver)
default_symmetric_qnnpack_qat_qconfig = QConfig(_symmetric_fake, _fakes.fused_wt_fake_quant_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    _symmetric_fake, _fakes.fused_per_channel_wt_fake_quant_range_neg_127_to_127
)
_default_fp32_placeholder_qconfig = QConfig(
    PlaceholderObserver.with_args(dtype=torch.float32), PlaceholderObserver.with_args(dtype=torch.float32)
)
_default_quint8_placeholder_qconfig = QConfig(PlaceholderObserver.with_args(dtype=torch.quint8), None)


def _check_backend(backend: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {_BACKENDS}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The configuration of static quantization for an engine: "x86", "fbgemm", "qnnpack" or "onednn".

    >>> torch.ao.quantization.get_default_qconfig("qnnpack").activation().quant_max
    255
    """
    _check_backend(backend)
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )
    if backend == "onednn" and not torch.cpu._is_vnni_supported():
        warnings.warn(
            "Default qconfig of oneDNN backend with reduce_range of false may have accuracy issues on CPU without "
            "Vector Neural Network Instruction support.",
            stacklevel=2,
        )
    weight = (
        _observers.default_weight_observer if backend == "qnnpack" else _observers.default_per_channel_weight_observer
    )
    return QConfig(HistogramObserver.with_args(reduce_range=backend in ("fbgemm", "x86")), weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The configuration of training that is aware of quantization, for an engine; `version` 1 has the fused operator.

    >>> type(torch.ao.quantization.get_default_qat_qconfig("fbgemm").activation()).__name__
    'FusedMovingAvgObsFakeQuantize'
    """
    _check_backend(backend)
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. Version number must be 0 or 1"
        )
    kept: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255}
    if backend != "onednn":
        kept["reduce_range"] = backend != "qnnpack"
    of_one_scale = backend == "qnnpack"
    if version == 0:
        weight = _fakes.default_weight_fake_quant if of_one_scale else _fakes.default_per_channel_weight_fake_quant
        return QConfig(FakeQuantize.with_args(**kept), weight)
    weight = _fakes.default_fused_wt_fake_quant if of_one_scale else _fakes.default_fused_per_channel_wt_fake_quant
    return QConfig(FusedMovingAvgObsFakeQuantize.with_args(**kept), weight)


def _as_dict(name: str) -> str:
    return (
        f"`torch.ao.quantization.{name}_dict` is deprecated and will be removed in a future version. Please use "
        f"`torch.ao.quantization.{name}_mapping` instead."
    )


@deprecated(_as_dict("get_default_qconfig"), category=FutureWarning)
def get_default_qconfig_dict(backend: str = "x86", version: int = 0) -> dict[str, Any]:
    """`get_default_qconfig_mapping` as a dict.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     sorted(torch.ao.quantization.get_default_qconfig_dict())
    ['', 'module_name', 'module_name_object_type_order', 'module_name_regex', 'object_type']
    """
    return torch.ao.quantization.get_default_qconfig_mapping(backend, version).to_dict()


@deprecated(_as_dict("get_default_qat_qconfig"), category=FutureWarning)
def get_default_qat_qconfig_dict(backend: str = "x86", version: int = 1) -> dict[str, Any]:
    """`get_default_qat_qconfig_mapping` as a dict.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     sorted(torch.ao.quantization.get_default_qat_qconfig_dict())
    ['', 'module_name', 'module_name_object_type_order', 'module_name_regex', 'object_type']
    """
    return torch.ao.quantization.get_default_qat_qconfig_mapping(backend, version).to_dict()


def _assert_valid_qconfig(qconfig: QConfig | None, mod: nn.Module) -> None:
    """AssertionError for a configuration that a module cannot have."""
    transposed = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
    if qconfig is None or not isinstance(mod, transposed) or qconfig.weight is None:
        return
    if isinstance(qconfig.weight(), PerChannelMinMaxObserver | MovingAveragePerChannelMinMaxObserver):
        raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")


QConfigAny = TypeAliasType("QConfigAny", QConfig | None)


def _add_module_to_qconfig_obs_ctr(qconfig: Any, module: nn.Module | None) -> Any:
    """The configuration, whose observers will be made on the module's device."""
    if module is None or qconfig is None or qconfig._fields != ("activation", "weight"):
        return qconfig

    def where() -> dict[str, Any] | None:
        device = next((each.device for each in [*module.parameters(), *module.buffers()]), None)
        return None if device is None else {"device": device}

    def placed(maker: Any) -> Any:
        try:
            maker.with_args(factory_kwargs=None)()
            return maker.with_callable_args(factory_kwargs=where)
        except (AttributeError, TypeError):  # of makers that take no place
            return maker

    return QConfig(placed(qconfig.activation), placed(qconfig.weight))


_ObserverOrFakeQuantizeConstructor = _PartialWrapper | type[ObserverBase] | type[FakeQuantizeBase]


def _obs_or_fq_ctr_equals(obs_or_fq1: Any, obs_or_fq2: Any) -> bool:
    if isinstance(obs_or_fq1, _PartialWrapper) and isinstance(obs_or_fq2, _PartialWrapper):
        return _partial_wrapper_equals(obs_or_fq1, obs_or_fq2)
    return obs_or_fq1 == obs_or_fq2


def _partial_wrapper_equals(obs_or_fq1: _PartialWrapper, obs_or_fq2: _PartialWrapper) -> bool:
    one, other = dict(obs_or_fq1.p.keywords), dict(obs_or_fq2.p.keywords)
    within = True
    if "observer" in one and "observer" in other:
        within = _obs_or_fq_ctr_equals(one.pop("observer"), other.pop("observer"))
    return within and one == other and obs_or_fq1.p.func == obs_or_fq2.p.func and obs_or_fq1.p.args == obs_or_fq2.p.args


def qconfig_equals(q1: QConfig | None, q2: QConfig | None) -> bool:
    """Whether two configurations make equal observers.

    >>> first, second = (torch.ao.quantization.get_default_qconfig("x86") for _ in range(2))
    >>> first == second, torch.ao.quantization.qconfig_equals(first, second)
    (False, True)
    """
    if q1 is None or q2 is None:
        return q1 == q2
    try:
        return _obs_or_fq_ctr_equals(q1.activation, q2.activation) and _obs_or_fq_ctr_equals(q1.weight, q2.weight)
    except AttributeError:
        return q1 == q2


def _activation_is_memoryless(qconfig: QConfig) -> bool:
    """Whether what activations were before has no part in their scale."""
    made = qconfig.activation()
    if isinstance(made, FakeQuantizeBase) and hasattr(made, "activation_post_process"):
        made = made.activation_post_process
    return getattr(made, "averaging_constant", None) == 1


def _is_reuse_input_qconfig(qconfig: QConfig | None) -> bool:
    return (
        qconfig is not None
        and isinstance(qconfig.activation(), ReuseInputObserver)
        and isinstance(qconfig.weight(), NoopObserver)
    )
