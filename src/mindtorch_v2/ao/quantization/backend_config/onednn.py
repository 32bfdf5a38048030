"""Patterns that oneDNN can quantize: convolutions with a sum, and linear layers with more activations, besides the others."""

from __future__ import annotations

import operator
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import intrinsic as nni
from mindtorch_v2.ao.quantization.backend_config import _patterns
from mindtorch_v2.ao.quantization.backend_config._patterns import nnqr, pattern
from mindtorch_v2.ao.quantization.backend_config.backend_config import (
    BackendConfig,
    BackendPatternConfig,
    DTypeConfig,
    ObservationType,
)
from mindtorch_v2.ao.quantization.utils import MatchAllNode
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

__all__ = ["get_onednn_backend_config"]

onednn_weighted_op_int8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.qint8, torch.float)
onednn_op_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8)
onednn_dynamic_int8_dtype_config = DTypeConfig(torch.quint8, torch.float, torch.qint8, torch.float, is_dynamic=True)
onednn_weight_only_qint8_dtype_config = DTypeConfig(torch.float, torch.float, torch.qint8)
onednn_input_output_only_quint8_dtype_config = DTypeConfig(torch.quint8, torch.quint8, torch.float, torch.float)

observation_type = ObservationType.OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT
conv_dtype_configs = [onednn_weighted_op_int8_dtype_config]
linear_dtype_configs = [onednn_weighted_op_int8_dtype_config, onednn_dynamic_int8_dtype_config]
binary_op_dtype_configs = [onednn_op_quint8_dtype_config]
default_op_dtype_configs = [onednn_op_quint8_dtype_config]
fixed_qparams_op_dtype_configs = [onednn_op_quint8_dtype_config]
share_qparams_op_dtype_configs = [onednn_op_quint8_dtype_config]
rnn_op_dtype_configs = [onednn_dynamic_int8_dtype_config]
embedding_op_dtype_configs = [onednn_weight_only_qint8_dtype_config]
layer_norm_op_dtype_configs = [onednn_input_output_only_quint8_dtype_config]


def _fuse_linear_bn_leaky_relu(is_qat: bool, linear: Any, bn: Any, leaky_relu: Any) -> Any:
    if linear.training != bn.training or bn.training != leaky_relu.training:
        raise AssertionError("Linear, BN and LeakyReLU all must be in the same mode (train or eval).")
    if is_qat or type(linear) is not nn.Linear:
        raise NotImplementedError(f"Cannot fuse {'train' if is_qat else 'eval'} modules: {(linear, bn, leaky_relu)}")
    return nni.LinearLeakyReLU(fuse_linear_bn_eval(linear, bn), leaky_relu)


class _Sum:
    """A convolution on one side of a sum, with a batch norm or without, with a ReLU after it or without."""

    def __init__(self, function: Any, with_norm: bool, left: bool, with_relu: bool) -> None:
        self.with_norm, self.left, self.with_relu = with_norm, left, with_relu
        side = (nn.BatchNorm2d, nn.Conv2d) if with_norm else nn.Conv2d
        parts = (function, side, MatchAllNode) if left else (function, MatchAllNode, side)
        self.pattern = (nn.ReLU, parts) if with_relu else parts

    def sides(self, matched: Any) -> tuple[Any, Any, Any]:
        """The ReLU, the sum and its sides, of what was matched: the convolution's first."""
        relu, parts = matched if self.with_relu else (None, matched)
        add, one, other = parts
        return relu, add, (one, other) if self.left else (other, one)

    def fuse(self, is_qat: bool, *matched: Any) -> Any:
        """The module that stands for them."""
        relu, add, (conv, _) = self.sides(matched)
        if self.with_norm:
            norm, conv = conv
            if is_qat:
                given = (conv, norm, add, relu) if self.with_relu else (conv, norm, add)
                raise NotImplementedError(f"Cannot fuse train modules: {given}")
            conv = fuse_conv_bn_eval(conv, norm)
        return nni.ConvAddReLU2d(conv, add, relu) if self.with_relu else nni.ConvAdd2d(conv, add)

    def root(self, matched: Any) -> Any:
        """The node of the convolution."""
        conv = self.sides(matched)[2][0]
        return conv[1] if self.with_norm else conv

    def extra(self, matched: Any) -> list[Any]:
        """The node of what is added."""
        return [self.sides(matched)[2][1]]

    def config(self) -> BackendPatternConfig:
        """The pattern's configuration."""
        made = BackendPatternConfig()._set_pattern_complex_format(self.pattern)
        made.set_dtype_configs(conv_dtype_configs).set_fuser_method(self.fuse)
        made._set_root_node_getter(self.root)._set_extra_inputs_getter(self.extra)
        return made.set_fused_module(nni.ConvAddReLU2d if self.with_relu else nni.ConvAdd2d)


def _sums() -> list[BackendPatternConfig]:
    made = []
    for with_relu, fused in ((False, nni.ConvAdd2d), (True, nni.ConvAddReLU2d)):
        for left in (True, False):
            for with_norm in (True, False):
                for function in (torch.add, operator.add):
                    made.append(_Sum(function, with_norm, left, with_relu).config())
        made.append(pattern(fused, conv_dtype_configs, root=nn.Conv2d, reference=nnqr.Conv2d))
    return made


def _activations() -> list[BackendPatternConfig]:
    made = []
    for kind, function, fused in (
        (nn.LeakyReLU, F.leaky_relu, nni.LinearLeakyReLU),
        (nn.Tanh, torch.tanh, nni.LinearTanh),
    ):
        made += [
            _patterns.in_a_row(nn.Linear, kind, fused, linear_dtype_configs),
            _patterns.in_a_row(nn.Linear, function, fused, linear_dtype_configs),
            pattern(fused, linear_dtype_configs, root=nn.Linear, reference=nnqr.Linear),
            pattern((F.linear, kind), linear_dtype_configs),
            pattern((F.linear, function), linear_dtype_configs),
        ]
        if kind is nn.LeakyReLU:
            row = (nn.Linear, nn.BatchNorm1d, kind)
            made.append(pattern(row, linear_dtype_configs, fused=fused, method=_fuse_linear_bn_leaky_relu))
    return made


conv_configs = [*_patterns.conv_patterns(conv_dtype_configs), *_sums()]
linear_configs = [*_patterns.linear_patterns(linear_dtype_configs), *_activations()]


def get_onednn_backend_config() -> BackendConfig:
    """Patterns that oneDNN can quantize.

    >>> torch.ao.quantization.backend_config.get_onednn_backend_config().name
    'onednn'
    """
    made = BackendConfig("onednn").set_backend_pattern_configs(conv_configs)
    made.set_backend_pattern_configs(linear_configs)
    made.set_backend_pattern_configs(_patterns.binary_patterns(binary_op_dtype_configs))
    made.set_backend_pattern_config(_patterns.cat_pattern(default_op_dtype_configs))
    made.set_backend_pattern_configs(_patterns.default_patterns(default_op_dtype_configs))
    made.set_backend_pattern_configs(_patterns.fixed_patterns(fixed_qparams_op_dtype_configs))
    made.set_backend_pattern_configs(_patterns.sharing_patterns(share_qparams_op_dtype_configs))
    made.set_backend_pattern_configs(_patterns.norm_patterns(default_op_dtype_configs))
    made.set_backend_pattern_configs(_patterns.layer_norm_patterns(layer_norm_op_dtype_configs))
    made.set_backend_pattern_configs(_patterns.recurrent_patterns(rnn_op_dtype_configs))
    return made.set_backend_pattern_configs(_patterns.embedding_patterns(embedding_op_dtype_configs))
