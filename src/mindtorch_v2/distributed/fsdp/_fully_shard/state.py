"""When a module's parameters are whole: hooks before and after its forward and its backward."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Sequence
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.autograd import Function, Variable
from mindtorch_v2.distributed.fsdp._fully_shard.group import ParameterGroup
from mindtorch_v2.distributed.fsdp._fully_shard.policies import MixedPrecisionPolicy
from mindtorch_v2.utils._pytree import tree_flatten, tree_map, tree_unflatten

__all__ = ["ModuleState", "state_of"]

_MOST_REDUCING = 1  # groups whose gradients are being summed at a time


class Phase(enum.Enum):
    """Phases of a module."""

    IDLE = enum.auto()
    FORWARD = enum.auto()
    BACKWARD = enum.auto()


class Pass:
    """State that the modules below one root share."""

    def __init__(self, states: list[ModuleState]) -> None:
        self.states = states
        self.order: list[ModuleState] = []  # as forward ended, for gathering ahead of backward
        self.went: list[
            ModuleState
        ] = []  # as forward began, in this pass and in the last: what comes next is gathered ahead
        self.went_before: list[ModuleState] = []
        self.called_back = False  # whether the engine will call at the end of backward
        self.last_backward = True
        self.reducing: deque[ParameterGroup] = (
            deque()
        )  # whose gradients are being summed: whole ones are kept meanwhile

    def start_reduce(self, group: ParameterGroup) -> None:
        """Begin to sum a group's gradients; wait for older sums first, so that whole gradients of few layers are there at a time."""
        while len(self.reducing) >= _MOST_REDUCING:
            self.reducing.popleft().finish_reduce()
        if group.start_reduce():
            self.reducing.append(group)


