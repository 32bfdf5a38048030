"""Patterns that TensorRT can quantize."""

from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization.backend_config import _patterns
from mindtorch_v2.ao.quantization.backend_config.backend_config import BackendConfig, DTypeConfig

__all__ = ["get_tensorrt_backend_config", "get_tensorrt_backend_config_dict"]


def get_tensorrt_backend_config() -> BackendConfig:
    """Patterns that TensorRT can quantize.

    >>> torch.ao.quantization.backend_config.get_tensorrt_backend_config().name
    'tensorrt'
    """
    weighted = [DTypeConfig(torch.qint8, torch.qint8, torch.qint8, torch.float)]
    plain = [DTypeConfig(torch.qint8, torch.qint8)]
    made = BackendConfig("tensorrt").set_backend_pattern_configs(_patterns.conv_patterns(weighted))
    places = {"bias": 0, "input": 1, "weight": 2}
    made.set_backend_pattern_config(_patterns.pattern(torch.addmm, weighted, places=places))
    made.set_backend_pattern_config(_patterns.cat_pattern(plain))
    made.set_backend_pattern_configs(_patterns.linear_patterns(weighted))
    made.set_backend_pattern_configs(_patterns.binary_patterns(weighted))
    made.set_backend_pattern_configs(_patterns.sharing_patterns(plain))
    return made.set_backend_pattern_configs(_patterns.information_patterns(plain))


def get_tensorrt_backend_config_dict() -> dict[str, Any]:
    """`get_tensorrt_backend_config` as a dict.

    >>> torch.ao.quantization.backend_config.get_tensorrt_backend_config_dict()["name"]
    'tensorrt'
    """
    return get_tensorrt_backend_config().to_dict()
