"""One stage of a pipeline: a part of the model, what it receives from the stage before, and what it sends to the next."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _groups as world
from mindtorch_v2.distributed import _objects as objects
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed.pipelining import _backward as parts
from mindtorch_v2.nn.parallel import DistributedDataParallel
from mindtorch_v2.types import Device
from mindtorch_v2.utils._pytree import tree_flatten

if TYPE_CHECKING:
    from mindtorch_v2.distributed.pipelining._info import PipeInfo

__all__ = ["PipelineStage", "build_stage"]

Shapes = list[tuple[tuple[int, ...], torch.dtype, bool]]

# What stages of this process hand to each other without a message, by their group: a rank sends nothing to itself.
_handed: weakref.WeakKeyDictionary[Any, dict[tuple, Any]] = weakref.WeakKeyDictionary()


def _tensors(value: Any) -> list[torch.Tensor]:
    return [each for each in tree_flatten(value)[0] if isinstance(each, torch.Tensor)]


class PipelineStage:
    """A part of a model that runs on this rank.

    What forward returns is sent to the next stage: tensors, one or several. Their sizes are learnt by the first step.

    Args:
        submodule: the part.
        stage_index: its place in the pipeline.
        num_stages: how many parts there are.
        device: where it runs.
        input_args, output_args: accepted as in PyTorch; sizes are learnt from the first micro-batch.
        group: the ranks of the pipeline; all by default. Stage i runs on the rank i modulo their number.
        output_grads, input_grads, get_mesh: accepted as in PyTorch.
        dw_builder: called after a backward pass that is to leave out gradients of weights; what it returns is called when they are
            to be computed. For modules that do so themselves.

    >>> from mindtorch_v2.distributed.pipelining import PipelineStage
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> stage = PipelineStage(torch.nn.Linear(2, 1), stage_index=0, num_stages=1, device=torch.device("cpu"))
    >>> stage.is_first, stage.is_last
    (True, True)
    >>> dist.destroy_process_group()
    """

    _traced = False  # whether the module is one of `pipeline`, where what later stages need comes from the first

    def __init__(
        self,
        submodule: torch.nn.Module,
        stage_index: int,
        num_stages: int,
        device: Device,
        input_args: Any = None,
        output_args: Any = None,
        output_grads: Any = None,
        input_grads: Any = None,
        group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
        get_mesh: Any = None,
    ) -> None:
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod, self.stage_index, self.num_stages = submodule, stage_index, num_stages
        self.device = torch.device(device) if device is not None else torch.device("cpu")
        self.group = world.resolve(group)
        self.group_rank, self.group_size = self.group.rank(), self.group.size()
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages {num_stages}"
            )
        self.is_first, self.is_last = stage_index == 0, stage_index == num_stages - 1
        self.stage_index_to_group_rank = {index: index % self.group_size for index in range(num_stages)}
        self.has_backward, self.dw_builder = True, dw_builder
        self._weights_later: dict[int, Callable[[], Any]] = {}  # by micro-batch
        self._inputs: dict[
            int, Any
        ] = {}  # by micro-batch: tensors that were received, of which gradients are sent back
        self._outputs: dict[int, Any] = {}
        self._received_shapes: Shapes | None = None
        self._sending: list[Any] = []
        self._here = _handed.setdefault(self.group, {})
        self._told = False  # whether the next stage knows what it is sent

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide the gradients of the stage's parameters, which are sums over micro-batches."""
        if grad_scale_factor != 1:
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(grad_scale_factor)

    # ---- what goes between stages ----

    def _peer(self, stage: int) -> int:
        return world.get_global_rank(self.group, self.stage_index_to_group_rank[stage])

    def _tag(self, kind: int, micro_batch: int, stage: int) -> int:
        """A number for each message between two stages: their ranks may be those of other stages too."""
        return (micro_batch * self.num_stages + stage) * 2 + kind

    def _is_here(self, stage: int) -> bool:
        """Whether another stage runs on this rank, too."""
        return self.stage_index_to_group_rank[stage] == self.group_rank

    def _send(self, tensors: Sequence[torch.Tensor], to: int, kind: int, micro_batch: int) -> None:
        if self._is_here(to):
            self._here[kind, micro_batch, to] = [tensor.detach() for tensor in tensors]
            return
        for tensor in tensors:
            sent = tensor.detach().contiguous()
            work = collectives.isend(sent, self._peer(to), self.group, self._tag(kind, micro_batch, to))
            self._sending.append((work, sent))

    def _learn_shapes(self) -> None:
        """Hear from the stage before what it sends: once, with the first micro-batch."""
        if self._received_shapes is None and self._is_here(self.stage_index - 1):
            self._received_shapes = self._here.pop(("shapes", self.stage_index))
        elif self._received_shapes is None:
            heard: list[Any] = [None]
            objects.recv_object_list(heard, self._peer(self.stage_index - 1), self.group)
            self._received_shapes = heard[0]

    def _tell_shapes(self, outputs: Sequence[torch.Tensor]) -> None:
        described = [(tuple(each.shape), each.dtype, each.requires_grad) for each in outputs]
        if self._is_here(self.stage_index + 1):
            self._here["shapes", self.stage_index + 1] = described
        else:
            objects.send_object_list([described], self._peer(self.stage_index + 1), self.group)

    def _receive(self, shapes: Shapes, source: int, kind: int, micro_batch: int) -> list[torch.Tensor]:
        if self._is_here(source):
            return self._here.pop((kind, micro_batch, self.stage_index))
        made, waiting = [], []
        for shape, dtype, _ in shapes:
            tensor = torch.empty(shape, dtype=dtype, device=self.device)
            tag = self._tag(kind, micro_batch, self.stage_index)
            waiting.append(collectives.irecv(tensor, self._peer(source), self.group, tag))
            made.append(tensor)
        for work in waiting:
            work.wait()
        return made

    # ---- the computation of a micro-batch ----

    def forward_one_chunk(self, micro_batch: int, args: tuple, kwargs: dict[str, Any] | None = None) -> Any:
        """Run forward: on the batch's arguments, or on what the stage before sent."""
        kwargs = kwargs or {}
        if self.is_first:
            received: list[torch.Tensor] = []
            given = args
        else:
            self._learn_shapes()
            shapes: Any = self._received_shapes
            received = self._receive(shapes, self.stage_index - 1, 0, micro_batch)
            for tensor, (_, _, differentiable) in zip(received, shapes, strict=True):
                tensor.requires_grad_(differentiable and self.has_backward)
            given = tuple(received)
        output = self.submod(*given, **(kwargs if self.is_first or not self._traced else {}))
        outputs = _tensors(output)
        if not self.is_last:
            if not self._told:
                self._tell_shapes(outputs)
                self._told = True
            self._send(outputs, self.stage_index + 1, 0, micro_batch)
        self._inputs[micro_batch], self._outputs[micro_batch] = received, outputs
        return output

    def backward_one_chunk(
        self, micro_batch: int, loss: Any = None, full_backward: bool = True, last_backward: bool = False
    ) -> None:
        """Run backward: of the loss, or with the gradients that the next stage sent; and send those of the inputs back.

        Without `full_backward` the gradients of the weights are left to `backward_weight_one_chunk`.
        """
        received, outputs = self._inputs.pop(micro_batch), self._outputs.pop(micro_batch)
        if self.is_last:
            differentiable: list[Any] = [loss]
            gradients: list[Any] = [None]
        else:
            differentiable = [each for each in outputs if each.requires_grad]
            shapes: Shapes = [(tuple(each.shape), each.dtype, True) for each in differentiable]
            gradients = self._receive(shapes, self.stage_index + 1, 1, micro_batch)
        wanted = [each for each in received if each.requires_grad]
        if full_backward or self.dw_builder is not None or self._has_hooks():
            with self._synchronised(last_backward):
                torch.autograd.backward(differentiable, gradients)
            of_inputs: Sequence[Any] = [each.grad for each in wanted]
            if self.dw_builder is not None:
                self._weights_later[micro_batch] = later = self.dw_builder()
                if full_backward:
                    del self._weights_later[micro_batch]
                    later()
        elif wanted:
            weights = list(self.submod.parameters())
            of_inputs, groups = parts.stage_backward_input(differentiable, gradients, wanted, weights)
            self._weights_later[micro_batch] = lambda: parts.stage_backward_weight(weights, groups)
        else:
            of_inputs = []
            self._weights_later[micro_batch] = lambda: torch.autograd.backward(differentiable, gradients)
        if not self.is_first:
            self._send(
                [torch.zeros_like(each) if own is None else own for each, own in zip(wanted, of_inputs, strict=True)],
                self.stage_index - 1,
                1,
                micro_batch,
            )

    def backward_weight_one_chunk(self, micro_batch: int, last_backward: bool = False) -> None:
        """Compute the gradients of the weights that `backward_one_chunk` left out."""
        later = self._weights_later.pop(micro_batch, None)
        if later is not None:
            later()
        elif self.dw_builder is not None:
            raise AssertionError(f"micro-batch {micro_batch} has no backward pass of weights left")

    def _has_hooks(self) -> bool:
        """Whether whole backward passes are needed, by which gradients of several ranks become one."""
        return isinstance(self.submod, DistributedDataParallel) or hasattr(self.submod, "set_requires_gradient_sync")

    def _synchronised(self, last: bool) -> Any:
        """Gradients are summed over data-parallel ranks by the last backward pass only."""
        if isinstance(self.submod, DistributedDataParallel):
            return contextlib.nullcontext() if last else self.submod.no_sync()
        if hasattr(self.submod, "set_requires_gradient_sync"):
            self.submod.set_requires_gradient_sync(last)
        return contextlib.nullcontext()

    def finish(self) -> None:
        """Wait until what was sent is on its way."""
        pending, self._sending = self._sending, []
        for work, _ in pending:
            work.wait()

    def clear_runtime_states(self) -> None:
        """Forget the micro-batches of the last step."""
        self._inputs.clear()
        self._outputs.clear()
        self._weights_later.clear()


def build_stage(
    stage_module: torch.nn.Module, stage_index: int, pipe_info: PipeInfo, device: Device, group: Any = None
) -> PipelineStage:
    """A stage of a module of a `Pipe`, which is moved to the device; `pipe_info` is the pipe's `info()`.

    >>> from mindtorch_v2.distributed.pipelining import build_stage, pipeline
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> pipe = pipeline(torch.nn.Linear(2, 1), mb_args=(torch.ones(1, 2),))
    >>> build_stage(pipe.get_stage_module(0), 0, pipe.info(), torch.device("cpu")).num_stages
    1
    >>> dist.destroy_process_group()
    """
    made = PipelineStage(stage_module.to(device), stage_index, pipe_info.num_stages, device, group=group)
    made._traced = True
    return made
