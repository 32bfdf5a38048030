"""The order in which stages run micro-batches forward and backward.

A schedule is a list of steps for each rank; a step is run when what it needs has come from the other ranks, which send without
waiting. So the lists are all there is to a schedule.
"""

from __future__ import annotations

import abc
import csv
from collections.abc import Callable, Sequence
from typing import Any, Literal

import mindtorch_v2 as torch
from mindtorch_v2.distributed.pipelining import _orders as orders
from mindtorch_v2.distributed.pipelining._actions import Action as _Action
from mindtorch_v2.distributed.pipelining._actions import ComputationType as _ComputationType
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
    "ScheduleDualPipeV",
    "ScheduleGPipe",
    "ScheduleInterleaved1F1B",
    "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS",
    "ScheduleZBVZeroBubble",
    "get_schedule_class",
]

FORWARD = F = _ComputationType.FORWARD
FULL_BACKWARD = B = _ComputationType.FULL_BACKWARD
BACKWARD_INPUT = I = _ComputationType.BACKWARD_INPUT  # noqa: E741  (PyTorch's name)
BACKWARD_WEIGHT = W = _ComputationType.BACKWARD_WEIGHT
UNSHARD, RESHARD = _ComputationType.UNSHARD, _ComputationType.RESHARD
SEND_F, RECV_F = _ComputationType.SEND_F, _ComputationType.RECV_F
SEND_B, RECV_B = _ComputationType.SEND_B, _ComputationType.RECV_B
OVERLAP_F_B, REDUCE_GRAD = _ComputationType.OVERLAP_F_B, _ComputationType.REDUCE_GRAD


class _PipelineContext:
    """Things that a function for a kind of steps is given beside the step: the schedule, the micro-batches and the list of losses."""

    def __init__(
        self,
        schedule_ref: _PipelineSchedule,
        arg_mbs: list[tuple] | None = None,
        kwarg_mbs: list[dict] | None = None,
        target_mbs: list | None = None,
        losses: list | None = None,
    ) -> None:
        self.schedule_ref, self.arg_mbs, self.kwarg_mbs = schedule_ref, arg_mbs, kwarg_mbs
        self.target_mbs, self.losses = target_mbs, losses


class _Batch:
    """A batch that is under way on this rank: its micro-batches, and what has come of them."""

    def __init__(
        self, args: Sequence[tuple], kwargs: Sequence[dict], targets: Sequence[Any], stages: Sequence[int]
    ) -> None:
        self.args, self.kwargs, self.targets = args, kwargs, targets
        self.outputs: dict[int, Any] = {}
        self.losses: dict[int, Any] = {}
        self.left = dict.fromkeys(stages, len(args))  # backward passes of each stage


