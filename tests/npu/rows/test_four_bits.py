"""Products of 4-bit numbers, eight to an int32, against NumPy in double precision."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu
_QUINT4X2 = 16


@pytest.fixture
def numbers() -> np.random.Generator:
    return np.random.default_rng(4)


def _packed(values: np.ndarray) -> torch.Tensor:
    """Eight numbers from -8 to 7 in each int32, the first in the lowest bits."""
    nibbles = (values & 15).astype(np.uint32).reshape(*values.shape[:-1], -1, 8)
    words = np.zeros(nibbles.shape[:-1], np.uint32)
    for i in range(8):
        words |= nibbles[..., i] << np.uint32(4 * i)
    return torch.tensor(words.view(np.int32))


def _in_blocks(values: np.ndarray) -> np.ndarray:
    groups, k, n = values.shape
    return values.reshape(groups, k // 16, 16, n // 64, 64).transpose(0, 3, 1, 2, 4)


def _bits(scale: np.ndarray) -> torch.Tensor:
    """float32 numbers in the lower half of 64 bits, as the matrix unit reads them."""
    return torch.tensor(scale.astype(np.float32).view(np.uint32).astype(np.int64))


def _rounded_gates(product: np.ndarray, factor: Any = 1.0) -> tuple[np.ndarray, np.ndarray]:
    left, right = np.split(product, 2, -1)
    gated = left / (1 + np.exp(-left)) * right * factor
    scale = np.abs(gated).max(-1) / 127
    return np.rint(gated / scale[:, None]), scale


def _agree(ours: Any, theirs: tuple[np.ndarray, np.ndarray], rows: slice) -> None:
    apart = np.abs(ours[0][rows].numpy().astype(int) - theirs[0])
    assert apart.max() <= 1 and apart.mean() < 0.02  # float32 and double may part at ties
    np.testing.assert_allclose(ours[1][rows].numpy(), theirs[1], rtol=1e-4)


def test_numbers_are_rounded_to_four_bits(numbers: np.random.Generator) -> None:
    x, scale = numbers.normal(size=(3, 16)) * 9, np.array([0.5])
    ours = npu.npu_quantize(torch.tensor(x), torch.tensor(scale), None, _QUINT4X2, -1, False)
    assert ours.dtype == torch.int32
    torch.testing.assert_close(ours, _packed(np.clip(np.rint(x * 0.5), -8, 7).astype(int)), rtol=0, atol=0)
    with pytest.raises(RuntimeError, match=r"npu_quantize\(\): quint4x2 takes div_mode=False"):
        npu.npu_quantize(torch.tensor(x), torch.tensor(scale), None, _QUINT4X2)


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("parts", [0, 2])
def test_eight_bits_by_four(numbers: np.random.Generator, blocks: bool, parts: int) -> None:
    x, w = numbers.integers(-128, 128, (7, 32)), numbers.integers(-8, 8, (2, 32, 128))
    scale = (numbers.random((2, parts, 128) if parts else (2, 128)) * 1e-3).astype(np.float32)
    by_row, assist = numbers.random(7), numbers.normal(size=(2, 128))
    wide = scale.repeat(32 // parts, 1) if parts else scale[:, None]
    ends, packed = torch.tensor([3, 6]), _packed(_in_blocks(w) if blocks else w)
    given = torch.tensor(x, dtype=torch.int8), packed, _bits(scale), torch.tensor(by_row), torch.tensor(assist)
    ours = npu.npu_grouped_matmul_swiglu_quant(given[0], given[1], ends, given[2], given[3], bias=given[4])
    for group, rows in ((0, slice(0, 3)), (1, slice(3, 6))):
        # The upper and the lower halves of a byte by themselves, the lower ones less 8.
        upper, lower = x[rows] // 16, (x[rows] & 15) - 8
        product = 16 * (upper @ (w[group] * wide[group])) + lower @ (w[group] * wide[group]) + assist[group]
        _agree(ours, _rounded_gates(product * by_row[rows, None]), rows)
    listed = npu.npu_grouped_matmul_swiglu_quant_v2(
        given[0], [given[1]], [given[2]], given[3], ends, weight_assist_matrix=[given[4]], dequant_mode=int(parts > 0)
    )
    torch.testing.assert_close(listed, ours[:2], rtol=0, atol=0)


def test_four_bits_by_four(numbers: np.random.Generator) -> None:
    x, w = numbers.integers(-8, 8, (5, 64)), numbers.integers(-8, 8, (2, 64, 64))
    scale, by_row, smooth = numbers.random((2, 64)) * 1e-2, numbers.random(5), numbers.random((2, 32))
    ours = npu.npu_grouped_matmul_swiglu_quant_v2(
        _packed(x), [_packed(_in_blocks(w))], [_bits(scale)], torch.tensor(by_row), torch.tensor([2, 5]),
        smooth_scale=torch.tensor(smooth),
    )  # fmt: skip
    for group, rows in ((0, slice(0, 2)), (1, slice(2, 5))):
        product = (x[rows] @ w[group]) * scale[group] * by_row[rows, None]
        _agree(ours, _rounded_gates(product, smooth[group]), rows)


def test_what_does_not_go_together_is_refused() -> None:
    ends, by_row = torch.tensor([2]), torch.ones(2)
    eight, four = torch.ones(2, 16, dtype=torch.int8), torch.ones(2, 2, dtype=torch.int32)
    weight, packed = torch.ones(1, 16, 8, dtype=torch.int8), torch.ones(1, 16, 1, dtype=torch.int32)
    scale = torch.ones(1, 8)
    call = npu.npu_grouped_matmul_swiglu_quant_v2
    with pytest.raises(RuntimeError, match="weight_assist_matrix .* belongs to int8 rows .* it is absent"):
        call(eight, [packed], [scale], by_row, ends)
    with pytest.raises(RuntimeError, match="weight_assist_matrix .* it is given"):
        call(eight, [weight], [scale], by_row, ends, weight_assist_matrix=[scale])
    with pytest.raises(RuntimeError, match="rows of packed int4 .* but weight is int8"):
        call(four, [weight], [scale], by_row, ends)
    with pytest.raises(RuntimeError, match="smooth_scale belongs to rows of packed int4"):
        call(eight, [weight], [scale], by_row, ends, smooth_scale=torch.ones(1, 4))
    with pytest.raises(RuntimeError, match="3 dimensions with dequant_mode 1 and 2 with 0"):
        call(eight, [packed], [scale], by_row, ends, weight_assist_matrix=[scale], dequant_mode=1)
    with pytest.raises(RuntimeError, match=r"must end in \(16, 8\)"):
        call(four, [packed.reshape(1, 1, 1, 16, 1)], [scale], by_row, ends)
