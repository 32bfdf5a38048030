"""Pooling against PyTorch."""

import pytest
from agreement import same_error
from pairs import compare

import mindtorch_v2 as torch

_PLANE, _CUBE, _LINE = (2, 3, 7, 9), (2, 2, 5, 6, 7), (2, 3, 9)


@pytest.mark.parametrize(
    ("name", "shape", "args", "options"),
    [
        ("max_pool1d", _LINE, (3, 2, 1), {}),
        ("max_pool2d", _PLANE, (2,), {}),
        ("max_pool2d", _PLANE, (3, 2, 1), {"return_indices": True}),
        ("max_pool2d", _PLANE, ((2, 3), 1, 1, 2), {"ceil_mode": True}),
        ("max_pool2d", _PLANE[1:], (3, 3), {"ceil_mode": True}),
        ("max_pool3d", _CUBE, (2, 2, 1), {}),
        ("avg_pool1d", _LINE, (3, 2, 1), {}),
        ("avg_pool2d", _PLANE, (3, 2, 1), {}),
        ("avg_pool2d", _PLANE, (3, 2, 1, True, False), {}),
        ("avg_pool2d", _PLANE, (3, 2, 1, True, True), {}),
        ("avg_pool2d", _PLANE, ((2, 3),), {"divisor_override": 5}),
        ("avg_pool3d", _CUBE, (2, 2, 1), {}),
        ("adaptive_avg_pool1d", _LINE, (4,), {}),
        ("adaptive_avg_pool2d", _PLANE, (1,), {}),
        ("adaptive_avg_pool2d", _PLANE, ((3, 4),), {}),
        ("adaptive_avg_pool3d", _CUBE, ((2, 3, 2),), {}),
        ("adaptive_max_pool1d", _LINE, (4, True), {}),
        ("adaptive_max_pool2d", _PLANE, ((3, 4), True), {}),
        ("adaptive_max_pool3d", _CUBE, ((2, 3, 2),), {}),
        ("lp_pool2d", _PLANE, (2.0, 2), {}),
    ],
)
def test_values_and_gradients(name, shape, args, options):
    def call(library, x):
        return getattr(library.nn.functional, name)(x, *args, **options)

    compare(call, shape, order=2)
    compare(call, shape, dtype="float32", order=1, tolerance=1e-5)


def test_maximum_of_nan_is_nan():
    def call(library, x):
        x = x.clone()
        x[0, 0, 2, 3] = float("nan")
        return library.nn.functional.max_pool2d(x, 3, 1, return_indices=True)

    compare(call, _PLANE, order=0)


def test_channels_last_is_kept():
    def call(library, x):
        x = x.to(memory_format=library.channels_last)
        y = library.nn.functional.max_pool2d(x, 2)
        assert y.is_contiguous(memory_format=library.channels_last)
        return y, library.nn.functional.avg_pool2d(x, 2)

    compare(call, _PLANE)


def test_unpooling():
    def call(library, x):
        values, indices = library.nn.functional.max_pool2d(x, 2, return_indices=True)
        return library.nn.functional.max_unpool2d(values, indices, 2)

    compare(call, (2, 3, 6, 8))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.nn.functional.max_pool2d(t.ones(8, 8), 2),
        lambda t: t.nn.functional.max_pool2d(t.ones(1, 1, 8, 8), 2, padding=2),
        lambda t: t.nn.functional.max_pool2d(t.ones(1, 1, 1, 1), 2),
        lambda t: t.nn.functional.max_pool2d(t.ones(1, 1, 4, 4), 2, stride=0),
        lambda t: t.nn.functional.max_pool2d(t.ones(1, 0, 4, 4), 2),
        lambda t: t.nn.functional.max_pool2d(t.ones(1, 1, 4, 4).bool(), 2),
        lambda t: t.nn.functional.max_pool1d(t.ones(4), 2),
        lambda t: t.nn.functional.max_pool1d(t.ones(1, 4), 2, padding=2),
        lambda t: t.nn.functional.avg_pool2d(t.ones(1, 1, 8, 8), 2, divisor_override=0),
        lambda t: t.nn.functional.adaptive_avg_pool2d(t.ones(8, 8), 2),
        lambda t: t.nn.functional.adaptive_avg_pool2d(t.ones(1, 1, 0, 8), 2),
    ],
)
def test_errors_are_pytorchs(call):
    same_error(call)


def test_empty_batch():
    assert torch.nn.functional.max_pool2d(torch.ones(0, 1, 4, 4), 2).shape == (0, 1, 2, 2)


@pytest.mark.parametrize(("name", "shape"), [("1d", (1, 2, 4)), ("2d", (1, 2, 4, 4)), ("3d", (1, 2, 4, 4, 4))])
def test_what_adaptive_maxima_refuse(name, shape):
    for dtype in ("int8", "int32", "uint8"):
        same_error(
            lambda torch, dtype=dtype: getattr(torch.nn.functional, f"adaptive_max_pool{name}")(
                torch.ones(shape, dtype=getattr(torch, dtype)), 2
            )
        )
    same_error(lambda torch: getattr(torch.nn.functional, f"adaptive_max_pool{name}")(torch.ones(shape)[:, :0], 2))


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_adaptive_pools_of_lines_take_one_size(kind):
    same_error(lambda torch: getattr(torch.nn.functional, f"adaptive_{kind}_pool1d")(torch.ones(1, 2, 4), ()))


@pytest.mark.parametrize("spatial", [2, 3])
def test_unpooling_takes_one_or_a_batch(spatial):
    x = torch.ones([1] * (spatial + 1))
    where = torch.zeros_like(x, dtype=torch.int64)
    unpool = torch._C._nn.max_unpool2d if spatial == 2 else torch._C._nn.max_unpool3d
    more = [] if spatial == 2 else [[1] * 3, [0] * 3]
    assert unpool(x, where, [1] * spatial, *more).shape == x.shape
    assert unpool(x[None], where[None], [1] * spatial, *more).shape == (1, *x.shape)
    for wrong in (x[0], x[None, None]):
        with pytest.raises(
            RuntimeError, match=f"should be a {spatial + 1}d or {spatial + 2}d Tensor, but got a tensor with"
        ):
            unpool(wrong, torch.zeros_like(wrong, dtype=torch.int64), [1] * spatial, *more)
