"""Layer, RMS, batch, group, instance norm, weight norm: values, gradients, layouts, running statistics, second derivatives."""

import pytest
from agreement import agree, agree_on_error

import mindtorch_v2 as torch


def _wave(torch, *shape, dtype="float32", shift=0.0):
    n = 1
    for size in shape:
        n *= size
    return torch.sin(torch.arange(n, dtype=torch.float64) * 1.7 + shift).reshape(shape).to(getattr(torch, dtype))


def _backward(torch, y, *leaves):
    return [y, *torch.autograd.grad(y, leaves, _wave(torch, *y.shape, shift=0.3).to(y.dtype))]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize(("shape", "trailing"), [((6, 40), 1), ((5, 3, 70), 1), ((5, 3, 7), 2), ((300, 17), 1)])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
def test_rows(kind, affine, shape, trailing, dtype):
    def program(torch):
        x = _wave(torch, *shape, dtype=dtype).requires_grad_()
        leaves = [x]
        sizes = list(shape[-trailing:])
        args = []
        if affine:
            args = [
                _wave(torch, *sizes, dtype=dtype, shift=1.0 + i).requires_grad_()
                for i in range(2 if kind == "layer_norm" else 1)
            ]
            leaves += args
        y = getattr(torch, kind)(x, sizes, *args)
        return _backward(torch, y, *leaves)

    agree(program, factor=20)


def test_float_weights_for_bfloat16_rows():
    def program(torch):
        x = _wave(torch, 6, 40, dtype="bfloat16").requires_grad_()
        weight, bias = _wave(torch, 40).requires_grad_(), _wave(torch, 40, shift=2.0).requires_grad_()
        # Not the gradients of weight and bias: PyTorch rounds what it sums to bfloat16.
        return _backward(torch, torch.layer_norm(x, [40], weight, bias), x, weight, bias)[:2]

    agree(program, factor=20)


@pytest.mark.parametrize("shape", [(6, 5), (4, 5, 7), (3, 5, 4, 6), (2, 5, 2, 3, 4)])
@pytest.mark.parametrize("layout", ["contiguous", "channels_last"])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm(affine, training, layout, shape):
    def program(torch):
        x = _wave(torch, *shape)
        if layout == "channels_last" and len(shape) == 4:
            x = x.contiguous(memory_format=torch.channels_last)
        x.requires_grad_()
        weight = _wave(torch, 5, shift=1.0).requires_grad_() if affine else None
        bias = _wave(torch, 5, shift=2.0).requires_grad_() if affine else None
        mean, var = _wave(torch, 5, shift=3.0), _wave(torch, 5, shift=4.0).abs() + 0.5
        y = torch.batch_norm(x, weight, bias, mean, var, training, 0.1, 1e-5, False)
        return [*_backward(torch, y, *([x, weight, bias] if affine else [x])), mean, var]

    agree(program, factor=20)


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(affine, groups):
    def program(torch):
        x = _wave(torch, 3, 6, 5, 4).requires_grad_()
        leaves = (
            [_wave(torch, 6, shift=1.0).requires_grad_(), _wave(torch, 6, shift=2.0).requires_grad_()] if affine else []
        )
        return _backward(torch, torch.group_norm(x, groups, *leaves), x, *leaves)

    agree(program, factor=20)


@pytest.mark.parametrize("use_input_stats", [True, False])
def test_instance_norm(use_input_stats):
    def program(torch):
        x = _wave(torch, 3, 4, 5).requires_grad_()
        weight, bias = _wave(torch, 4, shift=1.0).requires_grad_(), _wave(torch, 4, shift=2.0).requires_grad_()
        mean, var = _wave(torch, 4), _wave(torch, 4, shift=4.0).abs() + 0.5
        y = torch.instance_norm(x, weight, bias, mean, var, use_input_stats, 0.1, 1e-5, False)
        return [*_backward(torch, y, x, weight, bias), mean, var]

    agree(program, factor=20)


@pytest.mark.parametrize("kind", ["layer", "rms", "batch", "batch_eval", "group"])
def test_second_derivative(kind):
    def program(torch):
        x = _wave(torch, 4, 6, dtype="float64").requires_grad_()
        weight, bias = (
            _wave(torch, 6, dtype="float64", shift=1.0).requires_grad_(),
            _wave(torch, 6, dtype="float64").requires_grad_(),
        )
        stats = [_wave(torch, 6, dtype="float64"), _wave(torch, 6, dtype="float64").abs() + 0.5]
        y = {
            "layer": lambda: torch.layer_norm(x, [6], weight, bias),
            "rms": lambda: torch.rms_norm(x, [6], weight, 1e-5) + bias,
            "batch": lambda: torch.batch_norm(x, weight, bias, None, None, True, 0.1, 1e-5, False),
            "batch_eval": lambda: torch.batch_norm(x, weight, bias, *stats, False, 0.1, 1e-5, False),
            "group": lambda: torch.group_norm(x, 2, weight, bias),
        }[kind]()
        grads = torch.autograd.grad(
            y, [x, weight, bias], _wave(torch, 4, 6, dtype="float64", shift=0.3), create_graph=True
        )
        total = sum((g * g).sum() for g in grads[:2])
        return [*grads, *torch.autograd.grad(total, [x, weight])]

    agree(program, factor=1000)


def test_weight_norm_and_renorm():
    def program(torch):
        v, g = _wave(torch, 4, 3, 2).requires_grad_(), _wave(torch, 4, 1, 1, shift=1.0).requires_grad_()
        w = torch._weight_norm(v, g, 0)
        grads = torch.autograd.grad(w, [v, g], _wave(torch, 4, 3, 2, shift=0.3))
        return [
            w,
            *grads,
            torch.norm_except_dim(v, 2, 1),
            torch.renorm(v, 2, 0, 1.0),
            v.detach().clone().renorm_(1, 1, 2.0),
        ]

    agree(program, factor=10, layout=False)


@pytest.mark.parametrize(
    "call",
    [
        lambda torch: torch.layer_norm(torch.ones(2, 3), [4]),
        lambda torch: torch.layer_norm(torch.ones(2, 3), [3], torch.ones(4)),
        lambda torch: torch.layer_norm(torch.ones(2, 3), []),
        lambda torch: torch.group_norm(torch.ones(2, 3, 4), 2),
        lambda torch: torch.group_norm(torch.ones(3), 1),
        lambda torch: torch.batch_norm(
            torch.ones(2, 3), None, None, torch.ones(2), torch.ones(2), True, 0.1, 1e-5, False
        ),
        lambda torch: torch.renorm(torch.ones(3), 2, 0, 1),
    ],
)
def test_errors(call):
    agree_on_error(call)


@pytest.mark.parametrize("missing", [0, 1])
def test_instance_norm_asks_for_both_statistics(missing):
    given = [torch.ones(2), torch.ones(2)]
    given[missing] = None
    with pytest.raises(
        RuntimeError, match="Expected running_mean and running_var to be defined when use_input_stats is false"
    ):
        torch.instance_norm(torch.ones(1, 2, 3), None, None, *given, False, 0.1, 1e-5, False)
