"""Scaled losses on NPUs."""

from __future__ import annotations

import mindtorch_v2 as torch

__all__ = ["GradScaler"]


class GradScaler(torch.amp.GradScaler):
    """`torch.amp.GradScaler("npu", ...)`.

    `dynamic=False` keeps the scale as it is.
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

    def update(self, new_scale: float | torch.Tensor | None = None) -> None:
        """Set the scale for the next iteration: to `new_scale`, or by what the steps of this one found."""
        if new_scale is None and not self._dynamic:
            self._per_optimizer_states.clear()
            return
        super().update(new_scale)
