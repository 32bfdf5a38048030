"""Configurations of what a back end can quantize: patterns of modules and functions, with the dtypes that each may have."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Self

import mindtorch_v2 as torch

__all__ = ["BackendConfig", "BackendPatternConfig", "DTypeConfig", "DTypeWithConstraints", "ObservationType"]

# Keys of the configurations as dicts.
INPUT_DTYPE_DICT_KEY = "input_dtype"
OUTPUT_DTYPE_DICT_KEY = "output_dtype"
WEIGHT_DTYPE_DICT_KEY = "weight_dtype"
BIAS_DTYPE_DICT_KEY = "bias_dtype"
IS_DYNAMIC_DICT_KEY = "is_dynamic"
NAME_DICT_KEY = "name"
CONFIGS_DICT_KEY = "configs"
PATTERN_DICT_KEY = "pattern"
PATTERN_COMPLEX_FORMAT_DICT_KEY = "pattern_complex_format"
OBSERVATION_TYPE_DICT_KEY = "observation_type"
DTYPE_CONFIGS_DICT_KEY = "dtype_configs"
ROOT_MODULE_DICT_KEY = "root_module"
QAT_MODULE_DICT_KEY = "qat_module"
REFERENCE_QUANTIZED_MODULE_DICT_KEY = "reference_quantized_module_for_root"
FUSED_MODULE_DICT_KEY = "fused_module"
FUSER_METHOD_DICT_KEY = "fuser_method"
ROOT_NODE_GETTER_DICT_KEY = "root_node_getter"
EXTRA_INPUTS_GETTER_DICT_KEY = "extra_inputs_getter"
NUM_TENSOR_ARGS_TO_OBSERVATION_TYPE_DICT_KEY = "num_tensor_args_to_observation_type"
INPUT_TYPE_TO_INDEX_DICT_KEY = "input_type_to_index"


class ObservationType(enum.Enum):
    """Which observers a pattern's inputs and output have: two of them, one for both, or none.

    >>> torch.ao.quantization.backend_config.ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT.value
    1
    """

    OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT = 0
    OUTPUT_SHARE_OBSERVER_WITH_INPUT = 1
    INPUT_OUTPUT_NOT_OBSERVED = 2


@dataclass
class DTypeWithConstraints:
    """A dtype, with bounds of the range and the scale, or the scale and the zero point themselves.

    >>> torch.ao.quantization.backend_config.DTypeWithConstraints(torch.quint8, quant_min_lower_bound=0).dtype
    torch.quint8
    """

    dtype: torch.dtype | None = None
    quant_min_lower_bound: float | None = None
    quant_max_upper_bound: float | None = None
    scale_min_lower_bound: float | None = None
    scale_max_upper_bound: float | None = None
    scale_exact_match: float | None = None
    zero_point_exact_match: int | None = None


def _constrained(dtype: Any) -> DTypeWithConstraints:
    return dtype if isinstance(dtype, DTypeWithConstraints) else DTypeWithConstraints(dtype=dtype)


@dataclass
class DTypeConfig:
    """Dtypes that a pattern's input, output, weight and bias may have together; `is_dynamic`: quantized as they come.

    >>> config = torch.ao.quantization.backend_config.DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
    >>> config.weight_dtype, config.is_dynamic
    (torch.qint8, None)
    """

    input_dtype_with_constraints: DTypeWithConstraints
    output_dtype_with_constraints: DTypeWithConstraints
    weight_dtype_with_constraints: DTypeWithConstraints
    bias_dtype: torch.dtype | None
    is_dynamic: bool | None

    def __init__(
        self,
        input_dtype: torch.dtype | DTypeWithConstraints | None = None,
        output_dtype: torch.dtype | DTypeWithConstraints | None = None,
        weight_dtype: torch.dtype | DTypeWithConstraints | None = None,
        bias_dtype: torch.dtype | None = None,
        is_dynamic: bool | None = None,
    ) -> None:
        self.input_dtype_with_constraints = _constrained(input_dtype)
        self.output_dtype_with_constraints = _constrained(output_dtype)
        self.weight_dtype_with_constraints = _constrained(weight_dtype)
        self.bias_dtype = bias_dtype
        self.is_dynamic = is_dynamic

    @property
    def input_dtype(self) -> torch.dtype | None:
        """The input's dtype."""
        return self.input_dtype_with_constraints.dtype

    @property
    def output_dtype(self) -> torch.dtype | None:
        """The output's dtype."""
        return self.output_dtype_with_constraints.dtype

    @property
    def weight_dtype(self) -> torch.dtype | None:
        """The weight's dtype."""
        return self.weight_dtype_with_constraints.dtype

    @classmethod
    def from_dict(cls, dtype_config_dict: dict[str, Any]) -> DTypeConfig:
        """The configuration of a dict as `to_dict` gives it."""
        made: dict[str, Any] = {}
        for key in (INPUT_DTYPE_DICT_KEY, OUTPUT_DTYPE_DICT_KEY, WEIGHT_DTYPE_DICT_KEY):
            found = dtype_config_dict.get(key)
            if found is not None and not isinstance(found, torch.dtype | DTypeWithConstraints):
                raise ValueError(f"Expected {key} to be a torch.dtype or DTypeWithConstraints")
            made[key] = found
        for key in (BIAS_DTYPE_DICT_KEY, IS_DYNAMIC_DICT_KEY):
            made[key] = dtype_config_dict.get(key)
        return cls(**made)

    def to_dict(self) -> dict[str, Any]:
        """All that is given, by its keys."""
        made = {
            INPUT_DTYPE_DICT_KEY: self.input_dtype_with_constraints,
            OUTPUT_DTYPE_DICT_KEY: self.output_dtype_with_constraints,
            WEIGHT_DTYPE_DICT_KEY: self.weight_dtype_with_constraints,
            BIAS_DTYPE_DICT_KEY: self.bias_dtype,
            IS_DYNAMIC_DICT_KEY: self.is_dynamic,
        }
        return {
            key: value
            for key, value in made.items()
            if (value.dtype if isinstance(value, DTypeWithConstraints) else value) is not None
        }


