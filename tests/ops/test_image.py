"""Sliding blocks, pixel and channel shuffles, affine grids, against PyTorch."""

import pytest
from agreement import same_error
from pairs import compare


@pytest.mark.parametrize("options", [{}, {"dilation": 2, "padding": 1}, {"stride": (2, 1), "padding": (0, 2)}])
@pytest.mark.parametrize("shape", [(2, 3, 6, 7), (3, 6, 7)])
def test_unfold_and_fold(shape, options):
    compare(lambda library, x: library.nn.functional.unfold(x, (2, 3), **options), shape, order=2)

    def there_and_back(library, x):
        blocks = library.nn.functional.unfold(x, (2, 3), **options)
        return library.nn.functional.fold(blocks, shape[-2:], (2, 3), **options)

    compare(there_and_back, shape)


def test_shuffles():
    compare(lambda library, x: library.pixel_shuffle(x, 2), (2, 8, 3, 2))
    compare(lambda library, x: library.pixel_unshuffle(x, 2), (2, 2, 4, 6))
    compare(lambda library, x: library.channel_shuffle(x, 3), (2, 6, 3, 2))


@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize(("shape", "size"), [((2, 2, 3), (2, 1, 3, 4)), ((2, 3, 4), (2, 1, 2, 3, 1))])
def test_affine_grid(shape, size, corners):
    compare(lambda library, x: library.nn.functional.affine_grid(x, size, corners), shape)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("corners", [False, True])
def test_grid_sample(mode, padding, corners):
    def call(library, image, grid):
        return library.nn.functional.grid_sample(image, grid, mode, padding, corners)

    compare(call, (2, 3, 5, 6), (2, 4, 3, 2))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.nn.functional.unfold(t.ones(1, 1, 1, 1), 2),
        lambda t: t.nn.functional.fold(t.ones(1, 5, 4), (4, 4), 2),
        lambda t: t.nn.functional.fold(t.ones(1, 4, 4), (4, 4), 2),
        lambda t: t.nn.functional.grid_sample(t.ones(1, 1, 4, 4), t.ones(2, 3, 3, 2)),
        lambda t: t.pixel_shuffle(t.ones(1, 5, 2, 2), 2),
        lambda t: t.channel_shuffle(t.ones(1, 5, 2, 2), 2),
    ],
)
def test_errors_are_pytorchs(call):
    same_error(call)
