"""An optimizer whose parameters are averaged over the ranks now and then."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2.distributed.algorithms.model_averaging.averagers import ModelAverager

__all__ = ["PostLocalSGDOptimizer"]


class PostLocalSGDOptimizer(torch.optim.Optimizer):
    """Another optimizer, after each of whose steps an averager is asked.

    Args:
        optim: the optimizer.
        averager: a `PeriodicModelAverager`, or another one.

    ```text
    averager = PeriodicModelAverager(period=4, warmup_steps=100)
    optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), lr=0.1), averager)
    ```

    >>> from mindtorch_v2.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    >>> from mindtorch_v2.distributed.optim import PostLocalSGDOptimizer
    >>> import mindtorch_v2.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> layer.weight = torch.nn.Parameter(torch.tensor([[1.0, 1.0]]))
    >>> optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    >>> optimizer = PostLocalSGDOptimizer(optimizer, PeriodicModelAverager(period=4))
    >>> layer(torch.tensor([[1.0, 2.0]])).sum().backward()
    >>> optimizer.step()
    >>> layer.weight.data
    tensor([[0.9000, 0.8000]])
    >>> dist.destroy_process_group()
    """

    def __init__(self, optim: torch.optim.Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]  # (the other optimizer's, not one of this object)
        """The optimizer's state of each parameter."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        """The optimizer's state, and under "step" how many steps the averager has seen."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state again; without a "step" in it the averager begins anew (a warning)."""
        self.optim.load_state_dict(state_dict)
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warnings.warn(
                "Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.",
                stacklevel=2,
            )
            self.averager.step = 0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A step of the optimizer, then one of the averager. Returns the closure's loss."""
        loss = self.optim.step(closure) if closure is not None else self.optim.step()
        with torch.no_grad():
            self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Give the optimizer more parameters."""
        self.optim.add_param_group(param_group)