class BackendConfig:
    """Configuration of what a back end can quantize: a name, and a configuration for each pattern.

    >>> from mindtorch_v2.ao.quantization.backend_config import BackendConfig, BackendPatternConfig
    >>> config = BackendConfig("mine").set_backend_pattern_config(BackendPatternConfig(torch.nn.Linear))
    >>> config.name, len(config.configs)
    ('mine', 1)
    """

    def __init__(self, name: str = "") -> None:
        self.name = name
        # By patterns in the order of a graph's arguments: the last first.
        self._pattern_complex_format_to_config: dict[Any, BackendPatternConfig] = {}

    def __repr__(self) -> str:
        return f"BackendConfig({self.__dict__})"

    def set_name(self, name: str) -> Self:
        """Give it a name."""
        self.name = name
        return self

    def set_backend_pattern_config(self, config: BackendPatternConfig) -> Self:
        """Add a pattern, in place of an equal one."""
        self._pattern_complex_format_to_config[_reversed_pattern(config)] = config
        return self

    def set_backend_pattern_configs(self, configs: list[BackendPatternConfig]) -> Self:
        """Add patterns."""
        for config in configs:
            self.set_backend_pattern_config(config)
        return self

    @property
    def configs(self) -> list[BackendPatternConfig]:
        """The patterns' configurations: a new list."""
        return list(self._pattern_complex_format_to_config.values())

    @classmethod
    def from_dict(cls, backend_config_dict: dict[str, Any]) -> BackendConfig:
        """The configuration of a dict as `to_dict` gives it."""
        made = cls(backend_config_dict.get(NAME_DICT_KEY, ""))
        for entry in backend_config_dict.get(CONFIGS_DICT_KEY, []):
            if isinstance(entry, dict):
                entry = BackendPatternConfig.from_dict(entry)
            if not isinstance(entry, BackendPatternConfig):
                raise ValueError(f"Expected backend_config_dict['{CONFIGS_DICT_KEY}'] to be a dictionary")
            made.set_backend_pattern_config(entry)
        return made

    def to_dict(self) -> dict[str, Any]:
        """The name and the patterns."""
        return {NAME_DICT_KEY: self.name, CONFIGS_DICT_KEY: [config.to_dict() for config in self.configs]}


