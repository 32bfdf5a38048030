"""Patterns that the engine x86 can quantize."""

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization.backend_config._patterns import engine
from mindtorch_v2.ao.quantization.backend_config.backend_config import BackendConfig, DTypeConfig

__all__ = ["get_x86_backend_config"]

x86_weighted_op_int8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
x86_default_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8)
x86_default_op_fp16_dtype_config = DTypeConfig(torch.float16, torch.float16, torch.float16, torch.float16)
x86_default_dynamic_int8_dtype_config = DTypeConfig(
    torch.quint8, torch.float, torch.qint8, torch.float, is_dynamic=True
)
x86_default_dynamic_float16_dtype_config = DTypeConfig(
    torch.float16, torch.float, torch.float16, torch.float, is_dynamic=True
)
x86_weight_only_quint8_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint8)
x86_weight_only_quint4x2_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint4x2)


def get_x86_backend_config() -> BackendConfig:
    """Patterns that the engine x86 can quantize.

    >>> torch.ao.quantization.backend_config.x86.get_x86_backend_config().name
    'x86'
    """
    return engine(
        "x86",
        weighted=[x86_weighted_op_int8_dtype_config],
        linear=[
            x86_weighted_op_int8_dtype_config,
            x86_default_dynamic_int8_dtype_config,
            x86_default_dynamic_float16_dtype_config,
        ],
        plain=[x86_default_op_quint8_dtype_config],
        binary=[x86_weighted_op_int8_dtype_config],
        fixed=[x86_weighted_op_int8_dtype_config],
        recurrent=[x86_default_dynamic_int8_dtype_config, x86_default_dynamic_float16_dtype_config],
        embedding=[x86_weight_only_quint8_dtype_config, x86_weight_only_quint4x2_dtype_config],
        information=[x86_default_op_quint8_dtype_config],
    )
