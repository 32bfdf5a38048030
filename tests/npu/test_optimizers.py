"""The optimizers that torch_npu has beside PyTorch's, against their formulas in NumPy."""

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import mindtorch_v2 as torch
from mindtorch_v2.npu.torch_npu import optim

STEPS = 4
_NUMBERS = np.random.default_rng(7)
START = [_NUMBERS.normal(size=(3, 4)), _NUMBERS.normal(size=5)]
GRADS = [[_NUMBERS.normal(size=each.shape) for each in START] for _ in range(STEPS)]


def trained(make: Callable[[list], Any], grads: list = GRADS) -> list[np.ndarray]:
    parameters = [torch.nn.Parameter(torch.tensor(each)) for each in START]
    optimizer = make(parameters)
    for step in grads:
        optimizer.zero_grad()
        for p, grad in zip(parameters, step, strict=True):
            p.grad = torch.tensor(grad)
        optimizer.step()
    return [p.detach().numpy() for p in parameters]


def moments(beta1: float, beta2: float, grads: list = GRADS) -> Iterator[list[tuple]]:
    kept = [(np.zeros_like(each), np.zeros_like(each)) for each in START]
    for step in grads:
        kept = [
            (m * beta1 + g * (1 - beta1), v * beta2 + g * g * (1 - beta2)) for (m, v), g in zip(kept, step, strict=True)
        ]
        yield [(m, v, g) for (m, v), g in zip(kept, step, strict=True)]


def close(ours: list, theirs: list) -> None:
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("adam", [False, True])
@pytest.mark.parametrize("together", [False, True])
def test_lamb(adam: bool, together: bool) -> None:
    grads = GRADS
    if together:
        norms = [math.sqrt(sum((g * g).sum() for g in step)) for step in GRADS]
        grads = [[g / max(1.0, norm) for g in step] for step, norm in zip(GRADS, norms, strict=True)]
    expected = list(START)
    for step in moments(0.8, 0.9, grads):
        for i, (m, v, _) in enumerate(step):
            update = m / (np.sqrt(v) + 1e-6) + 0.02 * expected[i]
            ratio = 1.0 if adam else min(np.linalg.norm(expected[i]), 10) / np.linalg.norm(update)
            expected[i] = expected[i] - 0.05 * ratio * update
    options = {"weight_decay": 0.02, "adam": adam, "use_global_grad_norm": together}
    close(trained(lambda ps: optim.NpuFusedLamb(ps, 0.05, (0.8, 0.9), **options)), expected)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize(("momentum", "within"), [(0.0, True), (0.7, True), (0.7, False)])
@pytest.mark.parametrize("decoupled", [False, True])
def test_rmsprop_as_tensorflow_has_it(centered: bool, momentum: float, within: bool, decoupled: bool) -> None:
    expected = []
    for i, p in enumerate(START):
        square, mean, buffer = np.ones_like(p), np.zeros_like(p), np.zeros_like(p)
        for step in GRADS:
            g = step[i] if decoupled else step[i] + 0.1 * p
            p = p * 0.9 if decoupled else p
            square = square * 0.9 + g * g * 0.1
            mean = mean * 0.9 + g * 0.1
            update = g / np.sqrt((square - mean * mean if centered else square) + 1e-10)
            buffer = buffer * momentum + update * (0.05 if within else 1)
            p = p - (buffer * (1 if within else 0.05) if momentum else 0.05 * update)
        expected.append(p)
    options = {"weight_decay": 0.1, "momentum": momentum, "centered": centered, "decoupled_decay": decoupled}
    close(trained(lambda ps: optim.NpuFusedRMSpropTF(ps, 0.05, lr_in_momentum=within, **options)), expected)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ("warmup_linear", [0.0, 0.5, 1.0, 0.5]),
        ("warmup_constant", [0.0, 0.5, 1.0, 1.0]),
        ("warmup_cosine", [0.0, 0.5, 0.5, 0.5 * (1 + math.cos(0.75 * math.pi))]),
        ("warmup_poly", [0.0, 0.5, math.sqrt(0.5), 0.5]),
    ],
)
def test_bert_adam(schedule: str, rates: list[float]) -> None:
    norms = [math.sqrt(sum((g * g).sum() for g in step)) for step in GRADS]
    grads = [[g * min(1.0, 0.5 / (norm + 1e-6)) for g in step] for step, norm in zip(GRADS, norms, strict=True)]
    expected = list(START)
    for rate, step in zip(rates, moments(0.9, 0.999, grads), strict=True):
        for i, (m, v, _) in enumerate(step):
            expected[i] = expected[i] - 0.1 * rate * (m / (np.sqrt(v) + 1e-6) + 0.01 * expected[i])
    options = {"warmup": 0.5, "t_total": 4, "schedule": schedule, "max_grad_norm": 0.5}
    close(trained(lambda ps: optim.NpuFusedBertAdam(ps, 0.1, **options)), expected)


