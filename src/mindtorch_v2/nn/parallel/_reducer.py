"""Buckets of gradients, which are averaged over the ranks while the backward pass still runs."""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import mindtorch_v2 as torch
from mindtorch_v2.nn.parallel._sparse import all_reduce_sparse

if TYPE_CHECKING:
    from mindtorch_v2.distributed._group import ProcessGroup


FIRST_BUCKET_BYTES = 1 << 20  # the first one is small, so that communication begins early


class BuiltinCommHookType(enum.Enum):
    """PyTorch's communication hooks in C++, by name.

    >>> [kind.name for kind in torch.distributed.BuiltinCommHookType]
    ['ALLREDUCE', 'FP16_COMPRESS']
    """

    ALLREDUCE = 1
    FP16_COMPRESS = 2


class GradBucket:
    """Some parameters' gradients in one flat tensor, as a communication hook gets it.

    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> def hook(state, bucket):
    ...     print(bucket.buffer(), bucket.is_last())
    ...     return dist.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook(state, bucket)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> model.register_comm_hook(None, hook)
    >>> model(torch.tensor([[2.0, 3.0]])).sum().backward()
    tensor([2., 3.]) True
    >>> dist.destroy_process_group()
    """

    def __init__(self, index: int, parameters: Sequence[torch.nn.Parameter], is_last: bool) -> None:
        self._index, self._parameters, self._is_last = index, parameters, is_last
        first = parameters[0]
        self._total = sum(parameter.numel() for parameter in parameters)
        self._buffer = torch.zeros(self._total, dtype=first.dtype, device=first.device)
        self.views: list[torch.Tensor] = []
        self._given_away = False
        self.missing = len(parameters)
        self.future: Any = None  # of its averages
        self._cut()

    def expect(self) -> None:
        """Get ready for a pass."""
        self.missing = len(self._parameters)
        if self._given_away:
            self._given_away = False
            self.set_buffer(self._buffer.new_empty(self._total))

    def give_away(self) -> None:
        """Leave the memory to the gradients that lie in it: the next pass gets other one."""
        self._given_away = True
        self._buffer, self.views = self._buffer.new_empty(0), []

    def _cut(self) -> None:
        parts = self._buffer.split([parameter.numel() for parameter in self._parameters])
        self.views = [part.view(p.shape) for part, p in zip(parts, self._parameters, strict=True)]

    def index(self) -> int:
        """Its number; the parameters that were registered last are in bucket 0."""
        return self._index

    def buffer(self) -> torch.Tensor:
        """All gradients, one after the other."""
        return self._buffer

    def set_buffer(self, buffer: torch.Tensor) -> None:
        """Put another flat tensor in place of the gradients."""
        self._buffer = buffer
        self._cut()

    def gradients(self) -> list:
        """The parts of the buffer, shaped as the parameters."""
        return list(self.views)

    def parameters(self) -> list:
        """Whose gradients they are."""
        return list(self._parameters)

    def is_last(self) -> bool:
        """Whether no bucket follows."""
        return self._is_last


