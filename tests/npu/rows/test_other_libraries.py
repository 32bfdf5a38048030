"""Operators that torch_npu has in some of its builds, against NumPy in double precision."""

from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu import torch_npu

npu: Any = torch.ops.npu


def _random(*sizes: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=sizes)


def test_sums_of_gradients_in_float32() -> None:
    x, dy, before = _random(5, 4), _random(5, 6, seed=1), _random(8, 6, seed=2).astype(np.float32)
    halves = [torch.tensor(each).to(torch.float16) for each in (x, dy)]
    x, dy = (each.double().numpy() for each in halves)
    grad = torch.tensor(before)
    assert npu.npu_groupmatmul_add_fp32(*halves, torch.tensor([2, 5]), grad) is None
    expected = before + np.concatenate([x[:2].T @ dy[:2], x[2:].T @ dy[2:]])
    np.testing.assert_allclose(grad.numpy(), expected, rtol=1e-6, atol=1e-6)
    whole = torch.tensor(before[:4])
    torch_npu.npu_matmul_add_fp32(*halves, whole)
    np.testing.assert_allclose(whole.numpy(), before[:4] + x.T @ dy, rtol=1e-6, atol=1e-6)
    for wrong, text in (
        (lambda: npu.npu_groupmatmul_add_fp32(*halves, torch.tensor([5]), grad), "grad must have 1 x 4 x 6 elements"),
        (lambda: npu.npu_groupmatmul_add_fp32(*halves, torch.tensor([2, 5]), grad.half()), "grad must be float32"),
        (lambda: npu.npu_matmul_add_fp32(*halves, grad), r"C must be \(4, 6\)"),
    ):
        with pytest.raises(RuntimeError, match=text):
            wrong()


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("corrected", [True, False])
def test_a_step_with_a_mean_of_the_weights(mode: int, corrected: bool) -> None:
    grad, var, m, v, s = (np.abs(_random(3, 4, seed=seed)) for seed in range(5))
    tensors = [torch.tensor(each) for each in (grad, var, m, v, s)]
    options = 0.1, 0.9, 0.8, 0.99, 1e-6, mode, corrected, 0.01
    results = npu.npu_apply_fused_ema_adamw(*tensors, torch.tensor([3]), *options)
    direction = grad + (0 if mode else 0.01 * var)
    m, v = 0.8 * m + 0.2 * direction, 0.99 * v + 0.01 * direction**2
    first, second = (m / (1 - 0.8**3), v / (1 - 0.99**3)) if corrected else (m, v)
    var = var - 0.1 * (first / (np.sqrt(second) + 1e-6) + (0.01 * var if mode else 0))
    for ours, place, theirs in zip(results, tensors[1:], (var, m, v, 0.9 * s + 0.1 * var)):
        assert ours is place
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12)
    with pytest.raises(RuntimeError, match=r"m must have the sizes of var, \[3, 4\], but it has \[2\]"):
        npu.npu_apply_fused_ema_adamw(*tensors[:2], torch.ones(2), *tensors[3:], torch.tensor([1]))
    with pytest.raises(RuntimeError, match="mode must be one of 0, 1"):
        npu.npu_apply_fused_ema_adamw(*tensors, torch.tensor([1]), mode=2)


def test_rotary_embeddings_by_their_other_name() -> None:
    x, cos, sin = (torch.tensor(_random(2, 3, 4, 8, seed=seed)).requires_grad_() for seed in range(3))
    for mode, name in enumerate(("half", "interleave")):
        ours, theirs = npu.npu_rotary_position_embedding(x, cos, sin, mode), npu.npu_rotary_mul(x, cos, sin, name)
        assert torch.equal(ours, theirs)
        for a, b in zip(*(torch.autograd.grad(y.square().sum(), (x, cos, sin)) for y in (ours, theirs))):
            assert torch.equal(a, b)
    with pytest.raises(RuntimeError, match="mode must be one of 0, 1, but it is 2"):
        npu.npu_rotary_position_embedding(x, cos, sin, 2)


def test_eight_and_four_bits_become_halves() -> None:
    x = torch.tensor([[1, -2, 100]], dtype=torch.int8)
    scale, offset = torch.tensor([0.5, 2.0, 0.25]), torch.tensor([1.0, 1.0, -4.0])
    made = npu.npu_anti_quant(x, scale, offset=offset)
    assert made.dtype == torch.float16 and made.tolist() == [[1.0, -2.0, 24.0]]
    assert torch_npu.npu_anti_quant(x, torch.tensor([0.5]), dst_dtype=torch.bfloat16).tolist() == [[0.5, -1.0, 50.0]]
    words = torch.tensor([[0x1FEDCBA9]], dtype=torch.int32)  # 9, a ... f, 1 from the lowest bits up
    assert npu.npu_anti_quant(words, torch.ones(1)).tolist() == [[-7, -6, -5, -4, -3, -2, -1, 1]]
    for wrong, text in (
        (lambda: npu.npu_anti_quant(x.float(), scale), "x must be one of int8, int32"),
        (lambda: npu.npu_anti_quant(x, scale[:2]), "scale must have 1 or 3 elements"),
        (lambda: npu.npu_anti_quant(x, scale, offset=offset[:1]), "offset must have the sizes and the dtype of scale"),
    ):
        with pytest.raises(RuntimeError, match=text):
            wrong()


def test_a_hint_does_nothing() -> None:
    x = torch.ones(2)
    assert torch_npu.npu_prefetch(x, None, 8) is None and x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="max_size should be greater than zero, but got 0"):
        npu.npu_prefetch(x, x, 0)
    with pytest.raises(RuntimeError, match="offset should not be smaller than zero, but got -1"):
        npu.npu_prefetch(x, x, 1, -1)
    with pytest.raises(RuntimeError, match="offset out of range of tensor size, tensor size: 8, offset: 8"):
        npu.npu_prefetch(x, x, 1, 8)
