"""Settings of a user for how a model is fused, prepared and converted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from mindtorch_v2.ao.quantization.backend_config import BackendConfig
from mindtorch_v2.ao.quantization.qconfig_mapping import QConfigMapping
from mindtorch_v2.ao.quantization.quant_type import QuantType, _get_quant_type_to_str, _quant_type_from_str

__all__ = ["ConvertCustomConfig", "FuseCustomConfig", "PrepareCustomConfig", "StandaloneModuleConfigEntry"]

# Keys of the configurations as dicts.
STANDALONE_MODULE_NAME_DICT_KEY = "standalone_module_name"
STANDALONE_MODULE_CLASS_DICT_KEY = "standalone_module_class"
FLOAT_TO_OBSERVED_DICT_KEY = "float_to_observed_custom_module_class"
OBSERVED_TO_QUANTIZED_DICT_KEY = "observed_to_quantized_custom_module_class"
NON_TRACEABLE_MODULE_NAME_DICT_KEY = "non_traceable_module_name"
NON_TRACEABLE_MODULE_CLASS_DICT_KEY = "non_traceable_module_class"
INPUT_QUANTIZED_INDEXES_DICT_KEY = "input_quantized_idxs"
OUTPUT_QUANTIZED_INDEXES_DICT_KEY = "output_quantized_idxs"
PRESERVED_ATTRIBUTES_DICT_KEY = "preserved_attributes"

# Lists that are as they are in a dict, by the attribute that holds them.
_LISTS = {
    "non_traceable_module_names": NON_TRACEABLE_MODULE_NAME_DICT_KEY,
    "non_traceable_module_classes": NON_TRACEABLE_MODULE_CLASS_DICT_KEY,
    "input_quantized_indexes": INPUT_QUANTIZED_INDEXES_DICT_KEY,
    "output_quantized_indexes": OUTPUT_QUANTIZED_INDEXES_DICT_KEY,
    "preserved_attributes": PRESERVED_ATTRIBUTES_DICT_KEY,
}


@dataclass
class StandaloneModuleConfigEntry:
    """How a module that is prepared by itself is quantized.

    >>> from mindtorch_v2.ao.quantization.fx.custom_config import StandaloneModuleConfigEntry
    >>> StandaloneModuleConfigEntry(None, (), None, None).example_inputs
    ()
    """

    qconfig_mapping: QConfigMapping | None
    example_inputs: tuple[Any, ...]
    prepare_custom_config: PrepareCustomConfig | None
    backend_config: BackendConfig | None


class _Custom:
    """The text of configurations."""

    def __repr__(self) -> str:
        given = {key: value for key, value in self.__dict__.items() if len(value) > 0}
        return f"{type(self).__name__}({given})"

    def _taken(self, given: dict[str, Any], names: tuple[str, ...]) -> Self:
        for name in names:
            setattr(self, name, given.get(_LISTS[name], []))
        return self

    def _lists(self) -> dict[str, Any]:
        return {key: getattr(self, name) for name, key in _LISTS.items() if getattr(self, name, [])}


def _read(kind: Any, given: Any, key: str) -> Any:
    """An object of a class, of what may be one, a dict of one, or None."""
    if given is None or isinstance(given, kind):
        return given
    if isinstance(given, dict):
        return kind.from_dict(given)
    raise ValueError(f"Expected {kind.__name__} in prepare_custom_config_dict[\"{key}\"], got '{type(given)}'")


class PrepareCustomConfig(_Custom):
    """Further settings of `prepare_fx` and `prepare_qat_fx`: modules that are prepared by themselves, left as they are, or
    observed by a class of their own; which inputs and outputs are quantized; which attributes are kept.

    >>> from mindtorch_v2.ao.quantization.fx.custom_config import PrepareCustomConfig
    >>> PrepareCustomConfig().set_input_quantized_indexes([0])
    PrepareCustomConfig({'input_quantized_indexes': [0]})
    """

    def __init__(self) -> None:
        self.standalone_module_names: dict[str, StandaloneModuleConfigEntry] = {}
        self.standalone_module_classes: dict[type, StandaloneModuleConfigEntry] = {}
        self.float_to_observed_mapping: dict[QuantType, dict[type, type]] = {}
        self.non_traceable_module_names: list[str] = []
        self.non_traceable_module_classes: list[type] = []
        self.input_quantized_indexes: list[int] = []
        self.output_quantized_indexes: list[int] = []
        self.preserved_attributes: list[str] = []

    def set_standalone_module_name(
        self,
        module_name: str,
        qconfig_mapping: QConfigMapping | None,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: BackendConfig | None,
    ) -> Self:
        """Prepare a module by itself."""
        self.standalone_module_names[module_name] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_standalone_module_class(
        self,
        module_class: type,
        qconfig_mapping: QConfigMapping | None,
        example_inputs: tuple[Any, ...],
        prepare_custom_config: PrepareCustomConfig | None,
        backend_config: BackendConfig | None,
    ) -> Self:
        """Prepare modules of a class by themselves."""
        self.standalone_module_classes[module_class] = StandaloneModuleConfigEntry(
            qconfig_mapping, example_inputs, prepare_custom_config, backend_config
        )
        return self

    def set_float_to_observed_mapping(
        self, float_class: type, observed_class: type, quant_type: QuantType = QuantType.STATIC
    ) -> Self:
        """Let a class take the place of another while it is observed; it has `from_float`."""
        if quant_type != QuantType.STATIC:
            raise ValueError("set_float_to_observed_mapping is currently only supported for static quantization")
        self.float_to_observed_mapping.setdefault(quant_type, {})[float_class] = observed_class
        return self

    def set_non_traceable_module_names(self, module_names: list[str]) -> Self:
        """Leave modules whole."""
        self.non_traceable_module_names = module_names
        return self

    def set_non_traceable_module_classes(self, module_classes: list[type]) -> Self:
        """Leave modules of classes whole."""
        self.non_traceable_module_classes = module_classes
        return self

    def set_input_quantized_indexes(self, indexes: list[int]) -> Self:
        """Say which inputs come quantized."""
        self.input_quantized_indexes = indexes
        return self

    def set_output_quantized_indexes(self, indexes: list[int]) -> Self:
        """Say which outputs stay quantized."""
        self.output_quantized_indexes = indexes
        return self

    def set_preserved_attributes(self, attributes: list[str]) -> Self:
        """Keep attributes of the model."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, prepare_custom_config_dict: dict[str, Any]) -> PrepareCustomConfig:
        """The configuration of a dict as `to_dict` gives it."""
        made, given = cls(), prepare_custom_config_dict
        for key, setter in (
            (STANDALONE_MODULE_NAME_DICT_KEY, made.set_standalone_module_name),
            (STANDALONE_MODULE_CLASS_DICT_KEY, made.set_standalone_module_class),
        ):
            for what, mapping, inputs, custom, backend in given.get(key, []):
                entry = (_read(QConfigMapping, mapping, key), inputs, _read(PrepareCustomConfig, custom, key))
                setter(what, *entry, _read(BackendConfig, backend, key))
        for name, classes in given.get(FLOAT_TO_OBSERVED_DICT_KEY, {}).items():
            for plain, observed in classes.items():
                made.set_float_to_observed_mapping(plain, observed, _quant_type_from_str(name))
        return made._taken(given, tuple(_LISTS))

    def to_dict(self) -> dict[str, Any]:
        """All that is given, by its keys."""
        made: dict[str, Any] = {}
        for key, entries in (
            (STANDALONE_MODULE_NAME_DICT_KEY, self.standalone_module_names),
            (STANDALONE_MODULE_CLASS_DICT_KEY, self.standalone_module_classes),
        ):
            if entries:
                made[key] = [
                    (
                        what,
                        entry.qconfig_mapping.to_dict() if entry.qconfig_mapping else None,
                        entry.example_inputs,
                        entry.prepare_custom_config.to_dict() if entry.prepare_custom_config else None,
                        entry.backend_config,
                    )
                    for what, entry in entries.items()
                ]
        if self.float_to_observed_mapping:
            made[FLOAT_TO_OBSERVED_DICT_KEY] = {
                _get_quant_type_to_str(kind): classes for kind, classes in self.float_to_observed_mapping.items()
            }
        return {**made, **self._lists()}