class _PipelineSchedule(abc.ABC):
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
        self._functions: dict[_ComputationType, Callable[[_Action, _PipelineContext], None]] = {}
        for stage in stages:
            stage.has_backward = self._has_backward

    @abc.abstractmethod
    def _actions(self) -> Sequence[_Action]:
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
        targets = None if target is None else list(torch.tensor_split(target, count))
        made = self._run_batch(given, named, targets, losses, outputs, backward)
        return merge_chunks([made[place] for place in sorted(made)], self._output_merge_spec) if made else None

    def _step_microbatches(
        self,
        arg_mbs: list | None = None,
        kwarg_mbs: list | None = None,
        target_mbs: list | None = None,
        losses: list | None = None,
        return_outputs: bool = True,
    ) -> None:
        """Run a batch that is in micro-batches already: a list of each one's arguments."""
        count = self._n_microbatches
        for name, each in (("arg_mbs", arg_mbs), ("kwarg_mbs", kwarg_mbs), ("target_mbs", target_mbs)):
            if each is not None and len(each) != count:
                raise ValueError(f"Expecting {count} {name} but got {len(each)}")
        given = arg_mbs if arg_mbs is not None else [()] * count
        named = kwarg_mbs if kwarg_mbs is not None else [{}] * count
        self._run_batch(given, named, target_mbs, losses, return_outputs, self._has_backward)

    def _run_batch(
        self,
        args: Sequence[tuple],
        kwargs: Sequence[dict],
        targets: Sequence[Any] | None,
        losses: list | None,
        outputs: bool,
        backward: bool,
    ) -> dict[int, Any]:
        """The outputs of the micro-batches, if they are wanted and this rank has the last stage."""
        count = self._n_microbatches
        batch = _Batch(args, kwargs, targets if targets is not None else [None] * count, list(self._local))
        context = _PipelineContext(self, list(args), list(kwargs), None if targets is None else list(targets), losses)
        for action in self._actions():
            own = self._functions.get(action.computation_type)
            if own is not None:
                own(action, context)
            else:
                self._do(action, batch, outputs, backward)
        for stage in self._local.values():
            stage.finish()
            stage.clear_runtime_states()
            if backward and self.scale_grads:
                stage.scale_grads(count)
        if losses is not None:
            losses.clear()
            losses.extend(batch.losses[place] for place in sorted(batch.losses))
        return batch.outputs

    def _do(self, action: _Action, batch: _Batch, outputs: bool, backward: bool) -> None:
        kind = action.computation_type
        if action.sub_actions is not None:
            for each in action.sub_actions:
                self._do(each, batch, outputs, backward)
            return
        stage = self._local[action.stage_index]
        if kind in (UNSHARD, RESHARD):
            if hasattr(stage.submod, "unshard"):
                stage.submod.unshard() if kind is UNSHARD else stage.submod.reshard()
            return
        if not action.is_compute_op or action.microbatch_index is None:
            return  # stages send and receive by themselves
        place = action.microbatch_index
        if kind is FORWARD:
            result = stage.forward_one_chunk(place, batch.args[place], batch.kwargs[place])
            if stage.is_last:
                if outputs:
                    batch.outputs[place] = result
                if self._loss_fn is not None and batch.targets[place] is not None:
                    batch.losses[place] = self._loss_fn(result, batch.targets[place])
            if not backward:
                stage.clear_runtime_states()
            return
        if not backward:
            return
        if kind is not BACKWARD_INPUT:
            batch.left[action.stage_index] -= 1
        last = batch.left[action.stage_index] == 0
        if kind is BACKWARD_WEIGHT:
            stage.backward_weight_one_chunk(place, last)
            return
        if stage.is_last and place not in batch.losses:
            raise RuntimeError("the last stage's rank has no loss: give step() the target")
        if kind is BACKWARD_INPUT:
            last = batch.left[action.stage_index] == 1
        stage.backward_one_chunk(place, batch.losses.get(place), kind is FULL_BACKWARD, last)


class PipelineScheduleSingle(_PipelineSchedule):
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

    def _actions(self) -> Sequence[_Action]:
        return orders.all_forward_all_backward(self._stage.stage_index, self._n_microbatches)


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

    def _actions(self) -> Sequence[_Action]:
        return orders.one_forward_one_backward(self._num_stages, self._stage.stage_index, self._n_microbatches)


