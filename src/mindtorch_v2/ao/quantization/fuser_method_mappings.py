"""How modules in a row become one: by their classes, the function that makes it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from mindtorch_v2 import nn
from mindtorch_v2.ao.nn import intrinsic as nni
from mindtorch_v2.ao.quantization.utils import MatchAllNode, get_combined_dict

__all__ = [
    "fuse_conv_bn",
    "fuse_conv_bn_relu",
    "fuse_convtranspose_bn",
    "fuse_linear_bn",
    "get_fuser_method",
    "get_fuser_method_new",
]

_CONV_BN = {nn.Conv1d: nni.ConvBn1d, nn.Conv2d: nni.ConvBn2d, nn.Conv3d: nni.ConvBn3d}
_CONV_BN_RELU = {nn.Conv1d: nni.ConvBnReLU1d, nn.Conv2d: nni.ConvBnReLU2d, nn.Conv3d: nni.ConvBnReLU3d}
_CONV_RELU = {nn.Conv1d: nni.ConvReLU1d, nn.Conv2d: nni.ConvReLU2d, nn.Conv3d: nni.ConvReLU3d}


def _check_mode(name: str, *modules: nn.Module) -> None:
    if len({each.training for each in modules}) > 1:
        raise AssertionError(f"{name} and BN both must be in the same mode (train or eval).")


def _check_norm(bn: Any, size: int, unfit: str, dimensions: str) -> None:
    if bn.num_features != size:
        raise AssertionError(unfit)
    for wanted, name in ((bn.affine, "affine"), (bn.track_running_stats, "tracking_running_stats")):
        if not wanted:
            raise AssertionError(f"Only support fusing BatchNorm{dimensions} with {name} set to True")


def fuse_conv_bn(is_qat: bool, conv: Any, bn: Any) -> Any:
    """One module of a convolution and a batch norm: fused for training, or one convolution.

    >>> conv, bn = torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2)
    >>> type(torch.ao.quantization.fuse_conv_bn(False, conv.eval(), bn.eval())).__name__
    'Conv2d'
    >>> type(torch.ao.quantization.fuse_conv_bn(True, conv.train(), bn.train())).__name__
    'ConvBn2d'
    """
    _check_mode("Conv", conv, bn)
    if not is_qat:
        return nn.utils.fuse_conv_bn_eval(conv, bn)
    _check_norm(bn, conv.out_channels, "Output channel of Conv2d must match num_features of BatchNorm2d.", "2d")
    if type(conv) not in _CONV_BN:
        raise NotImplementedError(f"Cannot fuse train modules: {(conv, bn)}")
    return _CONV_BN[type(conv)](conv, bn)


def fuse_conv_bn_relu(is_qat: bool, conv: Any, bn: Any, relu: Any) -> Any:
    """One module of a convolution, a batch norm and a ReLU.

    >>> modules = torch.nn.Conv2d(1, 2, 1), torch.nn.BatchNorm2d(2), torch.nn.ReLU()
    >>> type(torch.ao.quantization.fuse_conv_bn_relu(True, *modules)).__name__
    'ConvBnReLU2d'
    >>> type(torch.ao.quantization.fuse_conv_bn_relu(False, *(each.eval() for each in modules))).__name__
    'ConvReLU2d'
    """
    _check_mode("Conv", conv, bn, relu)
    if is_qat:
        _check_norm(bn, conv.out_channels, "Output channel of Conv2d must match num_features of BatchNorm2d", "2d")
    if type(conv) not in _CONV_RELU:
        raise NotImplementedError(f"Cannot fuse {'train' if is_qat else 'eval'} modules: {(conv, bn, relu)}")
    if is_qat:
        return _CONV_BN_RELU[type(conv)](conv, bn, relu)
    return _CONV_RELU[type(conv)](nn.utils.fuse_conv_bn_eval(conv, bn), relu)


def fuse_linear_bn(is_qat: bool, linear: Any, bn: Any) -> Any:
    """One module of a linear layer and a batch norm: fused for training, or one linear layer.

    >>> linear, bn = torch.nn.Linear(3, 2).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> torch.ao.quantization.fuse_linear_bn(False, linear, bn)
    Linear(in_features=3, out_features=2, bias=True)
    """
    _check_mode("Linear", linear, bn)
    if not is_qat:
        return nn.utils.fuse_linear_bn_eval(linear, bn)
    _check_norm(bn, linear.out_features, "Output features of Linear must match num_features of BatchNorm1d", "1d")
    return nni.LinearBn1d(linear, bn)


def fuse_convtranspose_bn(is_qat: bool, convt: Any, bn: Any) -> Any:
    """One transposed convolution of one and a batch norm; not for training.

    >>> conv, bn = torch.nn.ConvTranspose1d(1, 2, 1).eval(), torch.nn.BatchNorm1d(2).eval()
    >>> torch.ao.quantization.fuse_convtranspose_bn(False, conv, bn)
    ConvTranspose1d(1, 2, kernel_size=(1,), stride=(1,))
    """
    _check_mode("ConvTranspose", convt, bn)
    if is_qat:
        raise Exception("Fusing ConvTranspose+BatchNorm not yet supported in QAT.")
    return nn.utils.fusion.fuse_conv_bn_eval(convt, bn, transpose=True)


def _sequential_wrapper2(sequential: Any) -> Callable:
    """A method of a class of two modules."""

    def fuser_method(is_qat: bool, m1: Any, m2: Any) -> Any:
        return sequential(m1, m2)

    return fuser_method


_DEFAULT_OP_LIST_TO_FUSER_METHOD: dict[tuple, Any] = {
    (nn.Conv1d, nn.BatchNorm1d): fuse_conv_bn,
    (nn.Conv1d, nn.BatchNorm1d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv2d, nn.BatchNorm2d): fuse_conv_bn,
    (nn.Conv2d, nn.BatchNorm2d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv3d, nn.BatchNorm3d): fuse_conv_bn,
    (nn.Conv3d, nn.BatchNorm3d, nn.ReLU): fuse_conv_bn_relu,
    (nn.Conv1d, nn.ReLU): _sequential_wrapper2(nni.ConvReLU1d),
    (nn.Conv2d, nn.ReLU): _sequential_wrapper2(nni.ConvReLU2d),
    (nn.Conv3d, nn.ReLU): _sequential_wrapper2(nni.ConvReLU3d),
    (nn.Linear, nn.BatchNorm1d): fuse_linear_bn,
    (nn.Linear, nn.ReLU): _sequential_wrapper2(nni.LinearReLU),
    (nn.BatchNorm2d, nn.ReLU): _sequential_wrapper2(nni.BNReLU2d),
    (nn.BatchNorm3d, nn.ReLU): _sequential_wrapper2(nni.BNReLU3d),
    (nn.ConvTranspose1d, nn.BatchNorm1d): fuse_convtranspose_bn,
    (nn.ConvTranspose2d, nn.BatchNorm2d): fuse_convtranspose_bn,
    (nn.ConvTranspose3d, nn.BatchNorm3d): fuse_convtranspose_bn,
}


def get_fuser_method(op_list: tuple, additional_fuser_method_mapping: dict | None = None) -> Any:
    """The function that makes one module of modules of given classes; AssertionError where there is none.

    >>> torch.ao.quantization.get_fuser_method((torch.nn.Conv2d, torch.nn.BatchNorm2d)).__name__
    'fuse_conv_bn'
    """
    methods = get_combined_dict(_DEFAULT_OP_LIST_TO_FUSER_METHOD, additional_fuser_method_mapping or {})
    method = methods.get(op_list)
    if method is None:
        raise AssertionError(f"did not find fuser method for: {op_list} ")
    return method


def _reverse2(f: Callable) -> Callable:
    def reversed(is_qat: bool, x: Any, y: Any) -> Any:
        return f(is_qat, y, x)

    return reversed


def _reverse3(f: Callable) -> Callable:
    def reversed(is_qat: bool, x: Any, w: Any) -> Any:
        y, z = w
        return f(is_qat, z, y, x)

    return reversed


def _get_valid_patterns(op_pattern: Any) -> list[Any]:
    """A pattern, and those with `MatchAllNode` for parts of it, the nearest first."""
    if isinstance(op_pattern, tuple | list):
        return list(itertools.product(*map(_get_valid_patterns, op_pattern)))
    return [op_pattern, MatchAllNode]


def get_fuser_method_new(op_pattern: Any, fuser_method_mapping: dict) -> Any:
    """The function for a pattern, in the order of a graph's arguments, or for a wider one.

    >>> methods = {(torch.nn.ReLU, torch.nn.Linear): print}
    >>> torch.ao.quantization.get_fuser_method_new((torch.nn.ReLU, torch.nn.Linear), methods) is print
    True
    """
    tried = None
    for tried in _get_valid_patterns(op_pattern):
        method = fuser_method_mapping.get(tried)
        if method is not None:
            return method
    raise AssertionError(f"did not find fuser method for: {tried} ")
