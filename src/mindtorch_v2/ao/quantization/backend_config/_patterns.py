"""Patterns that several back ends share, by kinds of operators."""

from __future__ import annotations

import copy
import importlib
import operator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import intrinsic as nni
from mindtorch_v2.ao.nn import qat as nnqat
from mindtorch_v2.ao.nn.intrinsic import qat as nniqat
from mindtorch_v2.ao.quantization.backend_config.backend_config import (
    BackendConfig,
    BackendPatternConfig,
    DTypeConfig,
    DTypeWithConstraints,
    ObservationType,
)
from mindtorch_v2.ao.quantization.fuser_method_mappings import (
    _sequential_wrapper2,
    fuse_conv_bn,
    fuse_conv_bn_relu,
    fuse_convtranspose_bn,
    fuse_linear_bn,
)
from mindtorch_v2.nn import functional as F

nnqr: Any = importlib.import_module("mindtorch_v2.ao.nn.quantized.reference")
DTypes = list[DTypeConfig]
Patterns = list[BackendPatternConfig]
SHARED = ObservationType.OUTPUT_SHARE_OBSERVER_WITH_INPUT
DIFFERENT = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
WEIGHT_AND_BIAS = {"weight": 1, "bias": 2}
BY_TENSORS = {0: DIFFERENT, 1: SHARED, 2: DIFFERENT}  # of an operator of two numbers, by how many are tensors


def pattern(
    what: Any,
    dtypes: DTypes,
    root: Any = None,
    reference: Any = None,
    qat: Any = None,
    fused: Any = None,
    method: Any = None,
    places: dict[str, int] | None = None,
    observation: ObservationType = DIFFERENT,
) -> BackendPatternConfig:
    """A pattern's configuration."""
    made = BackendPatternConfig(what).set_dtype_configs(dtypes).set_observation_type(observation)
    made.set_root_module(root).set_reference_quantized_module(reference).set_qat_module(qat)
    made.set_fused_module(fused).set_fuser_method(method)
    return made._set_input_type_to_index(places or {})


def in_a_row(first: Any, then: Any, fused: Any, dtypes: DTypes) -> BackendPatternConfig:
    """Two that become one module of a class."""
    return pattern((first, then), dtypes, fused=fused, method=_sequential_wrapper2(fused))


def binary_patterns(dtypes: DTypes) -> Patterns:
    """Sums and products, with a ReLU or without, and matrix products."""
    made = []
    for function in (operator.add, torch.add, operator.mul, torch.mul):
        for what in ((function, nn.ReLU), (function, F.relu), (function, torch.relu), function):
            made.append(pattern(what, dtypes)._set_num_tensor_args_to_observation_type(BY_TENSORS))
    return [*made, pattern(torch.matmul, dtypes)]


def linear_patterns(dtypes: DTypes) -> Patterns:
    """Linear layers, with a ReLU or a batch norm or without."""
    weight = {"root": nn.Linear, "reference": nnqr.Linear}
    return [
        pattern(nn.Linear, dtypes, qat=nnqat.Linear, **weight),
        pattern(nnqat.Linear, dtypes, **weight),
        pattern(F.linear, dtypes, places=WEIGHT_AND_BIAS),
        in_a_row(nn.Linear, nn.ReLU, nni.LinearReLU, dtypes),
        in_a_row(nn.Linear, F.relu, nni.LinearReLU, dtypes),
        pattern(nni.LinearReLU, dtypes, qat=nniqat.LinearReLU, **weight),
        pattern(nniqat.LinearReLU, dtypes, **weight),
        pattern((F.linear, nn.ReLU), dtypes),
        pattern((F.linear, F.relu), dtypes),
        pattern((nn.Linear, nn.BatchNorm1d), dtypes, fused=nni.LinearBn1d, method=fuse_linear_bn),
        pattern(nni.LinearBn1d, dtypes, qat=nniqat.LinearBn1d, **weight),
        pattern(nniqat.LinearBn1d, dtypes, **weight),
    ]


