"""Calls of rows with an NPU kernel that no recorded sample reaches, by row.

tests/npu/on_emulator/test_other_rows.py makes them; test_operators.py there sees to it that every row with an NPU kernel is
reached by a recorded sample or named here.
"""

import math
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch

aten = torch.ops.aten
_LENGTHS = ([7, 5], [3, 2])


def _x(*sizes: int, seed: int = 0) -> Any:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed))


def _c(*sizes: int) -> Any:
    return torch.complex(_x(*sizes), _x(*sizes, seed=1))


def _whole(*sizes: int, high: int = 4) -> Any:
    return torch.randint(high, sizes, generator=torch.Generator().manual_seed(1))


def _ctc(device: str, lengths: Any, suffix: str) -> Any:
    scores = _x(7, 2, 4).log_softmax(-1).to(device)
    targets = torch.tensor([[1, 2, 2], [3, 1, 0]]).to(device)
    losses, alphas = getattr(aten._ctc_loss, suffix)(scores, targets, *lengths)
    back = getattr(aten._ctc_loss_backward, suffix)
    return losses, back(torch.ones_like(losses), scores, targets, *lengths, losses, alphas, 0)


def _cross_entropy(device: str) -> Any:
    scores, targets = _x(5, 4).to(device).requires_grad_(), _whole(5).to(device)
    loss = aten._cross_entropy(scores, targets, None, 1, -100, 0.1)[0]
    return loss, *torch.autograd.grad(loss, scores)


def _rms_norm(device: str) -> Any:
    x, weight = _x(3, 8).to(device).requires_grad_(), _x(8, seed=1).to(device).requires_grad_()
    y = torch.nn.functional.rms_norm(x, [8], weight)
    return y, *torch.autograd.grad(y.square().sum(), [x, weight])


def _group_norm(device: str) -> Any:
    x, weight = _x(2, 4, 5).to(device).requires_grad_(), _x(4, seed=1).to(device).requires_grad_()
    y = torch.nn.functional.group_norm(x, 2, weight)
    return y, *torch.autograd.grad(y.square().sum(), [x, weight])


def _batch_norm(device: str, *, training: bool) -> Any:
    x, weight, bias = _x(6, 3).to(device), _x(3, seed=1).to(device), _x(3, seed=2).to(device)
    mean, variance = torch.zeros(3, device=device), torch.ones(3, device=device)
    if training:
        y = aten._native_batch_norm_legit(x, weight, bias, mean, variance, True, 0.1, 1e-5)[0]
    else:
        y = aten._native_batch_norm_legit_no_training(x, weight, bias, mean, variance, 0.1, 1e-5)[0]
    return y, mean, variance


def _put(device: str, put: Any) -> Any:
    return put(_x(4, 3).to(device), [torch.tensor([0, 2, 2]).to(device)], torch.ones(3, 3, device=device), True)


def _recorded(device: str) -> Any:
    x = _x(4, 3).to(device)
    if device != "cpu":  # which has no streams
        x.record_stream(torch.npu.Stream())
    return x


# Each is called with a device; the results on both are compared.
def _adam(name: str) -> Callable[[str], Any]:
    def step(d: str) -> Any:
        parts = [[_x(3, 4).to(d), _x(5).to(d)] for _ in range(4)]
        steps = [torch.tensor(2.0, device=d) for _ in range(2)]
        numbers = {"lr": 0.1, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.1, "eps": 1e-6}
        parts[3] = [each.square() for each in parts[3]]
        getattr(aten, name)(*parts, [], steps, **numbers, amsgrad=False, maximize=False)
        return torch.cat([each.reshape(-1) for part in parts for each in part])

    return step


