"""Patterns that any engine can quantize: the configuration where none is given."""

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization.backend_config._patterns import engine
from mindtorch_v2.ao.quantization.backend_config.backend_config import BackendConfig, DTypeConfig

__all__ = [
    "default_dynamic_float16_dtype_config",
    "default_dynamic_int8_dtype_config",
    "default_op_fp16_dtype_config",
    "default_op_quint8_dtype_config",
    "get_native_backend_config",
    "get_native_backend_config_dict",
    "get_test_only_legacy_native_backend_config",
    "get_test_only_legacy_native_backend_config_dict",
    "input_output_only_quint8_dtype_config",
    "weight_only_quint4x2_dtype_config",
    "weight_only_quint8_dtype_config",
]

weighted_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
default_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8)
default_op_fp16_dtype_config = DTypeConfig(torch.float16, torch.float16, torch.float16, torch.float16)
default_dynamic_int8_dtype_config = DTypeConfig(torch.quint8, torch.float, torch.qint8, torch.float, is_dynamic=True)
default_dynamic_float16_dtype_config = DTypeConfig(
    torch.float16, torch.float, torch.float16, torch.float, is_dynamic=True
)
input_output_only_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.float, torch.float)
weight_only_quint8_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint8)
weight_only_quint4x2_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint4x2)

_LINEAR = [weighted_op_quint8_dtype_config, default_dynamic_int8_dtype_config, default_dynamic_float16_dtype_config]
_EIGHT_AND_SIXTEEN = [default_op_quint8_dtype_config, default_op_fp16_dtype_config]
_OF_ALL: dict[str, Any] = {
    "weighted": [weighted_op_quint8_dtype_config],
    "plain": [default_op_quint8_dtype_config],
    "recurrent": [default_dynamic_int8_dtype_config, default_dynamic_float16_dtype_config],
    "embedding": [weight_only_quint8_dtype_config, weight_only_quint4x2_dtype_config],
    "information": [default_op_quint8_dtype_config],
    "layer_norm": [input_output_only_quint8_dtype_config],
}


def get_test_only_legacy_native_backend_config() -> BackendConfig:
    """`get_native_backend_config` with float16 besides.

    >>> from mindtorch_v2.ao.quantization.backend_config.native import get_test_only_legacy_native_backend_config
    >>> get_test_only_legacy_native_backend_config().name
    '_native_and_fp16'
    """
    return engine(
        "_native_and_fp16",
        linear=[*_LINEAR, default_op_fp16_dtype_config],
        binary=_EIGHT_AND_SIXTEEN,
        fixed=_EIGHT_AND_SIXTEEN,
        sharing=_EIGHT_AND_SIXTEEN,
        **_OF_ALL,
    )


def get_native_backend_config() -> BackendConfig:
    """Patterns that any engine can quantize.

    >>> torch.ao.quantization.backend_config.get_native_backend_config().name
    'native'
    """
    return engine("native", linear=_LINEAR, **_OF_ALL)


def get_native_backend_config_dict() -> dict[str, Any]:
    """`get_native_backend_config` as a dict.

    >>> torch.ao.quantization.backend_config.get_native_backend_config_dict()["name"]
    'native'
    """
    return get_native_backend_config().to_dict()


def get_test_only_legacy_native_backend_config_dict() -> dict[str, Any]:
    """`get_test_only_legacy_native_backend_config` as a dict.

    >>> from mindtorch_v2.ao.quantization.backend_config import native
    >>> native.get_test_only_legacy_native_backend_config_dict()["name"]
    '_native_and_fp16'
    """
    return get_test_only_legacy_native_backend_config().to_dict()