class PipelineScheduleMulti(_PipelineSchedule):
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
        self._stages, self._num_stages = stages, stages[0].num_stages
        self.pp_group_size, self.rank = stages[0].group_size, stages[0].group_rank
        self._n_local_stages = len(stages)
        self.stage_index_to_group_rank = self._owners()
        for stage in stages:
            stage.stage_index_to_group_rank = self.stage_index_to_group_rank
        wanted = [index for index, rank in self.stage_index_to_group_rank.items() if rank == self.rank]
        if sorted(self._local) != sorted(wanted):
            raise ValueError(
                f"rank {self.rank} of {self.pp_group_size} runs the stages {wanted}, not {sorted(self._local)}"
            )
        self.pipeline_order: dict[int, list[_Action | None]] = {
            rank: list(self._order(rank)) for rank in range(self.pp_group_size)
        }

    def _owners(self) -> dict[int, int]:
        """The rank of each stage."""
        return {index: index % self.pp_group_size for index in range(self._num_stages)}

    def _order(self, rank: int) -> Sequence[_Action]:
        """The steps of a rank."""
        return []

    def _actions(self) -> Sequence[_Action]:
        return [action for action in self.pipeline_order[self.rank] if action is not None]

    def _load_csv(self, filename: str, format: Literal["compute_only", "compute_comms"] = "compute_only") -> None:
        """Take the steps from a file: a line for each rank, in order, of steps such as 0F0, with commas."""
        with open(filename, newline="") as file:
            rows = {rank: [_Action.from_str(each) for each in row] for rank, row in enumerate(csv.reader(file))}
        self._prepare_schedule_with_comms(rows, format)

    def _prepare_schedule_with_comms(
        self,
        actions: dict[int, list[_Action | None]],
        format: Literal["compute_only", "compute_comms"] = "compute_only",
    ) -> None:
        """Take other steps. Those that send and receive are left out, as stages do so by themselves."""
        if format not in ("compute_only", "compute_comms"):
            raise NotImplementedError(f"{format=} is not implemented")
        if sorted(actions) != list(range(self.pp_group_size)):
            raise ValueError(
                f"Schedule has incorrect number of ranks - expected {self.pp_group_size}, actual {len(actions)}"
            )
        owners = dict(self.stage_index_to_group_rank)
        for rank, steps in actions.items():
            for step in steps:
                for each in () if step is None else step.sub_actions or (step,):
                    owners[each.stage_index] = rank
        self.stage_index_to_group_rank = owners
        for stage in self._stages:
            stage.stage_index_to_group_rank = owners
        self.pipeline_order = actions

    def _dump_csv(self, filename: str, format: Literal["compute_only", "compute_comms"] = "compute_comms") -> None:
        """Write the steps to a file, as `_load_csv` reads them."""
        with open(filename, "w", newline="") as file:
            writer = csv.writer(file)
            for rank in sorted(self.pipeline_order):
                writer.writerow(["" if each is None else str(each) for each in self.pipeline_order[rank]])


class _PipelineScheduleRuntime(PipelineScheduleMulti):
    """A schedule whose steps are given: by `_load_csv`, or as a list for each rank by `_prepare_schedule_with_comms`.

    `register_custom_function` lets a function of one's own do the steps of a kind.
    """

    def _owners(self) -> dict[int, int]:
        plain = super()._owners()  # until steps are given, which say whose stages are which
        return plain | dict.fromkeys(self._local, self.rank) if sorted(self._local) != self._plain(plain) else plain

    def _plain(self, owners: dict[int, int]) -> list[int]:
        return [index for index, rank in owners.items() if rank == self.rank]

    def register_custom_function(
        self, computation_type: _ComputationType, custom_function: Callable[[_Action, _PipelineContext], None]
    ) -> None:
        """Let `custom_function(action, context)` do all steps of a kind."""
        if not isinstance(computation_type, _ComputationType):
            raise ValueError(f"Invalid computation type {computation_type}")
        self._functions[computation_type] = custom_function


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

    def _order(self, rank: int) -> Sequence[_Action]:
        return orders.looped(self.pp_group_size, rank, self._n_local_stages, self._n_microbatches)


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

    def _order(self, rank: int) -> Sequence[_Action]:
        return orders.interleaved(self.pp_group_size, rank, self._n_local_stages, self._n_microbatches)


