"""`torch.quasirandom.SobolEngine`: points of PyTorch 2.13, and what holds of every Sobol sequence."""

import pytest

import mindtorch_v2 as torch
from mindtorch_v2.quasirandom import SobolEngine

SCRAMBLED = [
    [0.19947312772274017, 0.17093220353126526],
    [0.9453538795933127, 0.8952855244278908],
    [0.6495087845250964, 0.4836291912943125],
    [0.40362791810184717, 0.7079510493203998],
]
LAST = [0.1875, 0.3125, 0.0625, 0.3125, 0.4375]


def test_the_first_points():
    assert SobolEngine(3).draw(5).tolist() == [
        [0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75], [0.375, 0.375, 0.625]
    ]  # fmt: skip


def test_scrambled_points_of_pytorch():
    got = SobolEngine(2, scramble=True, seed=7).draw(4, dtype=torch.float64)
    assert got.tolist() == SCRAMBLED


def test_the_last_dimension_of_pytorch():
    engine = SobolEngine(5000)
    assert engine.draw(9)[-1, [0, 1, 100, 1110, 4999]].tolist() == LAST


def test_points_balance_in_every_dimension():
    points = SobolEngine(40, scramble=True, seed=1).draw_base2(6)
    for column in points.T:
        assert sorted((column * 64).long().tolist()) == list(range(64))


def test_drawing_in_parts_and_skipping():
    whole = SobolEngine(4, scramble=True, seed=2).draw(20)
    engine = SobolEngine(4, scramble=True, seed=2)
    parts = [engine.draw(), engine.draw(4), engine.draw(0), engine.fast_forward(3).draw(12)]
    torch.testing.assert_close(torch.cat(parts), torch.cat([whole[:5], whole[8:]]), rtol=0, atol=0)
    assert engine.num_generated == 20
    assert engine.reset().draw(20).equal(whole)
    assert SobolEngine(4, scramble=True, seed=2).fast_forward(1).draw(2).equal(whole[1:3])
    out = torch.empty(0)
    assert engine.reset().draw(3, out=out) is out
    assert out.equal(whole[:3])


def test_errors_and_repr():
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match="Supported range of dimensionality"):
            SobolEngine(dimension)
    engine = SobolEngine(1)
    engine.draw(3)
    with pytest.raises(ValueError, match="balance properties"):
        engine.draw_base2(2)
    assert repr(engine) == "SobolEngine(dimension=1)"
    assert repr(SobolEngine(2, True, 7)) == "SobolEngine(dimension=2, scramble=True, seed=7)"
