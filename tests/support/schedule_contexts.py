"""Contexts for processes of attention and of experts: the structure of 1,024 bytes, and what the memory it names holds."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

import mindtorch_v2 as torch

SESSIONS, BATCHES, TOKENS, CHOICES, WIDTH = 3, 2, 4, 3, 16


def packed(device: str, words: dict[int, int], areas: dict[int, torch.Tensor]) -> torch.Tensor:
    """A context on a device: numbers of 32 bits by their place, and tensors whose address and size stand at theirs."""
    data = bytearray(1024)
    for at, number in {0: SESSIONS, 4: BATCHES, 8: TOKENS, 12: CHOICES, **words}.items():
        struct.pack_into("<I", data, at, number)
    for at, tensor in areas.items():
        struct.pack_into("<QQ", data, at, tensor.data_ptr(), tensor.numel() * tensor.element_size())
    return torch.tensor(list(np.frombuffer(bytes(data), dtype=np.int8)), dtype=torch.int8).to(device)


def sent(seed: int, stride: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens of 8 bits with their scales behind them, as bytes; the tokens; the scales. By session, batch, token, choice."""
    rng = np.random.default_rng(seed)
    sizes = (SESSIONS, BATCHES, TOKENS, CHOICES)
    tokens = rng.integers(-128, 128, (*sizes, WIDTH)).astype(np.int8)
    scales = rng.uniform(0.1, 2, sizes).astype(np.float32)
    data = np.zeros((*sizes, stride), np.uint8)
    data[..., :WIDTH] = tokens.view(np.uint8)
    data[..., WIDTH : WIDTH + 4] = scales[..., None].view(np.uint8)
    return data, tokens, scales


def check_combination(device: str) -> None:
    """Results of experts are summed, each with its weight, and the shared one's added."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(BATCHES, TOKENS, CHOICES, WIDTH)).astype(np.float16)
    weights = rng.uniform(size=(TOKENS, CHOICES - 1)).astype(np.float32)
    memory = torch.tensor(rows).to(device)
    context = packed(device, {288: 1}, {272: memory})
    layer = torch.tensor([5], dtype=torch.int32, device=device)
    made, following = torch.ops.npu.npu_attention_worker_combine(
        context, torch.tensor(weights).to(device), layer, WIDTH
    )
    wide = rows[1].astype(np.float64)
    right = (wide[:, :-1] * weights[..., None]).sum(1) + wide[:, -1]
    assert made.dtype == torch.float16 and made.device.type == torch.device(device).type and following.tolist() == [6]
    np.testing.assert_allclose(made.cpu().double().numpy(), right, rtol=1e-3, atol=1e-3)


def check_batching(device: str, scheduled: bool) -> None:
    """Rows of the sessions that are ready come in the order of their experts; what belongs to other processes is left out."""
    data, tokens, scales = sent(1, 32)
    experts = (
        np.random.default_rng(2).integers(-1, 4, (SESSIONS, TOKENS, CHOICES)).astype(np.int32)
    )  # of 3 that are here
    areas: dict[int, Any] = {400: data}
    words = {20: 32, 576: 2, 416: 3}  # bytes of a token, sessions to take, the batch: 3 % 2
    if scheduled:
        info = np.zeros((SESSIONS, BATCHES, 2 + TOKENS * CHOICES), np.int32)
        info[:, 1, 0] = [1, 0, 1]
        info[:, 1, 2:] = experts.reshape(SESSIONS, -1)
        areas[384], taken, batch = info, [0, 2], [1, 1]
    else:
        taken, batch = [2, 1], [0, 1]
        areas.update({528: np.array(taken, np.int32), 544: np.array(batch, np.int32), 560: experts[taken]})
    held = {at: torch.tensor(each).to(device) for at, each in areas.items()}
    context = packed(device, words, held)
    sizes = [SESSIONS, TOKENS, CHOICES, WIDTH]
    made = torch.ops.npu.npu_ffn_worker_batching(context, 3, sizes, token_dtype=2, need_schedule=int(scheduled))
    of = experts[taken].reshape(-1)
    order = [place for place in np.argsort(of, kind="stable") if 0 <= of[place] < 3]
    right = [(taken[p // 12], batch[p // 12], p % 12 // 3, p % 3) for p in order]
    y, groups, session, batches, token, choice, scale, count = (x.cpu().numpy() for x in made)
    rows = len(right)
    assert count.tolist() == [rows] and 0 < rows < of.size and y.shape == (36, WIDTH)
    assert list(zip(*(x[:rows].tolist() for x in (session, batches, token, choice)), strict=True)) == right
    assert np.array_equal(y[:rows], np.stack([tokens[place] for place in right])) and not y[rows:].any()
    assert scale[:rows].tolist() == [scales[place] for place in right]
    numbers, counts = np.unique(of[order], return_counts=True)
    assert groups[: len(numbers)].tolist() == list(map(list, zip(numbers, counts, strict=True)))
    assert not groups[len(numbers) :].any()
