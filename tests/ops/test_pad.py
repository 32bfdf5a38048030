"""Padding against PyTorch."""

import pytest
from agreement import same_error
from pairs import compare


@pytest.mark.parametrize(
    ("shape", "pad", "options"),
    [
        ((3, 4), (1, 2), {}),
        ((3, 4), (1, -2, -1, 2), {"value": 3.0}),
        ((2, 3, 4), (0, 0, -1, 0), {}),
        ((3, 5), (2, 1), {"mode": "reflect"}),
        ((2, 3, 5), (2, -1), {"mode": "reflect"}),
        ((2, 3, 4, 5), (1, 2, 3, 0), {"mode": "reflect"}),
        ((1, 2, 3, 4, 5), (1, 2, 0, 1, 2, 1), {"mode": "reflect"}),
        ((2, 3, 5), (2, 1), {"mode": "replicate"}),
        ((3, 4, 5), (1, 2, 3, 0), {"mode": "replicate"}),
        ((1, 2, 3, 4, 5), (1, 2, 0, 1, 2, 1), {"mode": "replicate"}),
        ((2, 3, 5), (2, 1), {"mode": "circular"}),
        ((2, 3, 4, 5), (1, 2, 3, 0), {"mode": "circular"}),
    ],
)
def test_values_and_gradients(shape, pad, options):
    compare(lambda library, x: library.nn.functional.pad(x, pad, **options), shape, order=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.nn.functional.pad(t.ones(1, 1, 4, 4), (4, 0, 0, 0), mode="reflect"),
        lambda t: t.nn.functional.pad(t.ones(4, 4), (1, 1, 1, 1), mode="reflect"),
        lambda t: t.nn.functional.pad(t.ones(1, 1, 4, 4), (1,)),
        lambda t: t.nn.functional.pad(t.ones(1, 1, 4, 4), (-5, 0)),
        lambda t: t.nn.functional.pad(t.ones(1, 1, 4, 4), (1, 1), mode="foo"),
        lambda t: t.nn.functional.pad(t.ones(1, 1, 4), (5, 1), mode="circular"),
        lambda t: t.nn.functional.pad(t.ones(1, 1, 4), (1, 1), mode="reflect", value=3),
        lambda t: t.nn.functional.pad(t.ones(4), (1, 1, 1, 1)),
    ],
)
def test_errors_are_pytorchs(call):
    same_error(call)
