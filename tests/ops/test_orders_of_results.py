"""Strides of the results of operators on pictures and volumes: they follow the input's, dense or not, as PyTorch's do."""

import operator

import pytest
from agreement import same

import mindtorch_v2 as torch

PICTURES = {
    "dense": "x.contiguous(memory_format=last)",
    "cut": "x.contiguous(memory_format=last)[:, :, 1:-1, 1:-1]",
    "stepped": "x.contiguous(memory_format=last)[:, :, ::2, ::2]",
    "one of a batch": "x.contiguous(memory_format=last)[0][None]",
    "rows": "x",
    "rows stepped": "x[:, :, ::2, ::2]",
    "one batch": "x[:1].contiguous(memory_format=last)",
}
PROGRAMS = [
    "F.interpolate(x, size=(5, 6))",
    "F.interpolate(x, size=(5, 6), mode='bilinear')",
    "F.interpolate(x, size=(5, 6), mode='bilinear', antialias=True)",
    "F.interpolate(x, size=(5, 6), mode='bicubic')",
    "F.interpolate(x.to(torch.uint8), size=(5, 6), mode='bicubic', antialias=True)",
    "F.max_pool2d(x, 1)", "F.avg_pool2d(x, 1)", "F.adaptive_avg_pool2d(x, 3)", "F.adaptive_max_pool2d(x, 2)",
    "torch.cat([x, x], 1)", "torch.cat([x, x.contiguous()], 1)", "torch.cat([torch.empty(0), x], 1)",
    "F.pad(x, (1, 1))", "F.pad(x, (1, 0, 1, 0), mode='replicate')", "F.pad(x[0], (1, 1, 1, 1), mode='replicate')",
    "F.conv2d(x, torch.ones(4, x.shape[1], 1, 1))", "F.conv2d(x.double(), torch.ones(4, x.shape[1], 1, 1).double())",
    "F.conv2d(x.contiguous(), torch.ones(4, x.shape[1], 3, 3).contiguous(memory_format=last), padding=1)",
    "F.conv_transpose2d(x, torch.ones(x.shape[1], 4, 3, 3))",
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("picture", PICTURES)
def test_pictures(picture, program):
    def strides(torch):
        names = {"torch": torch, "F": torch.nn.functional, "last": torch.channels_last}
        names["x"] = torch.arange(2 * 3 * 8 * 8).reshape(2, 3, 8, 8).float()
        names["x"] = eval(PICTURES[picture], names)
        result = eval(program, names)
        return list(result.stride()), float(result.double().sum())

    same(strides, rtol=1e-5)


@pytest.mark.parametrize(
    "program",
    [
        "F.interpolate(x, scale_factor=2)", "F.interpolate(x, scale_factor=2, mode='trilinear')", "F.max_pool3d(x, 2)",
        "F.avg_pool3d(x, 2)", "F.adaptive_avg_pool3d(x, 2)", "F.adaptive_max_pool3d(x, 2)", "torch.cat([x, x], 1)",
        "F.pad(x, (1,) * 6, mode='reflect')", "F.pad(x, (1,) * 6)",
        "F.conv3d(x, torch.ones(5, 3, 3, 3, 3))", "F.conv3d(x.double(), torch.ones(5, 3, 3, 3, 3).double())",
    ],
)  # fmt: skip
def test_volumes(program):
    def strides(torch):
        x = torch.arange(2 * 3 * 4 * 4 * 4).reshape(2, 3, 4, 4, 4).float()
        x = x.contiguous(memory_format=torch.channels_last_3d)
        result = eval(program, {"torch": torch, "F": torch.nn.functional, "x": x})
        return list(result.stride()), float(result.double().sum())

    same(strides, rtol=1e-5)


@pytest.mark.parametrize(
    "program",
    [
        "F.max_pool2d(x, 2)", "F.avg_pool2d(x, 2)", "F.adaptive_avg_pool2d(x, 2)", "F.adaptive_max_pool2d(x, 2)",
        "F.interpolate(x, scale_factor=2)", "F.interpolate(x, scale_factor=2, mode='bilinear')",
        "F.pad(x, (1,) * 4, mode='reflect')", "torch.cat([x, x], 1)", "F.conv2d(x, torch.ones(4, 3, 3, 3))",
    ],
)  # fmt: skip
def test_gradients(program):
    def strides(torch):
        x = torch.ones(2, 3, 4, 4).contiguous(memory_format=torch.channels_last).requires_grad_()
        result = eval(program, {"torch": torch, "F": torch.nn.functional, "x": x})
        (grad,) = torch.autograd.grad(result, x, torch.ones_like(result))
        return list(grad.stride()), float(grad.sum())

    same(strides, rtol=1e-5)


FLOATS = [
    "add", "sub", "mul", "div", "atan2", "maximum", "minimum", "fmax", "fmin", "hypot", "copysign", "nextafter", "pow", "fmod",
    "remainder", "logaddexp", "logaddexp2", "xlogy", "heaviside", "floor_divide", "eq", "ne", "lt", "le", "gt", "ge",
    "logical_and", "logical_or", "logical_xor", "igamma", "igammac", "ldexp", "special.zeta", "special.xlog1py",
    "special.chebyshev_polynomial_t", "special.hermite_polynomial_h", "special.laguerre_polynomial_l",
]  # fmt: skip
INTEGERS = ["bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm"]


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("name", FLOATS + INTEGERS)
def test_of_two_dense_orders_the_first_argument_s_is_kept(name, device):
    """As PyTorch 2.13's CPU operators do; some of its rules for meta tensors take the second's."""
    function = operator.attrgetter(name)(torch)
    dtype = torch.int32 if name in INTEGERS else torch.float32
    first = torch.ones(4, 3, 2, dtype=dtype, device=device).transpose(0, 2)
    second = torch.ones(2, 4, 3, dtype=dtype, device=device).transpose(1, 2)
    assert function(first, second).stride() == (1, 2, 6)
    assert function(second, first).stride() == (12, 1, 3)
