"""Products of numbers in blocks with exponents, beside what the blocks stand for, written out in NumPy in double precision."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch

npu = torch.ops.npu
_FOUR = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
_EXPONENTS = 293  # float8_e8m0fnu by torch_npu's numbers
_TYPES = {24: "float8_e4m3fn", 23: "float8_e5m2", 296: "float4_e2m1fn_x2"}


def _byte(code: int, kind: int) -> float:
    """A float8 number by its bits."""
    fraction_bits, bias = (3, 7) if kind == 24 else (2, 15)
    sign = -1.0 if code & 128 else 1.0
    exponent, fraction = (code & 127) >> fraction_bits, (code & ((1 << fraction_bits) - 1)) / (1 << fraction_bits)
    return sign * (fraction * 2.0 ** (1 - bias) if exponent == 0 else (1 + fraction) * 2.0 ** (exponent - bias))


def _values(y: torch.Tensor, scales: torch.Tensor, kind: int) -> np.ndarray:
    """Numbers that (rows, K) elements and (rows, pairs, 2) exponents stand for."""
    data = y.contiguous().view(torch.uint8).numpy()
    if kind == 296:
        codes = np.stack([data & 15, data >> 4], -1).reshape(data.shape[0], -1)
        values = np.where(codes >= 8, -1.0, 1.0) * _FOUR[codes & 7]
    else:
        values = np.array([[_byte(int(c), kind) for c in row] for row in data])
    powers = 2.0 ** (scales.contiguous().numpy().astype(np.float64).reshape(len(data), -1) - 127)
    return values * np.repeat(powers, 32, 1)[:, : values.shape[1]]


def _quantized(rows: int, inner: int, kind: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, np.ndarray]:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(rows, inner)) * 10.0 ** generator.integers(-2, 3, (rows, 1))
    y, scales = npu.npu_dynamic_mx_quant(torch.tensor(x, dtype=torch.float32), dst_type=kind)
    return y, scales, _values(y, scales, kind)


def _close(found: torch.Tensor, expected: np.ndarray) -> None:
    np.testing.assert_allclose(found.double().numpy(), expected, rtol=2e-5, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(("first", "second"), [(24, 24), (23, 24), (296, 296), (24, 296)])
@pytest.mark.parametrize("inner", [64, 96, 160])
def test_a_product(first: int, second: int, inner: int) -> None:
    a, a_scale, left = _quantized(5, inner, first, 1)
    b, b_scale, right = _quantized(7, inner, second, 2)
    options: dict[str, Any] = {"pertoken_scale": a_scale, "pertoken_scale_dtype": _EXPONENTS, "scale_dtype": _EXPONENTS}
    options.update({f"x{i}_dtype": 296 for i, kind in ((1, first), (2, second)) if kind == 296})
    bias = torch.arange(7.0)
    made = npu.npu_quant_matmul(
        a, b.T, b_scale.transpose(0, 1), bias=bias, output_dtype=torch.float32, group_sizes=[1, 1, 32], **options
    )
    _close(made, left @ right.T + bias.numpy())
    half = npu.npu_quant_matmul(a, b.T, b_scale.transpose(0, 1), group_sizes=[0, 0, 32], **options)
    assert half.dtype == torch.bfloat16 and half.shape == (5, 7)


def test_the_exponents_tell_their_type_too() -> None:
    a, a_scale, left = _quantized(3, 64, 24, 1)
    b, b_scale, right = _quantized(4, 64, 24, 2)
    a_scale, b_scale = (x.view(torch.float8_e8m0fnu) for x in (a_scale, b_scale.transpose(0, 1).contiguous()))
    _close(npu.npu_quant_matmul(a, b.T, b_scale, pertoken_scale=a_scale, output_dtype=torch.float32), left @ right.T)


def test_products_of_runs_of_rows_and_of_the_inner_dimension() -> None:
    """As a layer of experts calls them: forward, and the gradient of its weights."""
    counts, inner, columns = [40, 0, 70], 64, 5
    ends = torch.tensor(np.cumsum(counts))
    x, x_scale, left = _quantized(110, inner, 24, 3)
    parts = [_quantized(columns, inner, 24, 4 + i) for i in range(3)]
    weight = torch.stack([part[0] for part in parts]).transpose(1, 2)
    scale = torch.stack([part[1] for part in parts]).transpose(1, 2)
    options: dict[str, Any] = {
        "scale_dtype": _EXPONENTS,
        "per_token_scale_dtype": _EXPONENTS,
        "output_dtype": torch.float32,
    }
    made = npu.npu_grouped_matmul(
        [x], [weight], scale=[scale], per_token_scale=[x_scale], group_list=ends, group_type=0, split_item=3, **options
    )[0]
    of = np.repeat(np.arange(3), counts)
    _close(made, np.stack([left[i] @ parts[of[i]][2].T for i in range(110)]))

    generator = np.random.default_rng(8)
    rows, grads = (torch.tensor(generator.normal(size=(110, n)), dtype=torch.float32) for n in (6, columns))
    (a, a_scale), (b, b_scale) = (
        npu.npu_grouped_dynamic_mx_quant(each, ends.to(torch.int32), dst_type=24) for each in (rows, grads)
    )
    by_row = a_scale.permute(1, 0, 2)
    made = npu.npu_grouped_matmul(
        [a.T], [b], scale=[b_scale], per_token_scale=[by_row], group_list=ends, group_type=2, split_item=3, **options
    )[0]
    expected, start = [], 0
    for group, end in enumerate(ends.tolist()):
        of_group = slice(start // 64 + group, start // 64 + group + -(-(end - start) // 64))
        whole = [
            _values(y[start:end].T, scales[of_group].permute(1, 0, 2), 24) if end > start else np.zeros((y.shape[1], 0))
            for y, scales in ((a, a_scale), (b, b_scale))
        ]
        expected.append(whole[0] @ whole[1].T)
        start = end
    _close(made, np.stack(expected))
    added = torch.ones(3, 6, columns)
    npu.npu_add_quant_gmm_(
        added, a.T, b, b_scale, ends, x1_scale=by_row, x1_scale_dtype=_EXPONENTS, x2_scale_dtype=_EXPONENTS
    )
    _close(added, np.stack(expected) + 1)


def test_gated_products_of_groups_are_in_blocks_again() -> None:
    counts, inner, columns = [3, 4], 64, 64
    x, x_scale, left = _quantized(9, inner, 24, 5)
    parts = [_quantized(columns, inner, 24, 6 + i) for i in range(2)]
    weight = torch.stack([part[0] for part in parts]).transpose(1, 2)
    scale = torch.stack([part[1] for part in parts]).transpose(1, 2)
    y, scales = npu.npu_grouped_matmul_swiglu_quant_v2(
        x, [weight], [scale], x_scale, torch.tensor(counts), group_list_type=1, dequant_mode=2, quant_mode=2,
        quant_dtype=24, weight_scale_dtype=_EXPONENTS, x_scale_dtype=_EXPONENTS,
    )  # fmt: skip
    product = np.concatenate([left[:3] @ parts[0][2].T, left[3:7] @ parts[1][2].T])
    gate, up = product[:, :32], product[:, 32:]
    expected = np.concatenate([gate / (1 + np.exp(-np.clip(gate, -600, 600))) * up, np.zeros((2, 32))])
    assert y.dtype == torch.float8_e4m3fn and scales.shape == (9, 1, 2)
    power = 2.0 ** (scales[:, :, 0].numpy().astype(np.float64) - 127)
    largest = np.abs(expected[:7]).max(1) / power[:7, 0]
    assert (largest >= 255.9).all() and (largest < 512.1).all()
    bounded = np.clip(expected, -448 * power, 448 * power)
    # As near as three bits of fraction are, and the least numbers of a block as near as the smallest step.
    assert (np.abs(_values(y, scales, 24) - bounded) <= np.abs(bounded) / 15.9 + power / 1000).all()


def test_a_product_is_added() -> None:
    a, a_scale, left = _quantized(3, 64, 24, 1)
    b, b_scale, right = _quantized(4, 64, 24, 2)
    total = torch.ones(3, 4)
    npu.npu_add_quant_matmul_(
        total, a, b.T, b_scale.transpose(0, 1), x1_scale=a_scale, x1_scale_dtype=_EXPONENTS, x2_scale_dtype=_EXPONENTS,
        group_sizes=[1, 1, 32],
    )  # fmt: skip
    _close(total, left @ right.T + 1)


def test_what_does_not_fit_is_refused() -> None:
    a, a_scale, _ = _quantized(3, 64, 24, 1)
    options: dict[str, Any] = {"scale_dtype": _EXPONENTS, "pertoken_scale": a_scale}
    with pytest.raises(
        RuntimeError, match=r"exponents of x2 must have the sizes \[3, 1, 2\], but they have \[1, 3, 2\]"
    ):
        npu.npu_quant_matmul(a, a.T, a_scale, **options)
    with pytest.raises(RuntimeError, match="pertoken_scale is needed"):
        npu.npu_quant_matmul(a, a.T, a_scale.transpose(0, 1), scale_dtype=_EXPONENTS)
    with pytest.raises(RuntimeError, match="group_sizes of exponents must be one of"):
        npu.npu_quant_matmul(a, a.T, a_scale.transpose(0, 1), group_sizes=[1, 1, 64], **options)
    with pytest.raises(RuntimeError, match="x1 must be one of uint8"):
        npu.npu_quant_matmul(a, a.T, a_scale.transpose(0, 1), x1_dtype=296, **options)