class Reducer:
    """Averages gradients. `prepare` before each backward pass; the parameters' hooks do the rest.

    Args:
        parameters: those that need gradients, in the order of registration.
        group: whose ranks they are averaged over.
        bucket_bytes: how large a bucket may grow.
        as_views: whether gradients become views of the buckets.
        names: the parameters', for errors.
        sparse: the ids of those whose gradients are sparse; they are in no bucket, and averaged when all others are under way.
    """

    def __init__(
        self,
        parameters: Sequence[torch.nn.Parameter],
        group: ProcessGroup | None,
        bucket_bytes: int,
        as_views: bool,
        names: Sequence[str] = (),
        sparse: Collection[int] = (),
    ) -> None:
        self.names = names
        self.parameters, self.group, self.as_views = parameters, group, as_views
        self.size = torch.distributed.get_world_size(group)
        self.hook: Callable[..., Any] | None = None
        self.hook_state: object = None
        self.factor = 1.0 / self.size
        self.sparse = [parameter for parameter in parameters if id(parameter) in sparse]
        self.buckets = self._fill(bucket_bytes)
        self.place = {
            id(parameter): (bucket, number)
            for bucket in self.buckets
            for number, parameter in enumerate(bucket.parameters())
        }
        self.expecting = False  # whether hooks are to act
        self.begun = False  # whether one has, and not all are through
        self.ready: set[Any] = set()
        self.used: torch.Tensor | None = None  # for each parameter whether any rank used it, where that is looked for
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(self._arrived)

    def _fill(self, bucket_bytes):
        groups: list[list[Any]] = []
        filling: dict[Any, Any] = {}
        for parameter in reversed(self.parameters):
            if any(parameter is each for each in self.sparse):
                continue
            kind = parameter.dtype, parameter.device
            group, held = filling.setdefault(kind, ([], 0))
            held += parameter.numel() * parameter.element_size()
            group.append(parameter)
            if len(group) == 1:
                groups.append(group)
            limit = min(FIRST_BUCKET_BYTES, bucket_bytes) if len(groups) == 1 else bucket_bytes
            filling[kind] = group, held
            if held >= limit:
                del filling[kind]
        return [GradBucket(index, group, index == len(groups) - 1) for index, group in enumerate(groups)]

    # ---- each pass ----

    def prepare(self, outputs: Any, find_unused: bool, divisor: int | None = None) -> None:
        """Expect the gradients of a backward pass from `outputs`; their sums are divided by `divisor`, or the number of ranks.

        RuntimeError if those of the last one did not all come: some parameters were not used.
        """
        if self.begun:
            raise RuntimeError(self._unfinished())
        self.expecting, self.ready, self.next = True, set(), 0
        self.factor = 1.0 / (divisor or self.size)
        for bucket in self.buckets:
            bucket.missing = len(bucket.parameters())
        # Gradients that this pass makes are nobody else's: they may lie in the buckets, which saves copies.
        self.new = not self.as_views and all(parameter.grad is None for parameter in self.parameters)
        self.used = None
        if find_unused:
            reached = _reached(outputs)
            flags = [id(parameter) in reached for parameter in self.parameters]
            self.used = torch.tensor(flags, dtype=torch.int32, device=self.parameters[0].device)
            for parameter, flag in zip(self.parameters, flags, strict=True):
                if not flag:
                    self._mark(parameter)

    def prepare_for_backward(self, outputs: Any) -> None:
        """Expect the gradients of a backward pass, as PyTorch's reducer is told to; unused ones are looked for from `outputs`."""
        self.prepare(outputs, bool(outputs))

    def _unfinished(self) -> str:
        indices = [i for i, parameter in enumerate(self.parameters) if id(parameter) not in self.ready]
        rank = torch.distributed.get_rank(self.group)
        if torch.distributed.get_debug_level() is torch.distributed.DebugLevel.OFF:
            more = (
                "\n In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or DETAIL to print "
                "out information about which particular parameters did not receive gradient on this rank as part of this error"
            )
        else:
            named = ", ".join(self.names[i] for i in indices if i < len(self.names))
            more = f"\nParameters which did not receive grad for rank {rank}: {named}"
        return (
            "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates "
            "that your module has parameters that were not used in producing loss. You can enable unused parameter "
            "detection by passing the keyword argument `find_unused_parameters=True` to "
            "`torch.nn.parallel.DistributedDataParallel`, and by \nmaking sure all `forward` function outputs participate "
            "in calculating loss. \nIf you already have done the above, then the distributed data parallel module wasn't able to locate the "
            "output tensors in the return value of your module's `forward` function. Please include the loss function and the "
            "structure of the return value of `forward` of your module when reporting this issue (e.g. list, dict, iterable).\n"
            "Parameter indices which did not receive grad for rank "
            f"{rank}: {' '.join(map(str, indices))}{more}"
        )

    def _arrived(self, parameter) -> None:
        if not self.expecting:
            return
        self.begun = True
        with torch.no_grad():
            self._mark(parameter)

    def _mark(self, parameter) -> None:
        """Take a parameter's gradient (of this pass, or of passes under `no_sync`); start its bucket if that was the last."""
        if id(parameter) in self.ready:
            raise RuntimeError(
                "Expected to mark a variable ready only once. This error is caused by one of the following reasons: "
                "a parameter is used in several reentrant backward passes, or outside of `forward`. Parameter at index "
                f"{next(i for i, each in enumerate(self.parameters) if each is parameter)}"
            )
        self.ready.add(id(parameter))
        if id(parameter) not in self.place:
            self._start_full()
            return
        bucket, number = self.place[id(parameter)]
        if bucket.missing == len(bucket.parameters()):
            bucket.expect()
        view = bucket.views[number]
        if parameter.grad is None:
            view.zero_()
        elif self.hook is not None:
            if parameter.grad is not view:
                view.copy_(parameter.grad)
        elif parameter.grad is view:
            view.mul_(self.factor)
        else:
            torch.mul(parameter.grad, self.factor, out=view)
        bucket.missing -= 1
        self._start_full()

    def _start_full(self) -> None:
        """Start the buckets whose turn it is, and end the pass after the last parameter."""
        while self.begun and self.next < len(self.buckets) and not self.buckets[self.next].missing:
            self._start(self.buckets[self.next])
            self.next += 1
        if self.next == len(self.buckets) and all(id(parameter) in self.ready for parameter in self.sparse):
            self._finish()

    def give_zeros(self, find_unused: bool) -> None:
        """Take part in one backward pass of the other ranks, as one that has no gradients; the parameters' own stay."""
        futures = []
        for bucket in self.buckets:
            zeros = GradBucket(bucket.index(), bucket.parameters(), bucket.is_last())
            self._start(zeros)
            futures.append(zeros.future)
        if find_unused:
            self._any_used(torch.zeros(len(self.parameters), dtype=torch.int32, device=self.parameters[0].device))
        for parameter in self.sparse:
            self._average_sparse(parameter, None)
        for future in futures:
            future.wait()

    def _average_sparse(self, parameter, gradient):
        """The average of a sparse gradient; None is one without entries."""
        if gradient is None:
            gradient = torch.sparse_coo_tensor(
                torch.empty(1, 0, dtype=torch.int64), parameter.new_empty(0, *parameter.shape[1:]), parameter.shape
            )
        return all_reduce_sparse(gradient, self.group) * self.factor

    def _any_used(self, used):
        torch.distributed.all_reduce(used, op=torch.distributed.ReduceOp.MAX, group=self.group)

    def _start(self, bucket) -> None:
        if self.hook is not None:
            bucket.future = self.hook(self.hook_state, bucket)
        else:
            bucket.future = torch.distributed.all_reduce(bucket.buffer(), group=self.group, async_op=True).get_future()

    def _finish(self) -> None:
        """All buckets are under way: wait, and give the averages to the parameters."""
        self.expecting = self.begun = False
        if self.used is not None:
            self._any_used(self.used)
        flags = [True] * len(self.parameters) if self.used is None else self.used.tolist()
        used = {id(parameter): flag for parameter, flag in zip(self.parameters, flags, strict=True)}
        for parameter in self.sparse:
            average = self._average_sparse(parameter, parameter.grad)
            if used[id(parameter)]:
                parameter.grad = average
        for bucket in self.buckets:
            averages = bucket.future.wait()
            if isinstance(averages, (list, tuple)):
                averages = averages[0]
            if averages is not bucket.buffer():
                bucket.buffer().copy_(averages.view(-1))
            bucket.future, gives_away = None, self.new and self.hook is None
            for parameter, view in zip(bucket.parameters(), bucket.views, strict=True):
                if not used[id(parameter)]:
                    continue
                if self.as_views or gives_away:
                    parameter.grad = view
                elif parameter.grad is None:
                    parameter.grad = view.clone()
                else:
                    parameter.grad.copy_(view)
            if gives_away:
                bucket.give_away()


def _reached(outputs):
    """The ids of the parameters from which the outputs were computed."""
    reached: set[Any] = set()
    seen = set()
    waiting = [tensor.grad_fn for tensor in tensors_in(outputs) if tensor.grad_fn is not None]
    reached.update(id(tensor) for tensor in tensors_in(outputs) if tensor.is_leaf)
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            reached.add(id(variable))
        waiting += [following for following, _ in node.next_functions if following is not None]
    return reached


def tensors_in(value: Any) -> list:
    """The tensors in what `forward` returned: in lists, tuples, dictionaries, dataclasses."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "__dataclass_fields__"):
        value = [getattr(value, name) for name in value.__dataclass_fields__]
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in tensors_in(each)]
    return []