class ConvertCustomConfig(_Custom):
    """Further settings of `convert_fx`: the classes that take observed ones' places, and attributes that are kept.

    >>> from mindtorch_v2.ao.quantization.fx.custom_config import ConvertCustomConfig
    >>> ConvertCustomConfig().set_preserved_attributes(["name"])
    ConvertCustomConfig({'preserved_attributes': ['name']})
    """

    def __init__(self) -> None:
        self.observed_to_quantized_mapping: dict[QuantType, dict[type, type]] = {}
        self.preserved_attributes: list[str] = []

    def set_observed_to_quantized_mapping(
        self, observed_class: type, quantized_class: type, quant_type: QuantType = QuantType.STATIC
    ) -> Self:
        """Let a class take the place of an observed one; it has `from_observed`."""
        self.observed_to_quantized_mapping.setdefault(quant_type, {})[observed_class] = quantized_class
        return self

    def set_preserved_attributes(self, attributes: list[str]) -> Self:
        """Keep attributes of the model."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, convert_custom_config_dict: dict[str, Any]) -> ConvertCustomConfig:
        """The configuration of a dict as `to_dict` gives it."""
        made = cls()
        for name, classes in convert_custom_config_dict.get(OBSERVED_TO_QUANTIZED_DICT_KEY, {}).items():
            for observed, quantized in classes.items():
                made.set_observed_to_quantized_mapping(observed, quantized, _quant_type_from_str(name))
        return made._taken(convert_custom_config_dict, ("preserved_attributes",))

    def to_dict(self) -> dict[str, Any]:
        """All that is given, by its keys."""
        made: dict[str, Any] = {}
        if self.observed_to_quantized_mapping:
            made[OBSERVED_TO_QUANTIZED_DICT_KEY] = {
                _get_quant_type_to_str(kind): classes for kind, classes in self.observed_to_quantized_mapping.items()
            }
        return {**made, **self._lists()}


class FuseCustomConfig(_Custom):
    """Further settings of `fuse_fx`: attributes that are kept.

    >>> from mindtorch_v2.ao.quantization.fx.custom_config import FuseCustomConfig
    >>> FuseCustomConfig().set_preserved_attributes(["name"]).to_dict()
    {'preserved_attributes': ['name']}
    """

    def __init__(self) -> None:
        self.preserved_attributes: list[str] = []

    def set_preserved_attributes(self, attributes: list[str]) -> Self:
        """Keep attributes of the model."""
        self.preserved_attributes = attributes
        return self

    @classmethod
    def from_dict(cls, fuse_custom_config_dict: dict[str, Any]) -> FuseCustomConfig:
        """The configuration of a dict as `to_dict` gives it."""
        return cls()._taken(fuse_custom_config_dict, ("preserved_attributes",))

    def to_dict(self) -> dict[str, Any]:
        """All that is given, by its keys."""
        return self._lists()
