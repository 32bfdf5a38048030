"""Optimizers that step while the backward pass still runs, each on one parameter, so that few gradients exist at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import mindtorch_v2 as torch

__all__: list[str] = []


def _apply_optimizer_in_backward(
    optimizer_class: type[torch.optim.Optimizer],
    params: Iterable[torch.nn.Parameter],
    optimizer_kwargs: dict[str, Any],
    register_hook: bool = True,
) -> None:
    """Let each parameter have an optimizer of its own, which steps when its gradient is there, and drops that.

    Several calls for a parameter step one after the other. Without `register_hook` who averages gradients calls them.
    """
    for parameter in params:
        known: list[torch.optim.Optimizer] = parameter.__dict__.setdefault("_in_backward_optimizers", [])
        known.append(optimizer_class([parameter], **optimizer_kwargs))
        if register_hook and len(known) == 1:
            parameter.register_post_accumulate_grad_hook(_step)


def _step(parameter: Any) -> None:
    for optimizer in parameter._in_backward_optimizers:
        optimizer.step()
    parameter.grad = None


def _get_in_backward_optimizers(module: torch.nn.Module) -> list[torch.optim.Optimizer]:
    """The optimizers of a module's parameters, for schedules of learning rates and checkpoints."""
    return [each for parameter in module.parameters() for each in getattr(parameter, "_in_backward_optimizers", [])]
