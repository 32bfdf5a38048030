"""PowerSGD (Vogels, Karimireddy, Jaggi: "PowerSGD: Practical Low-Rank Gradient Compression", 2019): gradients sent in low rank.

A gradient M, as a matrix, is sent as the two thin matrices of M = P Q^T: P = M Q with the Q of the pass before, averaged and made
orthogonal, and then Q = M^T P, averaged. What this loses is added to the next gradient.

```text
state = PowerSGDState(process_group=None, matrix_approximation_rank=2, start_powerSGD_iter=10)
model.register_comm_hook(state, powerSGD_hook)
```
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import mindtorch_v2 as torch
from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
from mindtorch_v2.futures import Future

if TYPE_CHECKING:
    from mindtorch_v2.nn.parallel._reducer import GradBucket

__all__ = ["PowerSGDState", "batched_powerSGD_hook", "powerSGD_hook"]

_log = logging.getLogger("torch.distributed")


class PowerSGDState:
    """Settings of PowerSGD, and what it keeps from one pass to the next.

    Args:
        process_group: whose ranks take part; None is everybody.
        matrix_approximation_rank: columns of the matrices that are sent.
        start_powerSGD_iter: passes before it are averaged as they are. At least 2 with `use_error_feedback` or `warm_start`.
        min_compression_rate: what a parameter's matrices must be smaller by, or its gradient is sent as it is.
        use_error_feedback: whether what was lost is added to the next gradient.
        warm_start: whether Q begins with the Q of the pass before, and not with random numbers.
        orthogonalization_epsilon: added to the length of a column before it is divided by; 0 takes `torch.linalg.qr`.
        random_seed: of the first Q.
        compression_stats_logging_frequency: passes between log messages of how much was saved.
        batch_tensors_with_same_shape: whether matrices of one shape are computed at once.

    ValueError for a pass that begins too early.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState
    >>> state = PowerSGDState(process_group=None, matrix_approximation_rank=2, start_powerSGD_iter=10)
    >>> state.matrix_approximation_rank, state.start_powerSGD_iter
    (2, 10)
    """

    def __init__(
        self,
        process_group: Any,
        matrix_approximation_rank: int = 1,
        start_powerSGD_iter: int = 1000,
        min_compression_rate: float = 2,
        use_error_feedback: bool = True,
        warm_start: bool = True,
        orthogonalization_epsilon: float = 0,
        random_seed: int = 0,
        compression_stats_logging_frequency: int = 10_000,
        batch_tensors_with_same_shape: bool = False,
    ) -> None:
        if (use_error_feedback or warm_start) and start_powerSGD_iter <= 1:
            raise ValueError(
                "Expect `start_powerSGD_iter` > 1 if `use_error_feedback` or `warm_start` is enabled, "
                "because PowerSGD can only be applied after the first two iterations in DDP."
            )
        self.process_group = process_group
        self.matrix_approximation_rank = matrix_approximation_rank
        self.start_powerSGD_iter = start_powerSGD_iter
        self.min_compression_rate = min_compression_rate
        self.use_error_feedback, self.warm_start = use_error_feedback, warm_start
        self.orthogonalization_epsilon = orthogonalization_epsilon
        self.rng = np.random.RandomState(random_seed)
        self.compression_stats_logging_frequency = max(1, compression_stats_logging_frequency)
        self.batch_tensors_with_same_shape = batch_tensors_with_same_shape
        self.error_dict: dict[int, torch.Tensor] = {}  # of each bucket, what was lost
        self.q_memory_dict: dict[int, list[torch.Tensor]] = {}  # of each bucket, the last Q of each matrix
        self.iter = 0
        self.total_numel_before_compression = self.total_numel_after_compression = 0

    def __getstate__(self) -> dict[str, Any]:
        """All but the group, which belongs to this run of the job."""
        return {name: value for name, value in self.__dict__.items() if name != "process_group"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {"process_group": None, **state}

    def maybe_increase_iter(self, bucket: GradBucket) -> None:
        """Count a pass, at its last bucket."""
        if bucket.is_last():
            self.iter += 1
            if self.iter == self.start_powerSGD_iter:
                _log.info("PowerSGD begins after %d passes", self.iter)

    def compression_stats(self) -> tuple[float, int, int]:
        """(how many times smaller, numbers before, numbers after) of what was sent."""
        before, after = self.total_numel_before_compression, self.total_numel_after_compression
        return before / after if after else 0, before, after

    def _count(self, before: int, after: int) -> None:
        self.total_numel_before_compression += before
        self.total_numel_after_compression += after
        if self.iter % self.compression_stats_logging_frequency == 0:
            _log.info("PowerSGD: %.1f times smaller: %d numbers before, %d after", *self.compression_stats())


def powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The averages of a bucket's gradients: each matrix in low rank, all others as they are.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(PowerSGDState(None), powerSGD_hook)
    >>> model(torch.tensor([[2.0, 3.0]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """

    def split(flat: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        matrices: list[torch.Tensor] = []
        others: list[torch.Tensor] = []
        for view in _shaped_as(bucket, flat):
            (matrices if _is_worth_it(view, state) else others).append(view)
        return [each.view(each.shape[0], -1) for each in matrices], others

    return _reduced(state, bucket, split)


def batched_powerSGD_hook(state: PowerSGDState, bucket: GradBucket) -> Future:
    """The averages of a bucket's gradients in low rank, all of them as one square matrix: faster, and less exact.

    >>> from mindtorch_v2.distributed.algorithms.ddp_comm_hooks import powerSGD_hook as power_sgd
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(power_sgd.PowerSGDState(None), power_sgd.batched_powerSGD_hook)
    >>> model(torch.tensor([[2.0, 3.0]])).sum().backward()
    >>> model.module.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """
    side = math.ceil(math.sqrt(bucket.buffer().numel()))

    def split(flat: torch.Tensor) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        return [flat.view(side, side)], []

    return _reduced(state, bucket, split, padded=side * side)


def _reduced(
    state: PowerSGDState,
    bucket: GradBucket,
    split: Callable[[torch.Tensor], tuple[list[torch.Tensor], list[torch.Tensor]]],
    padded: int | None = None,
) -> Future:
    if state.iter < state.start_powerSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(state.process_group, bucket)
    whole = bucket.buffer()
    flat = whole if padded is None else torch.nn.functional.pad(whole, (0, padded - whole.numel()))
    index = bucket.index()
    if state.use_error_feedback:
        if index in state.error_dict:
            flat.add_(state.error_dict[index])
        before = flat.clone()
    # One after the other, and not as each becomes ready: all ranks have to call the collectives in one order.
    matrices, others = split(flat)
    _average_as_they_are(others, state)
    _average_in_low_rank(matrices, state, index)
    if state.use_error_feedback:
        state.error_dict[index] = before.sub_(flat)
    if not state.warm_start:
        state.q_memory_dict.clear()
    state.maybe_increase_iter(bucket)
    done: Future = Future()
    done.set_result(flat[: whole.numel()])
    return done


def _shaped_as(bucket: GradBucket, flat: torch.Tensor) -> list[torch.Tensor]:
    gradients = bucket.gradients()
    parts = flat.split([each.numel() for each in gradients])
    return [part.view(each.shape) for part, each in zip(parts, gradients, strict=True)]


def _is_worth_it(tensor: torch.Tensor, state: PowerSGDState) -> bool:
    if tensor.dim() <= 1:
        return False
    rows, columns = tensor.shape[0], tensor.numel() // max(1, tensor.shape[0])
    rank = min(rows, columns, state.matrix_approximation_rank)
    return (rows + columns) * rank * state.min_compression_rate < rows * columns


def _average_as_they_are(tensors: Sequence[torch.Tensor], state: PowerSGDState) -> None:
    if not tensors:
        return
    together = torch.cat([each.reshape(-1) for each in tensors])
    state._count(together.numel(), together.numel())
    torch.distributed.all_reduce(together, group=state.process_group)
    together.div_(torch.distributed.get_world_size(state.process_group))
    for tensor, part in zip(tensors, together.split([each.numel() for each in tensors]), strict=True):
        tensor.copy_(part.view(tensor.shape))


def _average_in_low_rank(matrices: Sequence[torch.Tensor], state: PowerSGDState, index: int) -> None:
    """Replace matrices by the averages of their approximations."""
    if not matrices:
        return
    qs = state.q_memory_dict.get(index)
    if qs is None:
        qs = state.q_memory_dict[index] = _first(matrices, state)
    _orthogonalize(qs, state)
    state._count(
        sum(m.numel() for m in matrices), sum((sum(m.shape)) * q.shape[1] for m, q in zip(matrices, qs, strict=True))
    )
    ps = _products([(m, q) for m, q in zip(matrices, qs, strict=True)], state)
    _sum_together(ps, state)
    _orthogonalize(ps, state)
    for q, found in zip(qs, _products([(m.t(), p) for m, p in zip(matrices, ps, strict=True)], state), strict=True):
        q.copy_(found)
    _sum_together(qs, state)
    size = torch.distributed.get_world_size(state.process_group)
    for q in qs:
        q.div_(size)
    for matrix, found in zip(
        matrices, _products([(p, q.t()) for p, q in zip(ps, qs, strict=True)], state), strict=True
    ):
        matrix.copy_(found)


def _first(matrices: Sequence[torch.Tensor], state: PowerSGDState) -> list[torch.Tensor]:
    """Random Qs, the same on all ranks; the program's own random numbers stay what they would be."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(state.rng.randint(1_000_000_000)))
        return [
            torch.randn(m.shape[1], min(*m.shape, state.matrix_approximation_rank), dtype=m.dtype).to(m.device)
            for m in matrices
        ]


def _sum_together(tensors: Sequence[torch.Tensor], state: PowerSGDState) -> None:
    """Sum tensors over the ranks by one collective."""
    together = torch.cat([each.reshape(-1) for each in tensors])
    torch.distributed.all_reduce(together, group=state.process_group)
    for tensor, part in zip(tensors, together.split([each.numel() for each in tensors]), strict=True):
        tensor.copy_(part.view(tensor.shape))


def _by_shape(shapes: Sequence[Any], state: PowerSGDState) -> list[list[int]]:
    """The places that are computed at once."""
    if not state.batch_tensors_with_same_shape:
        return [[place] for place in range(len(shapes))]
    groups: dict[Any, list[int]] = {}
    for place, shape in enumerate(shapes):
        groups.setdefault(shape, []).append(place)
    return list(groups.values())


def _products(pairs: Sequence[tuple[torch.Tensor, torch.Tensor]], state: PowerSGDState) -> list[torch.Tensor]:
    found: list[Any] = [None] * len(pairs)
    for places in _by_shape([(left.shape, right.shape) for left, right in pairs], state):
        lefts, rights = ([pairs[place][side] for place in places] for side in (0, 1))
        products = (
            [lefts[0] @ rights[0]] if len(places) == 1 else torch.bmm(torch.stack(lefts), torch.stack(rights)).unbind()
        )
        for place, product in zip(places, products, strict=True):
            found[place] = product
    return found


def _orthogonalize(matrices: Sequence[torch.Tensor], state: PowerSGDState) -> None:
    """Make the columns of each matrix orthogonal and of length 1, in place."""
    for places in _by_shape([each.shape for each in matrices], state):
        stacked = torch.stack([matrices[place] for place in places])
        if state.orthogonalization_epsilon == 0:
            stacked = torch.linalg.qr(stacked).Q
        else:
            _gram_schmidt(stacked, state.orthogonalization_epsilon)
        for place, found in zip(places, stacked.unbind(), strict=True):
            matrices[place].copy_(found)


def _gram_schmidt(matrices: torch.Tensor, epsilon: float) -> None:
    for place in range(matrices.shape[2]):
        column = matrices[:, :, place : place + 1]
        column /= torch.linalg.vector_norm(column, dim=1, keepdim=True) + epsilon
        rest = matrices[:, :, place + 1 :]
        rest -= column @ (column.mT @ rest)
