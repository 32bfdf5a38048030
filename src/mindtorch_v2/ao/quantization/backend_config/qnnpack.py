"""Patterns that the engine qnnpack can quantize."""

import mindtorch_v2 as torch
from mindtorch_v2.ao.quantization.backend_config._patterns import engine
from mindtorch_v2.ao.quantization.backend_config.backend_config import BackendConfig, DTypeConfig, DTypeWithConstraints

__all__ = ["get_qnnpack_backend_config"]

qnnpack_weighted_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
qnnpack_default_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8)
qnnpack_default_op_fp16_dtype_config = DTypeConfig(torch.float16, torch.float16, torch.float16, torch.float16)
qnnpack_default_dynamic_int8_dtype_config = DTypeConfig(
    torch.quint8, torch.float, torch.qint8, torch.float, is_dynamic=True
)
qnnpack_default_dynamic_float16_dtype_config = DTypeConfig(
    torch.float16, torch.float, torch.float16, torch.float, is_dynamic=True
)
qnnpack_weight_only_quint8_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint8)
qnnpack_weight_only_quint4x2_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint4x2)

# Of xnnpack, whose scales have a least size and whose weights are without -128.
qnnpack_act_qint8_scale_min_2_neg_12 = DTypeWithConstraints(torch.qint8, scale_min_lower_bound=2**-12)
qnnpack_weight_qint8_neg_127_to_127_scale_min_2_neg_12 = DTypeWithConstraints(
    torch.qint8, quant_min_lower_bound=-127, quant_max_upper_bound=127, scale_min_lower_bound=2**-12
)
qnnpack_weighted_op_qint8_symmetric_dtype_config = DTypeConfig(
    qnnpack_act_qint8_scale_min_2_neg_12,
    qnnpack_act_qint8_scale_min_2_neg_12,
    qnnpack_weight_qint8_neg_127_to_127_scale_min_2_neg_12,
    torch.float,
)
qnnpack_default_op_qint8_symmetric_dtype_config = DTypeConfig(
    qnnpack_act_qint8_scale_min_2_neg_12, qnnpack_act_qint8_scale_min_2_neg_12
)


def get_qnnpack_backend_config() -> BackendConfig:
    """Patterns that the engine qnnpack can quantize.

    >>> torch.ao.quantization.backend_config.get_qnnpack_backend_config().name
    'qnnpack'
    """
    return engine(
        "qnnpack",
        weighted=[qnnpack_weighted_op_qint8_symmetric_dtype_config, qnnpack_weighted_op_quint8_dtype_config],
        linear=[
            qnnpack_weighted_op_qint8_symmetric_dtype_config,
            qnnpack_weighted_op_quint8_dtype_config,
            qnnpack_default_dynamic_int8_dtype_config,
            qnnpack_default_dynamic_float16_dtype_config,
        ],
        plain=[qnnpack_default_op_qint8_symmetric_dtype_config, qnnpack_default_op_quint8_dtype_config],
        recurrent=[qnnpack_default_dynamic_int8_dtype_config, qnnpack_default_dynamic_float16_dtype_config],
        embedding=[qnnpack_weight_only_quint8_dtype_config, qnnpack_weight_only_quint4x2_dtype_config],
    )
