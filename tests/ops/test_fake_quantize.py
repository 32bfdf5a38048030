"""Rounding to the grid of quantized tensors: values, gradients and refusals are PyTorch's."""

import pytest
from agreement import same, same_error

VALUES = [0.0552, 0.9730, 0.3973, -1.0780, 30.0, 2.5, float("nan"), float("inf"), -float("inf")]
TENSORS = [
    "0.1, 0, 0, 255",
    "0.5, 10, -128, 127",
    "0.25, 3, 0, 15",
    "0.0, 0, 0, 255",
    "t(0.1), t(3), 0, 255",
    "t([0.25]), t([1]), -4, 7",
]
CHANNELS = [
    "t([0.1, 2.0]), t([0, 1], dtype=torch.int32), 0, 0, 15",
    "t([0.1, 2.0, 1.0, 3.0]), t([0.0, 1.0, 2.0, 0.5]), 1, 0, 15",
    "t([0.1, 2.0, 1.0, 3.0]), t([0, 1, 2, -3], dtype=torch.int32), 1, -8, 7",
]


def run(lib, name, arguments, dtype="float32", values=VALUES, shape=(-1,)):
    x = lib.tensor(values, dtype=getattr(lib, dtype)).reshape(shape).requires_grad_()
    made = eval(f"torch.fake_quantize_per_{name}_affine(x, {arguments})", {"torch": lib, "x": x, "t": lib.tensor})
    slope = lib.arange(1.0, made.numel() + 1).reshape(made.shape).to(made.dtype)
    return made.detach(), lib.autograd.grad(made, x, slope)[0], made.grad_fn.name()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("arguments", TENSORS)
def test_of_a_tensor(arguments, dtype):
    same(lambda lib: run(lib, "tensor", arguments, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("arguments", CHANNELS)
def test_of_channels(arguments, dtype):
    values = [-4.0, -3.0, -2.0, -1.0, 0.3, 1.0, 2.5, 3.0]
    same(lambda lib: run(lib, "channel", arguments, dtype, values, (2, 4)))


@pytest.mark.parametrize("arguments", ["0.1, 0, 255, 0", "0.1, 300, 0, 255", "0.1, -1, 0, 255"])
def test_ranges_that_are_none(arguments):
    same_error(lambda lib: run(lib, "tensor", arguments))


def test_whole_numbers_are_refused():
    same_error(lambda lib: lib.fake_quantize_per_tensor_affine(lib.ones(2, dtype=lib.int64), 0.1, 0, 0, 255))


@pytest.mark.parametrize(
    "arguments",
    [
        "t([0.1]), t([0]), 0, 0, 15",
        "t([0.1, 1.0]), t([0, 99], dtype=torch.int32), 0, 0, 15",
        "t([0.1, 1.0]), t([0, 9], dtype=torch.int32), 2, 0, 15",
        "t([0.1, 1.0, 2.0, 3.0]), t([0, 9, 1, 2], dtype=torch.int32), -1, 0, 15",
        "t([0.1, 1.0]), t([0, 9], dtype=torch.int32), 0, 15, 0",
        "t([0.1, 1.0], dtype=torch.float64), t([0, 9], dtype=torch.int32), 0, 0, 15",
        "t([0.1, 1.0, 2.0]), t([0, 9], dtype=torch.int32), 0, 0, 15",
        "t([0.1, 1.0, 2.0]), t([0, 9, 1], dtype=torch.int32), 0, 0, 15",
    ],
)
def test_channels_that_are_refused(arguments):
    same_error(lambda lib: run(lib, "channel", arguments, "float32", [1.0] * 8, (2, 4)))


def test_it_can_be_switched_off():
    def off(lib):
        x = lib.tensor([0.3, 99.0], requires_grad=True)
        given = (lib.tensor([0.5]), lib.tensor([0]), lib.tensor([0]), 0, 7)
        made, mask = lib._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, *given)
        return made.detach(), mask, lib.autograd.grad(made.sum(), x)[0]

    same(off)