def conv_patterns(dtypes: DTypes, dimensions: tuple[int, ...] = (1, 2, 3), transposed: bool = True) -> Patterns:
    """Convolutions, with a ReLU or a batch norm or both or without, and transposed ones."""
    made: Patterns = []
    for n in dimensions:
        conv, norm = getattr(nn, f"Conv{n}d"), getattr(nn, f"BatchNorm{n}d")
        function, trained = getattr(F, f"conv{n}d"), getattr(nnqat, f"Conv{n}d")
        relu, with_norm, all_three = (getattr(nni, f"Conv{kind}{n}d") for kind in ("ReLU", "Bn", "BnReLU"))
        relu_qat, norm_qat, all_qat = (getattr(nniqat, f"Conv{kind}{n}d") for kind in ("ReLU", "Bn", "BnReLU"))
        weight = {"root": conv, "reference": getattr(nnqr, f"Conv{n}d")}
        made += [
            pattern(conv, dtypes, qat=trained, **weight),
            pattern(trained, dtypes, **weight),
            pattern(function, dtypes, places=WEIGHT_AND_BIAS),
            in_a_row(conv, nn.ReLU, relu, dtypes),
            in_a_row(conv, F.relu, relu, dtypes),
            pattern(relu, dtypes, qat=relu_qat),
            pattern(relu_qat, dtypes, **weight),
            pattern((function, nn.ReLU), dtypes),
            pattern((function, F.relu), dtypes),
            pattern((conv, norm), dtypes, fused=with_norm, method=fuse_conv_bn),
            pattern((conv, norm, nn.ReLU), dtypes, fused=all_three, method=fuse_conv_bn_relu),
            pattern((conv, norm, F.relu), dtypes, root=conv, fused=all_three, method=fuse_conv_bn_relu),
            pattern(with_norm, dtypes, qat=norm_qat),
            pattern(all_three, dtypes, qat=all_qat),
            pattern(norm_qat, dtypes, **weight),
            pattern(all_qat, dtypes, **weight),
        ]
        if not transposed:
            continue
        back = getattr(nn, f"ConvTranspose{n}d")
        weight = {"root": back, "reference": getattr(nnqr, f"ConvTranspose{n}d")}
        made += [
            pattern(back, dtypes, **weight),
            pattern((back, norm), dtypes, method=fuse_convtranspose_bn, **weight),
            pattern(getattr(F, f"conv_transpose{n}d"), dtypes, places=WEIGHT_AND_BIAS),
        ]
    return made


def cat_pattern(dtypes: DTypes) -> BackendPatternConfig:
    """Tensors in a row, which share a scale."""
    return pattern(torch.cat, dtypes, observation=SHARED)


def layer_norm_patterns(dtypes: DTypes) -> Patterns:
    """Layer norms."""
    return [pattern(nn.LayerNorm, dtypes), pattern(F.layer_norm, dtypes, places={"weight": 2, "bias": 3})]


def default_patterns(dtypes: DTypes) -> Patterns:
    """Activations and norms whose results have a scale of their own."""
    kinds = (nn.ELU, nn.LeakyReLU, nn.Hardswish, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d)
    more = (nn.Dropout, nn.PReLU, F.elu, F.hardswish, F.leaky_relu, F.dropout)
    return [
        *(pattern(each, dtypes) for each in (*kinds, *more)),
        pattern(F.group_norm, dtypes, places={"weight": 2, "bias": 3}),
        pattern(F.instance_norm, dtypes, places={"weight": 3, "bias": 4}),
    ]


_EIGHT_BITS: dict[str, Any] = {"dtype": torch.quint8, "quant_min_lower_bound": 0, "quant_max_upper_bound": 255}
_FIXED = [
    *(
        (each, DTypeWithConstraints(**_EIGHT_BITS, scale_exact_match=1.0 / 256.0, zero_point_exact_match=0))
        for each in (
            *(nn.Hardsigmoid, F.hardsigmoid, "hardsigmoid", "hardsigmoid_"),
            *(nn.Sigmoid, torch.sigmoid, "sigmoid", "sigmoid_", nn.Softmax),
        )
    ),
    *(
        (each, DTypeWithConstraints(**_EIGHT_BITS, scale_exact_match=2.0 / 256.0, zero_point_exact_match=128))
        for each in (nn.Tanh, torch.tanh, "tanh", "tanh_")
    ),
]


def _add_fixed_qparams_to_dtype_configs(dtypes: DTypes, constraints: DTypeWithConstraints) -> DTypes:
    """Dtypes, of which those of the constraints' dtype have the scale and the range of a function."""
    made = []
    for config in dtypes:
        fixed = copy.deepcopy(config)
        for own in (fixed.input_dtype_with_constraints, fixed.output_dtype_with_constraints):
            if own.dtype != constraints.dtype:
                continue
            for name in ("scale_min_lower_bound", "scale_max_upper_bound"):
                if getattr(own, name) is not None:
                    raise ValueError(f"{name} is invalid for fixed qparams ops: {config}")
            for name in (
                "quant_min_lower_bound",
                "quant_max_upper_bound",
                "scale_exact_match",
                "zero_point_exact_match",
            ):
                setattr(own, name, getattr(constraints, name))
        made.append(fixed)
    return made


