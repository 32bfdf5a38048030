"""Memory that resize_ adds under use_deterministic_algorithms: PyTorch 2.13's values."""

import math

import pytest

import mindtorch_v2 as torch


@pytest.fixture(autouse=True)
def _deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(
    ("dtype", "added"),
    [
        (torch.int32, 2**31 - 1),
        (torch.int64, 2**63 - 1),
        (torch.uint8, 255),
        (torch.int8, 127),
        (torch.bool, True),
    ],
)
def test_numbers_that_are_not_floating(dtype, added) -> None:
    assert torch.zeros(2, dtype=dtype).resize_(4).tolist() == [0, 0, added, added]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.complex64])
def test_floating_numbers(dtype) -> None:
    made = torch.ones(2, dtype=dtype).resize_(2, 2)
    assert made[0].tolist() == [1, 1]
    assert all(math.isnan(each) for each in made[1].real.tolist())
    assert made[1].tolist()[0].imag == 0


def test_only_what_is_new() -> None:
    whole = torch.zeros(6)
    grown = whole[1:3].resize_(8)
    assert grown[:5].tolist() == [0] * 5 and grown[5:].isnan().all()
    assert torch.zeros(4).resize_(2).resize_(4).tolist() == [0] * 4
    assert torch.zeros(2).resize_as_(torch.zeros(4)).isnan().tolist() == [False, False, True, True]
    assert torch.zeros(2, device="meta").resize_(4).shape == (4,)
