"""Microscaling formats against their definition, written out number by number in NumPy."""

import math
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu
FOUR_BITS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
LARGEST_EXPONENT = {23: 15, 24: 8, 296: 2}


def exponent(block: np.ndarray, dst_type: int) -> int:
    """Of a block, as stored: with 127 added, at least 0."""
    largest = float(np.abs(block).max())
    return 0 if largest == 0 else max(math.frexp(largest)[1] - 1 - LARGEST_EXPONENT[dst_type] + 127, 0)


def near_four_bits(value: float) -> float:
    """The nearest of the eight magnitudes; of two as near, the one of an even number; with the sign of the value."""
    size = min(abs(value), 6.0)
    places = sorted(range(8), key=lambda i: (abs(FOUR_BITS[i] - size), i % 2))
    return math.copysign(FOUR_BITS[places[0]], value)


def unpacked(packed: torch.Tensor) -> np.ndarray:
    """Two numbers of each byte, that of the lower half first."""
    data = packed.numpy()
    codes = np.stack([data & 15, data >> 4], -1).reshape(*data.shape[:-1], -1)
    signs = np.where(codes >= 8, -1.0, 1.0)
    return signs * np.array(FOUR_BITS)[codes & 7]


@pytest.mark.parametrize("dst_type", [23, 24, 296])
def test_blocks_of_a_row(dst_type: int) -> None:
    x = (np.random.default_rng(3).normal(size=(3, 70)) * [[1.0], [1e3], [1e-4]]).astype(np.float32)
    y, scales = npu.npu_dynamic_mx_quant(torch.tensor(x), dst_type=dst_type)
    assert scales.shape == (3, 2, 2) and scales.dtype == torch.uint8
    values = unpacked(y) if dst_type == 296 else y.to(torch.float32).numpy()
    for row in range(3):
        for block, first in enumerate(range(0, 70, 32)):
            part = x[row, first : first + 32]
            stored = exponent(part, dst_type)
            assert scales[row, block // 2, block % 2].item() == stored
            scaled = part / 2.0 ** (stored - 127)
            if dst_type == 296:
                expected: Any = [near_four_bits(v) for v in scaled]
            else:
                kind = torch.float8_e5m2 if dst_type == 23 else torch.float8_e4m3fn
                top = 57344.0 if dst_type == 23 else 448.0
                expected = torch.tensor(np.clip(scaled, -top, top)).to(kind).to(torch.float32).tolist()
            assert values[row, first : first + 32].tolist() == list(expected)
        assert scales[row, 1, 1].item() == 0  # the partner that is not there


def test_ties_of_four_bits_go_to_the_even_number() -> None:
    x = torch.tensor([[0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 6.0, -0.25, -2.5]])
    y, scales = npu.npu_dynamic_mx_quant(x, dst_type=296)
    assert scales.flatten().tolist() == [127, 0]
    assert unpacked(y)[0].tolist() == [0.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 6.0, -0.0, -2.0]
    y, _ = npu.npu_dynamic_mx_quant(x, dst_type=296, round_mode="round")
    assert unpacked(y)[0].tolist() == [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 6.0, -0.5, -3.0]


def test_along_another_dimension_and_both() -> None:
    x = torch.tensor(np.random.default_rng(4).normal(size=(70, 64)), dtype=torch.bfloat16)
    first, scales = npu.npu_dynamic_mx_quant(x, axis=0, dst_type=24)
    turned, turned_scales = npu.npu_dynamic_mx_quant(x.T.contiguous(), dst_type=24)
    assert first.view(torch.uint8).equal(turned.view(torch.uint8).T) and scales.shape == (2, 64, 2)
    assert scales.equal(turned_scales.permute(1, 0, 2))
    along, along_scales, down, down_scales = npu.npu_dynamic_mx_quant_with_dual_axis(x, dst_type=24)
    assert down.view(torch.uint8).equal(first.view(torch.uint8)) and down_scales.equal(scales)
    again, again_scales = npu.npu_dynamic_mx_quant(x, dst_type=24)
    assert along.view(torch.uint8).equal(again.view(torch.uint8)) and along_scales.equal(again_scales)


def test_square_blocks_share_one_exponent() -> None:
    x = np.random.default_rng(5).normal(size=(40, 64)).astype(np.float32)
    x[:32, :32] *= 100
    y, by_row, by_column = npu.npu_dynamic_block_mx_quant(torch.tensor(x), dst_type=24)
    assert by_row.shape == (40, 1, 2) and by_column.shape == (1, 64, 2)
    for i in range(2):
        for j in range(2):
            part = x[32 * i : 32 * i + 32, 32 * j : 32 * j + 32]
            stored = exponent(part, 24)
            assert set(by_row[32 * i : 32 * i + 32, 0, j].tolist()) == {stored}
            assert set(by_column[0, 32 * j : 32 * j + 32, i].tolist()) == {stored}
            expected = torch.tensor(np.clip(part / 2.0 ** (stored - 127), -448, 448)).to(torch.float8_e4m3fn)
            assert y[32 * i : 32 * i + 32, 32 * j : 32 * j + 32].to(torch.float32).equal(expected.to(torch.float32))


def test_groups_of_rows() -> None:
    x = torch.tensor(np.random.default_rng(6).normal(size=(150, 3)), dtype=torch.float32)
    y, scales = npu.npu_grouped_dynamic_mx_quant(x, torch.tensor([10, 10, 150]), dst_type=23)
    assert scales.shape == (150 // 64 + 3, 3, 2)
    for first, last, start in ((0, 10, 0), (10, 150, 2)):
        part, exponents = npu.npu_dynamic_mx_quant(x[first:last].contiguous(), axis=0, dst_type=23)
        assert y[first:last].view(torch.uint8).equal(part.view(torch.uint8))
        assert scales[start : start + exponents.shape[0]].equal(exponents)


def test_norms_are_rounded_after_they_are_made() -> None:
    x, gamma = torch.randn(2, 64), torch.randn(64)
    y, rstd = npu.npu_rms_norm(x, gamma)
    elements, exponents, root = npu.npu_rms_norm_dynamic_mx_quant(x, gamma, dst_type=24)
    expected, scales = npu.npu_dynamic_mx_quant(y, dst_type=24)
    assert elements.view(torch.uint8).equal(expected.view(torch.uint8)) and exponents.equal(scales) and root.equal(rstd)
    elements, total, exponents, _ = npu.npu_add_rms_norm_dynamic_mx_quant(x, x, gamma, dst_type=24)
    assert total.equal(x + x) and elements.shape == x.shape and exponents.shape == (2, 1, 2)


def test_what_is_refused() -> None:
    x = torch.ones(2, 33)
    with pytest.raises(RuntimeError, match="dst_type must be 23 or 291 .* but it is 1"):
        npu.npu_dynamic_mx_quant(x, dst_type=1)
    with pytest.raises(RuntimeError, match="takes an even last dimension, but it is 33"):
        npu.npu_dynamic_mx_quant(x, dst_type=296)
    with pytest.raises(RuntimeError, match="block_size must be a multiple of 32 up to 1024, but it is 48"):
        npu.npu_dynamic_mx_quant(x, dst_type=24, block_size=48)
    with pytest.raises(RuntimeError, match="round_mode must be one of 'rint', but it is 'floor'"):
        npu.npu_dynamic_mx_quant(x, dst_type=24, round_mode="floor")
    with pytest.raises(RuntimeError, match="of which the last is the 2 rows, but it is \\[3\\]"):
        npu.npu_grouped_dynamic_mx_quant(x, torch.tensor([3]), dst_type=24)