class ScheduleInterleavedZeroBubble(PipelineScheduleMulti):
    """Forward, backward of inputs and backward of weights as steps of their own, the last where ranks would wait (Qi et al., Zero Bubble, 2023).

    >>> from mindtorch_v2.distributed.pipelining import PipelineStage, ScheduleInterleavedZeroBubble
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> cpu = torch.device("cpu")
    >>> stages = [PipelineStage(torch.nn.Linear(2, 2), place, 2, cpu) for place in range(2)]
    >>> schedule = ScheduleInterleavedZeroBubble(stages, n_microbatches=1, loss_fn=torch.nn.MSELoss())
    >>> schedule.pipeline_order[0]
    [0F0, 1F0, 1I0, 0I0, 1W0, 0W0]
    >>> dist.destroy_process_group()
    """

    def _order(self, rank: int) -> Sequence[_Action]:
        owners = [self.stage_index_to_group_rank[index] for index in range(self._num_stages)]
        return orders.zero_bubble(owners, self._n_microbatches, self.pp_group_size + 1)[rank]


class ScheduleZBVZeroBubble(ScheduleInterleavedZeroBubble):
    """Zero bubbles with two stages a rank that lie as the sides of a V: the first rank has the first stage and the last (Qi et al., 2023).

    >>> from mindtorch_v2.distributed.pipelining import PipelineStage, ScheduleZBVZeroBubble
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> cpu = torch.device("cpu")
    >>> stages = [PipelineStage(torch.nn.Linear(2, 2), place, 2, cpu) for place in range(2)]
    >>> schedule = ScheduleZBVZeroBubble(stages, n_microbatches=2, loss_fn=torch.nn.MSELoss())
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """

    def _owners(self) -> dict[int, int]:
        if self._n_local_stages != 2:
            raise ValueError(f"ZBV requires exactly 2 stages per rank, but got {self._n_local_stages}.")
        last = self._num_stages - 1
        return {index: min(index, last - index) for index in range(self._num_stages)}


class ScheduleDualPipeV(ScheduleZBVZeroBubble):
    """As `ScheduleZBVZeroBubble`, where a forward and a backward step that follow each other are one step, OVERLAP_F_B.

    Such a pair runs one after the other unless `register_custom_function` gives what overlaps them.

    >>> from mindtorch_v2.distributed.pipelining import PipelineStage, ScheduleDualPipeV
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> cpu = torch.device("cpu")
    >>> stages = [PipelineStage(torch.nn.Linear(2, 2), place, 2, cpu) for place in range(2)]
    >>> schedule = ScheduleDualPipeV(stages, n_microbatches=2, loss_fn=torch.nn.MSELoss())
    >>> schedule.step(torch.ones(4, 2), target=torch.zeros(4, 2)).shape
    torch.Size([4, 2])
    >>> dist.destroy_process_group()
    """

    def _owners(self) -> dict[int, int]:
        owners = super()._owners()
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                "DualPipeV requires at least as many microbatches as stages, but got "
                f"{self._n_microbatches} microbatches and {self._num_stages} stages."
            )
        return owners

    def _order(self, rank: int) -> Sequence[_Action]:
        return orders.overlapped(orders.with_whole_backward(super()._order(rank)))

    register_custom_function = _PipelineScheduleRuntime.register_custom_function


_CLASSES = {
    "1F1B": Schedule1F1B,
    "Interleaved1F1B": ScheduleInterleaved1F1B,
    "GPipe": ScheduleGPipe,
    "LoopedBFS": ScheduleLoopedBFS,
    "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
    "PipelineScheduleSingle": PipelineScheduleSingle,
    "PipelineScheduleMulti": PipelineScheduleMulti,
    "ZBVZeroBubble": ScheduleZBVZeroBubble,
    "DualPipeV": ScheduleDualPipeV,
}


def get_schedule_class(schedule_name: str) -> type:
    """The class of a schedule by its name, whatever its case: "1F1B", "GPipe", "Interleaved1F1B", "LoopedBFS", "ZBVZeroBubble", ...

    >>> from mindtorch_v2.distributed.pipelining.schedules import get_schedule_class
    >>> get_schedule_class("1f1b").__name__
    'Schedule1F1B'
    """
    found = {name.lower(): kind for name, kind in _CLASSES.items()}.get(schedule_name.lower())
    if found is None:
        raise ValueError(f"Unknown schedule name '{schedule_name}'. The valid options are {list(_CLASSES)}")
    return found
