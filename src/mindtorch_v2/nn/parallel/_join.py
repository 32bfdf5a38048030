"""`Join`: ranks whose inputs end at different times train together, those that are through taking part in the others' collectives.

`torch.distributed.algorithms.join` hands these names on; they are here because `DistributedDataParallel` is a `Joinable`.
"""

from __future__ import annotations

import abc
import warnings
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

import mindtorch_v2 as torch

if TYPE_CHECKING:
    from mindtorch_v2.distributed._groups import ProcessGroup

__all__ = ["Join", "JoinHook", "Joinable"]

_MANY = 1000  # steps of other ranks after which one that is through says that this may be more than was meant


class JoinHook:
    """Parts of a `Joinable` that a rank runs when its inputs have ended.

    >>> from mindtorch_v2.distributed.algorithms.join import JoinHook
    >>> class Farewell(JoinHook):
    ...     def post_hook(self, is_last_joiner):
    ...         print("last:", is_last_joiner)
    >>> Farewell().post_hook(True)
    last: True
    """

    def main_hook(self) -> None:
        """Take part in the collectives of one step of the ranks that go on; called again for each step."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Run once, when all ranks are through.

        Args:
            is_last_joiner: whether this rank is one of those that were through last.
        """


class _JoinConfig(NamedTuple):
    """Settings of a `Joinable` within a `Join`."""

    enable: bool
    throw_on_early_termination: bool
    is_first_joinable: bool

    @staticmethod
    def construct_disabled_join_config() -> _JoinConfig:
        """Settings outside of any `Join`."""
        return _JoinConfig(enable=False, throw_on_early_termination=False, is_first_joinable=False)


class Joinable(abc.ABC):
    """A class with collectives in each step, which ranks with fewer inputs than others can take part in.

    A subclass calls `Joinable.__init__(self)`, and `Join.notify_join_context(self)` before the collectives of a step.

    >>> from mindtorch_v2.distributed.algorithms.join import Join, Joinable, JoinHook
    >>> class Total(Joinable):
    ...     join_device = torch.device("cpu")
    ...     join_process_group = property(lambda self: dist.group.WORLD)
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.value = 0
    ...     def join_hook(self, **kwargs):
    ...         return JoinHook()
    ...     def add(self, x):
    ...         Join.notify_join_context(self)
    ...         dist.all_reduce(x)
    ...         self.value += int(x)
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> total = Total()
    >>> with Join([total]):
    ...     for number in torch.tensor([1, 2, 3]):
    ...         total.add(number)
    >>> total.value
    6
    >>> dist.destroy_process_group()
    """

    @abc.abstractmethod
    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig.construct_disabled_join_config()

    @abc.abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """Return the hook of one `Join`, whose further arguments come as `kwargs`."""

    @property
    @abc.abstractmethod
    def join_device(self) -> torch.device:
        """The device of the collectives by which ranks tell that they go on."""

    @property
    @abc.abstractmethod
    def join_process_group(self) -> Any:
        """The group of these collectives."""


class Join:
    """Within this block ranks may have different numbers of inputs.

    A rank that leaves the block before others takes part in the collectives of their steps, by the hooks of the joinables,
    until all have left.

    Args:
        joinables: what runs collectives in each step, in that order; all of one device and group.
        enable: False where the numbers are known to be the same: then the block costs nothing, and does nothing.
        throw_on_early_termination: raise RuntimeError on all ranks when the inputs of one have ended.
        kwargs: for each joinable's `join_hook`.

    ValueError: there is no joinable, or they differ in device or group. TypeError: one is not a `Joinable`.

    ```text
    with Join([model, optimizer]):           # a DistributedDataParallel, and a ZeroRedundancyOptimizer
        for x in inputs_of_this_rank:
            model(x).sum().backward()
            optimizer.step()
    ```

    >>> from mindtorch_v2.distributed.algorithms.join import Join
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1, bias=False))
    >>> with Join([model]):
    ...     for row in torch.tensor([[[1.0, 0.0]], [[0.0, 1.0]]]):
    ...         model(row).sum().backward()
    >>> model.module.weight.grad
    tensor([[1., 1.]])
    >>> dist.destroy_process_group()
    """

    def __init__(
        self,
        joinables: Sequence[Joinable],
        enable: bool = True,
        throw_on_early_termination: bool = False,
        **kwargs: Any,
    ) -> None:
        if len(joinables) == 0:
            raise ValueError("The join context manager requires at least one joinable")
        for each in joinables:
            if not isinstance(each, Joinable):
                raise TypeError(f"Join: expected joinables of the class Joinable, got {type(each).__name__}")
        self._joinables = joinables
        self._enable, self._throw_on_early_termination = enable, throw_on_early_termination
        self._join_hooks = [each.join_hook(**kwargs) for each in joinables]
        devices, groups = [each.join_device for each in joinables], [each.join_process_group for each in joinables]
        if any(device != devices[0] for device in devices):
            raise ValueError("Using join context manager with multiple devices")
        if any(group != groups[0] for group in groups):
            raise ValueError("Using join context manager with multiple process groups")
        self._device: torch.device = devices[0]
        self._process_group: ProcessGroup | None = groups[0]
        self._rank = torch.distributed.get_rank(self._process_group)
        for place, each in enumerate(joinables):
            each._join_config = _JoinConfig(enable, throw_on_early_termination, is_first_joinable=place == 0)

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if self._enable and kind is None:
                self._accompany()
        finally:
            for each in self._joinables:
                each._join_config = _JoinConfig.construct_disabled_join_config()

    def _accompany(self) -> None:
        """Take part in the others' steps until all are through."""
        steps = 0
        while self._get_num_nonjoined_procs():
            if self._throw_on_early_termination:
                self._notify_procs_to_terminate()
            for hook in self._join_hooks:
                hook.main_hook()
            steps += 1
            if steps == _MANY + 1:
                warnings.warn(
                    f"Detected uneven input skew of greater than {_MANY}. This means that rank {self._rank} has at least "
                    f"{_MANY} fewer inputs than other currently-active ranks. This level of skew could lead to performance "
                    "degradation during training.",
                    stacklevel=4,
                )
        for hook in self._join_hooks:
            hook.post_hook(is_last_joiner=steps == 0)

    def _get_num_nonjoined_procs(self) -> int:
        """How many ranks begin another step now."""
        count = torch.zeros(1, device=self._device)
        torch.distributed.all_reduce(count, group=self._process_group)
        return int(count.item())

    def _notify_procs_to_terminate(self) -> None:
        """RuntimeError here, and by a second sum on the ranks that go on."""
        torch.distributed.all_reduce(torch.ones(1, device=self._device), group=self._process_group)
        raise RuntimeError(f"Rank {self._rank} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Tell the ranks that are through that this one begins a step; called by a joinable before its collectives.

        Returns:
            The `Work` of a sum whose result is the number of ranks that go on; None for all joinables but the first, and
            outside of a `Join`.

        Raises:
            RuntimeError: the inputs of a rank have ended, and the block is to end with an error then.
        """
        if not hasattr(joinable, "_join_config"):
            raise AssertionError(
                f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor: Joinable.__init__(self)"
            )
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = torch.distributed.all_reduce(torch.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = torch.zeros(1, device=device)
            torch.distributed.all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        return work