class ModuleState:
    """The state of one call of `fully_shard`, on one module or several that are gathered together."""

    def __init__(self, modules: Sequence[torch.nn.Module], group: ParameterGroup, mixed: MixedPrecisionPolicy) -> None:
        self.modules, self.group, self.mixed = list(modules), group, mixed
        self.reshard_after_forward: bool | None = None
        self.phase = Phase.IDLE
        self.shared: Pass | None = None
        self.is_root = False
        self.forward_prefetch: list[ModuleState] | None = None
        self.backward_prefetch: list[ModuleState] | None = None
        self.gather_in_backward = True
        self._running: set[torch.nn.Module] = set()
        for module in self.modules:
            module.register_forward_pre_hook(self._before_forward, prepend=True, with_kwargs=True)
            module.register_forward_hook(self._after_forward, prepend=False)
            module.register_state_dict_pre_hook(self._before_state_dict)

    # ---- forward ----

    def _become_root(self) -> None:
        """The first module whose forward runs is the root of those in it."""
        if self.shared is not None:
            return
        states: list[ModuleState] = []
        for module in self.modules:
            for each in module.modules():
                found = state_of(each)
                if found is not None and found not in states:
                    if found is not self and found.is_root:
                        raise RuntimeError(
                            "a module of which forward ran as a root is part of another one now: run the root first"
                        )
                    states.append(found)
        self.is_root = True
        self.shared = Pass(states)
        for each in states:
            each.shared = self.shared
            if each is not self and each.reshard_after_forward is None:
                each.reshard_after_forward = True
        if self.reshard_after_forward is None:
            self.reshard_after_forward = False

    def before(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        """Gather, cast the inputs, and see to it that backward ends with sums of gradients."""
        if self.phase is Phase.BACKWARD:  # computed again by a checkpoint: the parameters are there
            return args, kwargs
        self._become_root()
        self.phase = Phase.FORWARD
        if self.is_root and self.shared is not None:
            self.shared.order.clear()
            for each in self.shared.states:
                each.group.forget()
            self.shared.went_before, self.shared.went = self.shared.went, []
        if self.mixed.cast_forward_inputs and self.mixed.param_dtype is not None:
            args, kwargs = tree_map(lambda each: _cast(each, self.mixed.param_dtype), (args, kwargs))
        self.group.gather(keep=torch.is_grad_enabled())
        for each in self._next_in_forward():
            each.group.start_gather()
        return self._watched(args, kwargs)

    def _next_in_forward(self) -> list[ModuleState]:
        """Those that forward comes to next: as the program says, or the one that followed in the last pass, if that was the same so far."""
        shared: Any = self.shared
        place = len(shared.went)
        shared.went.append(self)
        if self.forward_prefetch is not None:
            return self.forward_prefetch
        as_before = shared.went_before[place : place + 1] == [self]
        return shared.went_before[place + 1 : place + 2] if as_before else []

    def _watched(self, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        if not torch.is_grad_enabled():
            return args, kwargs
        leaves, spec = tree_flatten((args, kwargs))
        places = [i for i, each in enumerate(leaves) if isinstance(each, torch.Tensor) and each.requires_grad]
        if not places:
            return args, kwargs
        made = _AfterBackward.apply(self, *(leaves[i] for i in places))
        for i, each in zip(places, made, strict=True):
            leaves[i] = each
        return tree_unflatten(leaves, spec)

    def after(self, output: Any) -> Any:
        """Release, cast the outputs, and see to it that backward begins with gathering."""
        if self.phase is Phase.BACKWARD:
            return output
        if self.reshard_after_forward:
            self.group.release()
        if self.shared is not None and self not in self.shared.order:
            self.shared.order.append(self)
        if torch.is_grad_enabled():
            for each in tree_flatten(output)[0]:
                if isinstance(each, torch.Tensor) and each.requires_grad:
                    each.register_hook(self._before_backward)
        self.phase = Phase.IDLE
        if self.mixed.output_dtype is not None:
            output = tree_map(lambda each: _cast(each, self.mixed.output_dtype), output)
        return output

    def _before_forward(self, module: Any, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
        if len(self.modules) == 1:
            return self.before(args, kwargs)
        if not self._running:  # the first of those that are gathered together
            self._running = set(self.modules)
            return self.before(args, kwargs)
        return args, kwargs

    def _after_forward(self, module: Any, inputs: Any, output: Any) -> Any:
        if len(self.modules) == 1:
            return self.after(output)
        self._running.discard(module)
        return output if self._running else self.after(output)

    def _before_state_dict(self, *_: Any) -> None:
        self.group.release()

    # ---- backward ----

    def _before_backward(self, gradient: torch.Tensor) -> torch.Tensor:
        if self.phase is not Phase.BACKWARD:
            self.phase = Phase.BACKWARD
            shared: Any = self.shared
            if not shared.called_back:
                shared.called_back = True
                Variable._execution_engine.queue_callback(self._end_of_backward)
            if self.gather_in_backward:
                self.group.gather()
                for each in self._next_in_backward():
                    each.group.start_gather()
        return gradient

    def _next_in_backward(self) -> list[ModuleState]:
        """Those that backward comes to next: as the program says, or the one whose forward ended before."""
        if self.backward_prefetch is not None:
            return self.backward_prefetch
        order = self.shared.order if self.shared is not None else []
        place = order.index(self) if self in order else 0
        return [order[place - 1]] if place > 0 else []

    def after_backward(self) -> None:
        """Sum the gradients over the ranks, and release."""
        self.phase = Phase.IDLE
        shared: Any = self.shared
        shared.start_reduce(self.group)
        self.group.forget()
        if self.group.reshard_after_backward:
            self.group.release()

    def _end_of_backward(self) -> None:
        shared: Any = self.shared
        for each in shared.states:
            if each.phase is Phase.BACKWARD or each.group.whole or each.group._gathering is not None:
                each.after_backward()
        while shared.reducing:
            shared.reducing.popleft().finish_reduce()
        shared.called_back = False
        shared.order.clear()


class _AfterBackward(Function):
    """Hand inputs on; its backward runs when the gradients of all that was computed from them are there."""

    @staticmethod
    def forward(ctx: Any, state: ModuleState, *inputs: torch.Tensor) -> Any:
        ctx.state = state
        return inputs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        ctx.state.after_backward()
        return None, *gradients


def _cast(value: Any, dtype: torch.dtype | None) -> Any:
    return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def state_of(module: torch.nn.Module) -> ModuleState | None:
    """The state that `fully_shard` gave a module, if it did."""
    return module.__dict__.get("_fsdp_state")