def fixed_patterns(dtypes: DTypes) -> Patterns:
    """Functions whose results have a range that is known."""
    return [pattern(what, _add_fixed_qparams_to_dtype_configs(dtypes, bounds)) for what, bounds in _FIXED]


_SHARING = [
    *(getattr(nn, f"{kind}Pool{n}d") for kind in ("AdaptiveAvg", "Avg") for n in (1, 2, 3)),
    *(nn.Hardtanh, nn.Identity, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d),
    *(nn.PixelShuffle, nn.PixelUnshuffle, nn.ReLU, nn.ReLU6),
    *(torch.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.hardtanh, F.hardtanh_),
    *(F.interpolate, F.max_pool1d, F.max_pool2d, F.max_pool3d, F.pixel_shuffle, F.pixel_unshuffle, F.relu, F.relu6),
    *(torch.avg_pool1d, F.avg_pool2d, F.avg_pool3d, torch.clamp, torch.flatten, torch.mean, torch.narrow),
    *(torch.repeat_interleave, torch.transpose, torch.squeeze, torch.stack, torch.unsqueeze, operator.floordiv),
    *"contiguous clamp detach detach_ mean permute repeat repeat_interleave reshape resize_ relu relu_".split(),
    *"squeeze squeeze_ transpose unsqueeze unsqueeze_ view".split(),
]


def sharing_patterns(dtypes: DTypes) -> Patterns:
    """Functions that move numbers, or take some of them: results have their arguments' scale."""
    return [pattern(each, dtypes, observation=SHARED) for each in _SHARING]


def norm_patterns(dtypes: DTypes) -> Patterns:
    """Batch norms by themselves, with a ReLU or without."""
    made = []
    kinds = [(nn.BatchNorm2d, nni.BNReLU2d), (nn.BatchNorm3d, nni.BNReLU3d)]
    for norm, fused in kinds:
        made += [
            in_a_row(norm, nn.ReLU, fused, dtypes),
            in_a_row(norm, F.relu, fused, dtypes),
            pattern(norm, dtypes),
        ]
    return [*made, *(pattern(fused, dtypes) for _, fused in kinds)]


def recurrent_patterns(dtypes: DTypes) -> Patterns:
    """Recurrent layers and cells."""
    names = "GRUCell LSTMCell RNNCell LSTM GRU".split()
    return [pattern(getattr(nn, name), dtypes, root=getattr(nn, name), reference=getattr(nnqr, name)) for name in names]


def embedding_patterns(dtypes: DTypes) -> Patterns:
    """Embeddings."""
    made = []
    for name in ("Embedding", "EmbeddingBag"):
        plain, trained = getattr(nn, name), getattr(nnqat, name)
        weight = {"root": plain, "reference": getattr(nnqr, name)}
        made += [pattern(plain, dtypes, qat=trained, **weight), pattern(trained, dtypes, **weight)]
    return made


def information_patterns(dtypes: DTypes) -> Patterns:
    """Functions that tell of a tensor."""
    return [pattern(each, dtypes, observation=ObservationType.INPUT_OUTPUT_NOT_OBSERVED) for each in ("shape", "size")]


def engine(
    name: str,
    weighted: DTypes,
    linear: DTypes,
    plain: DTypes,
    binary: DTypes | None = None,
    fixed: DTypes | None = None,
    sharing: DTypes | None = None,
    recurrent: DTypes | None = None,
    embedding: DTypes | None = None,
    information: DTypes | None = None,
    layer_norm: DTypes | None = None,
) -> BackendConfig:
    """A back end with the patterns of all kinds; `plain` are the dtypes of kinds that are not given ones of their own."""
    made = BackendConfig(name)
    made.set_backend_pattern_configs(conv_patterns(weighted)).set_backend_pattern_configs(linear_patterns(linear))
    made.set_backend_pattern_configs(binary_patterns(binary or plain)).set_backend_pattern_config(cat_pattern(plain))
    made.set_backend_pattern_configs(default_patterns(plain))
    made.set_backend_pattern_configs(fixed_patterns(fixed or plain))
    made.set_backend_pattern_configs(sharing_patterns(sharing or plain))
    if information is not None:
        made.set_backend_pattern_configs(information_patterns(information))
    made.set_backend_pattern_configs(norm_patterns(plain))
    if layer_norm is not None:
        made.set_backend_pattern_configs(layer_norm_patterns(layer_norm))
    made.set_backend_pattern_configs(recurrent_patterns(recurrent or []))
    return made.set_backend_pattern_configs(embedding_patterns(embedding or []))
