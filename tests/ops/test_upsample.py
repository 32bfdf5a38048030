"""Interpolation against PyTorch."""

import pytest
from agreement import same_error
from pairs import compare

import mindtorch_v2 as torch

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


# PyTorch's images of bytes, in fixed-point arithmetic: one rounding for each axis that changes its size.
_BYTES = [
    ({"size": (3, 4), "mode": "bilinear"}, [62, 54, 109, 165, 197, 61, 52, 108, 140, 196, 123, 51]),
    ({"size": (3, 4), "mode": "bilinear", "antialias": True}, [68, 51, 104, 156, 181, 96, 57, 103, 149, 188, 108, 50]),
    ({"size": (3, 4), "mode": "bicubic"}, [57, 48, 113, 169, 204, 53, 54, 110, 135, 213, 123, 45]),
    ({"size": (3, 4), "mode": "bicubic", "antialias": True}, [66, 39, 110, 162, 194, 93, 44, 106, 147, 204, 103, 42]),
    (
        {"size": (2, 8), "mode": "bicubic", "align_corners": True},
        [0, 23, 54, 81, 104, 131, 162, 185, 120, 143, 173, 204, 244, 103, 0, 49],
    ),
    (
        {"scale_factor": (1.05, 0.7), "mode": "bilinear", "antialias": True},
        [13, 60, 113, 167, 146, 26, 79, 133, 201, 97, 45, 99, 167, 205, 53, 65, 133, 180, 176, 31],
    ),
]


@pytest.mark.parametrize(("options", "expected"), _BYTES)
def test_bytes_are_pytorchs(options, expected):
    image = (torch.arange(30) * 37 % 256).reshape(1, 1, 5, 6).to(torch.uint8)
    assert torch.nn.functional.interpolate(image, **options).flatten().tolist() == expected


def test_bytes_of_one_dimension_are_refused():
    with pytest.raises(NotImplementedError, match="\"compute_indices_weights_linear\" not implemented for 'Byte'"):
        torch.nn.functional.interpolate(torch.ones(1, 1, 4, dtype=torch.uint8), size=3, mode="linear")


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "bool", "complex64"])
@pytest.mark.parametrize("shape", _SHAPES.values())
def test_dtypes_that_nearest_refuses(shape, dtype, mode):
    same_error(
        lambda torch: torch.nn.functional.interpolate(
            torch.ones(shape, dtype=getattr(torch, dtype)), scale_factor=2, mode=mode
        )
    )
