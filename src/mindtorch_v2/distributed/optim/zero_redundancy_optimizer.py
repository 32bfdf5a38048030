"""`ZeroRedundancyOptimizer`: each rank steps, and keeps the states of, a part of the parameters, and sends it to the others."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed import _groups as world
from mindtorch_v2.distributed import _objects as objects
from mindtorch_v2.distributed import _operations as collectives
from mindtorch_v2.distributed.algorithms.join import Join, Joinable, JoinHook

__all__ = ["ZeroRedundancyOptimizer"]


class ZeroRedundancyOptimizer(torch.optim.Optimizer, Joinable):
    """An optimizer whose states are spread over the ranks (Rajbhandari et al., ZeRO, 2020, stage 1).

    Every rank has all parameters and gradients, as with `DistributedDataParallel`.

    Args:
        params: the parameters, or groups of them.
        optimizer_class: the optimizer that each rank runs on its part.
        process_group: the ranks; all by default.
        parameters_as_bucket_view: accepted as in PyTorch.
        overlap_with_ddp: whether steps run in backward: NotImplementedError.
        defaults: arguments of the optimizer.

    >>> from mindtorch_v2.distributed.optim import ZeroRedundancyOptimizer
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> parameter = torch.nn.Parameter(torch.tensor([1.0, 1.0]))
    >>> optimizer = ZeroRedundancyOptimizer([parameter], torch.optim.SGD, lr=0.1)
    >>> (parameter * torch.tensor([1.0, 2.0])).sum().backward()
    >>> optimizer.step()
    >>> parameter.data
    tensor([0.9000, 0.8000])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        params: Iterable[Any],
        optimizer_class: type[torch.optim.Optimizer],
        process_group: Any = None,
        parameters_as_bucket_view: bool = False,
        overlap_with_ddp: bool = False,
        **defaults: Any,
    ) -> None:
        if overlap_with_ddp:
            raise NotImplementedError("ZeroRedundancyOptimizer: overlap_with_ddp is not there; steps run in step()")
        params = _listed(params)
        self.process_group = world.resolve(process_group)
        self.rank, self.world_size = self.process_group.rank(), self.process_group.size()
        self._optimizer_class, self._given = optimizer_class, defaults
        self._states: list[Any] = []  # of all ranks, after consolidate_state_dict
        super().__init__(params, defaults)
        Joinable.__init__(self)
        self._divide()

    def _divide(self) -> None:
        """Give each parameter to the rank that has the fewest elements so far, the largest first."""
        sizes = [0] * self.world_size
        self._owner: dict[torch.Tensor, int] = {}
        for group in self.param_groups:
            for each in sorted(group["params"], key=lambda tensor: tensor.numel(), reverse=True):
                rank = sizes.index(min(sizes))
                self._owner[each] = rank
                sizes[rank] += each.numel()
        mine = []
        for group in self.param_groups:
            own = [each for each in group["params"] if self._owner[each] == self.rank]
            mine.append({**group, "params": own})
        self.optim = self._optimizer_class(
            mine if any(group["params"] for group in mine) else [torch.zeros(0)], **self._given
        )
        for group, own in zip(self.param_groups, self.optim.param_groups, strict=False):
            for key, value in own.items():
                group.setdefault(key, value)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters; those of all ranks have to be the same."""
        super().add_param_group(param_group)
        if hasattr(self, "optim"):
            self._divide()

    def _settings_to(self, source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        for theirs, ours in zip(source, target, strict=False):
            for key, value in theirs.items():
                if key != "params":
                    ours[key] = value

    def step(self, closure: Callable[[], float] | None = None, **kwargs: Any) -> Any:
        """Step this rank's part, and exchange what became of it. All ranks call it; the loss of `closure`, if it is given."""
        Join.notify_join_context(self)
        self._settings_to(self.param_groups, self.optim.param_groups)
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)
        works = []
        for each, owner in self._owner.items():
            source = world.get_global_rank(self.process_group, owner)
            works.append(collectives.broadcast(each.detach(), source, self.process_group, async_op=True))
        for work in works:
            work.wait()
        self._settings_to(self.optim.param_groups, self.param_groups)
        return loss

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Gather the ranks' states on the rank `to`, whose `state_dict` then has them all. All ranks call it."""
        self._settings_to(self.param_groups, self.optim.param_groups)
        buffer = io.BytesIO()
        torch.save(self.optim.state_dict(), buffer)
        given: list[Any] | None = [None] * self.world_size if self.rank == to else None
        target = world.get_global_rank(self.process_group, to)
        objects.gather_object(buffer.getvalue(), given, target, self.process_group)
        if given is not None:
            self._states = [torch.load(io.BytesIO(each), weights_only=True) for each in given]

    def state_dict(self) -> dict[str, Any]:
        """The whole state, as the optimizer class gives it; RuntimeError before `consolidate_state_dict` on this rank."""
        if not self._states:
            raise RuntimeError(
                "Optimizer state has not been consolidated on this rank. Please call `consolidate_state_dict(to=...)` on all "
                "ranks beforehand if you meant to save the global state."
            )
        whole = super().state_dict()
        numbers = {
            each: number for number, each in enumerate(p for group in self.param_groups for p in group["params"])
        }
        state: dict[int, Any] = {}
        for rank, theirs in enumerate(self._states):
            own = [each for group in self.param_groups for each in group["params"] if self._owner[each] == rank]
            for place, values in theirs["state"].items():
                state[numbers[own[place]]] = values
        return {"state": state, "param_groups": whole["param_groups"]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a whole state, which every rank has; each keeps its part."""
        numbers = [each for group in self.param_groups for each in group["params"]]
        own = {each: place for place, each in enumerate(each for each in numbers if self._owner[each] == self.rank)}
        given = {numbers[number]: values for number, values in state_dict["state"].items()}
        state = {own[each]: values for each, values in given.items() if each in own}
        groups, place = [], 0
        for group, settings in zip(self.param_groups, state_dict["param_groups"], strict=True):
            count = sum(self._owner[each] == self.rank for each in group["params"])
            groups.append({**settings, "params": list(range(place, place + count))})
            place += count
        if own:
            self.optim.load_state_dict({"state": state, "param_groups": groups})
        self._settings_to(state_dict["param_groups"], self.param_groups)

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Hook of a rank without inputs in the steps of the others: it steps its part, by the gradients it has."""
        return _StepsOfOthers(self)

    @property
    def join_device(self) -> torch.device:
        """The device of the first parameter."""
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        """The group of ranks."""
        return self.process_group


class _StepsOfOthers(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self._optimizer = optimizer

    def main_hook(self) -> None:
        self._optimizer.step()


def _listed(params) -> list[Any]:
    """Parameters, or groups of them. TypeError, ValueError for anything else, or none."""
    if isinstance(params, torch.Tensor):
        raise TypeError(f"`params` argument should be an iterable of Tensors, but got {type(params).__name__}")
    found = list(params)
    if not found:
        raise ValueError("ZeroRedundancyOptimizer got an empty parameter list")
    if not (all(isinstance(each, torch.Tensor) for each in found) or all(isinstance(each, dict) for each in found)):
        raise TypeError("`params` argument should be an iterable of Tensors or dicts")
    return found