_ONE_PATTERN = "Only one of 'pattern' or 'pattern_complex_format' can be set"
# Entries of a dict that are set as they are, by the attribute that holds them.
_ENTRIES = {
    "pattern": PATTERN_DICT_KEY,
    "root_module": ROOT_MODULE_DICT_KEY,
    "qat_module": QAT_MODULE_DICT_KEY,
    "reference_quantized_module": REFERENCE_QUANTIZED_MODULE_DICT_KEY,
    "fused_module": FUSED_MODULE_DICT_KEY,
    "fuser_method": FUSER_METHOD_DICT_KEY,
    "_root_node_getter": ROOT_NODE_GETTER_DICT_KEY,
    "_extra_inputs_getter": EXTRA_INPUTS_GETTER_DICT_KEY,
    "_num_tensor_args_to_observation_type": NUM_TENSOR_ARGS_TO_OBSERVATION_TYPE_DICT_KEY,
    "_input_type_to_index": INPUT_TYPE_TO_INDEX_DICT_KEY,
    "_pattern_complex_format": PATTERN_COMPLEX_FORMAT_DICT_KEY,
}


class BackendPatternConfig:
    """Configuration of a pattern of a back end: a module's class, a function, a method's name, or a tuple of such in a row.

    >>> from mindtorch_v2.ao.quantization.backend_config import BackendPatternConfig, DTypeConfig
    >>> config = BackendPatternConfig((torch.nn.Linear, torch.nn.ReLU))
    >>> config.add_dtype_config(DTypeConfig(torch.quint8, torch.quint8)).pattern
    (<class 'mindtorch_v2.nn.modules.linear.Linear'>, <class 'mindtorch_v2.nn.modules.activation.ReLU'>)
    """

    def __init__(self, pattern: Any = None) -> None:
        self.pattern: Any = pattern
        self.observation_type = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
        self.dtype_configs: list[DTypeConfig] = []
        self.root_module: Any = None
        self.qat_module: Any = None
        self.reference_quantized_module: Any = None
        self.fused_module: Any = None
        self.fuser_method: Any = None
        self._root_node_getter: Any = None
        self._extra_inputs_getter: Any = None
        self._num_tensor_args_to_observation_type: dict[int, ObservationType] = {}
        self._input_type_to_index: dict[str, int] = {}
        self._pattern_complex_format: Any = None

    def __repr__(self) -> str:
        given = {key: value for key, value in self.__dict__.items() if value is not None and value not in ([], {})}
        return f"BackendPatternConfig({given})"

    def set_pattern(self, pattern: Any) -> Self:
        """Set the pattern."""
        if self._pattern_complex_format is not None:
            raise ValueError(_ONE_PATTERN)
        self.pattern = pattern
        return self

    def set_observation_type(self, observation_type: ObservationType) -> Self:
        """Say which observers the inputs and the output have."""
        self.observation_type = observation_type
        return self

    def add_dtype_config(self, dtype_config: DTypeConfig) -> Self:
        """Add dtypes that it may have."""
        self.dtype_configs.append(dtype_config)
        return self

    def set_dtype_configs(self, dtype_configs: list[DTypeConfig]) -> Self:
        """Set the dtypes that it may have."""
        self.dtype_configs = dtype_configs
        return self

    def set_root_module(self, root_module: Any) -> Self:
        """Set the class whose module has the weight."""
        self.root_module = root_module
        return self

    def set_qat_module(self, qat_module: Any) -> Self:
        """Set the class for training that is aware of quantization."""
        self.qat_module = qat_module
        return self

    def set_reference_quantized_module(self, reference_quantized_module: Any) -> Self:
        """Set the class that takes the root module's place, and quantizes in floating point."""
        self.reference_quantized_module = reference_quantized_module
        return self

    def set_fused_module(self, fused_module: Any) -> Self:
        """Set the class that stands for the pattern's modules."""
        self.fused_module = fused_module
        return self

    def set_fuser_method(self, fuser_method: Any) -> Self:
        """Set the function that makes it: of whether it will be trained, and the pattern's modules."""
        self.fuser_method = fuser_method
        return self

    def _set_root_node_getter(self, root_node_getter: Any) -> Self:
        self._root_node_getter = root_node_getter
        return self

    def _set_extra_inputs_getter(self, extra_inputs_getter: Any) -> Self:
        self._extra_inputs_getter = extra_inputs_getter
        return self

    def _set_num_tensor_args_to_observation_type(self, num_tensor_args_to_observation_type: dict) -> Self:
        self._num_tensor_args_to_observation_type = num_tensor_args_to_observation_type
        return self

    def _set_input_type_to_index(self, input_type_to_index: dict[str, int]) -> Self:
        self._input_type_to_index = input_type_to_index
        return self

    def _set_pattern_complex_format(self, pattern: Any) -> Self:
        if self.pattern is not None:
            raise ValueError(_ONE_PATTERN)
        self._pattern_complex_format = pattern
        return self

    @classmethod
    def from_dict(cls, backend_pattern_config_dict: dict[str, Any]) -> BackendPatternConfig:
        """The configuration of a dict as `to_dict` gives it."""
        made, given = cls(), backend_pattern_config_dict
        if OBSERVATION_TYPE_DICT_KEY in given:
            made.observation_type = given[OBSERVATION_TYPE_DICT_KEY]
        for entry in given.get(DTYPE_CONFIGS_DICT_KEY, []):
            if isinstance(entry, dict):
                entry = DTypeConfig.from_dict(entry)
            if not isinstance(entry, DTypeConfig):
                raise ValueError(
                    f'Expected a list of DTypeConfigs in backend_pattern_config_dict["{DTYPE_CONFIGS_DICT_KEY}"], '
                    f"got '{type(entry)}'"
                )
            made.add_dtype_config(entry)
        for attribute, key in _ENTRIES.items():
            if key in given:
                if key == PATTERN_COMPLEX_FORMAT_DICT_KEY:
                    made._set_pattern_complex_format(given[key])
                else:
                    setattr(made, attribute, given[key])
        return made

    def to_dict(self) -> dict[str, Any]:
        """All that is given, by its keys."""
        made: dict[str, Any] = {
            OBSERVATION_TYPE_DICT_KEY: self.observation_type,
            DTYPE_CONFIGS_DICT_KEY: [config.to_dict() for config in self.dtype_configs],
        }
        for attribute, key in _ENTRIES.items():
            value = getattr(self, attribute)
            if value is not None and value != {}:
                made[key] = value
        return made


def _reversed_pattern(config: BackendPatternConfig) -> Any:
    """The pattern in the order of a graph's arguments: each function before what it takes."""
    if config._pattern_complex_format is not None:
        return config._pattern_complex_format
    if config.pattern is None:
        raise ValueError("Either 'pattern' or 'pattern_complex_format' must be specified")
    if not isinstance(config.pattern, tuple):
        return config.pattern
    if len(config.pattern) not in (2, 3):
        raise ValueError(f"Expected a tuple with 2 or 3 elements, got: {config.pattern}")
    first, *rest = config.pattern
    made = first
    for each in rest:
        made = (each, made)
    return made
