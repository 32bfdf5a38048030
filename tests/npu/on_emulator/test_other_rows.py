"""NPU kernels of rows that no recorded sample reaches: beside the same call on the CPU, and random ones by their moments."""

import math

import pytest
from npu_rows import CASES, DRAWN, DRAWS, EMPTY

import mindtorch_v2 as torch


@pytest.mark.parametrize("name", CASES)
def test_beside_the_cpu(name: str, kernels_run: set[str]) -> None:
    kernels_run.discard(name)
    found, expected = (CASES[name](device) for device in ("npu", "cpu"))
    assert name in kernels_run
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for ours, theirs in pairs:
        assert ours.device.type == "npu"
        torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", EMPTY)
def test_sizes_of_memory(name: str, kernels_run: set[str]) -> None:
    kernels_run.discard(name)
    found, expected = (EMPTY[name](device) for device in ("npu", "cpu"))
    assert name in kernels_run and found.device.type == "npu"
    assert found.shape == expected.shape and found.stride() == expected.stride() and found.dtype == expected.dtype


@pytest.mark.parametrize("name", DRAWS)
def test_moments(name: str, kernels_run: set[str]) -> None:
    torch.npu.manual_seed(11)
    kernels_run.discard(name)
    draw, mean, deviation = DRAWS[name]
    drawn = draw()
    assert name in kernels_run and drawn.device.type == "npu" and drawn.numel() == DRAWN
    drawn = drawn.cpu().double()
    spread = drawn.std().item() if deviation is None else deviation
    assert abs(drawn.mean().item() - mean) < 5 * spread / math.sqrt(DRAWN)
    assert drawn.std().item() == pytest.approx(spread, rel=0.06)
    assert not torch.equal(drawn, draw().cpu().double()) or "generator" in name


def test_closeness_of_complex_numbers() -> None:
    # By PyTorch's definition: equal, or apart by a finite distance of at most atol + rtol * |other|.
    nan, inf = math.nan, math.inf
    x = torch.tensor([1 + 1j, 1 + 1j, complex(nan, 0), complex(inf, 1), complex(inf, 1), 0j], device="npu")
    y = torch.tensor([1 + 1j, 1.05 + 1j, complex(0, nan), complex(inf, 1), complex(inf, 2), 1e-9j], device="npu")
    for equal_nan in (False, True):
        found = torch.isclose(x, y, rtol=0.04, atol=1e-8, equal_nan=equal_nan)
        assert found.tolist() == [True, True, equal_nan, True, False, True]
    assert not torch.isclose(x[1], y[1], rtol=0.03, atol=1e-8).item()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_cross_entropy_of_halves_is_rounded_once(reduction: str, weighted: bool) -> None:
    numbers = torch.Generator().manual_seed(5)
    scores, target = torch.randn(6, 7, generator=numbers).half() * 8, torch.rand(6, 7, generator=numbers).half()
    factors = (
        [torch.rand(sizes, generator=numbers).half() * 9 for sizes in ((6, 1), (7,))] if weighted else [None, None]
    )

    def loss(*given: torch.Tensor | None) -> torch.Tensor:
        scores, target, weight, pos_weight = given
        assert scores is not None and target is not None
        return torch.nn.functional.binary_cross_entropy_with_logits(
            scores, target, weight, pos_weight=pos_weight, reduction=reduction
        )

    given = [scores, target, *factors]
    expected = loss(*(None if each is None else each.float() for each in given)).half()
    there = [None if each is None else each.npu() for each in given]
    assert loss(*there).cpu().equal(expected)
    assert there[0] is not None
    trained = loss(there[0].requires_grad_(), *there[1:])
    assert type(trained.grad_fn).__name__ == "BinaryCrossEntropyWithLogitsBackward0"
    trained.sum().backward()
    assert there[0].grad is not None and there[0].grad.isfinite().all()


def test_blanks_among_the_targets_of_ctc() -> None:
    numbers = torch.Generator().manual_seed(0)
    scores = torch.randn(12, 3, 5, generator=numbers)
    targets = torch.tensor([[1, 2, 4], [2, 2, 1], [3, 2, 2]])
    found = []
    for device in ("cpu", "npu"):
        x = scores.clone().to(device).requires_grad_()
        sizes = torch.full((3,), 12), torch.tensor([3, 3, 2])
        losses = torch.nn.functional.ctc_loss(x.log_softmax(2), targets.to(device), *sizes, blank=2, reduction="none")
        losses.sum().backward()
        assert x.grad is not None
        found.append((losses.detach().cpu(), x.grad.cpu()))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_small_integers_are_counted() -> None:
    x = torch.tensor([3, 1, 1], dtype=torch.uint8, device="npu")
    assert torch.bincount(x).tolist() == torch.bincount(x.short()).tolist() == [0, 2, 0, 1]
