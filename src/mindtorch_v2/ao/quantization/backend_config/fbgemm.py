"""Patterns that the engine fbgemm can quantize."""

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization.backend_config._patterns import engine
from mindtorch_v2.ao.quantization.backend_config.backend_config import BackendConfig, DTypeConfig

__all__ = ["get_fbgemm_backend_config"]

fbgemm_weighted_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
fbgemm_default_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8)
fbgemm_default_op_fp16_dtype_config = DTypeConfig(torch.float16, torch.float16, torch.float16, torch.float16)
fbgemm_default_dynamic_int8_dtype_config = DTypeConfig(
    torch.quint8, torch.float, torch.qint8, torch.float, is_dynamic=True
)
fbgemm_default_dynamic_float16_dtype_config = DTypeConfig(
    torch.float16, torch.float, torch.float16, torch.float, is_dynamic=True
)
fbgemm_weight_only_quint8_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint8)
fbgemm_weight_only_quint4x2_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint4x2)


def get_fbgemm_backend_config() -> BackendConfig:
    """Patterns that the engine fbgemm can quantize.

    >>> torch.ao.quantization.backend_config.get_fbgemm_backend_config().name
    'fbgemm'
    """
    return engine(
        "fbgemm",
        weighted=[fbgemm_weighted_op_quint8_dtype_config],
        linear=[
            fbgemm_weighted_op_quint8_dtype_config,
            fbgemm_default_dynamic_int8_dtype_config,
            fbgemm_default_dynamic_float16_dtype_config,
        ],
        plain=[fbgemm_default_op_quint8_dtype_config],
        recurrent=[fbgemm_default_dynamic_int8_dtype_config, fbgemm_default_dynamic_float16_dtype_config],
        embedding=[fbgemm_weight_only_quint8_dtype_config, fbgemm_weight_only_quint4x2_dtype_config],
        information=[fbgemm_default_op_quint8_dtype_config],
    )