@pytest.mark.parametrize("nesterov", [False, True])
def test_adamp_without_and_with_a_right_angle(nesterov: bool) -> None:
    def expected(delta: float, grads: list) -> list:
        found = list(START)
        for t, step in enumerate(moments(0.9, 0.99, grads), 1):
            for i, (m, v, g) in enumerate(step):
                p, share = found[i], 1.0
                update = ((0.9 * m + 0.1 * g) if nesterov else m) / (np.sqrt(v) / math.sqrt(1 - 0.99**t) + 1e-8)
                if p.ndim > 1 and delta > 0:  # large enough to hold always: along each row
                    unit = p / (np.linalg.norm(p, axis=1, keepdims=True) + 1e-8)
                    update, share = update - unit * (unit * update).sum(1, keepdims=True), 0.25
                found[i] = p * (1 - 0.05 * 0.1 * share) - 0.05 / (1 - 0.9**t) * update
        return found

    for delta in (0.0, 100.0):
        options = {"weight_decay": 0.1, "delta": delta, "wd_ratio": 0.25, "nesterov": nesterov}
        close(trained(lambda ps, o=options: optim.NpuFusedAdamP(ps, 0.05, (0.9, 0.99), **o)), expected(delta, GRADS))


def test_those_of_pytorch_are_its_own() -> None:
    for name, options in {"RMSprop": {"momentum": 0.5, "centered": True}, "Adadelta": {"weight_decay": 0.1}}.items():
        ours = trained(lambda ps, n=name, o=options: getattr(optim, f"NpuFused{n}")(ps, **o))
        close(ours, trained(lambda ps, n=name, o=options: getattr(torch.optim, n)(ps, **o)))
    assert len({name for name in optim.__all__ if name.startswith("NpuFused")}) == 10


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda ps: optim.NpuFusedLamb(ps, lr=-1.0), "NpuFusedLamb: lr must be at least 0.0, but it is -1.0"),
        (lambda ps: optim.NpuFusedAdamP(ps, betas=(0.9, 1.0)), "the beta at index 1 must be from 0 to below 1, but it is 1.0"),
        (lambda ps: optim.NpuFusedBertAdam(ps, 0.1, schedule="none"), "schedule must be one of warmup_cosine, .* 'none'"),
        (lambda ps: optim.NpuFusedBertAdam(ps, 0.1, warmup=2.0), "warmup must be from 0 to below 1, or -1, but it is 2.0"),
        (lambda ps: optim.NpuFusedRMSpropTF(ps, momentum=-0.5), "momentum must be at least 0.0"),
    ],
)  # fmt: skip
def test_bad_numbers_are_named(make: Callable[[list], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make([torch.nn.Parameter(torch.ones(2))])


def test_state_is_kept_and_closures_are_called() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = optim.NpuFusedLamb([p], lr=0.1)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = p.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 2.0
    other = optim.NpuFusedLamb([torch.nn.Parameter(p.detach().clone())], lr=0.1)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    again = other.param_groups[0]["params"][0]
    again.grad = torch.ones(2)
    p.grad = torch.ones(2)
    optimizer.step()
    other.step()
    assert torch.equal(p, again) and other.state[again]["step"] == 2


def test_the_norm_of_all_gradients_is_clipped() -> None:
    weights = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(1))]
    optimizer = optim.NpuFusedAdamW(weights)
    for weight, grad in zip(weights, ([3.0, 0.0], [4.0]), strict=True):
        weight.grad = torch.tensor(grad)
    assert optimizer.clip_grad_norm_fused_(1.0).item() == 5.0
    assert torch.cat([weight.grad for weight in weights]).tolist() == pytest.approx([0.6, 0.0, 0.8])