CASES: dict[str, Callable[[str], Any]] = {
    "unique_dim": lambda d: aten.unique_dim(_whole(6, 2, 3, high=2).to(d), 0, True, True, True),
    "unique_dim_consecutive": lambda d: aten.unique_dim_consecutive(_whole(2, 9, high=2).to(d), 1, True, True),
    "_as_strided_backward": lambda d: aten._as_strided_backward(_x(2, 3).to(d), [3, 3], [2, 3], [1, 2], 1),
    "_cross_entropy": _cross_entropy,
    "_cross_entropy_backward": _cross_entropy,
    "_ctc_loss": lambda d: _ctc(d, _LENGTHS, "default"),
    "_ctc_loss.Tensor": lambda d: _ctc(d, [torch.tensor(n) for n in _LENGTHS], "Tensor"),
    "_ctc_loss_backward": lambda d: _ctc(d, _LENGTHS, "default"),
    "_ctc_loss_backward.Tensor": lambda d: _ctc(d, [torch.tensor(n) for n in _LENGTHS], "Tensor"),
    "_fused_adam_": _adam("_fused_adam_"),
    "_fused_adamw_": _adam("_fused_adamw_"),
    "bucketize.Scalar": lambda d: torch.bucketize(2.0, torch.tensor([1.0, 2.0, 3.0], device=d), right=True),
    "searchsorted.Scalar": lambda d: torch.searchsorted(torch.tensor([1.0, 2.0, 3.0], device=d), 2.5),
    "_weighted_row_sums": lambda d: aten._weighted_row_sums(
        torch.tensor([0, 2, 3]).to(d), torch.tensor([0, 2, 1]).to(d), _x(3).to(d), _x(3, 4).to(d)
    ),
    "_fft_c2r": lambda d: aten._fft_c2r(_c(3, 4).to(d), [1], 2, 7),
    "_fused_rms_norm": _rms_norm,
    "_fused_rms_norm_backward": _rms_norm,
    "_index_put_impl_": lambda d: _put(d, aten._index_put_impl_),
    "_masked_scale": lambda d: aten._masked_scale(_x(6).to(d), (_x(6) > 0).to(d), 2.0),
    "_native_batch_norm_legit": lambda d: _batch_norm(d, training=True),
    "_native_batch_norm_legit_no_training": lambda d: _batch_norm(d, training=False),
    "_unsafe_index.Tensor": lambda d: aten._unsafe_index(_x(4, 3).to(d), [torch.tensor([3, 0]).to(d)]),
    "_unsafe_index_put": lambda d: _put(d, aten._unsafe_index_put),
    "arange": lambda d: torch.arange(5, device=d),
    "arange.start": lambda d: torch.arange(2, 7, device=d, dtype=torch.float32),
    "arange.start_step": lambda d: torch.arange(0.5, 3, 0.25, device=d),
    "as_strided_scatter": lambda d: aten.as_strided_scatter(_x(3, 4).to(d), _x(2, 2).to(d), [2, 2], [4, 1], 1),
    "bucketize.Tensor": lambda d: (
        torch.bucketize(_whole(3, 4).to(d), torch.tensor([1, 2, 3]).to(d)),
        torch.bucketize(_x(5).to(d), torch.tensor([-0.5, 0.5]).to(d), out_int32=True, right=True),
    ),
    "eye": lambda d: torch.eye(3, device=d),
    "linspace": lambda d: torch.linspace(-1, 1, 9, device=d),
    "native_dropout_backward": lambda d: aten.native_dropout_backward(_x(6).to(d), (_x(6) > 0).to(d), 2.0),
    "native_group_norm": _group_norm,
    "native_group_norm_backward": _group_norm,
    "record_stream": _recorded,
    "scalar_tensor": lambda d: aten.scalar_tensor(2.5, device=d),
    "scatter.value_reduce": lambda d: _x(3, 4).to(d).scatter(1, _whole(3, 4).to(d), 0.5, reduce="multiply"),
    "tril_indices": lambda d: torch.tril_indices(4, 3, 1, device=d),
    "triu_indices": lambda d: torch.triu_indices(3, 5, -1, device=d),
}
# Memory as it is found: sizes and strides are compared.
EMPTY: dict[str, Callable[[str], Any]] = {
    "empty_permuted": lambda d: torch.empty_permuted((2, 3, 4), (2, 0, 1), device=d),
    "empty_strided": lambda d: torch.empty_strided((2, 3), (1, 2), device=d),
    "new_empty_strided": lambda d: torch.ones(1, device=d).new_empty_strided((2, 3), (1, 2)),
}
DRAWN = 20000


def _like(dtype: Any = None) -> Any:
    return torch.zeros(DRAWN, device="npu", dtype=dtype)


def _generator() -> Any:
    return torch.Generator("npu").manual_seed(7)


