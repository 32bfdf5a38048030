"""Interpolation against PyTorch."""

import pytest
from pairs import compare, same_error

_SHAPES = {1: (2, 3, 5), 2: (2, 3, 5, 4), 3: (1, 2, 3, 4, 5)}


@pytest.mark.parametrize(
    ("mode", "spatial"),
    [
        *[("nearest", d) for d in (1, 2, 3)],
        *[("nearest-exact", d) for d in (1, 2, 3)],
        ("linear", 1),
        ("bilinear", 2),
        ("bicubic", 2),
        ("trilinear", 3),
    ],
)
@pytest.mark.parametrize("target", ["larger", "smaller", "factor", "odd factor"])
@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_values_and_gradients(mode, spatial, target, corners, dtype):
    if corners and mode.startswith("nearest"):
        pytest.skip("nearest has no corners to align")
    options = {
        "larger": {"size": [9, 7, 8][:spatial]},
        "smaller": {"size": [2, 3, 2][:spatial]},
        "factor": {"scale_factor": 2},
        "odd factor": {"scale_factor": [1.7, 0.6, 1.3][:spatial]},
    }[target]
    if not mode.startswith("nearest"):
        options["align_corners"] = corners

    def call(library, x):
        return library.nn.functional.interpolate(x, mode=mode, **options)

    compare(
        call,
        _SHAPES[spatial],
        dtype=dtype,
        order=2 if dtype == "float64" else 1,
        tolerance=1e-8 if dtype == "float64" else 2e-5,
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 2), (9, 11), (2, 9)])
def test_antialias(mode, size):
    def call(library, x):
        return library.nn.functional.interpolate(x, size=size, mode=mode, antialias=True)

    compare(call, (2, 3, 8, 7), tolerance=1e-8)


def test_errors_are_pytorchs():
    same_error(lambda t: t.nn.functional.interpolate(t.ones(1, 1, 0, 4), size=3))
