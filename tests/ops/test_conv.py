"""Convolution against PyTorch: every dimension, groups, dilation, transposes, padding by name, layouts, dtypes, errors."""

import pytest
from agreement import same, same_error
from pairs import compare, run

import mindtorch_v2 as torch

_CASES = [
    ("conv1d", [(2, 3, 9), (4, 3, 3), (4,)], {"stride": 2, "padding": 1}),
    ("conv1d", [(3, 9), (4, 3, 3), (4,)], {}),
    ("conv2d", [(2, 3, 8, 7), (4, 3, 3, 3), (4,)], {"padding": 1}),
    ("conv2d", [(2, 3, 8, 7), (4, 3, 3, 2)], {"stride": (2, 1), "dilation": (1, 2)}),
    ("conv2d", [(2, 4, 8, 7), (6, 2, 3, 3), (6,)], {"groups": 2, "padding": 1}),
    ("conv2d", [(2, 4, 8, 7), (8, 1, 3, 3), (8,)], {"groups": 4}),
    ("conv2d", [(2, 4, 5, 5), (6, 4, 1, 1), (6,)], {}),
    ("conv2d", [(2, 4, 5, 5), (6, 4, 1, 1)], {"stride": 2}),
    ("conv2d", [(2, 17, 6, 5), (19, 17, 3, 3), (19,)], {"padding": 1}),
    ("conv3d", [(1, 2, 5, 6, 4), (3, 2, 2, 3, 3), (3,)], {"padding": 1}),
    ("conv_transpose1d", [(2, 4, 5), (4, 3, 3), (3,)], {"stride": 2, "padding": 1, "output_padding": 1}),
    ("conv_transpose2d", [(2, 4, 5, 4), (4, 3, 3, 3), (3,)], {"stride": 2}),
    ("conv_transpose2d", [(2, 4, 5, 4), (4, 3, 3, 3), (6,)], {"groups": 2, "dilation": 2, "output_padding": 1}),
    ("conv_transpose3d", [(1, 2, 3, 4, 3), (2, 3, 2, 3, 3)], {"stride": (1, 2, 2)}),
]


def _call(name, options):
    return lambda library, *tensors: getattr(library.nn.functional, name)(*tensors, **options)


@pytest.mark.parametrize(("name", "shapes", "options"), _CASES)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-9), ("float32", 2e-4)])
def test_gradients_of_first_and_second_order(name, shapes, options, dtype, tolerance):
    order = 2 if dtype == "float64" else 1
    scale = 100 if order == 2 else 1
    compare(_call(name, options), *shapes, dtype=dtype, order=order, tolerance=tolerance * scale)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_reduced_precision(dtype):
    compare(_call("conv2d", {"padding": 1}), (2, 3, 8, 7), (4, 3, 3, 3), (4,), dtype=dtype, order=0, tolerance=5e-2)


@pytest.mark.parametrize("which", [0, 1])
def test_channels_last_gives_channels_last(which):
    def call(library, x, w):
        operands = [x, w]
        operands[which] = operands[which].to(memory_format=library.channels_last)
        return library.nn.functional.conv2d(*operands, padding=1)

    shapes = [(2, 5, 8, 7), (4, 5, 3, 3)]
    compare(call, *shapes, dtype="float32", tolerance=2e-4)
    same(lambda library: [list(t.stride()) for t in run(library, call, shapes, dtype="float32", order=1)])


def test_one_by_one_kernels_keep_rows_first():
    x, w = torch.randn(2, 4, 3, 3, requires_grad=True), torch.randn(5, 4, 1, 1, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w)
    assert y.is_contiguous()
    assert all(g.is_contiguous() for g in torch.autograd.grad(y.sum(), (x, w)))


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("size", [3, 4])
def test_padding_same(size):
    def call(library, x, w):
        return library.nn.functional.conv2d(x, w, padding="same", dilation=(1, 2))

    compare(call, (2, 3, 8, 9), (4, 3, size, 3))


def test_integers_and_complex():
    def integers(library, x, w):
        return library.nn.functional.conv2d((x * 9).long(), (w * 9).long(), padding=1)

    compare(integers, (2, 3, 5, 5), (4, 3, 3, 3), order=0)

    def numbers(library, a, b, c, d):
        return library.nn.functional.conv2d(library.complex(a, b), library.complex(c, d))

    compare(numbers, (2, 3, 5, 5), (2, 3, 5, 5), (4, 3, 3, 3), (4, 3, 3, 3))


def test_empty_batch():
    x, w = torch.ones(0, 3, 8, 8, requires_grad=True), torch.ones(4, 3, 3, 3, requires_grad=True)
    y = torch.nn.functional.conv2d(x, w)
    y.sum().backward()
    assert y.shape == (0, 4, 6, 6)
    assert w.grad.abs().sum() == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.nn.functional.conv2d(t.ones(1, 2, 8, 8), t.ones(4, 3, 3, 3)),
        lambda t: t.nn.functional.conv2d(t.ones(8, 8), t.ones(4, 3, 3, 3)),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 2, 2), t.ones(4, 3, 3, 3)),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3), stride=0),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3), padding=-1),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3), dilation=0),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3), t.ones(5)),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3).double()),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3), t.ones(4).double()),
        lambda t: t.nn.functional.conv2d(t.ones(1, 4, 8, 8), t.ones(3, 2, 3, 3), groups=2),
        lambda t: t.nn.functional.conv2d(t.ones(1, 4, 8, 8), t.ones(4, 2, 3, 3), groups=0),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3), padding="same", stride=2),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 3, 3, 3), padding="foo"),
        lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8).bool(), t.ones(4, 3, 3, 3).bool()),
        lambda t: t.nn.functional.conv_transpose2d(t.ones(1, 2, 8, 8), t.ones(4, 3, 3, 3)),
        lambda t: t.nn.functional.conv_transpose2d(t.ones(1, 4, 8, 8), t.ones(4, 3, 3, 3), output_padding=1),
        lambda t: t.nn.functional.conv_transpose2d(t.ones(1, 4, 1, 1), t.ones(4, 3, 1, 1), padding=2),
    ],
)
def test_errors_are_pytorchs(call):
    same_error(call)
