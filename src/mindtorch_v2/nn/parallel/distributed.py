"""`DistributedDataParallel`: several processes train copies of one module, each on its part of the batch."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch

from ..modules.module import Module
from ._join import Join, Joinable, JoinHook
from ._moving import moved
from ._reducer import BuiltinCommHookType, GradBucket, Reducer

if TYPE_CHECKING:
    from mindtorch_v2.distributed._group import ProcessGroup


__all__ = ["DistributedDataParallel"]

_BUCKET_BYTES = 1 << 18, 25 << 20  # the least and the most, where the program does not say
_BUCKETS = 10  # of a model between these: all but about the last is on its way while backward still runs


class DistributedDataParallel(Module, Joinable):
    """Wrap a module so that after each backward pass all ranks have the average of their gradients.

    When it is made, rank 0's parameters and buffers are copied to all. Then the copies stay the same, as every rank's optimizer
    sees the same gradients. The module itself is `.module`, so that names in `state_dict` begin with "module.".

    Args:
        module: it has its parameters on one device.
        device_ids: None, or the one NPU that inputs are moved to.
        forward_sync_buffers: whether rank 0's buffers are copied to all before each forward pass; yes if None.
        broadcast_buffers: the earlier name of it; False also leaves them as they are at the beginning.
        init_sync: whether parameters and buffers are made the same when it is made.
        process_group: whose ranks take part; None is everybody.
        bucket_cap_mb: how many megabytes of gradients are averaged at once; by default a tenth of the model, from 0.25 to 25.
        find_unused_parameters: look, before each backward pass, for parameters that the outputs do not depend on. A
            parameter that no rank used keeps its gradient. Without it such a parameter is an error in the next forward pass.
        gradient_as_bucket_view: let gradients be views of the buckets, which saves their memory.
        static_graph: parameters may be unused (as find_unused_parameters).
        device_mesh: a 1-d mesh instead of `process_group`.

    ValueError, RuntimeError as in PyTorch where the modules of the ranks do not match, or there is nothing to average.

    ```text
    torch.distributed.init_process_group("gloo")            # in each process that torch.distributed.run started
    model = torch.nn.parallel.DistributedDataParallel(model)
    loss = loss_function(model(part_of_the_batch), ...)
    loss.backward()                                         # gradients are averages over all ranks now
    optimizer.step()
    ```

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> model = torch.nn.parallel.DistributedDataParallel(layer)
    >>> model(torch.tensor([[2.0, 3.0]])).sum().backward()
    >>> layer.weight.grad
    tensor([[2., 3.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int | torch.device] | None = None,
        output_device: int | torch.device | None = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: ProcessGroup | None = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        mixed_precision: Any = None,
        device_mesh: Any = None,
        forward_sync_buffers: bool | None = None,
    ) -> None:
        super().__init__()
        Joinable.__init__(self)
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if mixed_precision is not None:
            raise NotImplementedError("DistributedDataParallel: mixed_precision is not implemented; use torch.autocast")
        if device_mesh is not None:
            process_group = device_mesh.get_group(mesh_dim=0)
        self.process_group = process_group or torch.distributed.distributed_c10d._get_default_group()
        self.parameters_to_ignore = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = [(n, p) for n, p in module.named_parameters() if n not in self.parameters_to_ignore]
        learned = [parameter for _, parameter in named if parameter.requires_grad]
        if not learned:
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        if any(getattr(parameter, "_in_backward_optimizers", ()) for parameter in learned):
            raise NotImplementedError(
                "DistributedDataParallel: an optimizer steps in backward, before gradients are averaged; step after backward()"
            )
        self.device_ids = self._the_device(device_ids, output_device, {parameter.device for _, parameter in named})
        if learned[0].is_cpu and any(isinstance(each, torch.nn.SyncBatchNorm) for each in module.modules()):
            raise ValueError("SyncBatchNorm layers only work with GPU modules")
        self.output_device = output_device
        self.device = learned[0].device
        self.device_type = self.device.type
        self.dim = dim
        self.module = module
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        chosen = broadcast_buffers if forward_sync_buffers is None else forward_sync_buffers
        self.forward_sync_buffers = True if chosen is None else chosen
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self._divides_by_all = True
        self.modules_buffers = [b for n, b in module.named_buffers() if n not in self.parameters_to_ignore]
        self._check_same_everywhere(learned)
        if init_sync:
            # In PyTorch broadcast_buffers=False keeps them from being made the same at the beginning too.
            once = self.modules_buffers if forward_sync_buffers is not None or broadcast_buffers is not False else []
            self._copy_from(0, [parameter.detach() for _, parameter in named] + once)
        names = [name for name, parameter in named if parameter.requires_grad]
        limit = _bucket_bytes(learned) if bucket_cap_mb is None else int(bucket_cap_mb * 1024 * 1024)
        self.reducer = Reducer(learned, self.process_group, limit, gradient_as_bucket_view, names, _sparse_ids(module))

    def _the_device(self, device_ids, output_device, devices) -> list | None:
        if len({device.type for device in devices}) > 1:
            raise ValueError(
                "DistributedDataParallel's input module must be on the same type of devices, but input module parameters "
                f"are on {devices}."
            )
        if not device_ids:
            return None
        if len(device_ids) > 1:
            raise ValueError("device_ids can only be None or contain a single element.")
        if len(devices) > 1 or next(iter(devices)).type == "cpu":
            raise ValueError(
                "DistributedDataParallel device_ids and output_device arguments only work with "
                f"single-device/multiple-device GPU modules or CPU modules, but got device_ids {device_ids}, "
                f"output_device {output_device}, and module parameters {devices}."
            )
        kind = next(iter(devices)).type
        return [torch.device(kind, each) if isinstance(each, int) else torch.device(each) for each in device_ids]

    def _check_same_everywhere(self, learned) -> None:
        """RuntimeError unless all ranks have parameters of the same number, shapes and dtypes."""
        own = [(list(parameter.shape), str(parameter.dtype)) for parameter in learned]
        size = torch.distributed.get_world_size(self.process_group)
        all_of_them: list[Any] = [None] * size
        torch.distributed.all_gather_object(all_of_them, own, self.process_group)
        rank = torch.distributed.get_rank(self.process_group)
        for other, theirs in enumerate(all_of_them):
            if len(theirs) != len(own):
                raise RuntimeError(
                    f"DDP expects same model across all ranks, but Rank {rank} has {len(own)} params, while rank {other} "
                    f"has inconsistent {len(theirs)} params."
                )
            for index, (mine, yours) in enumerate(zip(own, theirs, strict=True)):
                if mine != yours:
                    raise RuntimeError(
                        f"[{rank}]: params[{index}] in this process with sizes {mine[0]} ({mine[1]}) appears not to match "
                        f"sizes of the same param in process {other}: {yours[0]} ({yours[1]})."
                    )

    def _copy_from(self, root, tensors) -> None:
        """Copy tensors of one rank of the group to all."""
        works = [
            torch.distributed.broadcast(tensor, group=self.process_group, group_src=root, async_op=True)
            for tensor in tensors
        ]
        for work in works:
            work.wait()

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        going_on = Join.notify_join_context(self)
        if self._copies_buffers():
            self._copy_buffers(has_inputs=True)
        averages = torch.is_grad_enabled() and self.require_backward_grad_sync
        if self._join_config.enable:
            self._any_averages(averages)
        if self.device_ids:
            inputs, kwargs = moved(inputs, self.device_ids[0]), moved(kwargs, self.device_ids[0])
        outputs = self.module(*inputs, **kwargs)
        self.require_forward_param_sync = averages
        if averages:
            self.reducer.prepare(outputs, self._finds_unused(), self._divisor(going_on))
        return outputs

    def _finds_unused(self) -> bool:
        return self.find_unused_parameters or self.static_graph

    def _copies_buffers(self) -> bool:
        """Whether a forward pass begins with buffers of one rank."""
        return bool(self.require_forward_param_sync and self.forward_sync_buffers and self.modules_buffers)

    def _copy_buffers(self, has_inputs) -> None:
        """Copy the buffers of rank 0; within a `Join`, of the last rank that still has inputs."""
        with torch.no_grad():
            self._copy_from(self._last_rank(has_inputs) if self._join_config.enable else 0, self.modules_buffers)

    # ---- uneven inputs ----

    def _divisor(self, going_on) -> int | None:
        """The number by which sums become averages: of the ranks that go on, or None for all of the group."""
        if going_on is None:
            return None
        going_on.wait()
        return None if self._divides_by_all else int(going_on.result()[0].item())

    def _any_averages(self, here) -> bool:
        """Whether the gradients of this step are averaged: ranks that are through ask by False."""
        said = torch.ones(1, device=self.device) if here else torch.zeros(1, device=self.device)
        torch.distributed.all_reduce(said, group=self.process_group)
        return bool(said.item())

    def _last_rank(self, here) -> int:
        """The largest rank that says yes."""
        rank = torch.distributed.get_rank(self.process_group)
        said = torch.tensor([rank if here else -1], device=self.device)
        torch.distributed.all_reduce(said, op=torch.distributed.ReduceOp.MAX, group=self.process_group)
        found = int(said.item())
        if found < 0:
            raise RuntimeError("DistributedDataParallel: no rank of the group has inputs")
        return found

    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True, throw_on_early_termination: bool = False
    ) -> Join:
        """A `Join` of this module: within it ranks may have different numbers of inputs.

        Args:
            divide_by_initial_world_size: whether gradients are averages over all ranks, of which those without inputs give
                zeros; otherwise over the ranks that have inputs. A communication hook divides as it does always.
            enable: whether it does anything.
            throw_on_early_termination: raise RuntimeError on all ranks when the inputs of one have ended.

        ```text
        with model.join():
            for x in inputs_of_this_rank:
                model(x).sum().backward()
                optimizer.step()
        ```
        """
        return Join(
            [self], enable, throw_on_early_termination, divide_by_initial_world_size=divide_by_initial_world_size
        )

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Hook of a rank without inputs in the steps of the others.

        Args:
            divide_by_initial_world_size: as of `join`; True.
        """
        self._divides_by_all = kwargs.get("divide_by_initial_world_size", True)
        return _GradientsOfOthers(self)

    @property
    def join_device(self) -> torch.device:
        """The parameters' device."""
        return self.device

    @property
    def join_process_group(self) -> Any:
        """The group of ranks."""
        return self.process_group

    @property
    def broadcast_buffers(self) -> bool:
        """Whether rank 0's buffers are copied to all before each forward pass."""
        return self.forward_sync_buffers

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Forward passes under it do not have their gradients averaged: they add up, until a pass outside of it."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def register_comm_hook(self, state: object, hook: Callable[..., Any]) -> None:
        """Let `hook(state, bucket)` do what averages the gradients of a `GradBucket`.

        It returns a `torch.futures.Future` of the flat tensor of averages; torch.distributed.algorithms.ddp_comm_hooks has some.
        """
        _check_hook(hook)
        if self.reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.reducer.hook, self.reducer.hook_state = hook, state

    def _register_builtin_comm_hook(self, comm_hook_type: BuiltinCommHookType) -> None:
        """Let one of PyTorch's two hooks in C++ average the gradients: as they are, or sent as float16."""
        hooks = torch.distributed.algorithms.ddp_comm_hooks.default_hooks
        named = {
            BuiltinCommHookType.ALLREDUCE: hooks.allreduce_hook,
            BuiltinCommHookType.FP16_COMPRESS: hooks.fp16_compress_hook,
        }
        self.register_comm_hook(self.process_group, named[comm_hook_type])

    @staticmethod
    def _set_params_and_buffers_to_ignore_for_model(module: Module, params_and_buffers_to_ignore: Any) -> None:
        """Name parameters and buffers of a module that wrappers of it leave alone."""
        module._ddp_params_and_buffers_to_ignore = params_and_buffers_to_ignore