# row: (what draws many numbers, their mean, their standard deviation; None where there is none)
DRAWS: dict[str, tuple[Callable[[], Any], float, float | None]] = {
    "_fused_dropout": (lambda: aten._fused_dropout(_like() + 1, 0.75)[0], 1, math.sqrt(1 / 3)),
    "bernoulli": (lambda: torch.bernoulli(_like() + 0.3), 0.3, math.sqrt(0.21)),
    "bernoulli.p": (lambda: torch.bernoulli(_like(), 0.3), 0.3, math.sqrt(0.21)),
    "bernoulli_.Tensor": (lambda: _like().bernoulli_(_like() + 0.3), 0.3, math.sqrt(0.21)),
    "bernoulli_.float": (lambda: _like().bernoulli_(0.3), 0.3, math.sqrt(0.21)),
    "cauchy_": (lambda: _like().cauchy_(1, 2).sub(1).div(2).atan(), 0, math.pi / math.sqrt(12)),
    "exponential_": (lambda: _like().exponential_(2.0), 0.5, 0.5),
    "geometric_": (lambda: _like().geometric_(0.25), 4, math.sqrt(12)),
    "log_normal_": (lambda: _like().log_normal_(0.5, 2.0).log(), 0.5, 2),
    "multinomial": (
        lambda: torch.multinomial(torch.tensor([1.0, 0, 3]).npu(), DRAWN, True).float(),
        1.5,
        math.sqrt(0.75),
    ),
    "native_dropout": (lambda: aten.native_dropout(_like() + 1, 0.25, True)[0], 1, math.sqrt(1 / 3)),
    "normal.float_float": (lambda: torch.normal(2.0, 3.0, (DRAWN,), device="npu"), 2, 3),
    "normal_": (lambda: _like().normal_(2, 3), 2, 3),
    "rand": (lambda: torch.rand(DRAWN, device="npu"), 0.5, math.sqrt(1 / 12)),
    "rand.generator": (lambda: torch.rand(DRAWN, device="npu", generator=_generator()), 0.5, math.sqrt(1 / 12)),
    "rand_like": (lambda: torch.rand_like(_like()), 0.5, math.sqrt(1 / 12)),
    "rand_like.generator": (lambda: aten.rand_like(_like(), generator=_generator()), 0.5, math.sqrt(1 / 12)),
    "randint": (lambda: torch.randint(9, (DRAWN,), device="npu").float(), 4, math.sqrt(80 / 12)),
    "randint.generator": (lambda: torch.randint(9, (DRAWN,), device="npu", generator=_generator()).float(), 4, None),
    "randint.low": (lambda: torch.randint(-4, 5, (DRAWN,), device="npu").float(), 0, math.sqrt(80 / 12)),
    "randint.low_generator": (
        lambda: torch.randint(-4, 5, (DRAWN,), device="npu", generator=_generator()).float(),
        0,
        math.sqrt(80 / 12),
    ),
    "randint_like": (lambda: torch.randint_like(_like(), 9), 4, math.sqrt(80 / 12)),
    "randint_like.Tensor": (
        lambda: torch.ops.aten.randint_like.Tensor(_like(), torch.tensor(9).npu()),
        4,
        math.sqrt(80 / 12),
    ),
    "randint_like.Tensor_generator": (
        lambda: aten.randint_like(_like(), torch.tensor(9).npu(), generator=_generator()),
        4,
        math.sqrt(80 / 12),
    ),
    "randint_like.generator": (
        lambda: aten.randint_like(_like(), 9, generator=_generator()),
        4,
        math.sqrt(80 / 12),
    ),
    "randint_like.low_generator_dtype": (
        lambda: aten.randint_like(_like(), -4, 5, generator=_generator()),
        0,
        math.sqrt(80 / 12),
    ),
    "randint_like.low_dtype": (lambda: torch.randint_like(_like(), -4, 5), 0, math.sqrt(80 / 12)),
    "randn": (lambda: torch.randn(DRAWN, device="npu"), 0, 1),
    "randn.generator": (lambda: torch.randn(DRAWN, device="npu", generator=_generator()), 0, 1),
    "randn_like": (lambda: torch.randn_like(_like()), 0, 1),
    "randn_like.generator": (lambda: aten.randn_like(_like(), generator=_generator()), 0, 1),
    "random_": (lambda: _like(torch.int8).random_().float(), 63.5, math.sqrt((128**2 - 1) / 12)),
    "random_.from": (lambda: _like().random_(-4, 5), 0, math.sqrt(80 / 12)),
    "random_.to": (lambda: _like().random_(9), 4, math.sqrt(80 / 12)),
    "randperm": (lambda: torch.randperm(DRAWN, device="npu").float() / DRAWN, 0.5, math.sqrt(1 / 12)),
    "randperm.generator": (
        lambda: torch.randperm(DRAWN, device="npu", generator=_generator()).float() / DRAWN,
        0.5,
        math.sqrt(1 / 12),
    ),
    "uniform_": (lambda: _like().uniform_(-1, 3), 1, math.sqrt(16 / 12)),
}
