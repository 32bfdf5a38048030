"""Scaled losses on NPUs."""

from __future__ import annotations

from typing import Any

import mindtorch_v2 as torch

__all__ = ["GradScaler"]


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("npu", ...)`, with torch_npu's rule for several optimizers: an iteration overflows as a whole.

    An optimizer whose turn comes after gradients that are not finite, its own or another's, takes no step until the next `update`.
    `dynamic=False` keeps the scale as it is, and optimizers step whatever their gradients are.
    """

    def __init__(
        self,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        dynamic: bool = True,
        enabled: bool = True,
    ) -> None:
        super().__init__("npu", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        self._dynamic = dynamic

    def _maybe_opt_step(self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        states = self._per_optimizer_states.values()
        if self._dynamic and any(found.item() for state in states for found in state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Set the scale for the next iteration: to `new_scale`, or by what the steps of this one found."""
        if new_scale is None and not self._dynamic:
            self._per_optimizer_states.clear()
            return
        super().update(new_scale)
