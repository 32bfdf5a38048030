"""Patterns that ExecuTorch can quantize."""

import operator

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import qat as nnqat
from mindtorch_v2.ao.quantization.backend_config import _patterns
from mindtorch_v2.ao.quantization.backend_config._patterns import nnqr, pattern
from mindtorch_v2.ao.quantization.backend_config.backend_config import BackendConfig, DTypeConfig, DTypeWithConstraints
from mindtorch_v2.ao.quantization.backend_config.qnnpack import (
    qnnpack_default_op_qint8_symmetric_dtype_config,
    qnnpack_weighted_op_qint8_symmetric_dtype_config,
)
from mindtorch_v2.nn import functional as F

__all__ = ["get_executorch_backend_config"]

executorch_weighted_op_int8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
executorch_default_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8)
executorch_default_dynamic_quint8_dtype_config = DTypeConfig(
    torch.quint8, torch.float, torch.qint8, torch.float, is_dynamic=True
)
executorch_act_qint8_scale_min_2_neg_12 = DTypeWithConstraints(torch.qint8, scale_min_lower_bound=2**-12)
executorch_weight_qint8_neg_127_to_127_scale_min_2_neg_12 = DTypeWithConstraints(
    torch.qint8, quant_min_lower_bound=-127, quant_max_upper_bound=127, scale_min_lower_bound=2**-12
)
executorch_default_dynamic_qint8_dtype_config = DTypeConfig(
    executorch_act_qint8_scale_min_2_neg_12,
    torch.float,
    executorch_weight_qint8_neg_127_to_127_scale_min_2_neg_12,
    torch.float,
    is_dynamic=True,
)
executorch_default_dynamic_float16_dtype_config = DTypeConfig(
    torch.float16, torch.float, torch.float16, torch.float, is_dynamic=True
)
executorch_weight_only_quint8_dtype_config = DTypeConfig(torch.float, torch.float, torch.quint8)

_WEIGHTED = [qnnpack_weighted_op_qint8_symmetric_dtype_config, executorch_weighted_op_int8_dtype_config]
_PLAIN = [qnnpack_default_op_qint8_symmetric_dtype_config, executorch_default_op_quint8_dtype_config]
_SHARING = [
    *(nn.Flatten, F.adaptive_avg_pool2d, F.elu, F.hardtanh, F.max_pool2d, F.pad, F.relu, F.relu6, F.leaky_relu),
    *(F.leaky_relu_, nn.AdaptiveAvgPool2d, nn.ConstantPad2d, nn.ELU, nn.MaxPool2d, nn.ReLU6, nn.Hardtanh),
    *(nn.LeakyReLU, torch.clamp, torch.flatten, torch.mean, torch.permute, torch.permute_copy, torch.squeeze),
    *"clamp mean permute reshape relu relu_ squeeze squeeze_ leaky_relu".split(),
]


def _linear() -> list:
    dtypes = [
        *_WEIGHTED,
        executorch_default_dynamic_quint8_dtype_config,
        executorch_default_dynamic_qint8_dtype_config,
        executorch_default_dynamic_float16_dtype_config,
    ]
    weight = {"root": nn.Linear, "reference": nnqr.Linear}
    return [
        pattern(nn.Linear, dtypes, qat=nnqat.Linear, **weight),
        pattern(nnqat.Linear, dtypes, **weight),
        pattern(F.linear, dtypes, places=_patterns.WEIGHT_AND_BIAS),
    ]


def _binary() -> list:
    dtypes = [qnnpack_default_op_qint8_symmetric_dtype_config, executorch_weighted_op_int8_dtype_config]
    made = []
    for function in (operator.add, torch.add, operator.sub, torch.sub, operator.mul, torch.mul):
        for what in ((function, nn.ReLU), (function, F.relu), (function, torch.relu), function):
            one = pattern(what, dtypes)
            made.append(one._set_num_tensor_args_to_observation_type(_patterns.BY_TENSORS))
    return made


def _embeddings() -> list:
    dtypes = [executorch_weight_only_quint8_dtype_config]
    first, trained, *bags = _patterns.embedding_patterns(dtypes)
    return [first, trained, pattern(F.embedding, dtypes, places={"weight": 1}), *bags]


def get_executorch_backend_config() -> BackendConfig:
    """Patterns that ExecuTorch can quantize.

    >>> torch.ao.quantization.backend_config.get_executorch_backend_config().name
    'executorch'
    """
    made = BackendConfig("executorch").set_backend_pattern_configs(_linear())
    made.set_backend_pattern_configs(_patterns.conv_patterns(_WEIGHTED, (2,), transposed=False))
    made.set_backend_pattern_configs(_binary())
    made.set_backend_pattern_configs([pattern(each, _PLAIN, observation=_patterns.SHARED) for each in _SHARING])
    made.set_backend_pattern_config(pattern(nn.BatchNorm2d, _PLAIN))
    for each in (torch.cat, torch.concat, torch.concatenate):
        made.set_backend_pattern_config(pattern(each, _PLAIN, observation=_patterns.SHARED))
    return made.set_backend_pattern_configs(_embeddings())
