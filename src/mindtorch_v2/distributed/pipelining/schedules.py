"""The order in which stages run micro-batches forward and backward.

A schedule is a list of steps for each rank; a step is run when what it needs has come from the other ranks, which send without
waiting. So the lists are all there is to a schedule.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import mindtorch_v2 as torch
from mindtorch_v2.distributed.pipelining.microbatch import (
    TensorChunkSpec,
    merge_chunks,
    split_args_kwargs_into_chunks,
)
from mindtorch_v2.distributed.pipelining.stage import PipelineStage

__all__ = [
    "PipelineScheduleMulti",
    "PipelineScheduleSingle",
    "Schedule1F1B",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleLoopedBFS",
    "get_schedule_class",
]


class Action(NamedTuple):
    """A step of a rank: which stage, whether backward, which micro-batch."""

    stage: int
    backward: bool
    micro_batch: int


def one_forward_one_backward(stages: int, stage: int, micro_batches: int) -> list[Action]:
    """As many micro-batches forward as stages follow, then one forward and one backward in turn."""
    ahead = min(micro_batches, stages - stage)
    made = [Action(stage, False, each) for each in range(ahead)]
    for each in range(micro_batches):
        made.append(Action(stage, True, each))
        if each + ahead < micro_batches:
            made.append(Action(stage, False, each + ahead))
    return made


def all_forward_all_backward(stage: int, micro_batches: int) -> list[Action]:
    """All micro-batches forward, then all backward."""
    return [Action(stage, way, each) for way in (False, True) for each in range(micro_batches)]


def looped(ranks: int, rank: int, local: int, micro_batches: int) -> list[Action]:
    """Each stage all micro-batches forward, then in the opposite order backward."""
    stages = [rank + ranks * each for each in range(local)]
    forward = [Action(stage, False, each) for stage in stages for each in range(micro_batches)]
    backward = [Action(stage, True, each) for stage in reversed(stages) for each in reversed(range(micro_batches))]
    return forward + backward


def interleaved(ranks: int, rank: int, local: int, micro_batches: int) -> list[Action]:
    """One forward and one backward in turn, on stages that lie `ranks` apart, in rounds of micro-batches."""
    rounds = max(1, micro_batches // ranks)
    per_round = micro_batches // rounds
    total = local * micro_batches
    warm_up = min(total, (local - 1) * per_round + 2 * (ranks - 1 - rank))

    def place(step: int, backward: bool) -> Action:
        turn, within = divmod(step, per_round)
        loop = turn % local
        micro_batch = (turn // local) * per_round + within
        stage = rank + ranks * (local - 1 - loop if backward else loop)
        return Action(stage, backward, micro_batch)

    made = [place(step, False) for step in range(warm_up)]
    for step in range(warm_up, total):
        made += [place(step, False), place(step - warm_up, True)]
    return made + [place(step, True) for step in range(total - warm_up, total)]


class _Schedule(abc.ABC):
    """Base of all schedules."""

    def __init__(
        self,
        stages: Sequence[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., torch.Tensor] | None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None,
        output_merge_spec: Any,
        scale_grads: bool,
    ) -> None:
        if n_microbatches < 1:
            raise ValueError(f"a step has at least one micro-batch, not {n_microbatches}")
        self._local = {stage.stage_index: stage for stage in stages}
        self._n_microbatches, self._loss_fn = n_microbatches, loss_fn
        self._args_chunk_spec, self._kwargs_chunk_spec = args_chunk_spec, kwargs_chunk_spec
        self._output_merge_spec, self.scale_grads = output_merge_spec, scale_grads
        self._has_backward = loss_fn is not None
        for stage in stages:
            stage.has_backward = self._has_backward

    @abc.abstractmethod
    def _actions(self) -> list[Action]:
        """The steps of this rank."""

    def step(
        self,
        *args: Any,
        target: Any = None,
        losses: list | None = None,
        return_outputs: bool = True,
        **kwargs: Any,
    ) -> Any:
        """Run a batch: forward, and backward where there is a loss.

        Args:
            args, kwargs: of the model: those of the first stage's rank are read, and keyword arguments on every rank.
            target: what the loss compares with, on the last stage's rank.
            losses: a list that is filled with the losses of the micro-batches, on the last stage's rank.
            return_outputs: whether the last stage's rank returns the model's outputs.
        """
        if self._has_backward and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; use eval() for inference under no_grad."
            )
        return self._run(args, kwargs, target, losses, return_outputs, self._has_backward)

    def eval(self, *args: Any, target: Any = None, losses: list | None = None, **kwargs: Any) -> Any:
        """Run a batch forward only; the arguments are those of `step`."""
        for stage in self._local.values():
            stage.has_backward = False
        try:
            with torch.no_grad():
                return self._run(args, kwargs, target, losses, True, False)
        finally:
            for stage in self._local.values():
                stage.has_backward = self._has_backward

    def _run(self, args: tuple, kwargs: dict, target: Any, losses: list | None, outputs: bool, backward: bool) -> Any:
        count = self._n_microbatches
        given, named = [()] * count, [{}] * count  # type: ignore[var-annotated]  # (empty for all)
        if args or kwargs:
            given, named = split_args_kwargs_into_chunks(
                args, kwargs, count, self._args_chunk_spec, self._kwargs_chunk_spec
            )
        targets = [None] * count if target is None else list(torch.tensor_split(target, count))
        made: dict[int, Any] = {}
        found: dict[int, Any] = {}
        left = {index: count for index in self._local}
        for action in self._actions():
            stage = self._local[action.stage]
            place = action.micro_batch
            if not action.backward:
                result = stage.forward_one_chunk(place, given[place], named[place])
                if stage.is_last:
                    if outputs:
                        made[place] = result
                    if self._loss_fn is not None and targets[place] is not None:
                        found[place] = self._loss_fn(result, targets[place])
                if not backward:
                    stage.clear_runtime_states()
            elif backward:
                left[action.stage] -= 1
                if stage.is_last and place not in found:
                    raise RuntimeError("the last stage's rank has no loss: give step() the target")
                stage.backward_one_chunk(place, found.get(place), left[action.stage] == 0)
        for stage in self._local.values():
            stage.finish()
            stage.clear_runtime_states()
            if backward and self.scale_grads:
                stage.scale_grads(count)
        if losses is not None:
            losses.clear()
            losses.extend(found[place] for place in sorted(found))
        if made:
            return merge_chunks([made[place] for place in sorted(made)], self._output_merge_spec)
        return None


class PipelineScheduleSingle(_Schedule):
    """A schedule of ranks with one stage each.

    Args:
        stage: this rank's.
        n_microbatches: into how many pieces a batch is cut.
        loss_fn: `loss_fn(output, target)`; None: forward only.
        args_chunk_spec, kwargs_chunk_spec: along which dimensions arguments are cut; the first by default.
        output_merge_spec: how outputs are put together; along the first dimension by default.
        scale_grads: whether gradients, sums over micro-batches, are divided by their number.

    >>> from mindtorch_v2.distributed.pipelining import schedules
    >>> issubclass(schedules.ScheduleGPipe, schedules.PipelineScheduleSingle)
    True
    """

    def __init__(
        self,
        stage: PipelineStage,
        n_microbatches: int,
        loss_fn: Callable[..., torch.Tensor] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: Any = None,
        scale_grads: bool = True,
    ) -> None:
        super().__init__(
            [stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        self._stage, self._num_stages = stage, stage.num_stages
        if stage.group_size != stage.num_stages:
            raise ValueError(
                f"{type(self).__name__} has one stage on each rank: {stage.num_stages} stages on {stage.group_size} ranks"
            )


class ScheduleGPipe(PipelineScheduleSingle):
    """All micro-batches forward, then all backward (Huang et al., GPipe, 2019).

    >>> from mindtorch_v2.distributed.pipelining import PipelineStage, ScheduleGPipe
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> stage = PipelineStage(torch.nn.Linear(2, 1), 0, 1, torch.device("cpu"))
    >>> schedule = ScheduleGPipe(stage, n_microbatches=2)
    >>> schedule.step(torch.ones(4, 2)).shape
    torch.Size([4, 1])
    >>> dist.destroy_process_group()
    """

    def _actions(self) -> list[Action]:
        return all_forward_all_backward(self._stage.stage_index, self._n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """One forward and one backward in turn (Narayanan et al., PipeDream, 2019): fewer activations are kept.

    >>> from mindtorch_v2.distributed.pipelining import PipelineStage, Schedule1F1B
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> stage = PipelineStage(torch.nn.Linear(2, 1), 0, 1, torch.device("cpu"))
    >>> schedule = Schedule1F1B(stage, n_microbatches=2, loss_fn=torch.nn.MSELoss())
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 1)).shape
    torch.Size([4, 1])
    >>> dist.destroy_process_group()
    """

    def _actions(self) -> list[Action]:
        return one_forward_one_backward(self._num_stages, self._stage.stage_index, self._n_microbatches)


class PipelineScheduleMulti(_Schedule):
    """A schedule of ranks with several stages each: those of rank r are r, r + ranks, r + 2 ranks, ...

    Args:
        stages: this rank's, in order.
        n_microbatches: into how many pieces a batch is cut.
        loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads: as in `PipelineScheduleSingle`.

    >>> from mindtorch_v2.distributed.pipelining import schedules
    >>> issubclass(schedules.ScheduleInterleaved1F1B, schedules.PipelineScheduleMulti)
    True
    """

    def __init__(
        self,
        stages: list[PipelineStage],
        n_microbatches: int,
        loss_fn: Callable[..., torch.Tensor] | None = None,
        args_chunk_spec: tuple[TensorChunkSpec, ...] | None = None,
        kwargs_chunk_spec: dict[str, TensorChunkSpec] | None = None,
        output_merge_spec: Any = None,
        use_full_backward: bool | None = None,
        scale_grads: bool = True,
        backward_requires_autograd: bool = True,
    ) -> None:
        super().__init__(
            stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec, output_merge_spec, scale_grads
        )
        self._stages = stages
        self.pp_group_size, self.rank = stages[0].group_size, stages[0].group_rank
        wanted = list(range(self.rank, stages[0].num_stages, self.pp_group_size))
        if sorted(self._local) != wanted:
            raise ValueError(
                f"rank {self.rank} of {self.pp_group_size} runs the stages {wanted}, not {sorted(self._local)}"
            )


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """Each stage all micro-batches forward, then backward in the opposite order (Lamy-Poirier, Breadth-First, 2022).

    >>> from mindtorch_v2.distributed.pipelining import PipelineStage, ScheduleLoopedBFS
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> cpu = torch.device("cpu")
    >>> stages = [PipelineStage(torch.nn.Linear(2, 2), place, 2, cpu) for place in range(2)]
    >>> loss = torch.nn.MSELoss()
    >>> schedule = ScheduleLoopedBFS(stages, n_microbatches=2, loss_fn=loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """

    def _actions(self) -> list[Action]:
        return looped(self.pp_group_size, self.rank, len(self._stages), self._n_microbatches)


class ScheduleInterleaved1F1B(PipelineScheduleMulti):
    """One forward and one backward in turn, on several stages for each rank (Narayanan et al., Megatron-LM, 2021).

    The number of micro-batches has to be a multiple of that of rounds, which is it divided by the number of ranks.

    >>> from mindtorch_v2.distributed.pipelining import PipelineStage, ScheduleInterleaved1F1B
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> cpu = torch.device("cpu")
    >>> stages = [PipelineStage(torch.nn.Linear(2, 2), place, 2, cpu) for place in range(2)]
    >>> loss = torch.nn.MSELoss()
    >>> schedule = ScheduleInterleaved1F1B(stages, n_microbatches=2, loss_fn=loss)
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """

    def __init__(self, stages: list[PipelineStage], n_microbatches: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(stages, n_microbatches, *args, **kwargs)
        rounds = max(1, n_microbatches // self.pp_group_size)
        if n_microbatches % rounds:
            raise ValueError(
                f"Interleaved 1F1B requires the number of microbatches ({n_microbatches}) to be a multiple of the number of rounds ({rounds})"
            )

    def _actions(self) -> list[Action]:
        return interleaved(self.pp_group_size, self.rank, len(self._stages), self._n_microbatches)


_CLASSES = {
    "1f1b": Schedule1F1B,
    "gpipe": ScheduleGPipe,
    "interleaved1f1b": ScheduleInterleaved1F1B,
    "loopedbfs": ScheduleLoopedBFS,
    "pipelineschedulemulti": PipelineScheduleMulti,
    "pipelineschedulesingle": PipelineScheduleSingle,
}


def get_schedule_class(schedule_name: str) -> type:
    """The class of a schedule by its name, whatever its case: "1F1B", "GPipe", "Interleaved1F1B", "LoopedBFS".

    >>> from mindtorch_v2.distributed.pipelining.schedules import get_schedule_class
    >>> get_schedule_class("1f1b").__name__
    'Schedule1F1B'
    """
    found = _CLASSES.get(schedule_name.lower().removeprefix("schedule"))
    if found is None:
        raise ValueError(f"Unknown schedule name: {schedule_name}. The valid options are {sorted(_CLASSES)}")
    return found