def _check_hook(hook) -> None:
    """TypeError, ValueError unless a communication hook can be called as one."""
    if not callable(hook):
        raise TypeError("Communication hook must be callable.")
    try:
        signature = inspect.signature(hook)
    except ValueError:  # of a function in C
        return
    bucket = signature.parameters.get("bucket")
    annotation = inspect.Parameter.empty if bucket is None else bucket.annotation
    if annotation not in (inspect.Parameter.empty, GradBucket, "GradBucket", "dist.GradBucket", Any, "Any"):
        raise ValueError("Communication hook: bucket annotation should be dist.GradBucket.")


def _sparse_ids(module) -> set[int]:
    """The ids of the parameters whose gradients are sparse: the weights of embeddings that say so."""
    kinds = torch.nn.Embedding, torch.nn.EmbeddingBag
    return {id(each.weight) for each in module.modules() if isinstance(each, kinds) and each.sparse}


def _bucket_bytes(parameters) -> int:
    """How large buckets are by default. PyTorch's 25 megabytes hold a small model whole: nothing would go beside its backward."""
    least, most = _BUCKET_BYTES
    return max(least, min(most, sum(each.numel() * each.element_size() for each in parameters) // _BUCKETS))


class _GradientsOfOthers(JoinHook):
    """A rank without inputs: it gives zeros where the others average gradients, and ends with their parameters."""

    def __init__(self, model: DistributedDataParallel) -> None:
        self._model = model

    def main_hook(self) -> None:
        model = self._model
        if model._copies_buffers():
            model._copy_buffers(has_inputs=False)
        model.require_forward_param_sync = model._any_averages(False)
        if model.require_forward_param_sync:
            model.reducer.give_zeros(model._finds_unused())

    def post_hook(self, is_last_joiner: bool) -> None:
        model = self._model
        named = [*model.module.named_parameters(), *model.module.named_buffers()]
        kept = [each.detach() for name, each in named if name not in model.parameters_to_ignore]
        with torch.no_grad():
            model._copy_from(model._last_rank(is_last_joiner), kept)
