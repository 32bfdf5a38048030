"""Old names of PyTorch's for quantization lead to the same objects."""

import importlib

import pytest

import mindtorch_v2 as torch


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("quantization", "ao.quantization", "default_qconfig"),
        ("quantization", "ao.quantization", "DEFAULT_QAT_MODULE_MAPPINGS"),
        ("quantization", "ao.quantization", "prepare_qat"),
        ("quantization.observer", "ao.quantization.observer", "default_observer"),
        ("quantization.fake_quantize", "ao.quantization.fake_quantize", "default_fake_quant"),
        ("quantization.fuse_modules", "ao.quantization.fuse_modules", "fuse_modules"),
        ("quantization.quantize_fx", "ao.quantization.quantize_fx", "prepare_fx"),
        ("nn.intrinsic", "ao.nn.intrinsic", "ConvBn2d"),
        ("nn.intrinsic.modules.fused", "ao.nn.intrinsic.modules.fused", "ConvReLU1d"),
        ("nn.intrinsic.qat", "ao.nn.intrinsic.qat", "freeze_bn_stats"),
        ("nn.qat", "ao.nn.qat", "Linear"),
        ("nn.qat.dynamic", "ao.nn.qat.dynamic", "Linear"),
        ("nn.quantizable", "ao.nn.quantizable", "LSTM"),
    ],
)
def test_an_old_name(old, new, name):
    one, other = (importlib.import_module(f"{torch.__name__}.{each}") for each in (old, new))
    assert getattr(one, name) is getattr(other, name)
    assert not hasattr(getattr(one, name), "__unavailable__")
